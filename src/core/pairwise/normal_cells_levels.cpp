#include "core/pairwise/normal_cells.hpp"

#include "core/numbers/elementary.hpp"
#include "core/pairwise/pair_vectors.hpp"

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

namespace {

// So many cells at a time that the sums of all mixtures stay in registers.
constexpr size_t cells_at_once = mixtures * width;

void add_some_cells(const Mixture (&to)[mixtures], size_t begin, size_t end, size_t place, const double* values) {
    constexpr size_t some = cells_at_once / width;
    for (size_t cell = 0; cell < cells; cell += cells_at_once) {
        Doubles sums[mixtures][some];
#pragma GCC unroll 4
        for (size_t m = 0; m < mixtures; m++)
#pragma GCC unroll 4
            for (size_t i = 0; i < some; i++) sums[m][i] = load(to[m].density + place + cell + i * width);
        for (size_t j = begin; j < end; j++) {
            Doubles value[some];
#pragma GCC unroll 4
            for (size_t i = 0; i < some; i++) value[i] = load(values + j * cells + cell + i * width);
#pragma GCC unroll 4
            for (size_t m = 0; m < mixtures; m++)
#pragma GCC unroll 4
                for (size_t i = 0; i < some; i++) sums[m][i] += value[i] * to[m].weights[j];
        }
#pragma GCC unroll 4
        for (size_t m = 0; m < mixtures; m++)
#pragma GCC unroll 4
            for (size_t i = 0; i < some; i++) store(sums[m][i], to[m].density + place + cell + i * width);
    }
}

} // namespace

// Rows that reach the same places follow one another: their sum is added once.
void add_cells(const Mixture (&to)[mixtures], size_t targets, const uint32_t* first, const double* values) {
    for (size_t j = 0, end = 0; j < targets; j = end) {
        while (end < targets && first[end] == first[j]) end++;
        add_some_cells(to, j, end, first[j], values);
    }
}

double weighted_normals(std::span<const double> weights, std::span<const double> targets, double at, double h) {
    const size_t whole = targets.size() / lanes * lanes;
    const double scale = steps_of_e / 2 / (h * h);
    Doubles sums[parts] = {};
    for (size_t j = 0; j < whole; j += lanes)
#pragma GCC unroll 4
        for (size_t part = 0; part < parts; part++) {
            const Doubles distance = load(targets.data() + j + part * width) - at;
            Doubles normal = distance * distance * scale;
            decay_by_sixteenths<Doubles, Bits>(normal);
            sums[part] += load(weights.data() + j + part * width) * normal;
        }
    double by_lane[lanes], sum = 0;
    std::memcpy(by_lane, sums, sizeof(by_lane));
    for (const double x : by_lane) sum += x;
    for (size_t j = whole; j < targets.size(); j++) {
        double normal = (targets[j] - at) * (targets[j] - at) * scale;
        decay_by_sixteenths<double, uint64_t>(normal);
        sum += weights[j] * normal;
    }
    return sum;
}

} // namespace BTML_LEVEL

} // namespace btml::pairwise
