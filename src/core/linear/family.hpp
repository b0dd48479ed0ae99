// What families of targets say of a row: its deviance, and the derivatives of its log likelihood by the score.
#pragma once

#include "core/linear/linear_options.hpp"
#include "core/numbers/elementary.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace btml::linear {

// Holds what one row adds to sums, before its weight.
struct RowTerms {
    double deviance;
    double slope;     // the derivative of half the negative deviance by the score
    double curvature; // minus the second one
    double expected;  // its expectation, by which coefficients vary
    double pearson;   // the square of the residual over the variance function
};

inline constexpr double max_score = 700; // beyond which e^score is no double

inline double exponential_of(double score) {
    return exponential(std::clamp(score, -max_score, max_score));
}

// Returns ln x of a positive x, the same on every processor but for the least numbers.
inline double log_of(double x) {
    return std::isnormal(x) ? logarithm(x) : std::log(x);
}

inline constexpr double small_distance = 0.1; // of a score from that of the target

// Returns e^x − 1 − x of an x below small_distance in magnitude: its Taylor series, since the terms cancel.
inline double exponential_beyond_line(double x) {
    double sum = 1;
    for (int n = 11; n > 2; n--) sum = 1 + sum * x / n;
    return sum * x * x / 2;
}

template <Family family>
RowTerms terms_of(double y, double score);

template <>
inline RowTerms terms_of<Family::gaussian>(double y, double score) {
    const double residual = y - score;
    return {residual * residual, residual, 1, 1, residual * residual};
}

template <>
inline RowTerms terms_of<Family::binomial>(double y, double score) {
    const double towards = y > 0.5 ? score : -score; // the score of the label that the row has
    const double small = exponential_of(-std::fabs(score)), other = small / (1 + small), one = 1 / (1 + small);
    const double residual = towards > 0 ? other : one; // the probability of the other label
    const double variance = other * one;
    // Of ln(1 + small), what is lost of a small one is far below what counts in a sum of such terms.
    const double loss = logarithm(1 + small) - std::min(towards, 0.0);
    return {2 * loss, y > 0.5 ? residual : -residual, variance, variance, residual * (residual / variance)};
}

template <>
inline RowTerms terms_of<Family::poisson>(double y, double score) {
    const double mean = exponential_of(score), residual = y - mean;
    const double off = y > 0 ? score - log_of(y) : 0;
    const double loss =
        y > 0 && std::fabs(off) < small_distance ? y * exponential_beyond_line(off) : -residual - y * off;
    return {2 * loss, residual, mean, mean, residual * (residual / mean)};
}

template <>
inline RowTerms terms_of<Family::gamma>(double y, double score) {
    const double ratio = y * exponential_of(-score), residual = ratio - 1;
    const double off = log_of(y) - score;
    const double loss = std::fabs(off) < small_distance ? exponential_beyond_line(off) : residual - off;
    return {2 * loss, residual, ratio, 1, residual * residual};
}

// Calls body(std::integral_constant<Family, family>()) for the family, which is not automatic.
template <class Body>
auto with_family(Family family, const Body& body) {
    switch (family) {
    case Family::binomial:
        return body(std::integral_constant<Family, Family::binomial>());
    case Family::poisson:
        return body(std::integral_constant<Family, Family::poisson>());
    case Family::gamma:
        return body(std::integral_constant<Family, Family::gamma>());
    default:
        return body(std::integral_constant<Family, Family::gaussian>());
    }
}

// Returns the mean of the target where the score is this, and the score where the mean is this.
double mean_of_score(Family family, double score);
double score_of_mean(Family family, double mean);

// Error out_of_range for a target that the family cannot have.
void check_target(Family family, double y);

// Returns what the log likelihood of a row has beside terms of the deviance: the family's function log_likelihood()
// takes the sum of these, times the weights.
double log_likelihood_term(Family family, double y, double weight);
// Returns the log likelihood as R's logLik has it, which takes the dispersion to be deviance/weight.
double log_likelihood(Family family, double rows, double weight, double deviance, double terms);

} // namespace btml::linear
