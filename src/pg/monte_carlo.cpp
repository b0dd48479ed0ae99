// btml.kde_score, btml.likelihood_score, btml.kr_score, btml.kcde_score: cross-validation scores of kernel methods.
#include "core/monte_carlo/score_options.hpp"
#include "pg/bridge/backend_context.hpp"
#include "pg/estimate.hpp"
#include "pg/options.hpp"
#include "pg/score_rows.hpp"

namespace btml::pg {

using monte_carlo::ScoreEstimate;
using monte_carlo::ScoreKind;

namespace {

Datum score(FunctionCallInfo fcinfo, ScoreKind kind, const char* function) {
    const NamedArguments arguments(fcinfo);
    const std::string source = arguments.string("source");
    std::optional<std::string> target;
    if (has_target(kind)) target = arguments.column("target");
    monte_carlo::ScoreRequest request;
    read_options(arguments, monte_carlo::score_options_table, request);
    BackendContext context(function);
    monte_carlo::Scores scores(read_score_rows(source, target, request.scaled, context), kind, request.selection.score,
                               context);
    ThreadTeam team(context);
    const ScoreEstimate estimate = scores.estimate(request.bandwidths, team);
    report_underflows(estimate.underflows, estimate.rows_seen);
    return estimate_datum(fcinfo, {estimate.value, estimate.std_error, estimate.lower, estimate.upper,
                                   static_cast<int64>(estimate.evaluations)});
}

} // namespace

// btml.kde_score(source text, bandwidth float8, epsilon float8, confidence float8, method text, strata int,
//     min_samples int, tolerance float8, seed bigint, scale text) → btml.estimate
BTML_FUNCTION(btml_kde_score) {
    return score(fcinfo, ScoreKind::kde, "kde_score");
}

// btml.likelihood_score(source text, bandwidth float8, … as kde_score) → btml.estimate
BTML_FUNCTION(btml_likelihood_score) {
    return score(fcinfo, ScoreKind::likelihood, "likelihood_score");
}

// btml.kr_score(source text, target name, bandwidth float8, … as kde_score) → btml.estimate
BTML_FUNCTION(btml_kr_score) {
    return score(fcinfo, ScoreKind::kr, "kr_score");
}

// btml.kcde_score(source text, target name, bandwidth float8, target_bandwidth float8, … as kde_score) → btml.estimate
BTML_FUNCTION(btml_kcde_score) {
    return score(fcinfo, ScoreKind::kcde, "kcde_score");
}

} // namespace btml::pg
