#include "core/boosting/factorised_scores.hpp"

#include <numeric>

namespace btml::boosting::factorised {

using namespace relational;

namespace {

constexpr int value_bits = 40;  // so that what doubles round in a sum is less than a gain can be
constexpr int finest_rows = 32; // log₂ of the weight up to which values and sums have one grid

// The largest magnitude of number(i) among rows of positive weight.
template <class Number>
double largest(const Buffer<double>& weights, const Number& number, RunContext& context) {
    double most = 0;
    for (size_t i = 0; i < weights.size(); i++) {
        poll_at(context, i);
        if (weights[i] > 0) most = std::max(most, std::fabs(number(i)));
    }
    return most;
}

} // namespace

FactorisedScores::FactorisedScores(const Buffer<double>& target, const Buffer<double>& train,
                                   const Buffer<double>& held_out, const WeightUnits& weights, Buffer<double>& values,
                                   RunContext& context)
    : weights_(weights),
      train_weight_(std::accumulate(train.begin(), train.end(), 0.0)),
      holdout_weight_(std::accumulate(held_out.begin(), held_out.end(), 0.0)) {
    const Rows rows{target, train, held_out};
    find_base(rows, context);
    choose_grid(rows, values, context);
    start_losses(rows, values, context);
}

// The same arithmetic as in Residuals, so that an enumerated join has the same base.
void FactorisedScores::find_base(const Rows& rows, RunContext& context) {
    const auto target = [&](size_t i) { return rows.target[i]; };
    const double max_trained = largest(rows.train, target, context);
    check_targets(std::max(max_trained, largest(rows.held_out, target, context)));
    if (max_trained == 0) return;
    const int scale = scale_for_mean(max_trained);
    int128 sum = 0, count = 0;
    for (size_t i = 0; i < rows.target.size(); i++) {
        poll_at(context, i);
        const int64_t weight = weights_.to_count(rows.train[i]);
        sum += static_cast<int128>(std::llrint(std::ldexp(rows.target[i], scale))) * weight;
        count += weight;
    }
    base_ = mean_of(sum, count, scale);
}

void FactorisedScores::choose_grid(const Rows& rows, Buffer<double>& values, RunContext& context) {
    const auto residual = [&](size_t i) { return rows.target[i] - base_; };
    const double total = weights_.shifted(train_weight_), most = largest(rows.train, residual, context);
    if (most > 0) {
        const int trial = std::min(39, (126 - std::ilogb(train_weight_)) / 2 - 1) - std::ilogb(most);
        const double bound = std::max(std::sqrt(total * sum_squares(rows, trial, context)), std::ldexp(most, trial));
        sum_shift_ = std::max(0, std::ilogb(total) - finest_rows);
        value_grid_ =
            std::min(trial + sum_bits - 1 - std::ilogb(bound) + sum_shift_, value_bits - 1 - std::ilogb(most));
    } else {
        // Equal targets: only those held out, if any, differ from the mean.
        const double apart = largest(rows.held_out, residual, context);
        if (apart > 0) value_grid_ = value_bits - std::ilogb(apart);
    }
    values.resize(rows.target.size());
    for (size_t i = 0; i < values.size(); i++) {
        poll_at(context, i);
        values[i] = std::nearbyint(std::ldexp(residual(i), value_grid_));
    }
}

// Σ weight · (target − base)² in squared units of 2^-grid: exactly where weights are whole.
double FactorisedScores::sum_squares(const Rows& rows, int grid, RunContext& context) const {
    uint128 exact = 0;
    double sum = 0;
    for (size_t i = 0; i < rows.target.size(); i++) {
        poll_at(context, i);
        if (rows.train[i] == 0) continue;
        const double r = std::nearbyint(std::ldexp(rows.target[i] - base_, grid));
        if (weights_.weighted)
            sum += rows.train[i] * weights_.shifted(r * r);
        else
            exact += static_cast<uint128>(static_cast<uint64_t>(std::fabs(r))) * static_cast<uint64_t>(std::fabs(r)) *
                     static_cast<uint64_t>(rows.train[i]);
    }
    return weights_.weighted ? sum : static_cast<double>(exact);
}

void FactorisedScores::start_losses(const Rows& rows, const Buffer<double>& values, RunContext& context) {
    const double unit = weights_.shifted(1);
    for (size_t i = 0; i < values.size(); i++) {
        poll_at(context, i);
        const double weight = rows.train[i];
        if (weight > 0) {
            const auto r = static_cast<int128>(values[i]);
            loss_ += weights_.weighted ? static_cast<int128>(values[i] * values[i] * weight * unit)
                                       : r * r * static_cast<int64_t>(weight);
        }
        if (rows.held_out.empty() || !(rows.held_out[i] > 0)) continue;
        const double r = std::ldexp(values[i], -value_grid_);
        holdout_squares_ += rows.held_out[i] * r * r;
    }
    first_square_ = train_loss();
    if (!rows.held_out.empty()) holdout_loss_ = holdout_squares_ / holdout_weight_;
}

double FactorisedScores::train_loss() const {
    return std::ldexp(static_cast<double>(loss_) / weights_.shifted(train_weight_), -2 * value_grid_);
}

SumUnits FactorisedScores::units() const {
    const int square_shift = std::max(0, bit_width(static_cast<uint128>(loss_)) - 61);
    return {.grid = value_grid_ - sum_shift_,
            .shift = weights_.shift,
            .hessian_unit = std::ldexp(1, weights_.shift - weights_.scale),
            .count_scale = weights_.scale,
            .square_unit = std::ldexp(1, square_shift - 2 * sum_shift_),
            .slack = weights_.weighted ? weights_.to_count(train_weight_) >> slack_bits : 0,
            .first_square = first_square_,
            .exact = !weights_.weighted};
}

int64_t FactorisedScores::leaf_value(Stats total, double learning_rate, double l2) const {
    if (total.hessian == 0) return 0;
    const double weight = static_cast<double>(total.hessian) * units().hessian_unit;
    const double sum = std::ldexp(static_cast<double>(total.sum), sum_shift_);
    return rounded_leaf_value(sum, weight, learning_rate, std::ldexp(l2, weights_.shift));
}

double FactorisedScores::to_number(int64_t value) const {
    return std::ldexp(static_cast<double>(value), -value_grid_);
}

static void check_partition(double weight_of_leaves, double weight) {
    if (!(std::fabs(weight_of_leaves - weight) <= 1e-9 * weight))
        throw Error(ErrorCode::internal, "the leaves of a tree do not partition the join");
}

// Σ r'² = Σ r² − 2 Σ_ℓ value_ℓ s_ℓ + Σ_ℓ value_ℓ² n_ℓ, as the leaves partition the join.
void FactorisedScores::add(const std::vector<TrainingSet::Leaf>& leaves, const Totals& trained,
                           const Totals& held_out) {
    const double hessian_unit = units().hessian_unit;
    double train_weight = 0, holdout_weight = 0;
    for (const TrainingSet::Leaf& leaf : leaves) {
        const int128 value = leaf.value;
        int128 sum = static_cast<int128>(leaf.sums.total.sum) << sum_shift_;
        double weight = static_cast<double>(leaf.sums.total.hessian) * hessian_unit;
        if (trained) {
            const FilteredSums::Total total = trained(leaf);
            sum = static_cast<int128>(weights_.shifted(total.sum));
            weight = weights_.shifted(total.count);
        }
        train_weight += weight;
        const auto v = static_cast<double>(leaf.value);
        loss_ += weights_.weighted ? static_cast<int128>(v * v * weight) : value * value * static_cast<int64_t>(weight);
        loss_ -= 2 * value * sum;
        if (holdout_loss_) {
            const FilteredSums::Total total = held_out(leaf);
            const double number = to_number(leaf.value);
            holdout_weight += total.count;
            holdout_squares_ += number * (number * total.count - 2 * std::ldexp(total.sum, -value_grid_));
        }
    }
    check_partition(train_weight, weights_.shifted(train_weight_));
    check_partition(holdout_weight, holdout_weight_);
    loss_ = std::max<int128>(loss_, 0);
    if (holdout_loss_) holdout_loss_ = std::max(0.0, holdout_squares_) / holdout_weight_;
    if (trained) refine_sums();
}

// Trees fitted to samples may let the loss grow, and with it the sums.
void FactorisedScores::refine_sums() {
    const double total = weights_.shifted(train_weight_);
    const double bound = std::ldexp(std::sqrt(total * static_cast<double>(loss_)), -sum_shift_);
    if (bound >= std::ldexp(1, max_sum_bits)) sum_shift_ += std::ilogb(bound) - sum_bits + 1;
}

} // namespace btml::boosting::factorised
