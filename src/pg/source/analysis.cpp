#include "pg/source/analysis.hpp"

#include "pg/bridge/guard.hpp"
#include "pg/source/factoriser.hpp"

extern "C" {
#include "catalog/namespace.h"
#include "mb/pg_wchar.h"
#include "utils/varlena.h"
}

namespace btml::pg {

namespace {

// Tells where in the source an error is.
void point_into_source(void* source) {
    const auto* const text = static_cast<const char*>(source);
    if (point_into(text)) return;
    // A source may be very long; what comes first is enough to know it by.
    const int length = static_cast<int>(strlen(text)), shown = pg_mbcliplen(text, length, 200);
    errcontext("btml source \"%.*s%s\"", shown, text, shown < length ? " …" : "");
}

// Tells whether the source is a name as written in SQL: identifiers with dots between them. Anything else is a
// statement.
bool is_name(const char* source) {
    // PostgreSQL takes what is no letter for a part of a name as well.
    const auto may_be_in_name = [](unsigned char c) {
        return c >= 0x80 || isalnum(c) || isspace(c) || strchr("._$", c);
    };
    const char* const end = source + strlen(source);
    const char* const begin = std::find_if_not(source, end, [](unsigned char c) { return isspace(c); });
    List* parts = NIL;
    if (!strchr(source, '"') &&
        (isdigit(static_cast<unsigned char>(*begin)) || !std::all_of(begin, end, may_be_in_name)))
        return false;
    return SplitIdentifierString(pstrdup(source), '.', &parts) && parts != NIL;
}

// SELECT * FROM the table or view that is named.
const char* select_from_name(const char* source) {
    List* const parts = btml_compat_name_list(source);
    RangeVar* const name = makeRangeVarFromNameList(parts);
    StringInfoData sql;
    initStringInfo(&sql);
    appendStringInfoString(&sql, "SELECT * FROM ");
    if (name->catalogname) appendStringInfo(&sql, "%s.", quote_identifier(name->catalogname));
    if (name->schemaname) appendStringInfo(&sql, "%s.", quote_identifier(name->schemaname));
    appendStringInfoString(&sql, quote_identifier(name->relname));
    return sql.data;
}

[[noreturn]] void not_a_source(const char* name, const char* what) {
    ereport(ERROR, (errcode(ERRCODE_SYNTAX_ERROR),
                    errmsg("%s must be a table, a view or one SELECT statement, not %s", name, what)));
    pg_unreachable();
}

// Tells whether a query or one inside it has FOR UPDATE or the like.
bool locks_rows(Node* node, void* context) {
    if (!node) return false;
    if (!IsA(node, Query)) return btml_compat_walk(node, locks_rows, context);
    return castNode(Query, node)->rowMarks != NIL ||
           btml_compat_walk_query(castNode(Query, node), locks_rows, context, 0);
}

RawStmt* only_statement(const char* sql, const char* name) {
    List* const statements = pg_parse_query(sql);
    if (list_length(statements) != 1)
        not_a_source(name, statements == NIL ? "an empty string" : psprintf("%d statements", list_length(statements)));
    return linitial_node(RawStmt, statements);
}

// The SQL without semicolons around it, and comments beyond them. What is in it stays at its place.
const char* text_of_statement(const char* sql, const RawStmt* statement) {
    const int begin = std::max(0, statement->stmt_location);
    // Without a length it goes on to the end.
    char* const text = statement->stmt_len == 0 ? pstrdup(sql) : pnstrdup(sql, begin + statement->stmt_len);
    memset(text, ' ', begin);
    return text;
}

// *text, that of the statement, becomes one without parameters; without args nobody looks at it.
Query* analysed(RawStmt* statement, const char* sql, List* args, const char* name, const char** text) {
    if (!IsA(statement->stmt, SelectStmt)) not_a_source(name, "another command");
    if (castNode(SelectStmt, statement->stmt)->intoClause) not_a_source(name, "SELECT INTO");
    List* const parameters = parameters_in(statement);
    require_values(parameters, sql, list_length(args), name);
    List* const queries = parameters == NIL ? pg_analyze_and_rewrite_fixedparams(statement, sql, nullptr, 0, nullptr)
                                            : analysed_with_values(statement, sql, parameters, args, text);
    Query* const query = linitial_node(Query, queries);
    if (list_length(queries) != 1 || query->commandType != CMD_SELECT || query->utilityStmt)
        not_a_source(name, "another command");
    if (query->hasModifyingCTE) not_a_source(name, "one that modifies data");
    if (locks_rows(as_node(query), nullptr)) not_a_source(name, "one that locks rows");
    return query;
}

// Replaces references to one WITH query by the query itself.
using Expansion = std::pair<const CommonTableExpr*, int>; // and the nesting below the query that has the WITH

bool expand_references(Node* node, void* context) {
    if (!node) return false;
    auto& [with, level] = *static_cast<Expansion*>(context);
    if (IsA(node, Query)) {
        level++;
        btml_compat_walk_query(castNode(Query, node), expand_references, context, QTW_EXAMINE_RTES_BEFORE);
        level--;
        return false;
    }
    if (IsA(node, RangeTblEntry)) {
        RangeTblEntry* const entry = castNode(RangeTblEntry, node);
        if (entry->rtekind != RTE_CTE || static_cast<int>(entry->ctelevelsup) != level ||
            strcmp(entry->ctename, with->ctename) != 0)
            return false;
        Node* const copy = copy_of(with->ctequery);
        IncrementVarSublevelsUp(copy, level, 1);
        entry->rtekind = RTE_SUBQUERY;
        entry->subquery = castNode(Query, copy);
        entry->ctename = nullptr;
        entry->ctelevelsup = 0;
        entry->coltypes = entry->coltypmods = entry->colcollations = NIL;
        return false;
    }
    return btml_compat_walk(node, expand_references, context);
}

// Says why a query is one base relation whatever it joins; null when it may be factorised.
const char* reason_not_plain(Query* query) {
    if (query->hasAggs || query->groupClause || query->groupingSets || query->havingQual) return "it aggregates";
    if (query->distinctClause) return "it has DISTINCT";
    if (query->setOperations) return "it is a set operation";
    if (query->hasWindowFuncs) return "it has window functions";
    if (query->limitCount || query->limitOffset) return "it has LIMIT or OFFSET";
    if (query->hasTargetSRFs) return "it has set-returning functions in its output";
    if (query->cteList) return "it has a WITH query that cannot be expanded in place";
    if (query->jointree->fromlist == NIL) return "it reads no table";
    if (contain_volatile_functions(as_node(query->targetList)) || contain_volatile_functions(as_node(query->jointree)))
        return "it calls a volatile function";
    return nullptr;
}

// The source as one base relation.
SourceAnalysis* whole_source(const Query* query, const char* reason) {
    SourceAnalysis* const analysis = allocate<SourceAnalysis>();
    SourceRelation* const relation = allocate<SourceRelation>();
    relation->name = "the source as a query";
    relation->reason = reason;
    relation->query = copy_of(query);
    relation->whole = true;
    analysis->relations = list_make1(relation);
    for (const TargetEntry* const entry : items<const TargetEntry>(query->targetList)) {
        if (entry->resjunk) continue;
        SourceOutput* const output = output_of(entry);
        analysis->outputs = lappend(analysis->outputs, output);
    }
    return analysis;
}

SourceAnalysis* analyse_query(const Query* original) {
    Query* const query = copy_of(original);
    expand_with_queries(query);
    const char* const reason = reason_not_plain(query);
    if (reason) return whole_source(original, reason);
    for (const bool pull_up : {true, false})
        if (SourceAnalysis* const analysis = Factoriser(query, pull_up).run()) return analysis;
    return whole_source(original, "it computes columns below an outer join");
}

} // namespace

// A WITH query that is neither recursive nor MATERIALIZED nor volatile means the same wherever it is written.
void expand_with_queries(Query* query) {
    for (const CommonTableExpr* const with : items<const CommonTableExpr>(query->cteList)) {
        if (with->cterecursive || with->ctematerialized == CTEMaterializeAlways ||
            contain_volatile_functions(with->ctequery))
            return;
    }
    while (query->cteList != NIL) {
        Expansion expansion = {linitial_node(CommonTableExpr, query->cteList), -1};
        query->cteList = list_delete_first(query->cteList);
        expand_references(as_node(query), &expansion);
    }
}

SourceOutput* output_of(const TargetEntry* entry) {
    const Node* const expression = reinterpret_cast<const Node*>(entry->expr);
    SourceOutput* const output = allocate<SourceOutput>();
    output->name = entry->resname;
    output->type = exprType(expression);
    output->typmod = exprTypmod(expression);
    output->collation = exprCollation(expression);
    return output;
}

bool point_into(const char* sql) {
    const int position = geterrposition();
    if (position <= 0) return false;
    errposition(0);
    internalerrposition(position);
    internalerrquery(sql);
    return true;
}

Query* parsed_query(const std::string& sql) {
    const char* const text = sql.c_str();
    return pg_call([=] { return analysed(only_statement(text, "source"), text, NIL, "source", nullptr); });
}

bool mark_parameters(const char* source, bool* is_used, int values) {
    if (is_name(source)) return true;
    ErrorContextCallback callback{error_context_stack, point_into_source, const_cast<char*>(source)};
    error_context_stack = &callback;
    const List* const statements = pg_parse_query(source);
    error_context_stack = callback.previous;
    if (list_length(statements) != 1 || !IsA(linitial_node(RawStmt, statements)->stmt, SelectStmt)) return false;
    List* const parameters = parameters_in(linitial_node(RawStmt, statements));
    for (const ParamRef* const parameter : items<const ParamRef>(parameters)) {
        if (parameter->number < 1 || parameter->number > values) return false;
        is_used[parameter->number - 1] = true;
    }
    return true;
}

SourceAnalysis* analyse_source(const char* source, List* args, bool as_one_query, const char* name) {
    ErrorContextCallback callback;
    callback.callback = point_into_source;
    callback.arg = const_cast<char*>(source);
    callback.previous = error_context_stack;
    error_context_stack = &callback;

    const char* const sql = is_name(source) ? select_from_name(source) : source;
    callback.arg = const_cast<char*>(sql);
    RawStmt* const statement = only_statement(sql, name);
    const char* text = text_of_statement(sql, statement);
    Query* const query = analysed(statement, sql, args, name, &text);
    btml_compat_check_permissions(query);

    SourceAnalysis* const analysis = as_one_query ? whole_source(query, "it is read row by row") : analyse_query(query);
    analysis->text = text;
    analysis->query = query;
    error_context_stack = callback.previous;
    return analysis;
}

} // namespace btml::pg
