// btml.sumprod_exact and btml.sumprod_exact_by: sums of products of integers and numerics to the last digit. They are
// ordinary aggregates over the source, which the planner factorizes as it would in any query.
#include "core/relational/sum_product.hpp"
#include "pg/bridge/arguments.hpp"
#include "pg/bridge/result.hpp"
#include "pg/bridge/settings.hpp"
#include "pg/bridge/source.hpp"
#include "pg/bridge/values.hpp"
#include "pg/relational.hpp"

extern "C" {
#include "executor/spi.h"
#include "utils/numeric.h"
}

namespace btml::pg {

using relational::SemiringName;

namespace {

bool is_exact(Oid type) {
    return type == INT2OID || type == INT4OID || type == INT8OID || type == NUMERICOID;
}

std::string alias(int column) {
    return format("c%d", column);
}

// The factors' aliases, as numerics.
std::vector<std::string> factors_of(const Source& source, const std::vector<int>& groups) {
    std::vector<std::string> factors;
    for (int i = 0; i < static_cast<int>(source.columns().size()); i++) {
        if (std::find(groups.begin(), groups.end(), i) != groups.end()) continue;
        const Source::Column& column = source.columns()[i];
        if (!is_exact(column.type))
            throw Error(
                ErrorCode::wrong_type,
                format("factor \"%s\" is of type %s", column.name.c_str(), type_name(column.type)),
                "Exact sums take smallint, integer, bigint and numeric.",
                format("Cast it, as in %s::numeric, or leave it out of the source's output.", column.name.c_str()));
        factors.push_back(alias(i) + "::numeric");
    }
    return factors;
}

std::string joined(const std::vector<std::string>& parts, const char* before, const char* after, const char* between) {
    std::string all;
    for (const std::string& part : parts) all += (all.empty() ? "" : between) + (before + part) + after;
    return all;
}

// ⊕ over rows of ⊗ of the factors, in SQL; a NULL factor skips the row.
std::string aggregate(SemiringName semiring, const std::vector<std::string>& factors) {
    switch (semiring) {
    case SemiringName::sum_product:
        return factors.empty() ? "count(*)::numeric" : "coalesce(sum(" + joined(factors, "", "", " * ") + "), 0)";
    case SemiringName::max_product:
        return factors.empty() ? "sign(count(*))::numeric" : "coalesce(max(" + joined(factors, "", "", " * ") + "), 0)";
    case SemiringName::min_plus:
        return factors.empty() ? "CASE WHEN count(*) > 0 THEN 0::numeric END"
                               : "min(" + joined(factors, "", "", " + ") + ")";
    case SemiringName::max_plus:
        return factors.empty() ? "CASE WHEN count(*) > 0 THEN 0::numeric END"
                               : "max(" + joined(factors, "", "", " + ") + ")";
    case SemiringName::or_and:
        break;
    }
    if (factors.empty()) return "sign(count(*))::numeric";
    return "sign(count(*) FILTER (WHERE " + joined(factors, "", " <> 0", " AND ") + "))::numeric";
}

// The smallest factor of all, for max_product; else NULL.
std::string smallest(SemiringName semiring, const std::vector<std::string>& factors) {
    if (factors.empty() || semiring != SemiringName::max_product) return "NULL::numeric";
    return "least(" + joined(factors, "min(", ")", ", ") + ")";
}

std::string query_of(const Source& source, const std::vector<int>& groups, SemiringName semiring) {
    const std::vector<std::string> factors = factors_of(source, groups);
    std::string columns, keys;
    for (int i = 0; i < static_cast<int>(source.columns().size()); i++) columns += (i > 0 ? ", " : "") + alias(i);
    for (int group : groups) keys += (keys.empty() ? "" : ", ") + alias(group);
    const std::string aliases = columns.empty() ? "" : "(" + columns + ")";
    return "SELECT " + (keys.empty() ? "" : keys + ", ") + aggregate(semiring, factors) + ", " +
           smallest(semiring, factors) + " FROM (" + source.analysis().text + ") AS s" + aliases +
           (keys.empty() ? "" : " GROUP BY " + keys);
}

// Leaves the rows in SPI_tuptable, for SPI_finish to give back.
void run(const char* sql) {
    const int guc_level = NewGUCNestLevel();
    if (factorize_aggregates() == Factorize::off)
        set_config_option("btml.factorize_aggregates", "exact", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0,
                          false);
    SPI_connect();
    const int result = SPI_execute(sql, true, 0);
    if (result != SPI_OK_SELECT) elog(ERROR, "SPI_execute failed: %s", SPI_result_code_string(result));
    AtEOXact_GUC(true, guc_level);
}

struct Row {
    const SPITupleTable* table;
    uint64_t number;

    SqlValue value(int column, bool* null) const {
        return {pg_call([=, this] { return SPI_getbinval(table->vals[number], table->tupdesc, column + 1, null); })};
    }
};

void require_factors(const Row& row, int column) {
    bool null = false;
    const Datum smallest = row.value(column, &null).datum;
    if (null) return;
    const bool negative = pg_call([=] { return DatumGetFloat8(DirectFunctionCall1(numeric_float8, smallest)) < 0; });
    if (negative) throw Error(ErrorCode::invalid_argument, "max_product takes no negative factors");
}

} // namespace

// btml.sumprod_exact(source text, semiring text) → numeric
BTML_FUNCTION(btml_sumprod_exact) {
    const Arguments arguments(fcinfo);
    const std::string text = arguments.string(0, "source");
    const SemiringName semiring = relational::parse_semiring(arguments.string(1, "semiring"));
    const std::string sql = query_of(Source(text), {}, semiring);
    const MemoryContext caller = CurrentMemoryContext;
    pg_call([&] { run(sql.c_str()); });
    const Row row{SPI_tuptable, 0};
    bool null = false;
    const Datum value = row.value(0, &null).datum;
    require_factors(row, 1);
    fcinfo->isnull = null;
    return pg_call([=] {
        MemoryContextSwitchTo(caller);
        const Datum copy = null ? value : PointerGetDatum(DatumGetNumericCopy(value));
        SPI_finish();
        MemoryContextSwitchTo(caller);
        return copy;
    });
}

// btml.sumprod_exact_by(source text, group_by name[], semiring text) → SETOF record
BTML_FUNCTION(btml_sumprod_exact_by) {
    const Arguments arguments(fcinfo);
    const std::string text = arguments.string(0, "source");
    const std::vector<std::string> names = arguments.columns(1, "group_by");
    const SemiringName semiring = relational::parse_semiring(arguments.string(2, "semiring"));
    ResultRows rows(fcinfo);
    const Source source(text);
    const std::vector<int> groups = group_columns(source, names);
    check_result_columns(rows.columns(), source, groups, NUMERICOID);
    const std::string sql = query_of(source, groups, semiring);
    pg_call([&] { run(sql.c_str()); });
    for (Row row{SPI_tuptable, 0}; row.number < SPI_processed; row.number++) {
        const auto value_column = static_cast<int>(groups.size());
        bool null = false;
        require_factors(row, value_column + 1);
        for (int column = 0; column <= value_column; column++) {
            const SqlValue value = row.value(column, &null);
            null ? rows.add_null() : rows.add(value);
        }
        rows.finish_row();
    }
    pg_call([] { SPI_finish(); });
    return rows.done();
}

} // namespace btml::pg
