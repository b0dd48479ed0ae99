#include "pg/planner/candidate.hpp"

#include "pg/bridge/backend_context.hpp"
#include "pg/planner/factorized_plan.hpp"
#include "pg/planner/merged_groups.hpp"
#include "pg/values/values.hpp"

extern "C" {
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/pathnode.h"
#include "optimizer/tlist.h"
#include "parser/parse_oper.h"
#include "utils/selfuncs.h"
#include "utils/spccache.h"
}

namespace btml::pg::planner {

namespace {

// To start a run takes about as long as so many rows.
double start_cost() {
    return 200 * cpu_tuple_cost;
}

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

// Returns how often the groups of each join are merged: for each grouping set and aggregate of distinct values.
int merge_count(const QueryShape& query) {
    int sets = 0, distinct = 0;
    for (const List* const set : items<const List>(query.grouping_sets))
        sets += query.join.exclusions || list_length(set) < list_length(query.groups);
    for (const AggregateShape* const aggregate : items<const AggregateShape>(query.aggregates))
        distinct += aggregate->distinct >= 0;
    return (sets + distinct * list_length(query.grouping_sets)) * (1 << list_length(query.join.exclusions));
}

// Says what would help, where something does.
Refusal refuse_memory(const QueryShape& query, double bytes) {
    const double kilobyte = 1024, megabyte = kilobyte * kilobyte;
    int distinct = 0;
    for (const GroupShape* const group : items<const GroupShape>(query.groups)) distinct += group->is_for_aggregate;
    const char* const refused = psprintf("its messages would take about %.0f kB, and %s is %.0f kB", bytes / kilobyte,
                                         message_memory_setting(), message_memory() / kilobyte);
    if (distinct > 1)
        return psprintf(
            "%s: the values of several DISTINCT are told apart together; ask for each in a query of its own", refused);
    if (2 * bytes > static_cast<double>(memory_limit_bytes())) return refused;
    return psprintf("%s: work_mem = '%.0fMB' would do", refused, std::ceil(bytes / hash_mem_multiplier / megabyte));
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
    if (parts.memory > message_memory() && !forced) return refuse_memory(query, parts.memory);
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

} // namespace

Refusal find_candidate(PlannerInfo* root, RelOptInfo* input, const Asked& asked, const Path* ordinary,
                       double cost_of_ordinary, Candidate* best) {
    const Refusal refusal = plan_candidate(input, ordinary, cost_of_ordinary, best);
    const bool compares = best->query.join.exclusions || best->query.join.has_orders;
    if (!compares || (!refusal && force_factorize_aggregates())) return refusal;
    Candidate other = {};
    Refusal of_other = find_query(root, input, asked, factorize_aggregates(), false, &other.query);
    if (!of_other) of_other = plan_candidate(input, ordinary, cost_of_ordinary, &other);
    if (of_other) return refusal ? of_other : nullptr;
    if (refusal || other.cost < best->cost) *best = other;
    return nullptr;
}

} // namespace btml::pg::planner
