// btml.explain_factorized: what becomes of the aggregates of a query, as lines of text.
#include "pg/bridge/nodes.hpp"
#include "pg/bridge/settings.hpp"
#include "pg/planner/hook.hpp"
#include "pg/source/analysis.hpp"
#include "pg/values/arguments.hpp"
#include "pg/values/result.hpp"

namespace btml::pg::planner {

namespace {

Query* parse(const char* sql) {
    List* const statements = pg_parse_query(sql);
    if (list_length(statements) != 1)
        ereport(ERROR, (errcode(ERRCODE_SYNTAX_ERROR),
                        errmsg("the query must be one statement, not %d", list_length(statements))));
    Oid* types = nullptr; // of parameters, as the query demands them
    int count = 0;
    List* const queries =
        pg_analyze_and_rewrite_varparams(linitial_node(RawStmt, statements), sql, &types, &count, nullptr);
    auto* const query = queries ? linitial_node(Query, queries) : nullptr;
    if (list_length(queries) != 1 || query->commandType == CMD_UTILITY)
        ereport(ERROR,
                (errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("the statement is not a query that is planned as one"),
                 errhint("Give a SELECT, without EXPLAIN, EXECUTE, DECLARE or CREATE TABLE AS before it.")));
    return query;
}

// Plans the query under the setting, and returns what became of its aggregates (of char*). Costs tell of rows, so that
// only who may read them is told.
List* plan_under(const char* setting, const char* sql) {
    Verdicts verdicts = {CurrentMemoryContext, NIL};
    const int guc_level = NewGUCNestLevel();
    set_config_option("btml.factorize_aggregates", setting, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0,
                      false);
    Verdicts* const before = set_verdicts(&verdicts);
    PG_TRY();
    {
        PlannedStmt* const planned = pg_plan_query(parse(sql), sql, CURSOR_OPT_PARALLEL_OK, nullptr);
        btml_compat_check_planned_permissions(planned);
    }
    PG_FINALLY();
    { set_verdicts(before); }
    PG_END_TRY();
    AtEOXact_GUC(true, guc_level);
    return verdicts.lines;
}

// Tells of both settings, where they differ.
List* plan_under_both(const char* sql) {
    List *const with_on = plan_under("on", sql), *const with_exact = plan_under("exact", sql);
    List* lines = NIL;
    Assert(list_length(with_on) == list_length(with_exact)); // both tell of every grouped query
    for (int i = 0; i < std::min(list_length(with_on), list_length(with_exact)); i++) {
        char *const on = static_cast<char*>(list_nth(with_on, i)), *const exact =
                                                                       static_cast<char*>(list_nth(with_exact, i));
        if (strcmp(on, exact) == 0)
            lines = lappend(lines, on);
        else
            lines = lappend(lappend(lines, psprintf("with on: %s", on)), psprintf("with exact: %s", exact));
    }
    return lines;
}

List* plan(const char* sql) {
    ErrorContextCallback callback{error_context_stack, [](void* text) { point_into(static_cast<const char*>(text)); },
                                  const_cast<char*>(sql)};
    error_context_stack = &callback;
    const Factorize setting = factorize_aggregates();
    List* const lines =
        setting == Factorize::off ? plan_under_both(sql) : plan_under(setting == Factorize::on ? "on" : "exact", sql);
    error_context_stack = callback.previous;
    return lines;
}

} // namespace

BTML_FUNCTION(btml_explain_factorized) {
    const std::string sql = Arguments(fcinfo).string(0, "query");
    const List* const lines = pg_call([&] { return plan(sql.c_str()); });
    ResultRows rows(fcinfo);
    for (const char* const line : items<const char>(lines)) rows.add_row(std::string_view(line));
    if (!lines)
        rows.add_row(std::string_view(
            "not factorized, since it has no aggregates, GROUP BY or DISTINCT over a join (functions are not "
            "looked into)"));
    return rows.done();
}

} // namespace btml::pg::planner
