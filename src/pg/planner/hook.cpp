#include "pg/planner/hook.hpp"

#include "pg/bridge/backend_context.hpp"
#include "pg/planner/factorized_plan.hpp"
#include "pg/planner/merged_groups.hpp"
#include "pg/planner/node.hpp"
#include "pg/planner/ordinary_plan.hpp"
#include "pg/values/values.hpp"

#include <utility>

extern "C" {
#include "catalog/pg_class_d.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "optimizer/tlist.h"
#include "parser/parse_oper.h"
#include "utils/selfuncs.h"
#include "utils/spccache.h"
}

namespace btml::pg::planner {

namespace {

// A sub-query stands in the plan twice: below our node, and in the ordinary plan that is fallen back to.
constexpr int max_depth = 3;

create_upper_paths_hook_type previous_hook = nullptr;
Verdicts* verdicts = nullptr;

// To start a run takes about as long as so many rows.
double start_cost() {
    return 200 * cpu_tuple_cost;
}

// Holds a planned join without destructors, past which an error may jump.
struct PathParts {
    Const* plan;
    char *description, *shared_scans;
    double cost, memory, width;
    List* names;    // of the plan's tables that are no bags
    List* tables;   // of int, by scan: of the query's shape
    List* columns;  // of lists of Expr*, by scan
    List* distinct; // of int, by scan: whether it gives each row once
    List* computed; // of lists of Expr*, by scan: over its rows
};

Const* stored(const FactorizedPlan& plan, RunContext& context) {
    Writer writer(context);
    plan.write(writer);
    const std::string_view bytes(reinterpret_cast<const char*>(writer.bytes().data()), writer.bytes().size());
    return pg_call([=] { return makeConst(BYTEAOID, -1, InvalidOid, -1, bytes_datum(bytes, BYTEAOID), false, false); });
}

// Makes of columns the positions that they have in a list.
Node* at_positions(Node* node, void* columns) {
    if (!node) return nullptr;
    if (!IsA(node, Var)) return btml_compat_mutate(node, at_positions, columns);
    const auto* const column = reinterpret_cast<const Var*>(node);
    int position = 1;
    for (const Node* const given : items<const Node>(static_cast<const List*>(columns))) {
        if (equal(given, column)) break;
        position++;
    }
    Assert(position <= list_length(static_cast<const List*>(columns)));
    return as_node(makeVar(OUTER_VAR, static_cast<AttrNumber>(position), column->vartype, column->vartypmod,
                           column->varcollid, 0));
}

// Returns the expressions, ready to be evaluated, over rows that have these columns.
List* over_rows(const List* expressions, List* columns) {
    List* list = NIL;
    for (Node* const expression : items<Node>(expressions)) {
        Node* const over = at_positions(expression, columns);
        fix_opfuncids(over);
        list = lappend(list, over);
    }
    return list;
}

// Appends what a planned join has.
void add_parts(const QueryShape& query, const PlannedJoin& planned, PathParts* parts) {
    for (int table : planned.tables)
        if (table >= 0) parts->names = lappend(parts->names, makeString(pstrdup(query.join.tables[table].name)));
    for (int place : planned.scans) {
        parts->tables = lappend_int(parts->tables, planned.tables[place]);
        parts->columns = lappend(parts->columns, planned.columns[place]);
        parts->distinct = lappend_int(parts->distinct, planned.has_rows_once[place]);
        parts->computed = lappend(parts->computed, over_rows(planned.computed[place], planned.columns[place]));
    }
}

Refusal plan_parts(const QueryShape& query, double groups, PathParts* parts) {
    Refusal refusal = nullptr;
    guarded_call([&] {
        BackendContext context;
        PlannedQuery planned;
        try {
            planned = plan_query(query, groups, context);
        } catch (const NotPlanned& why) {
            refusal = why.reason;
            return;
        }
        for (PlannedJoin& join : planned.joins) planned.plan.joins.push_back(std::move(join.join));
        parts->plan = stored(planned.plan, context);
        std::string tree, shared; // of all joins
        double results = 0;       // of the joins before
        for (const PlannedJoin& join : planned.joins) {
            parts->cost += join.cost;
            parts->memory = std::max(parts->memory, results + join.memory);
            results += join.result_memory;
            parts->width = std::max(parts->width, join.width);
            if (!tree.empty()) tree += join.join.is_subtracted ? " minus " : " plus ";
            tree += join.description;
            if (!shared.empty() && !join.shared_scans.empty()) shared += "; ";
            shared += join.shared_scans;
            pg_call([&] { add_parts(query, join, parts); });
        }
        parts->description = pg_call([&] { return pstrdup(tree.c_str()); });
        parts->shared_scans = pg_call([&] { return pstrdup(shared.c_str()); });
    });
    return refusal;
}

// Makes the columns those that the relation gives: outer joins above it have not made them NULL yet.
Node* as_given(Node* node, void* relation) {
    if (!node) return nullptr;
    if (!IsA(node, Var)) return btml_compat_mutate(node, as_given, relation);
    auto* const column = copy_of(reinterpret_cast<Var*>(node));
    constexpr Var stored = {};
    btml_compat_null_alike(column, &stored);
    for (const Var* const given : items<const Var>(static_cast<RelOptInfo*>(relation)->reltarget->exprs))
        if (IsA(given, Var) && given->varno == column->varno && given->varattno == column->varattno)
            btml_compat_null_alike(column, given);
    return reinterpret_cast<Node*>(column);
}

// The table's own cheapest path, which gives each combination of these columns once.
Path* distinct_path(PlannerInfo* root, const TableShape& table, PathTarget* target) {
    List* clauses = NIL;
    for (Node* const column : items<Node>(target->exprs)) {
        auto* const clause = makeNode(SortGroupClause);
        get_sort_group_operators(exprType(column), false, true, false, &clause->sortop, &clause->eqop, nullptr,
                                 &clause->hashable);
        clauses = lappend(clauses, clause);
        clause->tleSortGroupRef = list_length(clauses);
    }
    target->sortgrouprefs = static_cast<Index*>(palloc(sizeof(Index) * list_length(clauses)));
    for (int i = 0; i < list_length(clauses); i++) target->sortgrouprefs[i] = i + 1;
    Path* const rows = reinterpret_cast<Path*>(create_projection_path(root, table.relation, table.path, target));
    const double groups = estimate_num_groups(root, target->exprs, rows->rows, nullptr, nullptr);
    return reinterpret_cast<Path*>(create_agg_path(root, table.relation, rows, target, AGG_HASHED, AGGSPLIT_SIMPLE,
                                                   clauses, NIL, nullptr, groups));
}

// A table's own cheapest path, which gives just these columns in this order.
Path* scan_path(PlannerInfo* root, const TableShape& table, const List* columns, bool has_rows_once) {
    PathTarget* const target = create_empty_pathtarget();
    for (Node* const expression : items<Node>(columns))
        add_column_to_pathtarget(target, reinterpret_cast<Expr*>(as_given(expression, table.relation)), 0);
    set_pathtarget_cost_width(root, target);
    if (has_rows_once) return distinct_path(root, table, target);
    return reinterpret_cast<Path*>(create_projection_path(root, table.relation, table.path, target));
}

List* scan_target_list(const QueryShape& query) {
    List* list = NIL;
    for (const GroupShape* const group : items<const GroupShape>(query.groups))
        if (!group->is_for_aggregate)
            list = lappend(list, makeTargetEntry(copy_of(group->shown), list_length(list) + 1, nullptr, false));
    for (const AggregateShape* const aggregate : items<const AggregateShape>(query.aggregates))
        list = lappend(list, makeTargetEntry(reinterpret_cast<Expr*>(copy_of(aggregate->aggref)), list_length(list) + 1,
                                             nullptr, false));
    for (GroupingFunc* const grouping : items<GroupingFunc>(query.groupings))
        list = lappend(
            list, makeTargetEntry(reinterpret_cast<Expr*>(copy_of(grouping)), list_length(list) + 1, nullptr, false));
    return list;
}

// What EXPLAIN shows: the join tree, about how many rows the join would have, the memory that was estimated, the scans
// that several tables share, and the width.
List* descriptions(const PathParts& parts, double join_rows) {
    return list_make5(makeString(parts.description), makeString(psprintf("%.0f", join_rows)),
                      makeString(psprintf("%.0f", parts.memory / 1024)), makeString(parts.shared_scans),
                      makeString(psprintf("%.2f", parts.width)));
}

// How many factorized queries stand one within another among the sub-queries of this one, and itself.
int factorized_depth(const PlannerInfo* root) {
    int depth = 0;
    for_each_subroot(root, [&](const PlannerInfo* of) { depth = std::max(depth, factorized_depth(of)); });
    for (const UpperRelationKind stage : {UPPERREL_GROUP_AGG, UPPERREL_DISTINCT})
        for (const RelOptInfo* const grouped : items<const RelOptInfo>(root->upper_rels[stage]))
            for (const Path* const path : items<const Path>(grouped->pathlist))
                if (IsA(path, CustomPath) && as<CustomPath>(path)->methods == &path_methods) return depth + 1;
    return depth;
}

// Beside the pages that it reads, a factorized aggregate takes half of the time that PostgreSQL's joins take for the
// same cost.
constexpr double calibration = 0.5;

// Returns what a scan of the table costs us that PostgreSQL reckons with `cost`. What is no plain scan costs all of it.
double scan_cost(const TableShape& table, double cost) {
    double random = 0, sequential = 0;
    if (table.path->pathtype != T_SeqScan) return cost;
    get_tablespace_page_costs(table.relation->reltablespace, &random, &sequential);
    const double pages = std::min(cost, table.relation->pages * sequential);
    return pages + calibration * (cost - pages);
}

// Returns what the scan of a table costs at least: one scan, the cheapest, may serve all tables that are one relation.
double min_scan_cost(const JoinShape& join, int table) {
    const auto relation = [&](int t) {
        const RelOptInfo* const of = join.tables[t].relation;
        return of->reloptkind == RELOPT_BASEREL ? join.root->simple_rte_array[of->relid]->relid : InvalidOid;
    };
    const auto cost_of = [&](int t) { return scan_cost(join.tables[t], join.tables[t].path->total_cost); };
    double cost = cost_of(table);
    if (relation(table) == InvalidOid) return cost;
    for (int t = 0; t < join.table_count; t++) {
        if (relation(t) != relation(table)) continue;
        if (t < table) return 0; // is counted there
        cost = std::min(cost, cost_of(t));
    }
    return cost;
}

// Returns what no plan of ours costs less than, whatever its tree. That most queries of a few rows end here keeps their
// planning short.
double min_cost(const JoinShape& join) {
    double cost = start_cost();
    for (int t = 0; t < join.table_count; t++)
        cost +=
            calibration * join.tables[t].relation->rows * (cpu_tuple_cost + cpu_operator_cost) + min_scan_cost(join, t);
    return cost;
}

// An ordinary plan that is thought cheaper, by no more than this, is begun first.
constexpr double max_advantage = 10;

// Returns how many groups the node has before HAVING, and before they are merged.
double expected_groups(const QueryShape& query, const Path* best, double join_rows) {
    List* expressions = NIL;
    bool are_merged = IsA(best, GroupingSetsPath);
    for (const GroupShape* const group : items<const GroupShape>(query.groups)) {
        are_merged = are_merged || group->is_for_aggregate;
        expressions = lappend(expressions, group->expression);
    }
    if (!are_merged) return std::max(1.0, IsA(best, AggPath) ? as<AggPath>(best)->numGroups : best->rows);
    return expressions ? estimate_num_groups(query.join.root, expressions, join_rows, nullptr, nullptr) : 1;
}

// A way to factorize a query.
struct Candidate {
    QueryShape query;
    PathParts parts;
    List* scans;     // of Path*
    double cost;     // before its groups are given
    double max_rows; // that the ordinary plan may find before it is given up; 0: it is not begun first
};

// Returns how often the groups of each join are merged: for each grouping set and aggregate of distinct values.
int merge_count(const QueryShape& query) {
    int sets = 0, distinct = 0;
    for (const List* const set : items<const List>(query.grouping_sets))
        sets += query.join.exclusions || list_length(set) < list_length(query.groups);
    for (const AggregateShape* const aggregate : items<const AggregateShape>(query.aggregates))
        distinct += aggregate->distinct >= 0;
    return (sets + distinct * list_length(query.grouping_sets)) * (1 << list_length(query.join.exclusions));
}

// Plans what the candidate's query asks; ordinary: the plan that it competes with, and its cost.
Refusal plan_candidate(const RelOptInfo* input, const Path* ordinary, double cost_of_ordinary, Candidate* candidate) {
    const QueryShape& query = candidate->query;
    PathParts& parts = candidate->parts;
    const bool forced = force_factorize_aggregates();
    const double least = min_cost(query.join);
    if (least >= cost_of_ordinary * max_advantage && !forced)
        return psprintf("the ordinary plan is cheaper: %.0f against %.0f or more", cost_of_ordinary, least);
    const double groups = expected_groups(query, ordinary, input->rows);
    if (const Refusal refusal = plan_parts(query, groups, &parts)) return refusal;
    parts.memory += MergedGroups::bytes_per_group * groups * merge_count(query);
    if (parts.memory > message_memory() && !forced)
        return psprintf("its messages would take about %.0f kB, and %s is %.0f kB", parts.memory / 1024,
                        message_memory_setting(), message_memory() / 1024);
    candidate->cost = start_cost() + calibration * parts.cost;
    for (int i = 0; i < list_length(parts.tables); i++) {
        const TableShape& table = query.join.tables[list_nth_int(parts.tables, i)];
        Path* const scan = scan_path(query.join.root, table, static_cast<const List*>(list_nth(parts.columns, i)),
                                     list_nth_int(parts.distinct, i) != 0);
        candidate->cost += scan_cost(table, scan->total_cost);
        candidate->scans = lappend(candidate->scans, scan);
    }
    Assert(candidate->cost >= least * (1 - 1e-9));
    return nullptr;
}

// Finds the cheaper way of those with and without conditions over two tables; with them where the setting forces it.
Refusal find_candidate(PlannerInfo* root, RelOptInfo* input, const Asked& asked, const Path* ordinary,
                       double cost_of_ordinary, Candidate* best) {
    const Refusal refusal = plan_candidate(input, ordinary, cost_of_ordinary, best);
    const bool compares = best->query.join.exclusions || best->query.join.has_orders;
    if (!compares || (!refusal && force_factorize_aggregates())) return refusal;
    Candidate merged = {};
    if (find_query(root, input, asked, factorize_aggregates(), false, &merged.query) ||
        plan_candidate(input, ordinary, cost_of_ordinary, &merged))
        return refusal;
    if (refusal || merged.cost < best->cost) *best = merged;
    return nullptr;
}

void add_our_path(const RelOptInfo* input, RelOptInfo* grouped, const Asked& asked, const Path* ordinary,
                  double cost_of_ordinary, const Candidate& candidate) {
    const bool forced = force_factorize_aggregates();
    const double total = candidate.cost + ordinary->rows * cpu_tuple_cost;
    const bool is_cheaper = total < cost_of_ordinary;
    auto* const path = makeNode(CustomPath);
    path->custom_paths = list_copy(candidate.scans);
    for (const Path* const scan : items<const Path>(candidate.scans))
        if (!forced) btml_compat_add_disabled_nodes(&path->path, scan);
    List* const targets = scan_target_list(candidate.query);
    path->custom_paths = lappend(path->custom_paths, ordinary_path(candidate.query.join.root, ordinary, targets));
    path->path.pathtype = T_CustomScan;
    path->path.parent = grouped;
    path->path.pathtarget = const_cast<PathTarget*>(asked.targets);
    path->path.rows = ordinary->rows;
    path->path.startup_cost = forced ? 0 : is_cheaper ? candidate.cost : ordinary->startup_cost;
    path->path.total_cost = forced ? 0 : is_cheaper ? total : ordinary->total_cost;
    path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
    const PathParts& parts = candidate.parts;
    path->custom_private = list_make5(targets, asked.having, parts.plan, descriptions(parts, input->rows), parts.names);
    path->custom_private = lappend(path->custom_private, parts.computed);
    path->custom_private = lappend(path->custom_private, makeFloat(psprintf("%.0f", candidate.max_rows)));
    path->methods = &path_methods;
    if (!forced && path->path.total_cost >= ordinary->total_cost) drop_groupings(grouped);
    add_path(grouped, &path->path);
}

// Adds a path where it pays, or where the ordinary plan is to be begun first.
Refusal compete(PlannerInfo* root, RelOptInfo* input, RelOptInfo* grouped, const Asked& asked, Candidate* candidate) {
    const Path* const ordinary = cheapest_grouping(grouped, root->tuple_fraction);
    if (!ordinary) return "PostgreSQL has no plan for it that could be fallen back to";
    const double cost = ordinary_cost(candidate->query.join, ordinary);
    if (const Refusal refusal = find_candidate(root, input, asked, ordinary, cost, candidate)) return refusal;
    const double total = candidate->cost + ordinary->rows * cpu_tuple_cost;
    if (total >= cost && !force_factorize_aggregates()) {
        candidate->max_rows = total < cost * max_advantage ? max_rows_of(root, ordinary, total) : 0;
        if (candidate->max_rows == 0) return psprintf("the ordinary plan is cheaper: %.0f against %.0f", cost, total);
    }
    add_our_path(input, grouped, asked, ordinary, cost, *candidate);
    return nullptr;
}

// Says what is joined before the rest is factorized, and why; nothing where nothing is.
const char* tell_merged(const JoinShape& join) {
    StringInfoData text;
    initStringInfo(&text);
    for (int t = 0; t < join.table_count; t++)
        if (bms_membership(join.tables[t].relids) == BMS_MULTIPLE)
            appendStringInfo(&text, "%s%s joined first", text.len > 0 ? ", " : "", join.tables[t].name);
    if (text.len > 0) appendStringInfo(&text, " since %s", static_cast<Refusal>(linitial(join.merging->reasons)));
    return text.data;
}

// join: null where the query was refused before it was known what is joined first. max_rows: of the ordinary plan.
void tell(PlannerInfo* root, Relids relids, const JoinShape* join, Refusal refusal, double max_rows) {
    if (!verdicts) return;
    const MemoryContext before = MemoryContextSwitchTo(verdicts->memory);
    const char* const names = relation_names(root, btml_compat_without_outer_joins(root, relids), ", ");
    const char* const merged = join ? tell_merged(*join) : "";
    const char* const when = max_rows > 0 ? psprintf(" once the ordinary plan has found %.0f rows", max_rows) : "";
    char* const line =
        refusal ? psprintf("%s: not factorized, since %s%s%s", names, refusal, *merged ? ", with " : "", merged)
                : psprintf("%s: factorized%s%s%s", names, when, *merged ? ", " : "", merged);
    verdicts->lines = lappend(verdicts->lines, line);
    MemoryContextSwitchTo(before);
}

// Leaves constants out, which tell no rows apart, but not where there is nothing else: without a group column there is
// a row for no rows as well.
List* without_constants(List* groups) {
    List* others = NIL;
    for (Node* const group : items<Node>(groups))
        if (!IsA(group, Const)) others = lappend(others, group);
    return others ? others : groups;
}

// DISTINCT has the join's rows for input, of which it gives all columns.
Asked asked_by(const PlannerInfo* root, bool is_distinct_stage, const RelOptInfo* input, const RelOptInfo* grouped) {
    const Query* const query = root->parse;
    List* const groups =
        get_sortgrouplist_exprs(is_distinct_stage ? query->distinctClause : query->groupClause, root->processed_tlist);
    return {query->groupingSets ? groups : without_constants(groups),
            is_distinct_stage ? input->reltarget : grouped->reltarget, query->havingQual};
}

void consider(PlannerInfo* root, bool is_distinct_stage, RelOptInfo* input, RelOptInfo* grouped) {
    Candidate candidate = {};
    const Asked asked = asked_by(root, is_distinct_stage, input, grouped);
    Refusal refusal = nullptr;
    if (is_distinct_stage && root->parse->hasDistinctOn)
        refusal = "it has DISTINCT ON, which keeps one row of several";
    else if (factorized_depth(root) >= max_depth)
        refusal = "its sub-queries are factorized three deep, and each level doubles the plan";
    else
        refusal = find_query(root, input, asked, factorize_aggregates(), true, &candidate.query);
    const bool is_found = !refusal;
    if (is_found) refusal = compete(root, input, grouped, asked, &candidate);
    tell(root, input->relids, is_found ? &candidate.query.join : nullptr, refusal, candidate.max_rows);
}

// Tells of a DISTINCT whose input is no join but the window functions over one.
void tell_of_windows(PlannerInfo* root) {
    const Query* const query = root->parse;
    if (query->hasWindowFuncs && !query->hasAggs && !query->groupClause &&
        bms_membership(root->all_baserels) == BMS_MULTIPLE)
        tell(root, root->all_baserels, nullptr, "its DISTINCT is over window functions", 0);
}

void upper_paths(PlannerInfo* root, UpperRelationKind stage, RelOptInfo* input, RelOptInfo* output, void* extra) {
    if (previous_hook) previous_hook(root, stage, input, output, extra);
    const bool is_distinct_stage = stage == UPPERREL_DISTINCT;
    if (factorize_aggregates() == Factorize::off || (stage != UPPERREL_GROUP_AGG && !is_distinct_stage)) return;
    if (output->reloptkind != RELOPT_UPPER_REL) return;
    if (input->reloptkind == RELOPT_JOINREL)
        consider(root, is_distinct_stage, input, output);
    else if (is_distinct_stage)
        tell_of_windows(root);
}

} // namespace

void install_hook() {
    previous_hook = create_upper_paths_hook;
    create_upper_paths_hook = upper_paths;
}

Verdicts* set_verdicts(Verdicts* new_verdicts) {
    return std::exchange(verdicts, new_verdicts);
}

} // namespace btml::pg::planner
