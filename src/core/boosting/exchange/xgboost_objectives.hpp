// XGBoost's objectives: which of ours each is, and how predictions follow from scores.
#pragma once

#include "core/boosting/model.hpp"

#include <cmath>

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

// In floats, by the C library's function, as XGBoost does it: the last bit is that of the library and the processor.
inline float score_of_base(float base, BaseScale scale) {
    if (scale == BaseScale::logit) return -std::log(1.0F / base - 1.0F);
    return scale == BaseScale::log ? std::log(base) : base;
}

} // namespace btml::boosting
