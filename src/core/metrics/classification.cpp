// Metrics of predicted classes and their probabilities.
#include "core/metrics/terms.hpp"

#include <algorithm>

namespace btml::metrics {

// −(y ln p + (1 − y) ln(1 − p))
static double cross_entropy(const double* row) {
    // A certain forecast that fails costs 36.7 rather than infinity.
    static constexpr double least = 0x1p-53;
    const double y = require_probability("y", row[0]);
    const double p = std::clamp(require_probability("p", row[1]), least, 1 - least);
    if (y == 1) return -natural_logarithm(p);
    return -(y == 0 ? natural_logarithm_1p(-p) : y * natural_logarithm(p) + (1 - y) * natural_logarithm_1p(-p));
}

// Brier: Verification of forecasts expressed in terms of probability (Monthly Weather Review 78, 1950), with one class.
static double squared_probability_error(const double* row) {
    const double error = require_probability("y", row[0]) - require_probability("p", row[1]);
    return error * error;
}

static double agreement(const double* row) {
    return *row;
}

constinit const Metric log_loss{"log_loss", 2, Better::lower, 1, add_mean<cross_entropy>, mean};
constinit const Metric brier{"brier", 2, Better::lower, 1, add_mean<squared_probability_error>, mean};
constinit const Metric accuracy{"accuracy", 1, Better::higher, 1, add_mean<agreement>, mean};

} // namespace btml::metrics
