#include "core/pairwise/weights.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace btml::pairwise {

namespace BTML_LEVEL {

namespace {

// Groups of lanes that are worked on side by side, so that one need not wait for another's exp().
constexpr size_t groups = 4;
static_assert(groups * lanes == PointColumns::group);

struct Group {
    Lanes lane[groups];

    [[gnu::always_inline]] void load(const double* from) { std::memcpy(lane, from, sizeof(lane)); }
    [[gnu::always_inline]] void set(size_t place, double value) {
        for (size_t g = 0; g < groups; g++)
            if (place / lanes == g) lane[g][place % lanes] = value;
    }
};

[[gnu::always_inline]] inline void add(Squares, Lanes& sum, const Lanes& difference) {
    sum += difference * difference;
}
[[gnu::always_inline]] inline void add(Absolutes, Lanes& sum, const Lanes& difference) {
    sum += (Lanes)((LaneBits)difference & ~(uint64_t{1} << 63));
}

// Sums over the coordinates for row i and the rows of the group at j.
template <class Metric>
[[gnu::always_inline]] inline void find_sums(const PointColumns& points, size_t i, size_t j, Group& result) {
    for (Lanes& lane : result.lane) lane = Lanes{};
    for (size_t k = 0; k < points.dimensions; k++) {
        const double* const column = points.column(k);
        Group other;
        other.load(column + j);
#pragma GCC unroll 4
        for (size_t g = 0; g < groups; g++) add(Metric(), result.lane[g], other.lane[g] - column[i]);
    }
}

// Finds the weights of row i with those; that of row i itself is 0.
template <class Shape>
[[gnu::always_inline]] inline void find_weights(const PointColumns& points, size_t i, size_t j, double coefficient,
                                                double origin, Group& result) {
    find_sums<typename Shape::Metric>(points, i, j, result);
#pragma GCC unroll 4
    for (size_t g = 0; g < groups; g++) weigh<Shape, Lanes, LaneBits>(result.lane[g], coefficient, origin);
    if (i - j < PointColumns::group) result.set(i - j, 0);
}

// What is constant in these loops is given by value, so that it stays in registers.
template <class Shape, bool with_targets>
void add_some(PointColumns points, size_t i, size_t begin, size_t end, double coefficient, double origin,
              LaneTotals& totals) {
    LaneTotals sums = totals;
    for (size_t j = begin; j < end; j += PointColumns::group) {
        Group weight, target;
        find_weights<Shape>(points, i, j, coefficient, origin, weight);
        if constexpr (with_targets) target.load(points.targets() + j);
#pragma GCC unroll 4
        for (size_t g = 0; g < groups; g++) {
            sums.first += weight.lane[g];
            if constexpr (with_targets) sums.second += weight.lane[g] * target.lane[g];
        }
    }
    totals = sums;
}

template <class Shape>
void add_some(PointColumns points, size_t i, size_t begin, size_t end, double coefficient,
              const Convolution& convolution, LaneTotals& totals) {
    LaneTotals sums = totals;
    for (size_t j = begin; j < end; j += PointColumns::group) {
        Group wide, ratio;
        find_sums<Squares>(points, i, j, wide);
#pragma GCC unroll 4
        for (size_t g = 0; g < groups; g++)
            convolve<Shape, Lanes, LaneBits>(wide.lane[g], ratio.lane[g], coefficient, convolution);
        if (i - j < PointColumns::group) wide.set(i - j, 0);
#pragma GCC unroll 4
        for (size_t g = 0; g < groups; g++) {
            sums.first += wide.lane[g];
            sums.second += wide.lane[g] * (Shape::is_rooted ? ratio.lane[g] : wide.lane[g]); // see convolve()
        }
    }
    totals = sums;
}

} // namespace

void add_weights(const PointColumns& points, size_t i, size_t begin, size_t end, const WeightsOf& of,
                 LaneTotals& totals) {
    with_shape(of.kernel, [&]<class Shape>(std::type_identity<Shape>) {
        const auto add = points.has_targets ? &add_some<Shape, true> : &add_some<Shape, false>;
        add(points, i, begin, end, of.coefficient, of.origin, totals);
    });
}

void add_densities(const PointColumns& points, size_t i, size_t begin, size_t end, const WeightsOf& of,
                   const Convolution& convolution, LaneTotals& totals) {
    with_shape(of.kernel, [&]<class Shape>(std::type_identity<Shape>) {
        if constexpr (Shape::order > 0) add_some<Shape>(points, i, begin, end, of.coefficient, convolution, totals);
    });
}

void store_weights(const PointColumns& points, size_t i, const WeightsOf& of, double* to, LaneTotals& totals) {
    with_shape(of.kernel, [&]<class Shape>(std::type_identity<Shape>) {
        for (size_t j = 0; j < points.padded; j += PointColumns::group) {
            Group weight;
            find_weights<Shape>(points, i, j, of.coefficient, of.origin, weight);
            std::memcpy(to + j, weight.lane, sizeof(weight.lane));
            for (const Lanes& lane : weight.lane) totals.first += lane;
        }
    });
}

double nearest_sum(const PointColumns& points, size_t i, Kernel kernel) {
    return with_shape(kernel, [&]<class Shape>(std::type_identity<Shape>) {
        Lanes least = Lanes{} + std::numeric_limits<double>::infinity();
        for (size_t j = 0; j < points.padded; j += PointColumns::group) {
            Group sums;
            find_sums<typename Shape::Metric>(points, i, j, sums);
            if (i - j < PointColumns::group) sums.set(i - j, std::numeric_limits<double>::infinity());
            for (const Lanes& lane : sums.lane) least = lane < least ? lane : least;
        }
        double result = least[0];
        for (size_t lane = 1; lane < lanes; lane++) result = std::min(result, least[lane]);
        return result;
    });
}

} // namespace BTML_LEVEL

} // namespace btml::pairwise
