#include "linear_data.hpp"

#include "core/linear/coefficients.hpp"

#include <algorithm>

namespace btml::linear::test {
namespace {

using Number = long double;

// The design once more: standardised columns that a model kept, by training row, beside a column of ones.
struct PlainDesign {
    std::vector<std::vector<Number>> columns;
    std::vector<Number> weight, target, coefficients;
    std::vector<size_t> clusters;
    Number total = 0;

    PlainDesign(const PlainRows& rows, const Model& model) {
        std::vector<size_t> training;
        for (size_t i = 0; i < rows.size(); i++) {
            const double w = rows.weight.empty() ? 1 : rows.weight[i];
            if (w == 0 || (!rows.held_out.empty() && rows.held_out[i])) continue;
            training.push_back(i);
            weight.push_back(w);
            total += w;
            target.push_back(rows.target[i]);
            clusters.push_back(rows.clusters.empty() ? 0 : rows.clusters[i]);
        }
        columns.emplace_back(training.size(), 1);
        coefficients.push_back(model.centre);
        for (const Column& column : model.columns) {
            if (column.state != ColumnState::kept) continue;
            std::vector<Number> values;
            for (const size_t i : training) values.push_back(value_of(rows, column, i));
            const Number scale = standardise(values, column.kind == ColumnKind::number);
            EXPECT_NEAR(static_cast<double>(scale) / column.scale, 1, 1e-12);
            coefficients.push_back(column.estimate * scale);
            columns.push_back(std::move(values));
        }
    }

    static Number value_of(const PlainRows& rows, const Column& column, size_t row) {
        const double value = rows.value(column.feature, row);
        if (column.kind == ColumnKind::missing) return is_null(value);
        if (column.kind == ColumnKind::category) return value == column.category;
        return is_null(value) ? std::numeric_limits<Number>::quiet_NaN() : value;
    }
    // NULL becomes the mean. Zeros and ones are centred alone.
    Number standardise(std::vector<Number>& values, bool is_number) const {
        Number sum = 0, given = 0, squares = 0;
        for (size_t i = 0; i < values.size(); i++)
            if (!std::isnan(values[i])) {
                sum += weight[i] * values[i];
                given += weight[i];
            }
        for (size_t i = 0; i < values.size(); i++) {
            values[i] = std::isnan(values[i]) ? 0 : values[i] - sum / given;
            squares += weight[i] * values[i] * values[i];
        }
        const Number scale = is_number ? std::sqrt(squares / total) : 1;
        for (Number& value : values) value /= scale;
        return scale;
    }

    size_t rows() const { return weight.size(); }
    Number score(size_t row) const {
        Number sum = 0;
        for (size_t c = 0; c < columns.size(); c++) sum += columns[c][row] * coefficients[c];
        return sum;
    }
    Number slope(Family family, size_t row) const {
        const Number at = score(row), y = target[row];
        return weight[row] * (family == Family::gaussian   ? y - at
                              : family == Family::binomial ? y - 1 / (1 + std::exp(-at))
                              : family == Family::poisson  ? y - std::exp(at)
                                                           : y * std::exp(-at) - 1);
    }
    Number curvature(Family family, size_t row) const {
        const Number at = score(row), mean = family == Family::binomial ? 1 / (1 + std::exp(-at)) : std::exp(at);
        return weight[row] * (family == Family::binomial ? mean * (1 - mean) : family == Family::poisson ? mean : 1);
    }
};

using Matrix = std::vector<std::vector<Number>>;

Matrix products(const PlainDesign& design, const std::vector<Number>& weights) {
    const size_t size = design.columns.size();
    Matrix sums(size, std::vector<Number>(size));
    for (size_t a = 0; a < size; a++)
        for (size_t b = 0; b < size; b++)
            for (size_t i = 0; i < design.rows(); i++)
                sums[a][b] += weights[i] * design.columns[a][i] * design.columns[b][i];
    return sums;
}

Matrix inverse(Matrix matrix) {
    const size_t size = matrix.size();
    Matrix result(size, std::vector<Number>(size));
    for (size_t i = 0; i < size; i++) result[i][i] = 1;
    for (size_t k = 0; k < size; k++) {
        const Number pivot = matrix[k][k];
        for (size_t j = 0; j < size; j++) {
            matrix[k][j] /= pivot;
            result[k][j] /= pivot;
        }
        for (size_t i = 0; i < size; i++) {
            const Number factor = i == k ? 0 : matrix[i][k];
            for (size_t j = 0; j < size; j++) {
                matrix[i][j] -= factor * matrix[k][j];
                result[i][j] -= factor * result[k][j];
            }
        }
    }
    return result;
}

Matrix multiply(const Matrix& a, const Matrix& b) {
    Matrix product(a.size(), std::vector<Number>(b[0].size()));
    for (size_t i = 0; i < a.size(); i++)
        for (size_t k = 0; k < b.size(); k++)
            for (size_t j = 0; j < b[0].size(); j++) product[i][j] += a[i][k] * b[k][j];
    return product;
}

Matrix expected_covariance(const PlainDesign& design, const Model& model, const Options& options) {
    std::vector<Number> weights, slopes;
    Number pearson = 0;
    for (size_t i = 0; i < design.rows(); i++) {
        weights.push_back(design.curvature(options.family, i));
        slopes.push_back(design.slope(options.family, i));
        if (model.has_dispersion()) pearson += slopes[i] * slopes[i] / design.weight[i];
    }
    const Matrix bread = inverse(products(design, weights));
    const size_t size = bread.size();
    const auto n = static_cast<Number>(design.rows()), left = n - static_cast<Number>(size);
    if (options.std_error == StdError::model) {
        Matrix covariance = bread;
        for (auto& row : covariance)
            for (Number& number : row) number *= model.has_dispersion() ? pearson / left : 1;
        return covariance;
    }
    Matrix meat(size, std::vector<Number>(size));
    const size_t clusters = model.statistics.clusters > 0 ? 9 : design.rows();
    std::vector<std::vector<Number>> of_clusters(clusters, std::vector<Number>(size));
    for (size_t i = 0; i < design.rows(); i++)
        for (size_t c = 0; c < size; c++)
            of_clusters[clusters == 9 ? design.clusters[i] : i][c] += slopes[i] * design.columns[c][i];
    const Number factor = clusters == 9 ? Number{9} / 8 * (n - 1) / left : n / left;
    for (const auto& sums : of_clusters)
        for (size_t a = 0; a < size; a++)
            for (size_t b = 0; b < size; b++) meat[a][b] += factor * sums[a] * sums[b];
    return multiply(multiply(bread, meat), bread);
}

// Checks that no change of a coefficient makes the objective smaller (Karush, Kuhn, Tucker).
void check_optimal(const PlainDesign& design, const Options& options) {
    const Number magnitudes = options.penalty * options.l1_ratio, squares = options.penalty * (1 - options.l1_ratio);
    std::vector<Number> slopes;
    Number size = 0;
    for (size_t i = 0; i < design.rows(); i++) {
        slopes.push_back(design.slope(options.family, i));
        size += std::fabs(slopes[i]) / design.total;
    }
    for (size_t c = 0; c < design.columns.size(); c++) {
        Number slope = 0;
        for (size_t i = 0; i < design.rows(); i++) slope += slopes[i] * design.columns[c][i] / design.total;
        const Number at = design.coefficients[c];
        if (c > 0) slope -= squares * at;
        if (c > 0 && at == 0)
            EXPECT_LE(std::fabs(slope), magnitudes + 1e-11L * size);
        else
            EXPECT_NEAR(static_cast<double>(slope - (c > 0 ? std::copysign(magnitudes, at) : 0)), 0,
                        static_cast<double>(1e-11L * size))
                << c;
    }
}

TEST(LinearOptimality, NoChangeIsBetter) {
    QuietContext context(2);
    for (uint64_t seed = 1; seed <= 40; seed++)
        for (const Family family : all_families) {
            const PlainRows rows = random_rows(seed % 10 == 0 ? 3000 : 60 + seed * 7, seed, family);
            for (const double l1_ratio : {0.0, 0.5, 1.0}) {
                Options options = options_of(family);
                options.penalty = 0.2 * static_cast<double>(seed % 4);
                options.l1_ratio = options.penalty > 0 ? l1_ratio : 0;
                SCOPED_TRACE(format("seed %" PRIu64 ", %s, %g, %g", seed, name_of(family), options.penalty, l1_ratio));
                const Model model = fit_rows(rows, options, context).model;
                check_optimal(PlainDesign(rows, model), options);
                if (options.penalty == 0) break;
            }
        }
}

TEST(LinearOptimality, CovariancesAreThoseOfPlainAlgebra) {
    QuietContext context(2);
    for (uint64_t seed = 1; seed <= 24; seed++)
        for (const Family family : all_families) {
            PlainRows rows = random_rows(200 + seed, seed, family);
            Options options = options_of(family);
            options.std_error = seed % 3 == 0 ? StdError::model : StdError::robust;
            if (seed % 3 != 2) rows.clusters.clear();
            SCOPED_TRACE(format("seed %" PRIu64 ", %s", seed, name_of(family)));
            const Model model = fit_rows(rows, options, context).model;
            const PlainDesign design(rows, model);
            const Matrix covariance = expected_covariance(design, model, options);
            const double* stored = model.covariance.data();
            ASSERT_EQ(model.covariance.size(), covariance.size() * (covariance.size() + 1) / 2);
            for (size_t i = 0; i < covariance.size(); i++)
                for (size_t j = 0; j <= i; j++)
                    EXPECT_NEAR(*stored++, static_cast<double>(covariance[i][j]),
                                static_cast<double>(1e-9L * std::sqrt(covariance[i][i] * covariance[j][j])));
            size_t place = 0;
            for (const Column& column : model.columns) {
                if (column.state != ColumnState::kept) continue;
                place++;
                EXPECT_NEAR(column.std_error * column.scale, static_cast<double>(std::sqrt(covariance[place][place])),
                            1e-9 * column.std_error * column.scale);
            }
        }
}

// The error of the intercept, and of predictions, is that of a sum of coefficients.
TEST(LinearOptimality, ErrorsOfPredictions) {
    QuietContext context;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        const Family family = all_families[seed % 4];
        const PlainRows rows = random_rows(150, seed, family);
        const Model model = fit_rows(rows, options_of(family), context).model;
        const Matrix covariance = expected_covariance(PlainDesign(rows, model), model, options_of(family));
        Predictor predictor(model);
        const auto error_at = [&](const auto& value_of) {
            std::vector<Number> point{1};
            for (const Column& column : model.columns)
                if (column.state == ColumnState::kept) point.push_back((value_of(column) - column.mean) / column.scale);
            Number variance = 0;
            for (size_t i = 0; i < point.size(); i++)
                for (size_t j = 0; j < point.size(); j++) variance += point[i] * covariance[i][j] * point[j];
            return static_cast<double>(std::sqrt(variance));
        };
        EXPECT_NEAR(model.intercept_error / error_at([](const Column&) { return Number{0}; }), 1, 1e-8);
        for (size_t i = 0; i < rows.size(); i++) {
            const double expected = error_at([&](const Column& column) {
                const Number value = PlainDesign::value_of(rows, column, i);
                return std::isnan(value) ? column.mean : value;
            });
            EXPECT_NEAR(predictor.standard_error(rows.features_of(i)) / expected, 1, 1e-8);
        }
    }
}

} // namespace
} // namespace btml::linear::test
