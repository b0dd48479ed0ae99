// btml.kde_score, btml.likelihood_score, btml.kr_score, btml.kcde_score: cross-validation scores of kernel methods.
#include "pg/bridge/backend_context.hpp"
#include "pg/estimate.hpp"
#include "pg/kernel_options.hpp"
#include "pg/score_options.hpp"

namespace btml::pg {

using monte_carlo::Bandwidths;
using monte_carlo::ScoreEstimate;
using monte_carlo::ScoreKind;

namespace {

// Arguments: source, then a target where there is one, the bandwidth, for kcde that of the target, the options, scale.
Datum score(FunctionCallInfo fcinfo, ScoreKind kind, const char* function) {
    const Arguments arguments(fcinfo);
    const std::string source = arguments.string(0, "source");
    std::optional<std::string> target;
    int position = 1;
    if (has_target(kind)) target = arguments.column(position++, "target");
    Bandwidths bandwidths{read_bandwidth(arguments, position, "bandwidth")};
    position++;
    if (kind == ScoreKind::kcde) bandwidths.target = read_bandwidth(arguments, position++, "target_bandwidth");
    const monte_carlo::ScoreOptions options = read_score_options(arguments, position);
    const bool scaled = read_scale(arguments, position + 7) == kernel::Scale::sd;
    BackendContext context(function);
    monte_carlo::Scores scores(read_score_rows(source, target, scaled, context), kind, options, context);
    ThreadTeam team(context);
    const ScoreEstimate estimate = scores.estimate(bandwidths, team);
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
