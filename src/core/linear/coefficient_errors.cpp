#include "core/linear/coefficient_errors.hpp"

#include "core/algebra/cholesky.hpp"
#include "core/algebra/dense.hpp"

#include <cmath>

namespace btml::linear {

namespace {

constexpr const char* what_covariance = "the covariance of coefficients";

// Returns −ab of square matrices.
Buffer<double> negative_product(const Buffer<double>& a, const Buffer<double>& b, size_t size, ThreadTeam& team,
                                RunContext& context) {
    Buffer<double> product(context.memory(), what_covariance, size * size, 0.0);
    const algebra::Blocks left(a.data(), size, size), right(b.data(), size, size), to(product.data(), size, size);
    const size_t blocks = algebra::blocks_of(size);
    team.for_each(blocks * blocks, [&](size_t item, int) {
        const size_t i = item / blocks, j = item % blocks;
        for (size_t k = 0; k < blocks; k++) algebra::subtract_product(left(i, k), right(k, j), to(i, j));
    });
    return product;
}

Buffer<double> inverse_of(Buffer<double> matrix, size_t size, const Likelihood& likelihood) {
    Buffer<double> inverse(likelihood.context().memory(), what_covariance, size * size);
    algebra::Cholesky(std::move(matrix), size, likelihood.team()).invert(inverse.data(), likelihood.team());
    return inverse;
}

// Returns what makes up for small samples in robust errors.
double small_sample_factor(const Model& model) {
    const auto rows = static_cast<double>(model.rows), clusters = static_cast<double>(model.statistics.clusters);
    const double left = model.statistics.degrees_of_freedom;
    return clusters > 0 ? clusters / (clusters - 1) * (rows - 1) / left : rows / left;
}

// Returns the covariance of coefficients by their places.
Buffer<double> covariance_of(const Model& model, const Likelihood& likelihood, Buffer<double> matrix,
                             std::optional<Buffer<double>> squares) {
    const size_t size = likelihood.columns().size();
    Buffer<double> inverse = inverse_of(std::move(matrix), size, likelihood);
    if (!squares) {
        for (double& number : inverse) number *= *model.statistics.dispersion;
        return inverse;
    }
    const double factor = small_sample_factor(model);
    for (double& number : *squares) number *= factor;
    algebra::mirror_lower(squares->data(), size);
    const Buffer<double> half = negative_product(inverse, *squares, size, likelihood.team(), likelihood.context());
    return negative_product(half, inverse, size, likelihood.team(), likelihood.context());
}

// Returns how a sum of the coefficients times these factors varies with each of them.
std::vector<double> covariance_with(const Buffer<double>& covariance, std::span<const double> factors) {
    std::vector<double> with(factors.size());
    for (size_t i = 0; i < factors.size(); i++)
        for (size_t j = 0; j < factors.size(); j++) with[i] += covariance[i * factors.size() + j] * factors[j];
    return with;
}

double dot(std::span<const double> a, std::span<const double> b) {
    double sum = 0;
    for (size_t i = 0; i < a.size(); i++) sum += a[i] * b[i];
    return sum;
}

// Rounding may make a variance of nearly 0 negative.
double root(double variance) {
    return std::sqrt(std::max(0.0, variance));
}

// Stores it for predictions: categories are taken from their means as other columns are.
void store_covariance(Model& model, const Columns& columns, const Buffer<double>& covariance) {
    const size_t size = columns.size();
    std::vector<double> factors(size);
    factors[0] = 1;
    for (size_t place = columns.dense(); place < size; place++) factors[place] = columns.at(place).mean;
    const std::vector<double> with = covariance_with(covariance, factors);
    const std::vector<size_t> order = columns.in_order();
    for (size_t i = 0; i < size; i++)
        for (size_t j = 0; j <= i; j++)
            model.covariance.push_back(i == 0   ? dot(with, factors)
                                       : j == 0 ? with[order[i]]
                                                : covariance[order[i] * size + order[j]]);
}

} // namespace

void fill_errors(Model& model, const Likelihood& likelihood, Buffer<double> matrix,
                 std::optional<Buffer<double>> squares) {
    const Columns& columns = likelihood.columns();
    const size_t size = columns.size();
    const Buffer<double> covariance = covariance_of(model, likelihood, std::move(matrix), std::move(squares));
    std::vector<double> factors(size); // of the intercept
    factors[0] = 1;
    for (size_t place = 1; place < size; place++) {
        const Column& column = columns.at(place);
        model.columns[columns.number_at(place)].std_error = root(covariance[place * size + place]) / column.scale;
        if (place < columns.dense()) factors[place] = -column.mean / column.scale;
    }
    model.intercept_error = root(dot(covariance_with(covariance, factors), factors));
    if (size <= Model::max_covariance_columns) store_covariance(model, columns, covariance);
}

} // namespace btml::linear
