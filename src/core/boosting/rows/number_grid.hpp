// The grids of powers of two on which weights, targets and sums are whole numbers: what a TrainingSet that holds the
// join's rows and one that factorises them have in common, so that they come to the same values.
#pragma once

#include "core/base/buffer.hpp"
#include "core/base/peers.hpp"
#include "core/boosting/rows/row_sums.hpp"
#include "core/boosting/rows/stats.hpp"

#include <cmath>

namespace btml::boosting {

inline constexpr int sum_bits = 60;     // sums start below 2^60 …
inline constexpr int max_sum_bits = 62; // … and their grid gets coarser before they can pass 2^62

// exponent: ⌊log₂⌋ of the largest weight. Sums are of weight · 2^shift: up to 2^10 a weight stays as it is, so that an
// integer weight equals so many copies of the row, bit for bit. Error out_of_range for one that is negative or not
// finite.
struct WeightScale {
    int exponent, shift;
};
WeightScale scale_of_weights(const Buffer<double>& weight, Peers* peers = nullptr);
// Returns how many weights are not 1. Where none is, rows are as without weights, and take less time.
uint64_t count_other_than_one(const Buffer<double>& weight);

// The scale of targets for which their sum is formed: target · 2^scale is below 2^62.
int scale_for_mean(double largest_target);
// sum / weight · 2^-scale
double mean_of(const WeightedSum<int128>& sum, int scale);

// The finest grid 2^-g on which every sum of weight · residual starts below 2^sum_bits, by Cauchy and Schwarz:
// `squares` is Σ weight · residual² on the grid 2^-trial, and no residual is larger than `largest`.
int grid_for_sums(int trial, double total_weight, double squares, double largest);

// The size of usual numbers, as the fourth power of the mean of their fourth roots, which a few far ones hardly move.
// Zeros do not count: one row with most of the weight is its own median, and others are not far beside it. The roots
// are whole numbers, so that the order of the numbers does not matter.
class UsualSize {
  public:
    UsualSize() = default;
    explicit UsualSize(double largest) : largest_(largest) {}

    void add(double number, int64_t weight) {
        if (number == 0) return;
        const double root = std::sqrt(std::sqrt(std::fabs(number) / largest_));
        roots_ += static_cast<int128>(std::llrint(std::ldexp(root, root_bits))) * weight;
        weight_ += weight;
    }
    UsualSize& operator+=(const UsualSize& other) {
        largest_ = std::max(largest_, other.largest_);
        roots_ += other.roots_;
        weight_ += other.weight_;
        return *this;
    }
    double value() const {
        const double root = std::ldexp(static_cast<double>(roots_) / static_cast<double>(weight_), -root_bits);
        return largest_ * (root * root) * (root * root);
    }

  private:
    static constexpr int root_bits = 40;

    double largest_ = 0;
    int128 roots_ = 0, weight_ = 0;
};

// How far targets are from their median.
struct TargetSizes {
    double usual = 0, most = 0;

    // Says whether a grid on which the farthest has a place leaves usual ones too few digits.
    bool has_far() const { return most > std::ldexp(usual, 24); }
};

// x rounded; where it is beyond 2^62, a coarser grid is due.
inline int64_t rounded_sum(double x) {
    constexpr double most = 0x1p62;
    return std::llrint(std::clamp(x, -most, most));
}

} // namespace btml::boosting
