#include "core/gp/additive/member_tree.hpp"
#include "core/numbers/rng.hpp"

#include <cmath>

namespace btml::gp {

namespace BTML_LEVEL {

namespace {

using Vector = Columns::Vector;
using Doubles = ColumnsOf<double, Columns::count>::Vector;

// Returns the variance of the edge above a node of this level.
template <class Real = float>
inline Real edge(const Covariances& c, size_t level, size_t above) {
    return static_cast<Real>(c[level] - c[above]);
}

// Visits children first: leaf(node, first row, last row) and inner(node, left, right).
template <class Leaf, class Inner>
[[gnu::always_inline]] inline void upwards(const MemberTree& tree, Leaf&& leaf, Inner&& inner) {
    const uint32_t* end = tree.sorted_rows() + tree.rows();
    for (size_t node = tree.nodes(); node-- > 0;) {
        if (tree.is_leaf(node)) {
            const uint32_t* begin = end - tree.rows_of(node);
            leaf(node, begin, end);
            end = begin;
        } else {
            inner(node, node + 1, tree.right(node));
        }
    }
}

// Visits parents first: leaf(node, first row, last row), and child(node, level above, value above) for what `values`
// has there.
template <class C, class Leaf, class Child>
[[gnu::always_inline]] inline void downwards(const MemberTree& tree, const C* values, Leaf&& leaf, Child&& child) {
    const uint32_t* begin = tree.sorted_rows();
    for (size_t node = 0; node < tree.nodes(); node++) {
        if (tree.is_leaf(node)) {
            const uint32_t* end = begin + tree.rows_of(node);
            leaf(node, begin, end);
            begin = end;
        } else {
            const size_t level = tree.level(node);
            const typename C::Vector value = values[node].values;
            child(node + 1, level, value);
            child(tree.right(node), level, value);
        }
    }
}

// Adds the rows of a leaf up in the type Sum.
template <class Sum, class C>
[[gnu::always_inline]] inline void sum_up(const MemberTree& tree, const C* x, C* sums) {
    upwards(
        tree,
        [&](size_t node, const uint32_t* begin, const uint32_t* end) __attribute__((always_inline)) {
            Sum sum = __builtin_convertvector(x[*begin].values, Sum);
            for (const uint32_t* row = begin + 1; row < end; row++) sum += __builtin_convertvector(x[*row].values, Sum);
            sums[node].values = __builtin_convertvector(sum, typename C::Vector);
        },
        [&](size_t node, size_t left, size_t right)
            __attribute__((always_inline)) { sums[node].values = sums[left].values + sums[right].values; });
}

// `add` to the entries of all rows of a leaf.
template <class C>
[[gnu::always_inline]] inline void scatter(const C& add, const uint32_t* begin, const uint32_t* end, C* y) {
    for (const uint32_t* row = begin; row < end; row++) y[*row].values += add.values;
}

template <class Real, class C>
[[gnu::always_inline]] inline void multiply(const MemberTree& tree, const Covariances& c, const C* x, C* sums, C* y) {
    sum_up<typename C::Vector>(tree, x, sums);
    sums[0].values *= edge<Real>(c, tree.level(0), 0);
    downwards(
        tree, sums,
        [&](size_t node, const uint32_t* begin, const uint32_t* end)
            __attribute__((always_inline)) { scatter(sums[node], begin, end, y); },
        [&](size_t node, size_t above, const typename C::Vector& value) __attribute__((always_inline)) {
            sums[node].values = value + sums[node].values * edge<Real>(c, tree.level(node), above);
        });
}

// Sixteen signs of 1, in the sign bits; four nodes share one random word.
[[gnu::always_inline]] inline void draw(const Signs& signs, size_t node, Vector& result) {
    typedef uint32_t Bits __attribute__((vector_size(sizeof(Vector)), aligned(4)));
    const uint64_t word = random_bits(signs.seed, signs.stream, node / 4) >> (node % 4 * Columns::count);
    Bits bits = {31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16};
    bits = (static_cast<uint32_t>(word & 0xffff) << bits & 0x80000000U) | 0x3f800000U;
    __builtin_memcpy(&result, &bits, sizeof(Vector));
}

} // namespace

void add_product(const MemberTree& tree, const Covariances& c, const Columns* x, Columns* sums, Columns* y) {
    multiply<float>(tree, c, x, sums, y);
}

void add_product(const MemberTree& tree, const Covariances& c, const DoubleColumns* x, DoubleColumns* sums,
                 DoubleColumns* y) {
    multiply<double>(tree, c, x, sums, y);
}

void solve_factors(const MemberTree& tree, const Covariances& c, double scale, const float* precision, float* factors) {
    // What the rows below know of the node first, then its factor once its parent has made use of it.
    std::vector<double> open; // of subtrees to the right
    const auto cross = [&](size_t node, size_t above) {
        const double known = open.back(), inverse = 1 / (1 + scale * (c[tree.level(node)] - c[above]) * known);
        factors[node] = inverse;
        open.pop_back();
        return known * inverse;
    };
    upwards(
        tree,
        [&](size_t, const uint32_t* begin, const uint32_t* end) {
            double sum = 0;
            for (const uint32_t* row = begin; row < end; row++) sum += precision[*row];
            open.push_back(sum);
        },
        [&](size_t node, size_t left, size_t right) {
            const double of_left = cross(left, tree.level(node)), of_right = cross(right, tree.level(node));
            open.push_back(of_left + of_right);
        });
    cross(0, 0);
}

void add_solution(const MemberTree& tree, const Covariances& c, double scale, const float* precision,
                  const float* factors, float share, const Columns* x, Columns* sums, Columns* y) {
    upwards(
        tree,
        [&](size_t node, const uint32_t* begin, const uint32_t* end) __attribute__((always_inline)) {
            Vector sum = x[*begin].values * precision[*begin];
            for (const uint32_t* row = begin + 1; row < end; row++) sum += x[*row].values * precision[*row];
            sums[node].values = sum;
        },
        [&](size_t node, size_t left, size_t right) __attribute__((always_inline)) {
            sums[node].values = sums[left].values * factors[left] + sums[right].values * factors[right];
        });
    sums[0].values *= static_cast<float>(scale * (c[tree.level(0)] - c[0])) * factors[0];
    const float s = scale;
    downwards(
        tree, sums,
        [&](size_t node, const uint32_t* begin, const uint32_t* end) __attribute__((always_inline)) {
            const Vector mean = sums[node].values;
            for (const uint32_t* row = begin; row < end; row++)
                y[*row].values += (x[*row].values - mean) * (share * precision[*row]);
        },
        [&](size_t node, size_t above, const Vector& mean) __attribute__((always_inline)) {
            sums[node].values = (mean + sums[node].values * (s * edge(c, tree.level(node), above))) * factors[node];
        });
}

LevelSquares level_squares(const MemberTree& tree, const Columns* x, Columns* sums) {
    sum_up<Vector>(tree, x, sums);
    std::vector<double> first(tree.levels() + 1, 0.0), others(first);
    const auto add = [&](size_t node, size_t above, const Vector&) {
        const Columns& sum = sums[node];
        const double of_first = static_cast<double>(sum[0]) * sum[0];
        double of_others = 0;
        for (size_t column = 1; column < Columns::count; column++)
            of_others += static_cast<double>(sum[column]) * sum[column];
        first[tree.level(node)] += of_first;
        others[tree.level(node)] += of_others;
        first[above] -= of_first;
        others[above] -= of_others;
    };
    add(0, 0, Vector{});
    downwards(
        tree, sums, [](size_t, const uint32_t*, const uint32_t*) {}, add);
    // An edge from level p to level l counts at p + 1 … l.
    for (size_t level = tree.levels(); level > 1; level--) {
        first[level - 1] += first[level];
        others[level - 1] += others[level];
    }
    return {std::move(first), std::move(others)};
}

void add_samples(const MemberTree& tree, const Covariances& c, const Signs& signs, Columns* values, Columns* y) {
    const auto add = [&](size_t node, size_t above, const Vector& value) __attribute__((always_inline)) {
        Vector sign;
        draw(signs, node, sign);
        values[node].values = value + sign * std::sqrt(edge(c, tree.level(node), above));
    };
    add(0, 0, Vector{});
    downwards(
        tree, values,
        [&](size_t node, const uint32_t* begin, const uint32_t* end)
            __attribute__((always_inline)) { scatter(values[node], begin, end, y); },
        add);
}

void node_values(const MemberTree& tree, const Covariances& c, const Signs& signs, size_t samples, const Columns* x,
                 Columns* values) {
    // Rows come in the order of their targets, so that sums over a leaf grow far before they cancel: in single
    // precision they lose what the mean is made of.
    sum_up<Doubles>(tree, x, values);
    Vector of_product = {}, of_sample = {};
    for (size_t column = 0; column < Columns::count; column++) {
        of_product[column] = column < samples ? 1 : -1;
        of_sample[column] = column < samples ? 0 : 1;
    }
    const auto add = [&](size_t node, size_t above, const Vector& value) __attribute__((always_inline)) {
        const float variance = edge(c, tree.level(node), above);
        Vector sign;
        draw(signs, node, sign);
        values[node].values =
            value + values[node].values * of_product * variance + sign * of_sample * std::sqrt(variance);
    };
    add(0, 0, Vector{});
    downwards(
        tree, values, [](size_t, const uint32_t*, const uint32_t*) {}, add);
}

} // namespace BTML_LEVEL

} // namespace btml::gp
