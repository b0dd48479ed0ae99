#include "core/gp/tree/distinct_rows.hpp"

#include "core/gp/tree/row_sorter.hpp"

#include <cmath>
#include <numeric>

namespace btml::gp {

DistinctRows merge_equal_rows(const BitRows& rows, size_t bits, const Observations& observations, RunContext& context) {
    std::vector<uint16_t> all(bits);
    std::iota(all.begin(), all.end(), 0);
    const SortedRows sorted = sort_rows(rows, all, context);
    DistinctRows result{{0, rows.words, Buffer<uint64_t>(context.memory(), "rows' bits")},
                        Observations(context.memory())};
    Observations& merged = result.observations;
    merged.merged = observations.merged;
    merged.residual = observations.residual;
    merged.log_weights = observations.log_weights;
    for (size_t begin = 0, end = 0; begin < rows.rows; begin = end) {
        double mean = 0, weight = 0, logs = 0;
        do {
            context.worked(4);
            const uint32_t row = sorted.rows[end];
            const double w = observations.weight_of(row), difference = observations.target[row] - mean;
            merged.residual += weight * w / (weight + w) * difference * difference;
            weight += w;
            mean += difference * (w / weight);
            logs += std::log(w);
        } while (++end < rows.rows && sorted.common[end - 1] == bits);
        for (size_t word = 0; word < rows.words; word++) result.rows.data.push_back(rows.row(sorted.rows[begin])[word]);
        merged.target.push_back(mean);
        merged.weight.push_back(weight);
        merged.merged += static_cast<double>(end - begin - 1);
        if (end - begin > 1) merged.log_weights += logs - std::log(weight);
        result.rows.rows++;
    }
    return result;
}

} // namespace btml::gp
