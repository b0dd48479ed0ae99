// SQL functions of Monte Carlo sums: btml.kde_score, btml.likelihood_score, btml.kr_score and btml.kcde_score,
// btml.select_bandwidth and btml.approx_sum.
#include "core/monte_carlo/approx_sum.hpp"
#include "core/monte_carlo/bandwidth_selection.hpp"
#include "core/numbers/exact_sum.hpp"
#include "pg/bandwidth_chooser.hpp"
#include "pg/bridge/backend_context.hpp"
#include "pg/bridge/guard.hpp"
#include "pg/bridge/nodes.hpp"
#include "pg/source/point_source.hpp"
#include "pg/source/random_blocks.hpp"
#include "pg/source/source.hpp"
#include "pg/values/named_options.hpp"
#include "pg/values/result.hpp"
#include "pg/values/values.hpp"

extern "C" {
#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_statistic.h"
#include "common/hashfn.h"
#include "parser/parse_func.h"
#include "storage/bufmgr.h"
#include "storage/itemptr.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"
}

namespace btml::pg {

using monte_carlo::PageEstimate;
using monte_carlo::ScoreEstimate;
using monte_carlo::ScoreKind;
using monte_carlo::ScoreRows;

namespace {

// The points of a source, with a target where one is named. Rows with a NULL target are left out, with a NOTICE.
ScoreRows read_score_rows(const GivenSource& source, const std::optional<std::string>& target, bool scaled,
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
    const GivenSource source = given_source(arguments);
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
    GivenSource source;
    std::optional<std::string> target;
};

SelectionRequest read_request(const NamedArguments& arguments) {
    SelectionRequest request{{}, given_source(arguments), arguments.optional_column("target")};
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

// The one plain table that the query reads, or null.
RangeTblEntry* plain_table(const Query* query) {
    if (query->commandType != CMD_SELECT || query->hasAggs || query->hasWindowFuncs || query->hasTargetSRFs ||
        query->hasSubLinks || query->hasModifyingCTE || query->groupClause || query->groupingSets ||
        query->havingQual || query->distinctClause || query->limitOffset || query->limitCount || query->setOperations ||
        query->rowMarks || query->cteList || !query->jointree || list_length(query->jointree->fromlist) != 1)
        return nullptr;
    Node* const from = static_cast<Node*>(linitial(query->jointree->fromlist));
    if (!IsA(from, RangeTblRef)) return nullptr;
    RangeTblEntry* const table = rt_fetch(reinterpret_cast<RangeTblRef*>(from)->rtindex, query->rtable);
    const bool plain = table->rtekind == RTE_RELATION && !table->tablesample &&
                       (table->relkind == RELKIND_RELATION || table->relkind == RELKIND_MATVIEW) &&
                       !(table->inh && has_subclass(table->relid)) && is_heap(table->relid);
    return plain ? table : nullptr;
}

// Returns the largest magnitude among the most common values, or the histogram's bounds.
double largest_of(HeapTuple statistics, int slot_kind, NumberKind kind) {
    AttStatsSlot slot;
    if (!get_attstatsslot(&slot, statistics, slot_kind, InvalidOid, ATTSTATSSLOT_VALUES)) return 0;
    double largest = 0;
    for (int i = 0; i < slot.nvalues; i++) {
        const double x = to_number(slot.values[i], kind, nullptr);
        largest = std::max(largest, std::isfinite(x) ? std::abs(x) : std::numeric_limits<double>::infinity());
    }
    free_attstatsslot(&slot);
    return largest;
}

// The query over a sample of its table, with the row's place as a second column.
Query* sampled(const Query* query, double percent, double seed) {
    Query* const copy = copy_of(query);
    RangeTblEntry* const table = plain_table(copy);
    TableSampleClause* const sample = makeNode(TableSampleClause);
    Oid internal[] = {INTERNALOID};
    sample->tsmhandler = LookupFuncName(list_make2(makeString(pstrdup("pg_catalog")), makeString(pstrdup("system"))), 1,
                                        internal, false);
    sample->args = list_make1(makeConst(FLOAT4OID, -1, InvalidOid, sizeof(float4),
                                        Float4GetDatum(static_cast<float4>(percent)), false, true));
    sample->repeatable = reinterpret_cast<Expr*>(
        makeConst(FLOAT8OID, -1, InvalidOid, sizeof(float8), Float8GetDatum(seed), false, FLOAT8PASSBYVAL));
    table->tablesample = sample;
    const auto* const from = static_cast<RangeTblRef*>(linitial(copy->jointree->fromlist));
    Var* const place = makeVar(from->rtindex, SelfItemPointerAttributeNumber, TIDOID, -1, InvalidOid, 0);
    copy->targetList = list_make2(linitial(copy->targetList),
                                  makeTargetEntry(reinterpret_cast<Expr*>(place), 2, pstrdup("ctid"), false));
    return copy;
}

// The pages that TABLESAMPLE SYSTEM draws, as the server's access/tablesample/system.c chooses them: also those of
// which no row is seen.
class DrawnPages {
  public:
    DrawnPages(uint64_t pages, double percent, double seed, MemoryBudget& budget)
        : index_(budget, "pages of a table", pages) {
        const uint32 hash =
            DatumGetUInt32(pg_call([=] { return DirectFunctionCall1(hashfloat8, Float8GetDatum(seed)); }));
        const auto cutoff = static_cast<uint64_t>(
            std::rint((static_cast<double>(UINT32_MAX) + 1) * static_cast<float4>(percent) / 100));
        for (uint64_t page = 0; page < pages; page++) {
            const uint32 input[] = {static_cast<uint32>(page), hash};
            const uint32 draw = DatumGetUInt32(hash_any(reinterpret_cast<const unsigned char*>(input), sizeof(input)));
            index_[page] = draw < cutoff ? static_cast<uint32_t>(count_++) : none;
        }
    }

    size_t count() const { return count_; }
    // The number of a drawn page among those.
    size_t number(uint64_t page) const {
        if (page >= index_.size() || index_[page] == none)
            throw Error(ErrorCode::internal, "TABLESAMPLE SYSTEM drew a page that was not expected");
        return index_[page];
    }

  private:
    static constexpr uint32_t none = UINT32_MAX;

    Buffer<uint32_t> index_; // of each page
    size_t count_ = 0;
};

// A finite number, or error out_of_range naming the column; 0 for NULL.
double summand(Datum value, bool null, NumberKind kind, NumberColumn& column) {
    if (null) return 0;
    const double x = guarded_number(value, kind, column);
    if (!std::isfinite(x))
        throw Error(ErrorCode::out_of_range,
                    format("column \"%s\" is %s in a row", column.name, std::isnan(x) ? "NaN" : "infinite"), "",
                    "Leave such rows out with WHERE.");
    return x;
}

// Queries of one plain table over a random sample of its pages: TABLESAMPLE SYSTEM, put into a query tree.
class PageSample {
  public:
    // Returns nothing unless the source of rows is a SELECT from one plain table without children, with at most a
    // WHERE.
    static std::optional<PageSample> of(const Source& source) {
        const auto* const relation = static_cast<const SourceRelation*>(linitial(source.analysis().relations));
        const Query* const query = relation->query;
        const RangeTblEntry* const table = pg_call([=] { return plain_table(query); });
        if (!table) return std::nullopt;
        return PageSample(query, source, table->relid);
    }

    uint64_t pages() const { return pages_; }
    // The largest magnitude among the values that the planner's statistics (pg_stats) hold of the column summed; 0
    // where they hold none, or an expression is summed. The query may leave out the row that has it.
    double largest_known() const {
        const auto* const entry = static_cast<const TargetEntry*>(linitial(query_->targetList));
        if (!IsA(entry->expr, Var)) return 0;
        const Var* const column = reinterpret_cast<const Var*>(entry->expr);
        const RangeTblEntry* const table = plain_table(query_);
        return pg_call([=, this] {
            HeapTuple const statistics = SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(table->relid),
                                                         Int16GetDatum(column->varattno), BoolGetDatum(false));
            if (!HeapTupleIsValid(statistics)) return 0.0;
            const double largest = std::max(largest_of(statistics, STATISTIC_KIND_MCV, kind_),
                                            largest_of(statistics, STATISTIC_KIND_HISTOGRAM, kind_));
            ReleaseSysCache(statistics);
            return largest;
        });
    }
    // Totals of the pages drawn, of the first output column over the rows that the query gives; NULLs are skipped.
    // The same seed and a larger fraction draw the same pages and more. Error out_of_range for NaN and infinities.
    Buffer<double> totals(double fraction, uint64_t seed, uint64_t& rows, RunContext& context) const {
        const double percent = std::min(100.0, 100 * fraction), repeatable = static_cast<double>(seed % 1'000'000'007);
        const DrawnPages drawn(pages_, percent, repeatable, context.memory());
        Buffer<double> totals(context.memory(), "totals of pages", drawn.count(), 0);
        NumberColumn column{column_};
        EachRow sink([&](const Datum* values, const bool* nulls) {
            const auto* const place = reinterpret_cast<const ItemPointerData*>(DatumGetPointer(values[1]));
            totals[drawn.number(ItemPointerGetBlockNumber(place))] += summand(values[0], nulls[0], kind_, column);
            return true;
        });
        const Query* const query = pg_call([=, this] { return sampled(query_, percent, repeatable); });
        rows += run_query(query, sql_, sink, "sampling pages", context);
        return totals;
    }

  private:
    PageSample(const Query* query, const Source& source, Oid table)
        : query_(query),
          sql_(source.analysis().text),
          column_(source.columns()[0].name.c_str()),
          kind_(source.columns()[0].number),
          pages_(pg_call([=] { return blocks_of(table); })) {}

    const Query* query_;
    const char* sql_;
    const char* column_;
    NumberKind kind_;
    uint64_t pages_;
};

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
    const GivenSource given = given_source(arguments);
    monte_carlo::PageSampling options;
    read_options(arguments, monte_carlo::page_sampling_table, options);
    BackendContext context("approx_sum");
    const Source source = Source::of_rows(given);
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
