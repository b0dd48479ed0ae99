#include "core/pairwise/weights.hpp"

#include "core/pairwise/pair_vectors.hpp"

#include <algorithm>
#include <limits>

namespace btml::pairwise {

namespace BTML_LEVEL {

namespace {

constexpr size_t at_once = vectors * width;

void put(Doubles* to, size_t place, double value) {
    to[place / width][place % width] = value;
}

// Finds the weights of point i with those from j on; that of point i itself is 0.
template <class Shape>
[[gnu::always_inline]] inline void find_weights(const PointColumns& points, size_t i, size_t j, double coefficient,
                                                double origin, Doubles* weights) {
    find_sums<typename Shape::Metric>(points, i, j, weights);
#pragma GCC unroll 4
    for (size_t v = 0; v < vectors; v++) weigh<Shape, Doubles, Bits>(weights[v], coefficient, origin);
    if (i - j < at_once) [[unlikely]]
        put(weights, i - j, 0);
}

// What is constant in these loops is given by value, so that it stays in registers.
template <class Shape, bool with_targets>
void add_some(PointColumns points, size_t i, size_t begin, size_t end, double coefficient, double origin,
              LaneTotals& totals) {
    Doubles first[parts], second[parts];
    std::memcpy(first, &totals.first, sizeof(first));
    std::memcpy(second, &totals.second, sizeof(second));
    for (size_t j = begin; j < end; j += at_once) {
        Doubles weight[vectors];
        find_weights<Shape>(points, i, j, coefficient, origin, weight);
#pragma GCC unroll 4
        for (size_t v = 0; v < vectors; v++) {
            first[v % parts] += weight[v];
            if constexpr (with_targets) second[v % parts] += weight[v] * load(points.targets() + j + v * width);
        }
    }
    std::memcpy(&totals.first, first, sizeof(first));
    std::memcpy(&totals.second, second, sizeof(second));
}

} // namespace

void add_weights(const PointColumns& points, size_t i, size_t begin, size_t end, const WeightsOf& of,
                 LaneTotals& totals) {
    with_shape(of.kernel, [&]<class Shape>(std::type_identity<Shape>) {
        const auto add = points.has_targets ? &add_some<Shape, true> : &add_some<Shape, false>;
        add(points, i, begin, end, of.coefficient, of.origin, totals);
    });
}

void store_weights(const PointColumns& points, size_t i, const WeightsOf& of, double* to, LaneTotals& totals) {
    with_shape(of.kernel, [&]<class Shape>(std::type_identity<Shape>) {
        Doubles sums[parts];
        std::memcpy(sums, &totals.first, sizeof(sums));
        for (size_t j = 0; j < points.padded; j += at_once) {
            Doubles weight[vectors];
            find_weights<Shape>(points, i, j, of.coefficient, of.origin, weight);
#pragma GCC unroll 4
            for (size_t v = 0; v < vectors; v++) {
                store(weight[v], to + j + v * width);
                sums[v % parts] += weight[v];
            }
        }
        std::memcpy(&totals.first, sums, sizeof(sums));
    });
}

double nearest_sum(const PointColumns& points, size_t i, Kernel kernel) {
    return with_shape(kernel, [&]<class Shape>(std::type_identity<Shape>) {
        constexpr double infinity = std::numeric_limits<double>::infinity();
        Doubles least[vectors];
        for (Doubles& x : least) x = Doubles{} + infinity;
        for (size_t j = 0; j < points.padded; j += at_once) {
            Doubles sums[vectors];
            find_sums<typename Shape::Metric>(points, i, j, sums);
            if (i - j < at_once) [[unlikely]]
                put(sums, i - j, infinity);
#pragma GCC unroll 4
            for (size_t v = 0; v < vectors; v++) least[v] = sums[v] < least[v] ? sums[v] : least[v];
        }
        double result = infinity;
        for (const Doubles& x : least)
            for (size_t lane = 0; lane < width; lane++) result = std::min(result, x[lane]);
        return result;
    });
}

} // namespace BTML_LEVEL

} // namespace btml::pairwise
