// Losses of all rows, added up as whole numbers: sums do not depend on the order of rows.
#pragma once

#include "core/boosting/rows/number_grid.hpp"
#include "core/boosting/rows/training_rows.hpp"

namespace btml::boosting {

// Sums of weight · loss, in units of LossGrid, and the largest loss.
struct LossSums {
    int128 trained = 0, held_out = 0;
    double largest = 0;

    LossSums& operator+=(const LossSums& other) {
        trained += other.trained;
        held_out += other.held_out;
        largest = std::max(largest, other.largest);
        return *this;
    }
};

// A loss is rounded to a multiple of 2^-40 of the largest at first, and taken for four million times that where it is
// larger.
class LossGrid {
  public:
    LossGrid() = default;
    explicit LossGrid(double largest_at_first)
        : grid_(largest_at_first > 0 ? std::min(39 - std::ilogb(largest_at_first), 1023) : 0) {}

    void add(Role role, int64_t weight, double loss, LossSums& sums) const {
        constexpr double most = 0x1p62;
        if (role == Role::ignored) return;
        sums.largest = std::max(sums.largest, std::fabs(loss));
        const int64_t rounded = std::llrint(std::clamp(loss * scale_, -most, most));
        (role == Role::train ? sums.trained : sums.held_out) += static_cast<int128>(rounded) * weight;
    }
    double scale() const { return scale_; } // of a loss of weight 1
    // Adds losses of training rows of weight 1, which are rounded already.
    static void add(int64_t losses, double largest, LossSums& sums) {
        sums.largest = std::max(sums.largest, largest);
        sums.trained += losses;
    }
    // Adds losses of training rows, in magnitude at most `largest`, for which loss · scale is below 2^62.
    void add(const float* losses, const int64_t* weights, size_t rows, double largest, LossSums& sums) const {
        sums.largest = std::max(sums.largest, largest);
        int128 sum = 0;
        for (size_t i = 0; i < rows; i++) sum += static_cast<int128>(std::llrint(losses[i] * scale_)) * weights[i];
        sums.trained += sum;
    }
    // Returns sum / total_weight, the weight in the units of TrainingRows.
    double mean(int128 sum, double total_weight) const {
        return std::ldexp(static_cast<double>(sum) / total_weight, -grid_);
    }

  private:
    int grid_ = 0;
    double scale_ = std::ldexp(1, grid_);
};

} // namespace btml::boosting
