#include "core/boosting/factorised/factorised_scores.hpp"

#include "core/boosting/factorised/factorised_allowance.hpp"
#include "core/numbers/exact_sum.hpp"
#include "core/numbers/usual_range.hpp"

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
    context.for_each(weights.size(), 1, [&](uint64_t i) {
        if (weights[i] > 0) most = std::max(most, std::fabs(number(i)));
    });
    return most;
}

} // namespace

// Sums over the rows of weights that are multiples of a power of two.
static double sum_of(const Buffer<double>& weights) {
    return std::accumulate(weights.begin(), weights.end(), 0.0);
}

FactorisedScores::FactorisedScores(const Buffer<double>& target, const Buffer<double>& train,
                                   const Buffer<double>& held_out, const WeightUnits& weights,
                                   const std::vector<double>& bases, Buffer<double>& values, ThreadTeam& team,
                                   RunContext& context)
    : SquaredLoss({.shift = weights.shift,
                   .hessian_unit = std::ldexp(1, weights.shift - weights.scale),
                   .count_scale = weights.scale,
                   .slack = weights.weighted ? weights.to_count(sum_of(train)) >> slack_bits : 0,
                   .exact = !weights.weighted},
                  weights.shifted(sum_of(train))),
      weights_(weights),
      train_weight_(sum_of(train)),
      holdout_weight_(sum_of(held_out)) {
    const Rows rows{target, train, held_out};
    find_base(bases, 1, nullptr, [&](const auto& body) {
        context.for_each(target.size(), 2, [&](uint64_t i) {
            if (train[i] > 0) body(target[i], weights.to_count(train[i]), true, 0);
            if (!held_out.empty() && held_out[i] > 0) body(target[i], 0, false, 0);
        });
    });
    choose_grid(rows, values, team, context);
    start_losses(rows, values, context);
}

void FactorisedScores::choose_grid(const Rows& rows, Buffer<double>& values, ThreadTeam& team, RunContext& context) {
    const auto residual = [&](size_t i) { return rows.target[i] - base_; };
    const double most = largest(rows.train, residual, context);
    const TargetSizes sizes = sizes_of(rows, team, context);
    if (sizes.has_far())
        throw NotWorthIt{
            format("factorising was given up: sums would lose targets that are %.2g from the median beside one that is "
                   "%.2g from it",
                   sizes.usual, sizes.most)};
    usual_ = sizes.usual;
    if (most > 0) {
        const int trial = std::min(39, (126 - std::ilogb(train_weight_)) / 2 - 1) - std::ilogb(most);
        sum_shift_ = std::max(0, std::ilogb(total_weight_) - finest_rows);
        grid_ = std::min(grid_for_sums(trial, total_weight_, sum_squares(rows, trial, context), most) + sum_shift_,
                         value_bits - 1 - std::ilogb(most));
    } else {
        // Equal targets: only those held out, if any, differ from the mean.
        const double apart = largest(rows.held_out, residual, context);
        if (apart > 0) grid_ = value_bits - std::ilogb(apart);
    }
    values.resize(rows.target.size());
    context.for_each(values.size(), 1, [&](uint64_t i) { values[i] = std::nearbyint(std::ldexp(residual(i), grid_)); });
}

TargetSizes FactorisedScores::sizes_of(const Rows& rows, ThreadTeam& team, RunContext& context) const {
    const double median = median_of(static_cast<size_t>(team.size()), team.peers(), [&](const auto& body) {
        context.for_each(rows.target.size(), 2, [&](uint64_t i) {
            if (rows.train[i] > 0) body(rows.target[i], weights_.to_count(rows.train[i]), 0);
        });
    });
    const double most = largest(
        rows.train, [&](size_t i) { return rows.target[i] - median; }, context);
    if (most == 0) return {};
    UsualSize usual(most);
    context.for_each(rows.target.size(), 2, [&](uint64_t i) {
        if (rows.train[i] > 0) usual.add(rows.target[i] - median, weights_.to_count(rows.train[i]));
    });
    return {usual.value(), most};
}

// Σ weight · (target − base)² in squared units of 2^-grid: exactly where weights are whole.
double FactorisedScores::sum_squares(const Rows& rows, int grid, RunContext& context) const {
    uint128 exact = 0;
    double sum = 0;
    context.for_each(rows.target.size(), 1, [&](uint64_t i) {
        if (rows.train[i] == 0) return;
        const double r = std::nearbyint(std::ldexp(rows.target[i] - base_, grid));
        if (weights_.weighted)
            sum += rows.train[i] * weights_.shifted(r * r);
        else
            exact += static_cast<uint128>(static_cast<uint64_t>(std::fabs(r))) * static_cast<uint64_t>(std::fabs(r)) *
                     static_cast<uint64_t>(rows.train[i]);
    });
    return weights_.weighted ? sum : static_cast<double>(exact);
}

void FactorisedScores::start_losses(const Rows& rows, const Buffer<double>& values, RunContext& context) {
    const double unit = weights_.shifted(1);
    context.for_each(values.size(), 1, [&](uint64_t i) {
        const double weight = rows.train[i];
        if (weight > 0) {
            const auto r = static_cast<int128>(values[i]);
            loss_ += weights_.weighted ? static_cast<int128>(values[i] * values[i] * weight * unit)
                                       : r * r * static_cast<int64_t>(weight);
        }
        if (rows.held_out.empty() || !(rows.held_out[i] > 0)) return;
        const double r = std::ldexp(values[i], -grid_);
        holdout_squares_ += rows.held_out[i] * r * r;
    });
    start_train_loss(usual_);
    if (!rows.held_out.empty()) holdout_loss_ = holdout_squares_ / holdout_weight_;
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
    ExactSum change; // of holdout_squares_, whatever the order of leaves
    auto loss = static_cast<int128>(loss_);
    for (const TrainingSet::Leaf& leaf : leaves) {
        const int128 value = leaf.value;
        int128 sum;
        double weight;
        if (trained) {
            const FilteredSums::Total total = trained(leaf);
            sum = static_cast<int128>(weights_.shifted(total.sum));
            weight = weights_.shifted(total.count);
        } else {
            sum = static_cast<int128>(leaf.sums->total.sum) << sum_shift_;
            weight = leaf.sums->total.hessian * hessian_unit;
        }
        train_weight += weight;
        const double v = leaf.value;
        loss += weights_.weighted ? static_cast<int128>(v * v * weight) : value * value * static_cast<int64_t>(weight);
        loss -= 2 * value * sum;
        if (holdout_loss_) {
            const FilteredSums::Total total = held_out(leaf);
            const double number = to_number(leaf.value);
            holdout_weight += total.count;
            change.add(number * (number * total.count - 2 * std::ldexp(total.sum, -grid_)));
        }
    }
    check_partition(train_weight, total_weight_);
    check_partition(holdout_weight, holdout_weight_);
    loss_ = static_cast<uint128>(std::max<int128>(loss, 0));
    holdout_squares_ += change.value();
    if (holdout_loss_) holdout_loss_ = std::max(0.0, holdout_squares_) / holdout_weight_;
    if (trained) refine_sums();
}

// Trees fitted to samples may let the loss grow, and with it the sums.
void FactorisedScores::refine_sums() {
    const double bound = std::ldexp(std::sqrt(total_weight_ * loss_), -sum_shift_);
    if (bound >= std::ldexp(1, max_sum_bits)) sum_shift_ += std::ilogb(bound) - sum_bits + 1;
}

} // namespace btml::boosting::factorised
