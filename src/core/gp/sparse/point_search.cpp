#include "core/gp/sparse/likelihood_search.hpp"

#include "core/algebra/dense.hpp"
#include "core/gp/sparse/collapsed.hpp"
#include "core/gp/sparse/inducing_rows.hpp"
#include "core/numbers/rng.hpp"

#include <cmath>

namespace btml::gp {

namespace {

using algebra::Blocks;
using algebra::blocks_of;

constexpr const char* what_bound = "derivatives of a bound";

// Writes the derivatives by the covariances k of the slab's rows, times √w: (R·k + b·(y − k'b))/σ², where R is
// reduction() and b solution(). reduction: −R/σ².
void find_derivatives(const CovarianceSlab& slab, const Buffer<double>& reduction, const std::vector<double>& solution,
                      double noise, double* to, ThreadTeam& team) {
    constexpr size_t stride = CovarianceSlab::max_rows;
    const size_t count = slab.inducing_points();
    std::vector<double> residuals(slab.size());
    for (size_t i = 0; i < slab.size(); i++) residuals[i] = slab.target(i) / noise;
    for (size_t u = 0; u < count; u++)
        for (size_t i = 0; i < slab.size(); i++) residuals[i] -= solution[u] / noise * slab.values()[u * stride + i];
    const Blocks left(reduction.data(), count, count), covariances(slab.values(), count, slab.size(), stride),
        derivatives(to, count, slab.size(), stride);
    const size_t rows = blocks_of(count), columns = blocks_of(slab.size());
    team.for_each(rows * columns, [&](size_t at, int) {
        const algebra::Block block = derivatives(at / columns, at % columns);
        const size_t first = at / columns * algebra::block_side, column = at % columns * algebra::block_side;
        for (size_t u = 0; u < block.rows; u++)
            for (size_t i = 0; i < block.columns; i++)
                block.data[u * stride + i] = solution[first + u] * residuals[column + i];
        for (size_t v = 0; v < rows; v++)
            algebra::subtract_product(left(at / columns, v), covariances(v, at % columns), block);
    });
}

// One number's step.
struct Adam {
    double first = 0, second = 0; // moments of its derivatives

    double step(double slope, int number) {
        constexpr double keep_first = 0.9, keep_second = 0.999, tiny = 1e-8;
        first = keep_first * first + (1 - keep_first) * slope;
        second = keep_second * second + (1 - keep_second) * slope * slope;
        const double mean = first / (1 - std::pow(keep_first, number)),
                     square = second / (1 - std::pow(keep_second, number));
        return mean / (std::sqrt(square) + tiny);
    }
};

} // namespace

BoundSlopes slopes_of_bound(const SmoothKernel& kernel, std::span<const double> inducing, const SmoothRows& rows,
                            double repeat, ThreadTeam& team, RunContext& context) {
    std::vector<double> weights(rows.size());
    for (size_t row = 0; row < rows.size(); row++) weights[row] = repeat * rows.weight(row);
    SmoothRows repeated = rows;
    repeated.weights = weights;
    const Collapsed collapsed(kernel, inducing, repeated, team, context);
    const size_t width = kernel.width(), count = inducing.size() / width;
    BoundSlopes slopes{std::vector<double>(width + 2),
                       Buffer<double>(context.memory(), what_bound, count * width, 0.0)};
    std::vector<double>& by_parameter = slopes.parameters;
    const std::span<double> by_point(slopes.points.data(), slopes.points.size());

    Collapsed::Slopes of_bound = collapsed.slopes();
    double diagonal = 0;
    for (size_t u = 0; u < count; u++) diagonal += of_bound.by_prior[u * count + u];
    add_slopes_of_matrix(kernel, inducing, of_bound.by_prior, by_parameter, by_point, team, context);
    for (double& slope : slopes.points) slope *= 2; // A point has covariances in a row and in a column.

    for (double& element : of_bound.reduction) element = -element / kernel.noise;
    const std::vector<double> solution = collapsed.solution();
    CovarianceSlab slab(kernel, inducing, repeated, team, context);
    Buffer<double> derivatives(context.memory(), what_bound, count * CovarianceSlab::max_rows);
    for (size_t begin = 0; begin < rows.size(); begin += CovarianceSlab::max_rows) {
        slab.load(begin);
        find_derivatives(slab, of_bound.reduction, solution, kernel.noise, derivatives.data(), team);
        slab.add_slopes(derivatives.data(), by_parameter, by_point);
    }

    double sum_of_weights = 0;
    for (const double weight : weights) sum_of_weights += weight;
    by_parameter[width] +=
        Collapsed::jitter * kernel.signal * diagonal - sum_of_weights * kernel.signal / kernel.noise / 2;
    by_parameter[width + 1] = of_bound.by_noise - (repeat - 1) * static_cast<double>(rows.size()) / 2;
    return slopes;
}

void move_points(SmoothKernel& kernel, Buffer<double>& inducing, const SmoothRows& rows, const GivenParameters& given,
                 const PointSearch& search, ThreadTeam& team, RunContext& context) {
    constexpr double first_step = 0.1;
    const size_t width = kernel.width(), count = inducing.size();
    const double n = static_cast<double>(rows.size());
    std::vector<double> parameters = parameters_of(kernel);
    std::vector<Adam> of_parameters(parameters.size());
    std::vector<Adam> of_points(count);
    for (int step = 1; step <= search.steps; step++) {
        const RowSubset some(rows, spread_rows(rows.size(), search.rows, random_bits(search.seed, 0, step)),
                             context.memory());
        const BoundSlopes slopes = slopes_of_bound(kernel, inducing.span(), some.rows(),
                                                   n / static_cast<double>(some.targets.size()), team, context);
        const double length = first_step * (1 + std::cos(M_PI * (step - 1) / search.steps)) / 2;
        for (size_t p = 0; p < parameters.size(); p++)
            parameters[p] += length * of_parameters[p].step(slopes.parameters[p] / n, step);
        if (given.signal) parameters[width] = std::log(*given.signal);
        if (given.noise) parameters[width + 1] = std::log(*given.noise);
        parameters = bounded_parameters(parameters, given);
        set_parameters(kernel, parameters);
        for (size_t i = 0; i < count; i++) inducing[i] += length * of_points[i].step(slopes.points[i] / n, step);
        context.share_progress("moving inducing points", static_cast<uint64_t>(step),
                               static_cast<uint64_t>(search.steps));
    }
}

} // namespace btml::gp
