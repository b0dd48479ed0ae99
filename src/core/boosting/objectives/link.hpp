// Links: how a prediction follows from a row's scores, the same bits on every processor.
#pragma once

#include "core/boosting/objectives/bounded_exponential.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

namespace btml::boosting {

enum class Link : uint8_t {
    identity,
    exponential, // the mean is e^score
    logistic,    // the second label's probability is 1 / (1 + e^−score)
    softmax,     // a label's probability is e^(its score) over the sum of all labels'
    // Imported models alone have these:
    one_vs_all,    // a label's probability is 1 / (1 + e^−its score), whatever the others'
    softplus,      // the mean is ln(1 + e^score)
    signed_square, // the mean is score · |score|
};
inline constexpr size_t link_count = 7;

// Says whether a row has a score for each label.
inline bool has_scores_by_label(Link link) {
    return link == Link::softmax || link == Link::one_vs_all;
}

// Says whether predictions take e^score.
inline bool takes_exponential(Link link) {
    return link != Link::identity && link != Link::signed_square;
}

inline double exponential_of_score(double score) {
    return exponential(std::clamp(score, -max_exponent, max_exponent));
}

inline double logistic(double score) {
    const double e = exponential_of_score(score < 0 ? score : -score);
    return (score < 0 ? e : 1) / (1 + e);
}

// What 1 + e rounds away of e is made up for: (1 + e) − 1 is exact.
inline double softplus(double score) {
    constexpr double linear = 40; // from here on e^−score is nothing beside the score
    if (score > linear) return score;
    const double e = exponential_of_score(score), sum = 1 + e;
    return sum == 1 ? e : logarithm(sum) * (e / (sum - 1));
}

// Returns the prediction of a single score; of scores by label, a score that is still to be compared with the others'.
inline double prediction_of(Link link, double score) {
    switch (link) {
    case Link::exponential:
        return exponential_of_score(score);
    case Link::logistic:
    case Link::one_vs_all:
        return logistic(score);
    case Link::softplus:
        return softplus(score);
    case Link::signed_square:
        return score * std::fabs(score);
    case Link::identity:
    case Link::softmax:
        break;
    }
    return score;
}

// Puts every label's probability in the place of its score. A sum of finite leaves may be infinite; such a score counts
// for the largest number, since the difference of two infinite ones is none. in_floats: scores are floats, and so is a
// difference of two, as in XGBoost.
inline void softmax(std::span<double> scores, bool in_floats = false) {
    static constexpr double max = std::numeric_limits<double>::max();
    for (double& score : scores) score = std::clamp(score, -max, max);
    const double largest = *std::max_element(scores.begin(), scores.end());
    double sum = 0;
    for (double& score : scores) {
        const double difference = score - largest;
        sum += score = exponential(in_floats ? static_cast<float>(std::max(difference, min_exponent)) : difference);
    }
    for (double& score : scores) score /= sum;
}

} // namespace btml::boosting
