// Metrics of predicted distributions and intervals.
#include "core/metrics/terms.hpp"
#include "core/numbers/student_t.hpp"

#include <numbers>

namespace btml::metrics {

static double is_covered(const double* row) {
    const double y = require_finite("y", row[0]);
    const double lower = require_not_nan("lower", row[1]), upper = require_not_nan("upper", row[2]);
    return lower <= y && y <= upper;
}

// Returns (y − location)/scale, infinite where no double holds it.
static double standardised(const double* row, const char* location, const char* scale) {
    const double y = require_finite("y", row[0]), at = require_finite(location, row[1]);
    return require_no_overflow(y - at) / require_positive(scale, row[2]);
}

static constexpr double log_sqrt_two_pi = 0.91893853320467274178;

static double normal_nll(const double* row) {
    const double z = standardised(row, "mean", "sd");
    return log_sqrt_two_pi + std::log(row[2]) + z * z / 2;
}

// Gneiting, Raftery: Strictly Proper Scoring Rules, Prediction, and Estimation (JASA 102, 2007), equation 21.
static double normal_crps(const double* row) {
    const double z = standardised(row, "mean", "sd"), sd = row[2];
    if (std::isinf(z)) return std::fabs(row[0] - row[1]); // beside which sd vanishes
    const double density = std::numbers::inv_sqrtpi / std::numbers::sqrt2 * std::exp(-z * z / 2);
    return sd * (z * std::erf(z / std::numbers::sqrt2) + 2 * density - std::numbers::inv_sqrtpi);
}

static double nll_of_student_t(const double* row) {
    const double z = standardised(row, "location", "scale"), df = require_positive("df", row[3]);
    if (std::isfinite(z)) return student_t_nll(z, df) + std::log(row[2]);
    // A large z adds (df + 1) · ln |z|, and nothing else depends on it.
    const double largest = std::numeric_limits<double>::max();
    const double log_ratio = std::log(std::fabs(row[0] - row[1])) - std::log(row[2]) - std::log(largest);
    return student_t_nll(largest, df) + (df + 1) * log_ratio + std::log(row[2]);
}

constinit const Metric coverage{"coverage", 3, Better::neither, 1, add_mean<is_covered>, mean};
constinit const Metric nll_normal{"nll_normal", 3, Better::lower, 1, add_mean<normal_nll>, mean};
constinit const Metric crps_normal{"crps_normal", 3, Better::lower, 1, add_mean<normal_crps>, mean};
constinit const Metric nll_student_t{"nll_student_t", 4, Better::lower, 1, add_mean<nll_of_student_t>, mean};

} // namespace btml::metrics
