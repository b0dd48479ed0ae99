#include "core/pairwise/pair_strips.hpp"

#include "core/pairwise/pair_vectors.hpp"

#include <limits>

namespace btml::pairwise {

namespace BTML_LEVEL {

namespace {

struct RowTotals {
    Doubles first[parts] = {}, second[parts] = {};
};

double sum_of(const Doubles* lanes_of_row) {
    double sums[lanes], sum = 0;
    std::memcpy(sums, lanes_of_row, sizeof(sums));
    for (const double x : sums) sum += x;
    return sum;
}

// What of a pair is in the second sum.
enum class Second { nothing, target, own };

// Adds the pairs of all rows with those of the others that lie in one part of the lanes, from j on. find(first, second)
// turns sums over the coordinates into what is added; the second is there for Second::own alone.
template <Second kind, class Find>
[[gnu::always_inline]] inline void add_part(const Strip& strip, const double* sums, size_t j, size_t part,
                                            const StripTotals& of_others, RowTotals* totals, const Find& find) {
    const double* const targets = kind == Second::target ? strip.points.targets() : nullptr;
    Doubles first[vectors], second[vectors], target[vectors];
#pragma GCC unroll 4
    for (size_t v = 0; v < vectors; v++) {
        first[v] = load(of_others.first + j + v * lanes);
        if constexpr (kind != Second::nothing) second[v] = load(of_others.second + j + v * lanes);
        if constexpr (kind == Second::target) target[v] = load(targets + strip.other + j + v * lanes);
    }
    for (size_t i = 0; i < strip.rows; i++) {
        Doubles value[vectors] = {}, product[vectors] = {};
#pragma GCC unroll 4
        for (size_t v = 0; v < vectors; v++) {
            value[v] = load(sums + i * strip.others + j + v * lanes);
            find(value[v], product[v]);
            first[v] += value[v];
            if constexpr (kind == Second::target) {
                second[v] += value[v] * targets[strip.row + i];
                product[v] = value[v] * target[v];
            } else if constexpr (kind == Second::own) {
                second[v] += product[v];
            }
        }
        totals[i].first[part] += (value[0] + value[1]) + (value[2] + value[3]);
        if constexpr (kind != Second::nothing)
            totals[i].second[part] += (product[0] + product[1]) + (product[2] + product[3]);
    }
#pragma GCC unroll 4
    for (size_t v = 0; v < vectors; v++) {
        store(first[v], of_others.first + j + v * lanes);
        if constexpr (kind != Second::nothing) store(second[v], of_others.second + j + v * lanes);
    }
}

template <Second kind, class Find>
[[gnu::always_inline]] inline void add_up(const Strip& strip, const double* sums, const StripTotals& of_rows,
                                          const StripTotals& of_others, const Find& find) {
    RowTotals totals[strip_rows];
    for (size_t j = 0; j < strip.others; j += PointColumns::group)
        for (size_t part = 0; part < parts; part++)
            add_part<kind>(strip, sums, j + part * width, part, of_others, totals, find);
    for (size_t i = 0; i < strip.rows; i++) {
        of_rows.first[i] += sum_of(totals[i].first);
        if constexpr (kind != Second::nothing) of_rows.second[i] += sum_of(totals[i].second);
    }
}

template <class Shape, Second kind>
void add_shape(const Strip& strip, const double* sums, double coefficient, const StripTotals& of_rows,
               const StripTotals& of_others) {
    add_up<kind>(strip, sums, of_rows, of_others,
                 [coefficient](Doubles& x, Doubles&) { weigh<Shape, Doubles, Bits>(x, coefficient, 0); });
}

} // namespace

void find_strip(const Strip& strip, Kernel kernel, double* sums) {
    with_shape(kernel, [&]<class Shape>(std::type_identity<Shape>) {
        for (size_t i = 0; i < strip.rows; i++) {
            double* const of_row = sums + i * strip.others;
            for (size_t j = 0; j < strip.others; j += vectors * width) {
                Doubles found[vectors];
                find_sums<typename Shape::Metric>(strip.points, strip.row + i, strip.other + j, found);
#pragma GCC unroll 4
                for (size_t v = 0; v < vectors; v++) store(found[v], of_row + j + v * width);
            }
            const size_t itself = strip.row + i - strip.other;
            if (itself < strip.others) of_row[itself] = std::numeric_limits<double>::infinity();
        }
    });
}

void add_strip(const Strip& strip, const double* sums, Kernel kernel, double coefficient, const StripTotals& of_rows,
               const StripTotals& of_others) {
    with_shape(kernel, [&]<class Shape>(std::type_identity<Shape>) {
        const auto add =
            strip.points.has_targets ? &add_shape<Shape, Second::target> : &add_shape<Shape, Second::nothing>;
        add(strip, sums, coefficient, of_rows, of_others);
    });
}

void add_strip_densities(const Strip& strip, const double* sums, Kernel kernel, double coefficient,
                         const Convolution& convolution, const StripTotals& of_rows, const StripTotals& of_others) {
    with_shape(kernel, [&]<class Shape>(std::type_identity<Shape>) {
        if constexpr (Shape::order > 0)
            add_up<Second::own>(strip, sums, of_rows, of_others, [&](Doubles& wide, Doubles& narrow) {
                Doubles ratio;
                convolve<Shape, Doubles, Bits>(wide, ratio, coefficient, convolution);
                narrow = wide * (Shape::is_rooted ? ratio : wide); // see convolve()
            });
    });
}

} // namespace BTML_LEVEL

} // namespace btml::pairwise
