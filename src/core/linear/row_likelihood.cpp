#include "core/linear/row_likelihood.hpp"

#include "core/linear/lanes.hpp"
#include "core/linear/row_block.hpp"

#include <algorithm>
#include <cmath>

namespace btml::linear {

namespace {

// Takes Σ ss' of so many rows s of numbers from the lower triangle of a matrix.
void subtract_squares(const double* rows, size_t count, size_t size, double* matrix, RunContext& context) {
    const algebra::Blocks blocks(rows, count, size), sums(matrix, size, size);
    for (size_t i = 0; i < algebra::blocks_of(size); i++)
        for (size_t j = 0; j <= i; j++) {
            algebra::subtract_product_of_columns(blocks(0, i), blocks(0, j), sums(i, j));
            context.worked(1 + count * blocks(0, i).columns * blocks(0, j).columns / 64);
        }
}

} // namespace

TargetSums RowLikelihood::targets() const {
    TargetSums sums;
    double largest = 0;
    context().for_each(design_.rows(), 1, [&](uint64_t row) {
        const double y = design_.target(row);
        check_target(family(), y);
        largest = std::max(largest, std::fabs(y));
    });
    check_targets(largest);
    context().for_each(design_.training(), 2, [&](uint64_t row) {
        const double w = design_.weight(row), y = design_.target(row);
        sums.weight += w;
        sums.targets += w * y;
        sums.terms += log_likelihood_term(family(), y, w);
        sums.is_constant &= y == design_.target(0) && design_.offset(row) == design_.offset(0);
    });
    sums.rows = design_.training();
    if (design_.has_offset()) sums.start = start(sums.mean());
    return sums;
}

// The slope falls as the intercept grows: its sign says where the best one lies. Newton's steps are taken where they
// are short, since those from afar are none of a family with exp.
double RowLikelihood::start(double mean) const {
    static constexpr double converged = 1e-12, is_short = 0.5;
    static constexpr int passes = 50;
    const bool is_gaussian = family() == Family::gaussian;
    double min_start = -3 * max_score, max_start = 3 * max_score, at = score_of_mean(family(), mean);
    for (int pass = 0; pass < passes && std::isfinite(at); pass++) {
        double slope = 0, curvature = 0;
        context().for_each(design_.training(), 4, [&](uint64_t row) {
            const RowTerms terms = with_family(family(), [&](auto family) {
                return terms_of<decltype(family)::value>(design_.target(row), at + design_.offset(row));
            });
            slope += design_.weight(row) * terms.slope;
            curvature += design_.weight(row) * terms.curvature;
        });
        double step = slope / curvature;
        (slope > 0 ? min_start : max_start) = at;
        if (!is_gaussian && !(std::fabs(step) < is_short)) step = min_start + (max_start - min_start) / 2 - at;
        at += step;
        if (is_gaussian || std::fabs(step) <= converged * (1 + std::fabs(at))) break;
    }
    return at;
}

LikelihoodSums RowLikelihood::sums(std::span<const double> coefficients, Curvature curvature, uint64_t begin,
                                   uint64_t end, bool has_squared_slopes) const {
    const bool has_matrix = curvature != Curvature::none || has_squared_slopes;
    const size_t size = columns().size();
    const auto add = [&](uint64_t first, uint64_t last, LikelihoodSums& sums, RunContext& own) {
        for_each_block(design_, first, last, own, [&](RowBlock& rows, uint64_t) {
            with_family(family(), [&](auto family) {
                rows.template add_terms<decltype(family)::value>(coefficients, curvature, sums);
            });
            rows.add_slopes(sums.slopes.data());
            if (has_squared_slopes) rows.square_slopes();
            if (has_matrix) rows.add_matrix(sums.matrix.data(), size, own);
        });
    };
    return sums_in_lanes(begin, end, size, has_matrix, team(), context(), add);
}

LikelihoodSums RowLikelihood::at(std::span<const double> coefficients, Curvature curvature) const {
    return sums(coefficients, curvature, 0, design_.training());
}

double RowLikelihood::held_out(std::span<const double> coefficients) const {
    double weight = 0;
    const uint64_t first = design_.training();
    context().for_each(design_.rows() - first, 1, [&](uint64_t i) { weight += design_.weight(first + i); });
    return sums(coefficients, Curvature::none, first, design_.rows()).deviance / weight;
}

Buffer<double> RowLikelihood::squared_slopes(std::span<const double> coefficients, uint64_t& clusters) const {
    if (design_.dataset().divider) return clustered(coefficients, clusters);
    return std::move(sums(coefficients, Curvature::none, 0, design_.training(), true).matrix);
}

Buffer<double> RowLikelihood::clustered(std::span<const double> coefficients, uint64_t& clusters) const {
    const FeatureColumn& cluster = *design_.dataset().divider;
    const RowIds ids = design_.dataset().ids_of(cluster);
    const size_t size = columns().size(), codes = cluster.categories.size();
    Buffer<double> slopes(context().memory(), "groups of a linear model", codes * size, 0.0);
    Buffer<uint8_t> seen(context().memory(), "groups of a linear model", codes, 0);
    LikelihoodSums unused(context().memory());
    for_each_block(design_, 0, design_.training(), context(), [&](RowBlock& rows, uint64_t begin) {
        with_family(family(), [&](auto family) {
            rows.template add_terms<decltype(family)::value>(coefficients, Curvature::none, unused);
        });
        for (size_t i = 0; i < rows.count(); i++) {
            const uint32_t code = cluster.codes[ids[begin + i]];
            if (code == FeatureColumn::null_code)
                throw Error(ErrorCode::null_value, format("group_by \"%s\" is NULL in a row", cluster.name.c_str()));
            seen[code] = 1;
            rows.add_row(i, rows.slope(i), &slopes[code * size]);
        }
    });
    clusters = static_cast<uint64_t>(std::count(seen.begin(), seen.end(), 1));
    Buffer<double> matrix(context().memory(), "the matrix of a linear model", size * size, 0.0);
    for (size_t begin = 0; begin < codes; begin += block_rows) {
        const size_t count = std::min(block_rows, codes - begin);
        subtract_squares(&slopes[begin * size], count, size, matrix.data(), context());
    }
    for (double& number : matrix) number = -number;
    return matrix;
}

} // namespace btml::linear
