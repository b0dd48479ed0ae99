// The likeliest normal distributions for what a model was off: a model may be too sure of some rows or of all, and the
// two numbers here make good as much of that as two numbers can.
#pragma once

#include "core/base/run_context.hpp"

#include <span>

namespace btml::uncertainty {

// Takes the variance that a model tells of an observation to that of its normal distribution.
struct VarianceCalibration {
    double factor = 1; // 0 and above
    double floor = 0;  // in the target's units, squared; 0 and above

    bool is_identity() const { return factor == 1 && floor == 0; }
    double operator()(double variance) const { return is_identity() ? variance : factor * variance + floor; }
};

// Returns the factor and the floor that maximise the likelihood of errors, which came with these deviations. Of factors
// that are as likely but for 0.02 over the root of the rows, the one nearest to 1 is taken. Both have to be clearly
// likelier than the identity (is_clearly_better), with the errors that are the most deviations and without them, since
// few far values say nothing of other rows; where they are not, those that maximise the likelihood of the others are
// tried. Returns the identity where these fail as well, or where the errors are fewer than 100. The order of the errors
// moves the result by rounding alone. O(n).
VarianceCalibration likeliest_variances(std::span<const double> errors, std::span<const double> deviations,
                                        RunContext& context);

// Returns the mean negative log density of errors under normal distributions whose variances are calibrated, in nats.
double mean_nll_normal(std::span<const double> errors, std::span<const double> deviations,
                       const VarianceCalibration& calibration, RunContext& context);

// Says whether a mean negative log density of so many rows is lower than another by more than chance: by half a nat of
// one row, and of more rows by less, as the root of their number.
bool is_clearly_better(double nll, double than, size_t rows);

} // namespace btml::uncertainty
