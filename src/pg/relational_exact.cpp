// btml.sumprod_exact and btml.sumprod_exact_by: sums of products of integers and numerics to the last digit. They are
// ordinary aggregates over the source, which the planner factorizes as it would in any query.
#include "core/relational/queries/sum_product.hpp"
#include "pg/bridge/backend_context.hpp"
#include "pg/bridge/settings.hpp"
#include "pg/relational.hpp"
#include "pg/source/source.hpp"
#include "pg/values/arguments.hpp"
#include "pg/values/result.hpp"
#include "pg/values/values.hpp"

#include <algorithm>

extern "C" {
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

std::string joined(const std::vector<std::string>& parts, const std::string& before, const std::string& after,
                   const std::string& between) {
    std::string all;
    for (const std::string& part : parts) {
        if (!all.empty()) all += between;
        all += before + part + after;
    }
    return all;
}

// The user's search_path finds the source's names; those written here are always PostgreSQL's own.
std::string operation(const char* name) {
    return format(" OPERATOR(pg_catalog.%s) ", name);
}

// ⊕ over rows of ⊗ of the factors, in SQL; a NULL factor skips the row.
std::string aggregate(SemiringName semiring, const std::vector<std::string>& factors) {
    const std::string count = "pg_catalog.count(*)";
    const std::string product = joined(factors, "", "", operation("*")), sum = joined(factors, "", "", operation("+"));
    switch (semiring) {
    case SemiringName::sum_product:
        return factors.empty() ? count + "::numeric" : "coalesce(pg_catalog.sum(" + product + "), 0)";
    case SemiringName::max_product:
        return factors.empty() ? "pg_catalog.sign(" + count + ")::numeric"
                               : "coalesce(pg_catalog.max(" + product + "), 0)";
    case SemiringName::min_plus:
    case SemiringName::max_plus:
        if (factors.empty()) return "CASE WHEN " + count + operation(">") + "0 THEN 0::numeric END";
        return (semiring == SemiringName::min_plus ? "pg_catalog.min(" : "pg_catalog.max(") + sum + ")";
    case SemiringName::or_and:
        break;
    }
    if (factors.empty()) return "pg_catalog.sign(" + count + ")::numeric";
    const std::string none_is_zero = joined(factors, "", operation("<>") + "0", " AND ");
    return "pg_catalog.sign(" + count + " FILTER (WHERE " + none_is_zero + "))::numeric";
}

// Tells, in SQL, whether max_product has a negative factor.
std::string has_negative(SemiringName semiring, const std::vector<std::string>& factors) {
    if (factors.empty() || semiring != SemiringName::max_product) return "false";
    return "least(" + joined(factors, "pg_catalog.min(", ")", ", ") + ")" + operation("<") + "0";
}

// The query of the groups, their values and has_negative. The line break ends a comment at the source's end.
std::string query_of(const Source& source, const std::vector<int>& groups, SemiringName semiring) {
    const std::vector<std::string> factors = factors_of(source, groups);
    std::string columns, keys;
    for (int i = 0; i < static_cast<int>(source.columns().size()); i++) columns += (i > 0 ? ", " : "") + alias(i);
    for (int group : groups) keys += (keys.empty() ? "" : ", ") + alias(group);
    const std::string aliases = columns.empty() ? "" : "(" + columns + ")";
    return "SELECT " + (keys.empty() ? "" : keys + ", ") + aggregate(semiring, factors) + ", " +
           has_negative(semiring, factors) + " FROM (" + std::string(source.analysis().text) + "\n) AS s" + aliases +
           (keys.empty() ? "" : " GROUP BY " + keys);
}

// Gives the sink the rows of such a query as they come.
void run(const std::string& sql, RowSink& sink, RunContext& context) {
    const Source query = Source::of_rows(sql);
    const int guc_level = pg_call([] {
        const int level = NewGUCNestLevel();
        if (factorize_aggregates() == Factorize::off)
            set_config_option("btml.factorize_aggregates", "exact", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true,
                              0, false);
        return level;
    });
    query.read_rows(sink, "aggregating", context);
    pg_call([=] { AtEOXact_GUC(true, guc_level); });
}

void require_no_negative(const Datum* values, const bool* nulls, int column) {
    if (!nulls[column] && DatumGetBool(values[column]))
        throw Error(ErrorCode::invalid_argument, "max_product takes no negative factors");
}

} // namespace

// btml.sumprod_exact(source text, semiring text) → numeric
BTML_FUNCTION(btml_sumprod_exact) {
    const NamedArguments arguments(fcinfo);
    const GivenSource given = given_source(arguments);
    const SemiringName semiring = relational::parse_semiring(arguments.string("semiring"));
    BackendContext context("btml.sumprod_exact");
    const MemoryContext memory = CurrentMemoryContext;
    Datum result{};
    fcinfo->isnull = true;
    EachRow sink([&](const Datum* values, const bool* nulls) {
        require_no_negative(values, nulls, 1);
        if (nulls[0]) return true;
        const MemoryContext before = MemoryContextSwitchTo(memory);
        result = pg_call([=] { return NumericGetDatum(DatumGetNumericCopy(values[0])); });
        MemoryContextSwitchTo(before);
        fcinfo->isnull = false;
        return true;
    });
    run(query_of(Source(given), {}, semiring), sink, context);
    return result;
}

// btml.sumprod_exact_by(source text, group_by name[], semiring text) → SETOF record
BTML_FUNCTION(btml_sumprod_exact_by) {
    const NamedArguments arguments(fcinfo);
    const GivenSource given = given_source(arguments);
    const std::vector<std::string> names = arguments.columns("group_by");
    const SemiringName semiring = relational::parse_semiring(arguments.string("semiring"));
    ResultRows rows(fcinfo);
    const Source source(given);
    const std::vector<int> groups = group_columns(source, names);
    check_result_columns(rows.columns(), source, groups, NUMERICOID);
    BackendContext context("btml.sumprod_exact_by");
    const int columns = rows.columns()->natts; // of the groups and the value
    EachRow sink([&](const Datum* values, const bool* nulls) {
        require_no_negative(values, nulls, columns);
        for (int column = 0; column < columns; column++) rows.add(null_if(nulls[column], SqlValue{values[column]}));
        rows.finish_row();
        return true;
    });
    run(query_of(source, groups, semiring), sink, context);
    return rows.done();
}

} // namespace btml::pg
