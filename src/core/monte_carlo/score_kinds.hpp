// The one place that knows which class stands for which kind of score: a new kind is one more class and a line here.
#pragma once

#include "core/monte_carlo/kde_score.hpp"
#include "core/monte_carlo/ratio_scores.hpp"
#include "core/monte_carlo/scores.hpp"

namespace btml::monte_carlo {

// Calls body(std::type_identity<Score>()) with the class of the scores of this form.
template <class Body>
auto with_score_class(const ScoreForm& form, const Body& body) {
    return with_shape(form.kernel, [&]<class Shape>(std::type_identity<Shape>) {
        if constexpr (Shape::order > 0)
            if (form.kind == ScoreKind::kde) return body(std::type_identity<KdeScore<Shape>>());
        if constexpr (!Shape::is_compact)
            if (form.kind == ScoreKind::likelihood) return body(std::type_identity<LikelihoodScore<Shape>>());
        if (form.kind == ScoreKind::kcde) return body(std::type_identity<KcdeScore<Shape>>());
        return body(std::type_identity<KrScore<Shape>>());
    });
}

// Returns the mean over the rows of a density score's sum, from one row of each stratum.
template <class Score>
double typical_sum(const Score& score, const OuterStrata& strata, uint64_t seed, RunContext& context) {
    constexpr uint64_t units_of_sum = 10'000; // of work
    Workspace<Score> work;
    double sum = 0;
    for (size_t s = 0; s < strata.count(); s++) {
        LeaveOneOut at = score.constants(strata.rows[strata.borders[s]]);
        RandomStream random(seed, at.position);
        sample(score, at, 0, random, work);
        context.worked(units_of_sum);
        sum += work.totals.both.weights * (strata.borders[s + 1] - strata.borders[s]);
    }
    return sum / strata.rows.size();
}

// Makes a score of `scores`, whose tree is there, at these bandwidths. For the main thread.
template <class Score>
Score make_score(const Scores& scores, const Bandwidths& bandwidths) {
    if constexpr (std::is_constructible_v<Score, const VarianceTree&, const Bandwidths&>) {
        return Score(scores.tree(), bandwidths);
    } else {
        const Score score(scores.tree(), scores.form(), bandwidths, 0);
        return Score(scores.tree(), scores.form(), bandwidths,
                     typical_sum(score, scores.strata(), scores.sampling().seed, scores.context()));
    }
}

} // namespace btml::monte_carlo
