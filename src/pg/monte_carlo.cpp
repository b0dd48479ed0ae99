// SQL functions of Monte Carlo sums: btml.kde_score, btml.likelihood_score, btml.kr_score and btml.kcde_score,
// btml.select_bandwidth and btml.approx_sum.
#include "core/monte_carlo/approx_sum.hpp"
#include "core/monte_carlo/score_options.hpp"
#include "core/numbers/exact_sum.hpp"
#include "pg/bandwidth_chooser.hpp"
#include "pg/bridge/backend_context.hpp"
#include "pg/bridge/guard.hpp"
#include "pg/monte_carlo_pages.hpp"
#include "pg/source/point_source.hpp"
#include "pg/values/named_options.hpp"
#include "pg/values/result.hpp"

namespace btml::pg {

using monte_carlo::PageEstimate;
using monte_carlo::ScoreEstimate;
using monte_carlo::ScoreKind;
using monte_carlo::ScoreRows;

namespace {

// The points of a source, with a target where one is named. Rows with a NULL target are left out, with a NOTICE.
ScoreRows read_score_rows(const std::string& source, const std::optional<std::string>& target, bool scaled,
                          RunContext& context) {
    PointParts parts;
    parts.values = target;
    const PointSource points(source, "points", std::move(parts));
    ScoreRows rows(points.dimensions().value_or(1), target.has_value(), context.memory());
    uint64_t skipped = 0;
    points.read(
        [&](const PointRow& point) {
            if (target && point.values.empty()) {
                skipped++;
                return true;
            }
            rows.dimensions = point.x.size();
            rows.values.reserve(rows.values.size() + rows.width());
            for (const double x : point.x) rows.values.append_reserved(x);
            if (target) rows.values.append_reserved(point.values[0]);
            return true;
        },
        context);
    if (skipped)
        notice(format("%" PRIu64 " row%s with a NULL target %s left out", skipped, skipped == 1 ? "" : "s",
                      skipped == 1 ? "is" : "are"));
    if (scaled) monte_carlo::standardise(rows, context);
    return rows;
}

void report_underflows(uint64_t underflows, uint64_t rows_seen) {
    if (underflows == 0) return;
    notice("the bandwidth is so small that all weights of some rows underflow",
           format("They do for %" PRIu64 " of the %" PRIu64 " rows looked at, of which the nearest other row alone "
                  "says something, or none for a density.",
                  underflows, rows_seen));
}

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
//     min_samples int, tolerance float8, seed bigint, scale text, kernel text) → btml.estimate
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
    for (const monte_carlo::ScoredBandwidth& row : curve)
        rows.add_row(row.bandwidths.x, null_if(request.kind != ScoreKind::kcde, row.bandwidths.target), row.score,
                     row.std_error, row.best);
    report_ends_of_search(curve, request.kind);
    return rows.done();
}

namespace {

NumberKind check_column(const Source& source) {
    if (source.columns().size() != 1)
        throw Error(ErrorCode::invalid_argument,
                    format("the source has %zu output columns, not one", source.columns().size()), "",
                    "Name what is to be summed, as in SELECT price FROM sales.");
    const Source::Column& column = source.columns()[0];
    require_number(column, "column");
    return column.number;
}

// Returns nothing where all rows must be read.
std::optional<Estimate> by_sampling(const Source& source, const monte_carlo::PageSampling& options, uint64_t& rows,
                                    RunContext& context) {
    const std::optional<PageSample> sample = PageSample::of(source);
    if (!sample || sample->pages() < monte_carlo::min_pages) return std::nullopt;
    const double largest = sample->largest_known();
    double fraction = monte_carlo::first_fraction(sample->pages(), options);
    while (fraction < 0.5 + 1e-9) {
        const Buffer<double> totals = sample->totals(fraction, options.seed, rows, context);
        const PageEstimate estimate = monte_carlo::estimate_sum(totals.span(), sample->pages(), largest, options);
        if (estimate.precise) {
            const double half = monte_carlo::half_width(estimate, options);
            return Estimate{estimate.sum, estimate.std_error, estimate.sum - half, estimate.sum + half,
                            static_cast<int64>(rows)};
        }
        fraction = estimate.fraction;
    }
    return std::nullopt;
}

} // namespace

// btml.approx_sum(source text, epsilon float8, confidence float8, seed numeric) → btml.estimate
BTML_FUNCTION(btml_approx_sum) {
    const NamedArguments arguments(fcinfo);
    const std::string text = arguments.string("source");
    monte_carlo::PageSampling options;
    read_options(arguments, monte_carlo::page_sampling_table, options);
    BackendContext context("approx_sum");
    const Source source = Source::of_rows(text);
    const NumberKind kind = check_column(source);
    uint64_t rows = 0;
    if (const auto estimate = by_sampling(source, options, rows, context)) return estimate_datum(fcinfo, *estimate);
    NumberColumn column{source.columns()[0].name.c_str()};
    ExactSum exact; // whatever the order of rows
    EachRow sink([&](const Datum* values, const bool* nulls) {
        exact.add(summand(values[0], nulls[0], kind, column));
        return true;
    });
    rows += source.read_rows(sink, "summing all rows", context);
    notice_rounded(column);
    const double sum = exact.nearest();
    if (!std::isfinite(sum)) throw Error(ErrorCode::out_of_range, "the sum is out of the range of numbers");
    return estimate_datum(fcinfo, {sum, 0, sum, sum, static_cast<int64>(rows)});
}

} // namespace btml::pg
