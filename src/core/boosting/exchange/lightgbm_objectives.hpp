// LightGBM's objectives: which of ours each is, and how predictions follow from scores.
#pragma once

#include "core/boosting/trees/boosting_model.hpp"

namespace btml::boosting {

struct LightGbmObjective {
    const char* name; // the library's
    ObjectiveNumber number;
    Link link;
};

inline constexpr LightGbmObjective lightgbm_objectives[] = {
    {"regression", ObjectiveNumber::squared, Link::identity},
    {"regression_l1", ObjectiveNumber::absolute, Link::identity},
    {"huber", ObjectiveNumber::huber, Link::identity},
    {"fair", ObjectiveNumber::huber, Link::identity},
    {"mape", ObjectiveNumber::absolute, Link::identity},
    {"quantile", ObjectiveNumber::quantile, Link::identity},
    {"poisson", ObjectiveNumber::poisson, Link::exponential},
    {"gamma", ObjectiveNumber::gamma, Link::exponential},
    {"tweedie", ObjectiveNumber::tweedie, Link::exponential},
    {"binary", ObjectiveNumber::binary, Link::logistic},
    {"cross_entropy", ObjectiveNumber::binary, Link::logistic},
    {"cross_entropy_lambda", ObjectiveNumber::squared, Link::softplus},
    {"multiclass", ObjectiveNumber::multiclass, Link::softmax},
    {"multiclassova", ObjectiveNumber::multiclass, Link::one_vs_all},
    {"lambdarank", ObjectiveNumber::rank, Link::identity},
    {"rank_xendcg", ObjectiveNumber::rank, Link::identity},
};

} // namespace btml::boosting
