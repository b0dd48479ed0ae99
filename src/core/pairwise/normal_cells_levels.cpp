#include "core/pairwise/normal_cells.hpp"

#include "core/base/elementary.hpp"

#include <cstring>

namespace btml::pairwise {

namespace BTML_LEVEL {

void add_scaled(const double* values, double weight, double* to) {
    for (size_t k = 0; k < cells; k += lanes) {
        Lanes sum, value;
        std::memcpy(&sum, to + k, sizeof(sum));
        std::memcpy(&value, values + k, sizeof(value));
        sum += value * weight;
        std::memcpy(to + k, &sum, sizeof(sum));
    }
}

// Rows that reach the same places follow one another: their sum is added once.
void add_cells(std::span<const double> weights, const uint32_t* first, const double* values, double* density) {
    constexpr size_t parts = cells / lanes;
    for (size_t j = 0; j < weights.size();) {
        const uint32_t place = first[j];
        Lanes sum[parts];
        std::memcpy(sum, density + place, sizeof(sum));
        for (; j < weights.size() && first[j] == place; j++) {
            Lanes value[parts];
            std::memcpy(value, values + j * cells, sizeof(value));
#pragma GCC unroll 4
            for (size_t part = 0; part < parts; part++) sum[part] += value[part] * weights[j];
        }
        std::memcpy(density + place, sum, sizeof(sum));
    }
}

double weighted_normals(std::span<const double> weights, std::span<const double> targets, double at, double h) {
    const size_t whole = targets.size() / lanes * lanes;
    Lanes sums{};
    for (size_t j = 0; j < whole; j += lanes) {
        Lanes target, weight;
        std::memcpy(&target, targets.data() + j, sizeof(target));
        std::memcpy(&weight, weights.data() + j, sizeof(weight));
        target = (target - at) / h;
        target *= target * -0.5;
        exponential<Lanes, LaneBits>(target);
        sums += weight * target;
    }
    double sum = 0;
    for (size_t lane = 0; lane < lanes; lane++) sum += sums[lane];
    for (size_t j = whole; j < targets.size(); j++) {
        const double distance = (targets[j] - at) / h;
        sum += weights[j] * exponential(-distance * distance / 2);
    }
    return sum;
}

} // namespace BTML_LEVEL

} // namespace btml::pairwise
