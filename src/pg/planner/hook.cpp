#include "pg/planner/hook.hpp"

#include "pg/planner/candidate.hpp"
#include "pg/planner/node.hpp"
#include "pg/planner/ordinary_plan.hpp"

#include <utility>

extern "C" {
#include "nodes/makefuncs.h"
#include "optimizer/cost.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "optimizer/tlist.h"
}

namespace btml::pg::planner {

namespace {

// A sub-query stands in the plan twice: below our node, and in the ordinary plan that is fallen back to.
constexpr int max_depth = 3;

create_upper_paths_hook_type previous_hook = nullptr;
Verdicts* verdicts = nullptr;

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

// Tells whether a table is a join of its own, whose rows PostgreSQL estimates as it does those of its plan.
bool joins_first(const JoinShape& join) {
    for (int t = 0; t < join.table_count; t++)
        if (join.tables[t].is_join()) return true;
    return false;
}

// Adds a path where it pays, or where the ordinary plan is to be begun first.
Refusal compete(PlannerInfo* root, RelOptInfo* input, RelOptInfo* grouped, const Asked& asked, Candidate* candidate) {
    const Path* const ordinary = cheapest_grouping(grouped, root->tuple_fraction);
    if (!ordinary) return "PostgreSQL has no plan for it that could be fallen back to";
    const double cost = ordinary_cost(candidate->query.join, ordinary);
    if (const Refusal refusal = find_candidate(root, input, asked, ordinary, cost, candidate)) return refusal;
    const double total = candidate->cost + ordinary->rows * cpu_tuple_cost;
    if (total >= cost && !force_factorize_aggregates()) {
        const bool is_hedged = total < cost * max_advantage && !joins_first(candidate->query.join);
        candidate->max_rows = is_hedged ? max_rows_of(root, ordinary, total) : 0;
        if (candidate->max_rows == 0) return psprintf("the ordinary plan is cheaper: %.0f against %.0f", cost, total);
    }
    add_our_path(input, grouped, asked, ordinary, cost, *candidate);
    return nullptr;
}

// Says what is joined before the rest is factorized, and why; nothing where nothing is.
const char* tell_joined_first(const JoinShape& join) {
    StringInfoData text;
    initStringInfo(&text);
    for (int t = 0; t < join.table_count; t++)
        if (join.tables[t].is_join())
            appendStringInfo(&text, "%s%s joined first", text.len > 0 ? ", " : "", join.tables[t].name);
    if (text.len > 0) appendStringInfo(&text, " since %s", static_cast<Refusal>(linitial(join.joined_first->reasons)));
    return text.data;
}

// join: null where the query was refused before it was known what is joined first. max_rows: of the ordinary plan.
void tell(PlannerInfo* root, Relids relids, const JoinShape* join, Refusal refusal, double max_rows) {
    if (!verdicts) return;
    const MemoryContext before = MemoryContextSwitchTo(verdicts->memory);
    const char* const names = relation_names(root, btml_compat_without_outer_joins(root, relids), ", ");
    const char* const first = join ? tell_joined_first(*join) : "";
    const char* const when = max_rows > 0 ? psprintf(" once the ordinary plan has found %.0f rows", max_rows) : "";
    char* const line =
        refusal ? psprintf("%s: not factorized, since %s%s%s", names, refusal, *first ? ", with " : "", first)
                : psprintf("%s: factorized%s%s%s", names, when, *first ? ", " : "", first);
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

bool collects_verdicts() {
    return verdicts != nullptr;
}

Verdicts* set_verdicts(Verdicts* new_verdicts) {
    return std::exchange(verdicts, new_verdicts);
}

} // namespace btml::pg::planner
