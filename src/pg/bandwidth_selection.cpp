// btml.select_bandwidth: the bandwidth with the least cross-validation score.
#include "core/monte_carlo/score_options.hpp"
#include "pg/bridge/backend_context.hpp"
#include "pg/bridge/result.hpp"
#include "pg/options.hpp"
#include "pg/score_rows.hpp"

namespace btml::pg {

using monte_carlo::ScoreKind;

namespace {

struct SelectionRequest : monte_carlo::ScoreRequest {
    std::string source;
    std::optional<std::string> target;
};

SelectionRequest read_request(const NamedArguments& arguments) {
    SelectionRequest request{{}, arguments.string("source"), arguments.optional_column("target")};
    read_options<monte_carlo::ScoreRequest>(arguments, monte_carlo::score_options_table, request);
    const char* const kind = name_of(request.kind);
    if (has_target(request.kind) && !request.target)
        throw Error(ErrorCode::invalid_argument, format("score \"%s\" needs a target", kind), "",
                    "Give the column's name as \"target\".");
    if (!has_target(request.kind) && request.target)
        throw Error(ErrorCode::invalid_argument, format("score \"%s\" has no target", kind), "",
                    "For the density of points and target together, leave \"target\" out.");
    return request;
}

// Where the best is at an end of what was searched, a better one may be beyond, unless all are the same.
void report_ends(const std::vector<monte_carlo::ScoredBandwidth>& curve, ScoreKind kind) {
    if (std::all_of(curve.begin(), curve.end(), [&](const auto& row) { return row.score == curve[0].score; })) return;
    const auto best = std::find_if(curve.begin(), curve.end(), [](const auto& row) { return row.best; });
    const auto notice = [](const char* what, const char* end, const char* hint) {
        pg_call([=] {
            ereport(NOTICE, (errmsg("the best %s is at the %s end of its range", what, end), errhint("%s", hint)));
        });
    };
    const auto by_target = [](const auto& a, const auto& b) { return a.bandwidths.target < b.bandwidths.target; };
    const auto [least, most] = std::minmax_element(curve.begin(), curve.end(), by_target);
    if (best->bandwidths.x == curve.front().bandwidths.x)
        notice("bandwidth", "lower",
               kind == ScoreKind::kde ? "Where points or coordinates repeat, least squares prefer ever smaller "
                                        "bandwidths: score \"likelihood\" does not."
                                      : "A smaller \"lower\" shows whether the score falls further.");
    if (best->bandwidths.x == curve.back().bandwidths.x)
        notice("bandwidth", "upper", "A larger \"upper\" shows whether the score falls further.");
    if (least->bandwidths.target == most->bandwidths.target) return;
    const char* const hint = "btml.kcde_score at others shows whether the score falls further.";
    if (best->bandwidths.target == least->bandwidths.target) notice("target bandwidth", "lower", hint);
    if (best->bandwidths.target == most->bandwidths.target) notice("target bandwidth", "upper", hint);
}

} // namespace

// btml.select_bandwidth(source text, score text, target name, lower float8, upper float8, steps int, … as kde_score)
//     → table(bandwidth float8, target_bandwidth float8, score float8, std_error float8, best boolean)
BTML_FUNCTION(btml_select_bandwidth) {
    const SelectionRequest request = read_request(NamedArguments(fcinfo));
    ResultRows rows(fcinfo);
    BackendContext context("select_bandwidth");
    monte_carlo::ScoreRows points = read_score_rows(request.source, request.target, request.scaled, context);
    ThreadTeam team(context);
    const std::vector<monte_carlo::ScoredBandwidth> curve =
        monte_carlo::select_bandwidth(std::move(points), request.kind, request.selection, team, context);
    for (const monte_carlo::ScoredBandwidth& row : curve) {
        rows.add_number(row.bandwidths.x);
        if (request.kind == ScoreKind::kcde)
            rows.add_number(row.bandwidths.target);
        else
            rows.add_null();
        rows.add_number(row.score);
        rows.add_number(row.std_error);
        rows.add_boolean(row.best);
        rows.finish_row();
    }
    report_ends(curve, request.kind);
    return rows.done();
}

} // namespace btml::pg
