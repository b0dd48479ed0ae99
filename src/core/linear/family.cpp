#include "core/linear/family.hpp"

#include <cmath>
#include <numbers>

namespace btml::linear {

namespace {

// lgamma() writes to a variable that threads share.
double log_gamma(double x) {
    int sign = 0;
    return lgamma_r(x, &sign);
}

} // namespace

double mean_of_score(Family family, double score) {
    if (family == Family::gaussian || std::isnan(score)) return score;
    if (family != Family::binomial) return exponential_of(score);
    const double small = exponential_of(-std::fabs(score));
    return (score > 0 ? 1 : small) / (1 + small);
}

double score_of_mean(Family family, double mean) {
    if (family == Family::gaussian) return mean;
    return family == Family::binomial ? log_of(mean / (1 - mean)) : log_of(mean);
}

void check_target(Family family, double y) {
    const auto refuse = [&](const char* valid) {
        throw Error(ErrorCode::out_of_range,
                    format("target value %s is out of range for family => '%s'", shortest(y).c_str(), name_of(family)),
                    format("Targets of this family are %s.", valid));
    };
    if (family == Family::binomial && y != 0 && y != 1) refuse("booleans, two labels, or the numbers 0 and 1");
    if (family == Family::poisson && !(y >= 0)) refuse("numbers from 0");
    if (family == Family::gamma && !(y > 0)) refuse("numbers greater than 0");
}

double log_likelihood_term(Family family, double y, double weight) {
    switch (family) {
    case Family::poisson:
        return weight * ((y > 0 ? y * log_of(y) - y : 0) - log_gamma(y + 1));
    case Family::gamma:
        return weight * -log_of(y);
    case Family::gaussian:
        return log_of(weight) / 2;
    default:
        return 0;
    }
}

double log_likelihood(Family family, double rows, double weight, double deviance, double terms) {
    if (family == Family::gaussian) return terms - rows / 2 * (log_of(2 * std::numbers::pi * deviance / rows) + 1);
    if (family != Family::gamma) return terms - deviance / 2;
    const double shape = weight / deviance; // one over the dispersion
    return terms + weight * (shape * log_of(shape) - log_gamma(shape) - shape) - shape * deviance / 2;
}

} // namespace btml::linear
