#include "core/metrics/metric_sums.hpp"
#include "core/metrics/terms.hpp"

#include "caught.hpp"

#include "core/numbers/rng.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numbers>
#include <numeric>

namespace btml::metrics {
namespace {

using test::Caught;
using test::caught;
using Row = std::vector<double>;
using Wide = long double;

constexpr double infinity = std::numeric_limits<double>::infinity();

double uniform(uint64_t seed, uint64_t stream, uint64_t i) {
    return static_cast<double>(random_bits(seed, stream, i) >> 11) * 0x1p-53;
}

// A metric written down a second time: rows that it takes, the term of a row, what the mean of the terms makes.
struct Reference {
    const Metric& metric;
    std::function<double(size_t argument, double u)> argument; // made of a number from 0 to 1
    std::function<Wide(const Row&)> term;
    std::function<Wide(Wide)> finish = [](Wide mean) { return mean; };
};

Wide normal_density(Wide z) {
    return std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi_v<Wide>);
}

double of_numbers(size_t, double u) {
    return 10 * u - 4;
}
double of_probabilities(size_t, double u) {
    return u;
}
double of_distributions(size_t i, double u) {
    return i < 2 ? 10 * u - 4 : 0.2 + 3 * u;
}

const std::vector<Reference>& references() {
    static const std::vector<Reference> all = {
        {rmse, of_numbers, [](const Row& r) { return Wide{(r[0] - r[1])} * (r[0] - r[1]); },
         [](Wide mean) { return std::sqrt(mean); }},
        {mae, of_numbers, [](const Row& r) { return std::abs(Wide{r[0]} - r[1]); }},
        {poisson_deviance, [](size_t i, double u) { return i == 0 ? std::floor(5 * u) : 0.1 + 4 * u; },
         [](const Row& r) { return 2 * ((r[0] == 0 ? 0 : r[0] * std::log(Wide{r[0]} / r[1])) - r[0] + r[1]); }},
        {pinball, [](size_t i, double u) { return i == 2 ? 0.3 : of_numbers(i, u); },
         [](const Row& r) { return std::max(Wide{0.3} * (r[0] - r[1]), Wide{0.3 - 1} * (r[0] - r[1])); }},
        {log_loss, of_probabilities,
         [](const Row& r) { return -r[0] * std::log(Wide{r[1]}) - (1 - Wide{r[0]}) * std::log(1 - Wide{r[1]}); }},
        {brier, of_probabilities, [](const Row& r) { return (Wide{r[0]} - r[1]) * (Wide{r[0]} - r[1]); }},
        {accuracy, [](size_t, double u) { return u < 0.7; }, [](const Row& r) { return r[0]; }},
        {coverage, [](size_t i, double u) { return of_numbers(i, u) + (i == 2 ? 3 : 0); },
         [](const Row& r) { return r[1] <= r[0] && r[0] <= r[2]; }},
        {nll_normal, of_distributions,
         [](const Row& r) { return -std::log(normal_density((Wide{r[0]} - r[1]) / r[2]) / r[2]); }},
        {crps_normal, of_distributions,
         [](const Row& r) {
             const Wide z = (Wide{r[0]} - r[1]) / r[2];
             const Wide below = std::erfc(-z / std::numbers::sqrt2_v<Wide>) / 2;
             return r[2] * (z * (2 * below - 1) + 2 * normal_density(z) - 1 / std::sqrt(std::numbers::pi_v<Wide>));
         }},
        {nll_student_t, of_distributions,
         [](const Row& r) {
             const Wide z = (Wide{r[0]} - r[1]) / r[2], df = r[3];
             return -std::lgamma((df + 1) / 2) + std::lgamma(df / 2) + std::log(df * std::numbers::pi_v<Wide>) / 2 +
                    std::log(Wide{r[2]}) + (df + 1) / 2 * std::log1p(z * z / df);
         }},
    };
    return all;
}

std::vector<Row> random_rows(const Reference& reference, uint64_t seed, size_t count) {
    std::vector<Row> rows(count, Row(static_cast<size_t>(reference.metric.arguments)));
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < rows[i].size(); j++) rows[i][j] = reference.argument(j, uniform(seed, j, i));
    return rows;
}

// Weights of which some are 0.
double weight_of(uint64_t seed, size_t i) {
    return i % 5 == 1 ? 0 : 3 * uniform(seed, 99, i);
}

class Filled {
  public:
    Filled() : sums(quiet.memory()) {}
    void add(const Metric& metric, const Row& row, const double* weight = nullptr) {
        sums.add(metric, row.data(), weight);
    }
    std::vector<std::byte> flat() const {
        std::vector<std::byte> bytes(sums.flat_size());
        sums.flatten(bytes.data());
        return bytes;
    }
    QuietContext quiet;
    MetricSums sums;
};

TEST(Metric, AgreesWithItsFormula) {
    for (const Reference& reference : references())
        for (uint64_t seed = 0; seed < 200; seed++)
            for (const bool weighted : {false, true}) {
                const std::vector<Row> rows = random_rows(reference, seed, 1 + seed % 40);
                Filled filled;
                Wide sum = 0, total = 0;
                for (size_t i = 0; i < rows.size(); i++) {
                    const double weight = weighted ? weight_of(seed, i) : 1;
                    filled.add(reference.metric, rows[i], weighted ? &weight : nullptr);
                    sum += weight * reference.term(rows[i]);
                    total += weight;
                }
                const Wide expected = reference.finish(sum / total);
                ASSERT_TRUE(filled.sums.result().has_value());
                EXPECT_NEAR(*filled.sums.result(), static_cast<double>(expected),
                            1e-13 * (1 + std::abs(static_cast<double>(expected))))
                    << reference.metric.name << ' ' << seed;
            }
}

// Σ (y − prediction)² / Σ (y − mean)² in two passes.
Wide plain_r2(const std::vector<Row>& rows, const std::vector<double>& weights) {
    Wide mean = 0, total = 0, residual = 0, variance = 0;
    for (size_t i = 0; i < rows.size(); i++) mean += weights[i] * Wide{rows[i][0]}, total += weights[i];
    mean /= total;
    for (size_t i = 0; i < rows.size(); i++) {
        residual += weights[i] * std::pow(Wide{rows[i][0]} - rows[i][1], 2);
        variance += weights[i] * std::pow(rows[i][0] - mean, 2);
    }
    return 1 - residual / variance;
}

TEST(Metric, R2KeepsItsDigitsFarFromZero) {
    for (const double offset : {0.0, 1e3, 1e8, -1e11})
        for (uint64_t seed = 0; seed < 100; seed++)
            for (const bool weighted : {false, true}) {
                Filled filled;
                std::vector<Row> rows(3 + seed % 20);
                std::vector<double> weights(rows.size(), 1);
                for (size_t i = 0; i < rows.size(); i++) {
                    rows[i] = {offset + uniform(seed, 0, i), offset + uniform(seed, 1, i)};
                    if (weighted) weights[i] = weight_of(seed, i);
                    filled.add(r2, rows[i], weighted ? &weights[i] : nullptr);
                }
                const auto expected = static_cast<double>(plain_r2(rows, weights));
                EXPECT_NEAR(*filled.sums.result(), expected, 1e-9 * std::abs(expected)) << offset << ' ' << seed;
            }
}

TEST(Metric, R2OfEqualTargetsIsNotDefined) {
    for (uint64_t seed = 0; seed < 200; seed++) {
        const double y = std::ldexp(uniform(seed, 0, 0) - 0.5, static_cast<int>(seed % 200) - 100);
        Filled plain, weighted;
        for (size_t i = 0; i < 1 + seed % 5; i++) {
            const double weight = weight_of(seed, i) + 0.1;
            plain.add(r2, {y, 1});
            weighted.add(r2, {y, 1}, &weight);
        }
        EXPECT_EQ(plain.sums.result(), std::nullopt) << seed;
        EXPECT_EQ(weighted.sums.result(), std::nullopt) << seed;
    }
}

TEST(Metric, OrderSplitsAndBytesDoNotMatter) {
    std::vector<Reference> all = references();
    all.push_back({r2, of_numbers, {}});
    all.push_back({exact_sum, of_numbers, {}});
    for (const Reference& reference : all)
        for (uint64_t seed = 0; seed < 60; seed++) {
            const bool weighted = seed % 2 == 1;
            const std::vector<Row> rows = random_rows(reference, seed, 1 + seed % 50);
            std::vector<size_t> order(rows.size());
            std::iota(order.begin(), order.end(), 0);
            Filled one;
            std::vector<Filled> parts(1 + seed % 4);
            const auto add = [&](Filled& to, size_t i) {
                const double weight = weight_of(seed, i) + (i == 0);
                to.add(reference.metric, rows[i], weighted ? &weight : nullptr);
            };
            for (const size_t i : order) add(one, i);
            for (size_t i = order.size() - 1; i > 0; i--)
                std::swap(order[i], order[random_bits(seed, 50, i) % (i + 1)]);
            for (const size_t i : order) add(parts[random_bits(seed, 51, i) % parts.size()], i);
            Filled all_parts;
            for (const Filled& part : parts)
                all_parts.sums.append(MetricSums::parse(part.flat(), all_parts.quiet.memory()));
            EXPECT_EQ(all_parts.flat(), one.flat()) << reference.metric.name << ' ' << seed;
            EXPECT_EQ(all_parts.sums.result(), one.sums.result());
        }
}

TEST(Metric, NoRowsOrNoWeightHaveNoValue) {
    Filled none, weightless;
    EXPECT_EQ(none.sums.result(), std::nullopt);
    EXPECT_EQ(none.sums.flat_size(), 0U);
    const double zero = 0;
    weightless.add(rmse, {1, 2}, &zero);
    EXPECT_EQ(weightless.sums.result(), std::nullopt);
    weightless.sums.append(none.sums);
    none.sums.append(weightless.sums);
    EXPECT_EQ(none.flat(), weightless.flat());
}

TEST(Metric, BetterPredictionsHaveBetterValues) {
    const auto value = [](const Metric& metric, const Row& row) {
        Filled filled;
        filled.add(metric, {0.25, 0.5}); // so that targets differ
        filled.add(metric, row);
        return *filled.sums.result();
    };
    for (const Metric* const metric : {&rmse, &mae, &r2, &poisson_deviance, &log_loss, &brier}) {
        const double good = value(*metric, {0.75, 0.625}), bad = value(*metric, {0.75, 0.125});
        EXPECT_TRUE(metric->better == Better::lower ? good < bad : good > bad) << metric->name;
    }
}

TEST(Metric, ExtremeNumbers) {
    const auto value = [](const Metric& metric, const Row& row) {
        Filled filled;
        filled.add(metric, row);
        return *filled.sums.result();
    };
    // A forecast of 0 or 1 is clipped.
    EXPECT_DOUBLE_EQ(value(log_loss, {1, 0}), 53 * std::numbers::ln2);
    EXPECT_DOUBLE_EQ(value(log_loss, {0, 1}), 53 * std::numbers::ln2);
    EXPECT_EQ(value(log_loss, {1, 1}), 0x1p-53);
    EXPECT_EQ(value(log_loss, {0, 0}), 0x1p-53);
    // Of a prediction near the target the square is left, and others do not overflow early.
    EXPECT_NEAR(value(poisson_deviance, {1e6, 1e6 + 1}) / 1e-6, 1, 1e-5);
    EXPECT_EQ(value(poisson_deviance, {7, 7}), 0);
    EXPECT_EQ(value(poisson_deviance, {0, 3}), 6);
    EXPECT_NEAR(value(poisson_deviance, {1e300, 1e-300}) / (2e300 * (600 * std::numbers::ln10 - 1)), 1, 1e-14);
    // Many degrees of freedom are a normal distribution, few have heavy tails; the rest is SciPy's.
    EXPECT_NEAR(value(nll_student_t, {1.5, 0, 1, 1e10}), 2.04393853321561, 1e-14);
    EXPECT_NEAR(value(nll_student_t, {1.5, 0, 1, 1e300}), value(nll_normal, {1.5, 0, 1}), 1e-12);
    EXPECT_NEAR(value(nll_student_t, {1.5, 0, 1, 199.9}), 2.0445013509050436, 1e-13);
    EXPECT_NEAR(value(nll_student_t, {1.5, 0, 1, 200}), 2.0445010617482664, 1e-13);
    EXPECT_NEAR(value(nll_student_t, {1.5, 0, 1, 1e-3}), 8.011142041672153, 1e-13);
    EXPECT_NEAR(value(nll_student_t, {1e300, 0, 1, 1}), std::log(std::numbers::pi) + 600 * std::numbers::ln10, 1e-12);
    EXPECT_NEAR(value(crps_normal, {1e6, 0, 1}), 1e6 - 1 / std::sqrt(std::numbers::pi), 1e-9);
    EXPECT_EQ(value(coverage, {3, -infinity, infinity}), 1);
    EXPECT_EQ(value(coverage, {3, 4, 2}), 0);
    EXPECT_EQ(value(coverage, {3, 3, 3}), 1);
}

// What is between the arguments and the result, squares above all, need not be within the range of doubles.
TEST(Metric, ResultsDoNotDependOnTheUnit) {
    for (const Metric* const metric : {&rmse, &mae, &r2, &crps_normal, &pinball, &poisson_deviance})
        for (uint64_t seed = 0; seed < 20; seed++)
            for (const int exponent : {-1000, -600, -530, 500, 520, 1000})
                for (const int exponent_of_weight : {-1000, 0, 900}) {
                    const double scale = std::ldexp(1, exponent), scale_of_weight = std::ldexp(1, exponent_of_weight);
                    const bool is_scaled = metric != &r2;
                    Filled plain, scaled;
                    for (uint64_t i = 0; i < 5; i++) {
                        Row row = {4 * uniform(seed, 0, i) + 1, 3 * uniform(seed, 1, i) + 1, 0.5 + uniform(seed, 2, i)};
                        if (metric == &pinball) row[2] = 0.25;
                        Row large = row;
                        for (size_t k = 0; k < (metric == &pinball ? 2 : 3); k++) large[k] *= scale;
                        const double weight = uniform(seed, 3, i), other_weight = weight * scale_of_weight;
                        plain.add(*metric, row, &weight);
                        scaled.add(*metric, large, &other_weight);
                    }
                    const double expected = *plain.sums.result() * (is_scaled ? scale : 1);
                    EXPECT_NEAR(*scaled.sums.result() / expected, 1, 1e-12)
                        << metric->name << ' ' << seed << ' ' << exponent << ' ' << exponent_of_weight;
                }
}

TEST(Metric, SquaresBeyondDoubles) {
    const auto value = [](const Metric& metric, const std::vector<Row>& rows) {
        Filled filled;
        for (const Row& row : rows) filled.add(metric, row);
        return filled.sums.result();
    };
    EXPECT_EQ(value(rmse, {{1e-170, 0}}), 1e-170);
    EXPECT_EQ(value(rmse, {{1e160, 0}}), 1e160);
    EXPECT_EQ(value(rmse, {{5e-324, 0}}), 5e-324);
    EXPECT_EQ(value(rmse, {{1.7e308, 0}, {-1.7e308, 0}}), 1.7e308);
    EXPECT_DOUBLE_EQ(*value(rmse, {{1e300, 0}, {1e-300, 0}}), 1e300 / std::numbers::sqrt2);
    EXPECT_EQ(value(r2, {{-1e160, -1e160}, {1e160, 1e160}}), 1);
    EXPECT_EQ(value(r2, {{1e-170, 1e-170}, {3e-170, 3e-170}}), 1);
    EXPECT_EQ(value(r2, {{1e-170, 0}, {1e-170, 0}}), std::nullopt);
    EXPECT_EQ(value(r2, {{1e200, 0}, {1e200, 0}}), std::nullopt);
    EXPECT_EQ(value(crps_normal, {{1e200, 0, 1e-200}}), 1e200);
    EXPECT_NEAR(*value(nll_student_t, {{1e200, 0, 1e-200, 1}}), std::log(std::numbers::pi) + 600 * std::numbers::ln10,
                1e-12);
}

TEST(Metric, ErrorsNameTheArgument) {
    const auto message = [](const Metric& metric, const Row& row, ErrorCode code = ErrorCode::out_of_range) {
        Filled filled;
        const Caught error = caught([&] { filled.add(metric, row); });
        EXPECT_EQ(error.code, code);
        return error.message;
    };
    EXPECT_EQ(message(rmse, {std::nan(""), 1}), "argument \"y\" must be finite, not NaN");
    EXPECT_EQ(message(mae, {1, infinity}), "argument \"prediction\" must be finite, not Infinity");
    EXPECT_EQ(message(mae, {1e308, -1e308}), "value out of range: overflow");
    EXPECT_EQ(message(r2, {1, -infinity}), "argument \"prediction\" must be finite, not -Infinity");
    EXPECT_EQ(message(poisson_deviance, {-1, 1}), "argument \"y\" must be finite and not negative, not -1");
    EXPECT_EQ(message(poisson_deviance, {1, 0}), "argument \"prediction\" must be finite and greater than 0, not 0");
    EXPECT_EQ(message(log_loss, {1, 1.5}), "argument \"p\" must be from 0 to 1, not 1.5");
    EXPECT_EQ(message(log_loss, {std::nan(""), 1}), "argument \"y\" must be from 0 to 1, not NaN");
    EXPECT_EQ(message(brier, {-0.5, 1}), "argument \"y\" must be from 0 to 1, not -0.5");
    for (const double alpha : {0.0, 1.0, -1.0, std::nan("")})
        EXPECT_EQ(message(pinball, {1, 2, alpha}, ErrorCode::invalid_argument),
                  "argument \"alpha\" must be between 0 and 1, not " + shortest(alpha));
    EXPECT_EQ(message(coverage, {infinity, 1, 2}), "argument \"y\" must be finite, not Infinity");
    EXPECT_EQ(message(coverage, {1, std::nan(""), 2}), "argument \"lower\" must be a number, not NaN");
    EXPECT_EQ(message(nll_normal, {1, 1, 0}), "argument \"sd\" must be finite and greater than 0, not 0");
    EXPECT_EQ(message(crps_normal, {1, std::nan(""), 1}), "argument \"mean\" must be finite, not NaN");
    EXPECT_EQ(message(nll_student_t, {1e308, 0, 1e-308, 1e307}), "value out of range: overflow");
    EXPECT_EQ(message(nll_normal, {1, 0, 1e-200}), "value out of range: overflow");
    EXPECT_EQ(message(nll_student_t, {1, 1, -1, 2}), "argument \"scale\" must be finite and greater than 0, not -1");
    EXPECT_EQ(message(nll_student_t, {1, 1, 1, infinity}),
              "argument \"df\" must be finite and greater than 0, not Infinity");
    Filled weighted;
    for (const double weight : {-1.0, infinity, std::nan("")})
        EXPECT_EQ(caught([&] {
                      weighted.add(rmse, {1, 2}, &weight);
                  }).message,
                  "argument \"weight\" must be finite and not negative, not " + shortest(weight));
}

TEST(Metric, ParametersAndMetricsAreTheSameInEveryRow) {
    Filled filled, other;
    filled.add(pinball, {1, 2, 0.5});
    const Caught error = caught([&] { filled.add(pinball, {1, 2, 0.25}); });
    EXPECT_EQ(error.code, ErrorCode::invalid_argument);
    EXPECT_EQ(error.message, "alpha must be the same in every row of an aggregate");
    EXPECT_EQ(error.detail, "One row has 0.5, another 0.25.");
    other.add(pinball, {1, 2, 0.75});
    EXPECT_EQ(caught([&] { filled.sums.append(other.sums); }).message, error.message);
    EXPECT_EQ(caught([&] {
                  filled.add(rmse, {1, 2});
              }).message,
              "a state of metric \"pinball\" cannot take rows of metric \"rmse\"");
    const double weight = 1;
    EXPECT_EQ(caught([&] {
                  filled.add(pinball, {1, 2, 0.5}, &weight);
              }).message,
              "a state of metric \"pinball\" cannot take rows of metric \"pinball\" with other weights");
}

TEST(Metric, NamesAndNumbers) {
    for (int number = 0; const Metric* const metric = find_metric(number); number++) {
        EXPECT_EQ(number_of(*metric), number);
        EXPECT_EQ(find_metric(metric->name), metric);
        EXPECT_LE(metric->arguments, Metric::max_arguments);
    }
    EXPECT_EQ(find_metric(-1), nullptr);
    EXPECT_EQ(find_metric(255), nullptr);
    EXPECT_EQ(find_metric("rsme"), nullptr);
}

TEST(Metric, HostileBytesAreRefused) {
    for (uint64_t seed = 0; seed < 2'000; seed++) {
        const Reference& reference = references()[seed % references().size()];
        Filled filled;
        const double weight = 2;
        for (const Row& row : random_rows(reference, seed, 3))
            filled.add(reference.metric, row, seed % 2 == 0 ? &weight : nullptr);
        std::vector<std::byte> bytes = filled.flat();
        if (seed % 3 == 0)
            bytes.resize(1 + random_bits(seed, 60, 0) % (bytes.size() - 1));
        else
            bytes[random_bits(seed, 61, 0) % bytes.size()] ^=
                static_cast<std::byte>(1 + random_bits(seed, 62, 0) % 255);
        const Caught error = caught([&] {
            MetricSums sums = MetricSums::parse(bytes, filled.quiet.memory());
            sums.append(MetricSums::parse(bytes, filled.quiet.memory()));
            (void)sums.result();
        });
        EXPECT_TRUE(!error.thrown || error.code == ErrorCode::corrupt_model || error.code == ErrorCode::out_of_range);
        EXPECT_TRUE(seed % 3 != 0 || error.code == ErrorCode::corrupt_model);
    }
}

// Against the C library's, which round them correctly but for an ulp.
TEST(MetricTerms, LogarithmsAreWithinUlps) {
    const auto ulps = [](double x, Wide exact) {
        const auto nearest = static_cast<double>(exact);
        return static_cast<double>(std::abs(x - exact)) /
               (std::nextafter(std::abs(nearest), infinity) - std::abs(nearest));
    };
    for (uint64_t i = 0; i < 200000; i++) {
        const double u = uniform(3, 1, i), sign = i % 2 ? 1 : -1;
        const double near = sign * std::exp2(-60 * uniform(3, 2, i)) * (i % 4 < 2 ? 0.5 : 1 - 1e-9);
        EXPECT_LE(ulps(natural_logarithm_1p(near), std::log1p(Wide{near})), 3) << near;
        const double any = std::ldexp(0.5 + u / 2, static_cast<int>(2080 * uniform(3, 3, i)) - 1060);
        EXPECT_LE(ulps(natural_logarithm(any), std::log(Wide{any})), 3) << any;
    }
    EXPECT_EQ(natural_logarithm_1p(0), 0);
    EXPECT_EQ(natural_logarithm(1), 0);
}

} // namespace
} // namespace btml::metrics
