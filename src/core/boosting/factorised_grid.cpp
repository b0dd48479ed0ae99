// Weights, base and grids of a FactorisedSet.
#include "core/boosting/factorised_set.hpp"
#include "core/boosting/number_grid.hpp"

#include <cmath>
#include <numeric>

namespace btml::boosting {

using namespace relational;

namespace {

constexpr int value_bits = 40;  // so that what doubles round in a sum is less than a gain can be
constexpr int finest_rows = 32; // log₂ of the weight up to which values and sums have one grid

} // namespace

// Weights are kept as multiples of the power of two below the largest, so that no product of them overflows.
void FactorisedSet::normalise_weights(Dataset& dataset) {
    weighted_ = !dataset.weight.empty();
    const auto [exponent, shift] = scale_of_weights(dataset.weight);
    weight_exponent_ = exponent;
    shift_ = shift;
    for (double& w : dataset.weight) w = std::ldexp(w, -weight_exponent_);
}

// The weights of the rows that each row joins to, of those that are trained on.
FactorisedSet::RowWeights FactorisedSet::start_residuals(Dataset& dataset) {
    RowWeights train = multiplicities(train_, all_tables());
    const auto target = static_cast<size_t>(target_table_);
    train_count_ = std::accumulate(train[target].begin(), train[target].end(), 0.0);
    Buffer<double> held_out(context_.memory(), "join multiplicities");
    if (holdout_rows_ > 0) held_out = std::move(multiplicities(held_out_, only_target())[target]);
    holdout_count_ = std::accumulate(held_out.begin(), held_out.end(), 0.0);
    if (weighted_) scale_ = max_sum_bits - 1 - weight_exponent_ - std::ilogb(train_count_ + holdout_count_);
    find_base(dataset.target, train[target], held_out);
    choose_grid(dataset.target, train[target], held_out);
    dataset.target.clear();
    first_square_ = train_loss();
    for (size_t i = 0; i < held_out.size(); i++) {
        poll_at(i);
        const double r = std::ldexp(values_[i], -value_grid_);
        if (held_out[i] > 0) holdout_squares_ += held_out[i] * r * r;
    }
    if (holdout_rows_ > 0) holdout_loss_ = holdout_squares_ / holdout_count_;
    return train;
}

// The same arithmetic as in Residuals, so that an enumerated join has the same base.
void FactorisedSet::find_base(const Buffer<double>& target, const Buffer<double>& train,
                              const Buffer<double>& held_out) {
    double most = 0, max_trained = 0;
    for (size_t i = 0; i < target.size(); i++) {
        poll_at(i);
        const double y = std::fabs(target[i]);
        if (train[i] > 0) max_trained = std::max(max_trained, y);
        if (train[i] > 0 || (!held_out.empty() && held_out[i] > 0)) most = std::max(most, y);
    }
    check_targets(most);
    if (max_trained == 0) return;
    const int scale = scale_for_mean(max_trained);
    int128 sum = 0, count = 0;
    for (size_t i = 0; i < target.size(); i++) {
        poll_at(i);
        const int64_t weight = to_count(train[i]);
        sum += static_cast<int128>(std::llrint(std::ldexp(target[i], scale))) * weight;
        count += weight;
    }
    base_ = mean_of(sum, count, scale);
}

void FactorisedSet::choose_grid(const Buffer<double>& target, const Buffer<double>& train,
                                const Buffer<double>& held_out) {
    const double unit = std::ldexp(1, weight_exponent_ + shift_), total = train_count_ * unit;
    double most = 0;
    for (size_t i = 0; i < target.size(); i++) {
        poll_at(i);
        if (train[i] > 0) most = std::max(most, std::fabs(target[i] - base_));
    }
    values_.resize(target.size());
    if (most > 0) {
        const int trial = std::min(39, (126 - std::ilogb(train_count_)) / 2 - 1) - std::ilogb(most);
        const double bound = std::max(std::sqrt(total * sum_squares(target, train, trial)), std::ldexp(most, trial));
        sum_shift_ = std::max(0, std::ilogb(total) - finest_rows);
        value_grid_ =
            std::min(trial + sum_bits - 1 - std::ilogb(bound) + sum_shift_, value_bits - 1 - std::ilogb(most));
    } else {
        // Equal targets: only those held out, if any, differ from the mean.
        double apart = 0;
        for (size_t i = 0; i < held_out.size(); i++) {
            poll_at(i);
            if (held_out[i] > 0) apart = std::max(apart, std::fabs(target[i] - base_));
        }
        if (apart > 0) value_grid_ = value_bits - std::ilogb(apart);
    }
    for (size_t i = 0; i < target.size(); i++) {
        poll_at(i);
        values_[i] = std::nearbyint(std::ldexp(target[i] - base_, value_grid_));
        if (train[i] == 0) continue;
        const auto r = static_cast<int128>(values_[i]);
        loss_ += weighted_ ? static_cast<int128>(values_[i] * values_[i] * train[i] * unit)
                           : r * r * static_cast<int64_t>(train[i]);
    }
}

// Σ weight · (target − base)² in squared units of 2^-grid: exactly where weights are whole.
double FactorisedSet::sum_squares(const Buffer<double>& target, const Buffer<double>& train, int grid) {
    uint128 exact = 0;
    double sum = 0;
    for (size_t i = 0; i < target.size(); i++) {
        poll_at(i);
        if (train[i] == 0) continue;
        const double r = std::nearbyint(std::ldexp(target[i] - base_, grid));
        if (weighted_)
            sum += train[i] * std::ldexp(r * r, weight_exponent_ + shift_);
        else
            exact += static_cast<uint128>(static_cast<uint64_t>(std::fabs(r))) * static_cast<uint64_t>(std::fabs(r)) *
                     static_cast<uint64_t>(train[i]);
    }
    return weighted_ ? sum : static_cast<double>(exact);
}

} // namespace btml::boosting
