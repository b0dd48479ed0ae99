// The one place that knows which class stands for which kind of score: a new kind is one more class and a line here.
#pragma once

#include "core/monte_carlo/kcde_score.hpp"
#include "core/monte_carlo/kde_score.hpp"
#include "core/monte_carlo/kr_score.hpp"
#include "core/monte_carlo/likelihood_score.hpp"
#include "core/monte_carlo/outer_strata.hpp"

#include <type_traits>

namespace btml::monte_carlo {

// Calls body(std::type_identity<Score>()) with the class of the scores of this kind.
template <class Body>
auto with_score_class(ScoreKind kind, const Body& body) {
    switch (kind) {
    case ScoreKind::kr:
        return body(std::type_identity<KrScore>());
    case ScoreKind::kde:
        return body(std::type_identity<KdeScore>());
    case ScoreKind::likelihood:
        return body(std::type_identity<LikelihoodScore>());
    case ScoreKind::kcde:
        break;
    }
    return body(std::type_identity<KcdeScore>());
}

// Makes a score of `scores`, whose tree is there, at these bandwidths.
template <class Score, class Scores>
Score make_score(const Scores& scores, const Bandwidths& bandwidths) {
    if constexpr (std::is_constructible_v<Score, const VarianceTree&, const Bandwidths&>)
        return Score(scores.tree(), bandwidths);
    else
        return Score(scores.tree(), bandwidths, scores.typical_sum(bandwidths.x));
}

} // namespace btml::monte_carlo
