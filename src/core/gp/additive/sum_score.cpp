#include "core/gp/additive/sum_score.hpp"

#include <algorithm>
#include <cmath>

namespace btml::gp {

static constexpr size_t solutions = 2 * Columns::count - 1; // that are of samples

// Samples o have the covariance K, so the squares of K⁻¹o have the mean (K⁻¹)_ii.
SumScorer::InverseDiagonal SumScorer::inverse_diagonal(size_t row) const {
    double sum = 0, fourth = 0;
    const auto add = [&](double value) {
        sum += value * value;
        fourth += value * value * value * value;
    };
    for (size_t column = 1; column < Columns::count; column++) add(first_[row][column]);
    for (size_t column = 0; column < Columns::count; column++) add(second_[row][column]);
    const double mean = std::max(sum / solutions, 1e-30);
    const double relative_variance = std::max(fourth / solutions / mean / mean - 1, 0.0);
    return {mean, mean * (1 + relative_variance / solutions)};
}

uncertainty::StandardisedErrors SumScorer::errors(double calibration) const {
    uncertainty::StandardisedErrors errors(context_);
    context_.for_each(first_.size(), 8, [&](size_t i) {
        const double inverse = inverse_diagonal(i).of_reciprocal;
        errors.add(first_[i][0] / inverse + errors_[i], calibration / inverse);
    });
    return errors;
}

// Variances take this factor so that 90 % of the left-out rows lie in their central 90 % intervals. Where nearly as
// many do, it is 1: to tail-heavy data the likelihood loses more by the change than intervals gain. For the same reason
// variances shrink only as far as the likelihood is near its best: where most rows are met exactly and a few are far
// off, the intervals of the many would deny the few.
double SumScorer::calibration() const {
    constexpr size_t min_rows = 100;
    constexpr double min_coverage = 0.88, max_coverage = 0.92, rows_of_half_trust = 500;
    const size_t rows = first_.size();
    const double coverage = *left_out_score(errors(1), context_).coverage_90;
    if (rows < min_rows || (coverage >= min_coverage && coverage <= max_coverage)) return 1;
    Buffer<double> deviations(context_.memory(), "leave-one-out residuals", rows);
    double squares = 0;
    for (size_t i = 0; i < rows; i++) {
        const double inverse = inverse_diagonal(i).mean;
        deviations[i] = std::abs(first_[i][0] / inverse + errors_[i]) * std::sqrt(inverse);
        squares += deviations[i] * deviations[i];
    }
    const size_t place = std::min(rows - 1, static_cast<size_t>(0.9 * static_cast<double>(rows)));
    std::nth_element(deviations.begin(), deviations.begin() + place, deviations.end());
    // The quantile of Student's t distribution: the variances are estimated from few samples.
    const double student = half_of_central_90 * (1 + (half_of_central_90 * half_of_central_90 + 1) / (4.0 * solutions));
    const double ratio = deviations[place] / student, n = rows;
    // The mean square is the likeliest factor; two thirds of it cost 0.05 nats a row.
    constexpr double of_likeliest = 2.0 / 3;
    const double min_factor = std::min(1.0, of_likeliest * squares / n);
    const double factor = std::max(ratio * ratio, min_factor);
    if (!(factor > 0 && std::isfinite(factor))) return 1;
    return std::pow(factor, n / (n + rows_of_half_trust));
}

} // namespace btml::gp
