// Metrics of predicted numbers.
#include "core/metrics/terms.hpp"

namespace btml::metrics {

static double error_of(const double* row) {
    return require_no_overflow(require_finite("y", row[0]) - require_finite("prediction", row[1]));
}

static double absolute_error(const double* row) {
    return std::abs(error_of(row));
}

static std::optional<double> root_of_mean(const WideSum* sums, const WideSum& weight) {
    const ScaledNumber mean = sums->scaled() / weight.scaled();
    const int odd = mean.exponent & 1;
    return std::ldexp(std::sqrt(std::ldexp(mean.mantissa, odd)), (mean.exponent - odd) / 2);
}

// Sums: squared errors, y, y².
static void add_r2(const double* row, double weight, WideSum* sums) {
    add_mean_square<error_of>(row, weight, &sums[0]);
    // weight · y in two parts, so that equal targets have no variance at all.
    const ScaledNumber w(weight), y(row[0]);
    const int exponent = w.exponent + y.exponent;
    const double product = w.mantissa * y.mantissa;
    const ScaledNumber high(product, exponent), low(std::fma(w.mantissa, y.mantissa, -product), exponent);
    sums[1].add(high);
    add_product(high, y, sums[2]);
    if (low.mantissa == 0) return;
    sums[1].add(low);
    add_product(low, y, sums[2]);
}

// Adds a · b · 2^exponent, or takes it away.
static void add_exact_product(WideSum a, const WideSum& b, int exponent, bool negative, WideSum& sum) {
    for (;;) {
        ScaledNumber part = a.take_part();
        if (part.mantissa == 0) return;
        if (negative) part.mantissa = -part.mantissa;
        part.exponent += exponent;
        WideSum rest = b;
        for (ScaledNumber other = rest.take_part(); other.mantissa != 0; other = rest.take_part())
            add_product(part, other, sum);
    }
}

static std::optional<double> r2_of(const WideSum* sums, const WideSum& weight) {
    // The squares about the mean: Σ y² − (Σ y)²/Σ w, here times Σ w and a power of two; the difference is exact,
    // whatever the mean is.
    const ScaledNumber squares = weight.scaled() * sums[2].scaled();
    WideSum about_mean;
    add_exact_product(weight, sums[2], -squares.exponent, false, about_mean);
    add_exact_product(sums[1], sums[1], -squares.exponent, true, about_mean);
    const ScaledNumber variation = about_mean.scaled();
    if (!(variation.mantissa > 0)) return std::nullopt;
    const ScaledNumber unexplained = sums[0].scaled() * weight.scaled() / variation;
    return 1 - require_no_overflow(std::ldexp(unexplained.mantissa, unexplained.exponent - squares.exponent));
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

constinit const Metric rmse{"rmse", 2, Better::lower, 1, add_mean_square<error_of>, root_of_mean};
constinit const Metric mae{"mae", 2, Better::lower, 1, add_mean<absolute_error>, mean};
constinit const Metric r2{"r2", 2, Better::higher, 3, add_r2, r2_of};
constinit const Metric poisson_deviance{"poisson_deviance", 2, Better::lower, 1, add_mean<poisson_unit_deviance>, mean};
constinit const Metric pinball{"pinball", 3, Better::lower, 1, add_mean<pinball_loss>, mean, 2, "alpha"};

} // namespace btml::metrics
