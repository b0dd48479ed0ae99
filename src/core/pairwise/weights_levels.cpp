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

// Squared distances of row i to the rows of the group at j.
[[gnu::always_inline]] inline void distances(const PointColumns& points, size_t i, size_t j, Group& result) {
    for (Lanes& lane : result.lane) lane = Lanes{};
    for (size_t k = 0; k < points.dimensions; k++) {
        const double* const column = points.column(k);
        Group other;
        other.load(column + j);
#pragma GCC unroll 4
        for (size_t g = 0; g < groups; g++) {
            const Lanes difference = other.lane[g] - column[i];
            result.lane[g] += difference * difference;
        }
    }
}

// exp(−c·(distance − origin)), 0 for row i itself.
[[gnu::always_inline]] inline void weights(const PointColumns& points, size_t i, size_t j, double coefficient,
                                           double origin, Group& result) {
    distances(points, i, j, result);
#pragma GCC unroll 4
    for (size_t g = 0; g < groups; g++) {
        result.lane[g] = (origin - result.lane[g]) * coefficient;
        exponential<Lanes, LaneBits>(result.lane[g]);
    }
    if (i - j < PointColumns::group) result.set(i - j, 0);
}

} // namespace

// Σ weight and Σ weight·target over a block.
void add_regression(const PointColumns& points, size_t i, size_t begin, size_t end, double coefficient, double origin,
                    LaneTotals& totals) {
    LaneTotals sums = totals;
    for (size_t j = begin; j < end; j += PointColumns::group) {
        Group weight, target;
        weights(points, i, j, coefficient, origin, weight);
        target.load(points.targets() + j);
#pragma GCC unroll 4
        for (size_t g = 0; g < groups; g++) {
            sums.first += weight.lane[g];
            sums.second += weight.lane[g] * target.lane[g];
        }
    }
    totals = sums;
}

// Σ weight and Σ weight².
void add_density(const PointColumns& points, size_t i, size_t begin, size_t end, double coefficient, double origin,
                 LaneTotals& totals) {
    LaneTotals sums = totals;
    for (size_t j = begin; j < end; j += PointColumns::group) {
        Group weight;
        weights(points, i, j, coefficient, origin, weight);
#pragma GCC unroll 4
        for (size_t g = 0; g < groups; g++) {
            sums.first += weight.lane[g];
            sums.second += weight.lane[g] * weight.lane[g];
        }
    }
    totals = sums;
}

// The weights themselves; their sum in `totals`.
void store_weights(const PointColumns& points, size_t i, double coefficient, double origin, double* to,
                   LaneTotals& totals) {
    for (size_t j = 0; j < points.padded; j += PointColumns::group) {
        Group weight;
        weights(points, i, j, coefficient, origin, weight);
        std::memcpy(to + j, weight.lane, sizeof(weight.lane));
        for (const Lanes& lane : weight.lane) totals.first += lane;
    }
}

double nearest_distance(const PointColumns& points, size_t i) {
    Lanes least = Lanes{} + std::numeric_limits<double>::infinity();
    for (size_t j = 0; j < points.padded; j += PointColumns::group) {
        Group distance;
        distances(points, i, j, distance);
        if (i - j < PointColumns::group) distance.set(i - j, std::numeric_limits<double>::infinity());
        for (const Lanes& lane : distance.lane) least = lane < least ? lane : least;
    }
    double result = least[0];
    for (size_t lane = 1; lane < lanes; lane++) result = std::min(result, least[lane]);
    return result;
}

} // namespace BTML_LEVEL

} // namespace btml::pairwise
