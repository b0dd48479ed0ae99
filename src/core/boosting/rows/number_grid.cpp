#include "core/boosting/rows/number_grid.hpp"

namespace btml::boosting {

WeightScale scale_of_weights(const Buffer<double>& weight, Peers* peers) {
    Largest most;
    for (const double w : weight) {
        if (!(w >= 0) || std::isinf(w))
            throw Error(ErrorCode::out_of_range, format("weight %g is out of range", w), {},
                        "Weights must be finite and not negative.");
        most += {w};
    }
    if (peers) peers->add_up(most);
    const double largest = most.number;
    const int exponent = largest > 0 ? std::ilogb(largest) : 0;
    return {exponent, exponent >= 0 && exponent <= 10 ? 0 : -exponent};
}

uint64_t count_other_than_one(const Buffer<double>& weight) {
    uint64_t count = 0;
    for (const double w : weight) count += w != 1;
    return count;
}

int scale_for_mean(double largest_target) {
    return max_sum_bits - 1 - std::ilogb(largest_target);
}

double mean_of(const WeightedSum<int128>& sum, int scale) {
    const auto whole = static_cast<double>(sum.sum / sum.weight);
    return std::ldexp(whole + static_cast<double>(sum.sum % sum.weight) / static_cast<double>(sum.weight), -scale);
}

int grid_for_sums(int trial, double total_weight, double squares, double largest) {
    const double bound = std::max(std::sqrt(total_weight * squares), std::ldexp(largest, trial));
    return trial + sum_bits - 1 - std::ilogb(bound);
}

} // namespace btml::boosting
