// Links: how a prediction follows from a row's scores, the same bits on every processor.
#pragma once

#include "core/boosting/objectives/bounded_exponential.hpp"

#include <algorithm>
#include <limits>
#include <span>

namespace btml::boosting {

enum class Link : uint8_t {
    identity,
    exponential, // the mean is e^score
    logistic,    // the second label's probability is 1 / (1 + e^−score)
    softmax,     // a label's probability is e^(its score) over the sum of all labels'
};

inline double exponential_of_score(double score) {
    return exponential(std::clamp(score, -max_exponent, max_exponent));
}

inline double logistic(double score) {
    const double e = exponential_of_score(score < 0 ? score : -score);
    return (score < 0 ? e : 1) / (1 + e);
}

// Returns the prediction of a single score.
inline double prediction_of(Link link, double score) {
    if (link == Link::exponential) return exponential_of_score(score);
    return link == Link::logistic ? logistic(score) : score;
}

// Puts every label's probability in the place of its score. A sum of finite leaves may be infinite; such a score counts
// for the largest number, since the difference of two infinite ones is none.
inline void softmax(std::span<double> scores) {
    static constexpr double max = std::numeric_limits<double>::max();
    for (double& score : scores) score = std::clamp(score, -max, max);
    const double largest = *std::max_element(scores.begin(), scores.end());
    double sum = 0;
    for (double& score : scores) sum += score = exponential(score - largest);
    for (double& score : scores) score /= sum;
}

} // namespace btml::boosting
