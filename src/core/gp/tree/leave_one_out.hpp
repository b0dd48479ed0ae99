// Computes what the other rows say of each row's own point.
#pragma once

#include "core/gp/tree/observations.hpp"
#include "core/gp/tree/tree_kernel.hpp"
#include "core/uncertainty/calibration.hpp"

#include <optional>

namespace btml::gp {

// Says how well every row is predicted from all the others.
struct LeaveOneOut {
    uint64_t rows = 0;
    double mean_nll = 0, rmse = 0;
    std::optional<double> coverage_90;             // is that of the central 90 % interval; nothing after an update
    std::optional<double> mean_nll_student_t = {}; // by Model::calibration; nothing where there is none
};

// Half of the central 90 % interval of a normal distribution, in standard deviations.
inline constexpr double half_of_central_90 = 1.6448536269514722;

// Returns the score by normal distributions of at least one error, whose variances are calibrated.
LeaveOneOut left_out_score(const uncertainty::StandardisedErrors& errors, RunContext& context,
                           const uncertainty::VarianceCalibration& variance = {});

// Holds what a training makes: a posterior, and what it is off at training rows left out in turn.
template <class Posterior>
struct Fitted {
    Posterior model;
    LeaveOneOut leave_one_out;                // by the model's own variances
    uncertainty::StandardisedErrors left_out; // of the same rows
    uint64_t evaluations;                     // of the likelihood
};

struct Normals {
    Buffer<double> mean, variance;
};

// Returns the latent function at the point of each observation given all the other observations, those at the same
// point included: exact, O(n + q), 34 bytes per observation for the pass. Arguments as for negative_log_likelihood.
//
// With A = K + λ/w on the diagonal, (A⁻¹y)_i = (y_i − mean_i)/(variance_i + λ/w_i) and (A⁻¹)_ii = 1/(variance_i +
// λ/w_i): the same call solves linear systems.
Normals leave_one_out(std::span<const uint16_t> common, const Observations& sorted, const Kernel& kernel,
                      RunContext& context);

} // namespace btml::gp
