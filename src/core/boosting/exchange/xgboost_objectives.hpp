// XGBoost's objectives: which of ours each is, and how predictions follow from scores.
#pragma once

#include "core/boosting/trees/boosting_model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace btml::boosting {

// Says how base_score, which is on the scale of the target, becomes a score.
enum class BaseScale : uint8_t { score, logit, log };

struct XgboostObjective {
    const char* name; // the library's
    ObjectiveNumber number;
    Link link;
    BaseScale base;
    bool has_labels = false;
};

inline constexpr XgboostObjective xgboost_objectives[] = {
    {"reg:squarederror", ObjectiveNumber::squared, Link::identity, BaseScale::score},
    {"reg:linear", ObjectiveNumber::squared, Link::identity, BaseScale::score},
    {"reg:squaredlogerror", ObjectiveNumber::squared, Link::identity, BaseScale::score},
    {"reg:logistic", ObjectiveNumber::binary, Link::logistic, BaseScale::logit},
    {"reg:pseudohubererror", ObjectiveNumber::huber, Link::identity, BaseScale::score},
    {"reg:absoluteerror", ObjectiveNumber::absolute, Link::identity, BaseScale::score},
    {"reg:quantileerror", ObjectiveNumber::quantile, Link::identity, BaseScale::score},
    {"binary:logistic", ObjectiveNumber::binary, Link::logistic, BaseScale::logit, true},
    {"binary:logitraw", ObjectiveNumber::squared, Link::identity, BaseScale::score},
    {"count:poisson", ObjectiveNumber::poisson, Link::exponential, BaseScale::log},
    {"reg:gamma", ObjectiveNumber::gamma, Link::exponential, BaseScale::log},
    {"reg:tweedie", ObjectiveNumber::tweedie, Link::exponential, BaseScale::log},
    {"survival:cox", ObjectiveNumber::squared, Link::exponential, BaseScale::log},
    {"survival:aft", ObjectiveNumber::squared, Link::exponential, BaseScale::log},
    {"multi:softmax", ObjectiveNumber::multiclass, Link::softmax, BaseScale::score, true},
    {"multi:softprob", ObjectiveNumber::multiclass, Link::softmax, BaseScale::score, true},
    {"rank:pairwise", ObjectiveNumber::rank, Link::identity, BaseScale::score},
    {"rank:ndcg", ObjectiveNumber::rank, Link::identity, BaseScale::score},
    {"rank:map", ObjectiveNumber::rank, Link::identity, BaseScale::score},
};

// Computes in floats and by the C library's function, as XGBoost does it: the last bit is that of the library and the
// processor. Probabilities keep its distance from 0 and 1. Where a mean of 0 has −∞ there, the least float gives the
// same predictions, 0. What no target can have is NaN.
inline float score_of_base(float base, BaseScale scale) {
    if (scale == BaseScale::score) return base;
    if (scale == BaseScale::log) return base == 0 ? std::numeric_limits<float>::lowest() : std::log(base);
    if (!(base >= 0 && base <= 1)) return std::numeric_limits<float>::quiet_NaN();
    constexpr float distance = 1e-6F;
    return -std::log(1.0F / std::clamp(base, distance, 1.0F - distance) - 1.0F);
}

} // namespace btml::boosting
