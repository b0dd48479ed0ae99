// Metrics of predicted numbers.
#include "core/metrics/terms.hpp"

namespace btml::metrics {

static double error_of(const double* row) {
    return require_no_overflow(require_finite("y", row[0]) - require_finite("prediction", row[1]));
}

static double squared_error(const double* row) {
    const double error = error_of(row);
    return error * error;
}

static double absolute_error(const double* row) {
    return std::abs(error_of(row));
}

static std::optional<double> root_of_mean(const ExactSum* sums, const ExactSum& weight) {
    return std::sqrt(*mean(sums, weight));
}

// Sums: squared errors, y, y².
static void add_r2(const double* row, double weight, ExactSum* sums) {
    const double y = row[0];
    add_mean<squared_error>(row, weight, &sums[0]);
    // weight · y in two parts, so that equal targets have no variance at all.
    const double high = require_no_overflow(weight * y), low = std::fma(weight, y, -high);
    sums[1].add(high);
    add_product(high, y, sums[2]);
    if (low == 0) return;
    sums[1].add(low);
    add_product(low, y, sums[2]);
}

// Adds factor · a · b.
static void add_exact_product(ExactSum a, const ExactSum& b, double factor, ExactSum& sum) {
    while (const double a_part = factor * a.take_value()) {
        ExactSum rest = b;
        while (const double b_part = rest.take_value()) add_product(a_part, b_part, sum);
    }
}

static std::optional<double> r2_of(const ExactSum* sums, const ExactSum& weight) {
    // The squares about the mean: Σ y² − (Σ y)²/Σ w; the difference is exact, whatever the mean is.
    ExactSum scaled;
    add_exact_product(weight, sums[2], 1, scaled);
    add_exact_product(sums[1], sums[1], -1, scaled);
    const double squares = scaled.value() / weight.value();
    if (!(squares > 0)) return std::nullopt;
    return 1 - require_no_overflow(sums[0].value() / squares);
}

// Koenker, Bassett: Regression Quantiles (Econometrica 46, 1978).
static double pinball_loss(const double* row) {
    const double alpha = row[2];
    if (!(alpha > 0 && alpha < 1))
        throw Error(ErrorCode::invalid_argument,
                    format("argument \"alpha\" must be between 0 and 1, not %s", shortest(alpha).c_str()));
    const double error = error_of(row);
    return error > 0 ? alpha * error : (alpha - 1) * error;
}

// 2 (y ln(y/μ) − y + μ)
static double poisson_unit_deviance(const double* row) {
    const double y = require_not_negative("y", row[0]), mean = require_positive("prediction", row[1]);
    if (y == 0) return 2 * mean;
    const double relative = (mean - y) / y;
    // Where the two are near each other, their difference is small beside either.
    static constexpr double near = 0.5;
    return 2 * (std::abs(relative) < near ? y * std::max(0.0, relative - natural_logarithm_1p(relative))
                                          : y * (natural_logarithm(y) - natural_logarithm(mean)) - y + mean);
}

constinit const Metric rmse{"rmse", 2, Better::lower, 1, add_mean<squared_error>, root_of_mean};
constinit const Metric mae{"mae", 2, Better::lower, 1, add_mean<absolute_error>, mean};
constinit const Metric r2{"r2", 2, Better::higher, 3, add_r2, r2_of};
constinit const Metric poisson_deviance{"poisson_deviance", 2, Better::lower, 1, add_mean<poisson_unit_deviance>, mean};
constinit const Metric pinball{"pinball", 3, Better::lower, 1, add_mean<pinball_loss>, mean, 2, "alpha"};

} // namespace btml::metrics
