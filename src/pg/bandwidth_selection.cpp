// btml.select_bandwidth: the bandwidth with the least cross-validation score.
#include "core/kernel/bandwidth_selection.hpp"
#include "pg/bridge/backend_context.hpp"
#include "pg/bridge/result.hpp"
#include "pg/option_values.hpp"
#include "pg/score_options.hpp"

namespace btml::pg {

using kernel::ScoreKind;

namespace {

struct SelectionRequest {
    std::string source;
    ScoreKind kind;
    std::optional<std::string> target;
    kernel::SelectionOptions options;
    bool scaled;
};

SelectionRequest read_request(const Arguments& arguments) {
    static const std::vector<std::string> kinds = {"kde", "kr", "kcde"};
    SelectionRequest request;
    request.source = arguments.string(0, "source");
    request.kind = static_cast<ScoreKind>(choice(arguments.string(1, "score"), "score", kinds));
    if (!arguments.is_null(2)) request.target = arguments.column(2, "target");
    if (request.kind != ScoreKind::kde && !request.target)
        throw Error(ErrorCode::invalid_argument,
                    format("score \"%s\" needs a target", kinds[static_cast<size_t>(request.kind)].c_str()), "",
                    "Give the column's name as \"target\".");
    if (request.kind == ScoreKind::kde && request.target)
        throw Error(ErrorCode::invalid_argument, "score \"kde\" has no target", "",
                    "For the density of points and target together, leave \"target\" out.");
    if (!arguments.is_null(3)) request.options.lower = read_bandwidth(arguments, 3, "lower");
    if (!arguments.is_null(4)) request.options.upper = read_bandwidth(arguments, 4, "upper");
    request.options.steps = read_count(arguments, 5, "steps", 2, 1000);
    request.options.score = read_score_options(arguments, 6);
    request.scaled = read_scale(arguments, 13);
    return request;
}

} // namespace

// btml.select_bandwidth(source text, score text, target name, lower float8, upper float8, steps int, … as kde_score)
//     → table(bandwidth float8, target_bandwidth float8, score float8, std_error float8, best boolean)
BTML_FUNCTION(btml_select_bandwidth) {
    const SelectionRequest request = read_request(Arguments(fcinfo));
    ResultRows rows(fcinfo);
    BackendContext context("select_bandwidth");
    kernel::ScoreRows points = read_score_rows(request.source, request.target, request.scaled, context);
    ThreadTeam team(context);
    for (const kernel::ScoredBandwidth& row :
         kernel::select_bandwidth(std::move(points), request.kind, request.options, team, context)) {
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
    return rows.done();
}

} // namespace btml::pg
