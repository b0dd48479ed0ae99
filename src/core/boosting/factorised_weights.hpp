// Weights of the rows of a factorised join.
#pragma once

#include "core/base/run_context.hpp"
#include "core/boosting/rows/number_grid.hpp"
#include "core/boosting/rows/pieces.hpp"

namespace btml::boosting::factorised {

// By table and row. Weights that say which join rows, a population: an empty buffer: 1 each.
using RowWeights = std::vector<Buffer<double>>;

// Weights are held as multiples of the power of two below the largest, so that no product of them overflows.
struct WeightUnits {
    bool weighted = false;
    int exponent = 0;         // a weight: number · 2^exponent
    int shift = 0, scale = 0; // as in TrainingRows

    // weight · 2^shift
    double shifted(double weight) const { return std::ldexp(weight, exponent + shift); }
    // In units of 2^-scale of weight.
    int64_t to_count(double weight) const {
        return rounded_sum(weighted ? std::ldexp(weight, exponent + scale) : weight);
    }
};

inline void poll_at(RunContext& context, size_t row) {
    if (row % piece_rows == 0) context.poll();
}

} // namespace btml::boosting::factorised
