#include "pg/planner/shape.hpp"

extern "C" {
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"
}

namespace btml::pg::planner {

namespace {

Node* null_like(const Node* node) {
    return as_node(makeNullConst(exprType(node), exprTypmod(node), exprCollation(node)));
}

// Makes parameters of the statement NULL, and columns of a query around: their values are there and raise nothing.
Node* without_given(Node* node, void* context) {
    if (!node) return nullptr;
    const bool is_given = IsA(node, Param) ? as<Param>(node)->paramkind == PARAM_EXTERN
                                           : IsA(node, Var) && as<Var>(node)->varlevelsup > 0;
    return is_given ? null_like(node) : btml_compat_mutate(node, without_given, context);
}

// Tells whether a second member of the class is within these relations, with which a join of them compares the first.
bool is_compared(const JoinShape& join, const EquivalenceClass* equal, Relids of_member, Relids relids) {
    for (const EquivalenceMember* const other : items<const EquivalenceMember>(equal->ec_members)) {
        const Relids of_other = btml_compat_without_outer_joins(join.root, other->em_relids);
        if (!other->em_is_child && !other->em_is_const && !bms_equal(of_other, of_member) &&
            bms_is_subset(of_other, relids))
            return true;
    }
    return false;
}

// Returns what PostgreSQL's join of these relations evaluates: conditions, and the keys by which it joins them.
List* conditions_within(const JoinShape& join, Relids relids) {
    List* conditions = NIL;
    for (int relid = -1; (relid = bms_next_member(relids, relid)) >= 0;)
        for (const RestrictInfo* const condition :
             items<const RestrictInfo>(join.root->simple_rel_array[relid]->joininfo))
            if (bms_is_subset(btml_compat_without_outer_joins(join.root, condition->clause_relids), relids))
                conditions = list_append_unique_ptr(conditions, condition->clause);
    for (const EquivalenceClass* const equal : items<const EquivalenceClass>(join.root->eq_classes))
        for (const EquivalenceMember* const member : items<const EquivalenceMember>(equal->ec_members)) {
            const Relids of_member = btml_compat_without_outer_joins(join.root, member->em_relids);
            if (!member->em_is_child && !member->em_is_const && bms_is_subset(of_member, relids) &&
                is_compared(join, equal, of_member, relids))
                conditions = lappend(conditions, member->em_expr);
        }
    return conditions;
}

Refusal refuse_condition(const TableShape& table, Node* condition) {
    Node* const known = without_given(condition, nullptr);
    if (is_total(known)) return nullptr;
    return refuse_part(psprintf("a condition of %s, which must be joined first,", table.name),
                       innermost_without(is_total, known));
}

// Functions of FROM that give rows for any arguments.
bool is_total_source(Node* expression) {
    const Oid function = IsA(expression, FuncExpr) ? as<FuncExpr>(expression)->funcid : InvalidOid;
    if (function != F_UNNEST_ANYARRAY && function != F_GENERATE_SERIES_INT4_INT4 &&
        function != F_GENERATE_SERIES_INT8_INT8)
        return false;
    for (Node* const argument : items<Node>(as<FuncExpr>(expression)->args))
        if (!is_total(without_given(argument, nullptr))) return false;
    return true;
}

// Tells whether a part of a source of FROM may raise an error; what only holds parts is looked into.
bool may_raise(Node* node, void* context) {
    if (!node) return false;
    switch (nodeTag(node)) {
    case T_Query:
        return btml_compat_walk_query(reinterpret_cast<Query*>(node), may_raise, context, 0);
    case T_List:
    case T_TargetEntry:
    case T_FromExpr:
    case T_JoinExpr:
    case T_RangeTblRef:
    case T_RangeTblFunction:
    case T_SortGroupClause:
    case T_SetOperationStmt:
        return btml_compat_walk(node, may_raise, context);
    default:
        return !is_total(without_given(node, context)) && !is_total_source(node);
    }
}

bool may_raise_laterally(const PlannerInfo* root, int relid) {
    const RangeTblEntry* const source = root->simple_rte_array[relid];
    if (bms_is_empty(root->simple_rel_array[relid]->lateral_relids)) return false;
    switch (source->rtekind) {
    case RTE_SUBQUERY:
        return may_raise(as_node(source->subquery), nullptr);
    case RTE_FUNCTION:
        return may_raise(as_node(source->functions), nullptr);
    case RTE_VALUES:
        return may_raise(as_node(source->values_lists), nullptr);
    default:
        return true;
    }
}

} // namespace

Refusal refuse_raising_joins(const JoinShape& join) {
    for (int t = 0; t < join.table_count; t++) {
        const TableShape& table = join.tables[t];
        if (!table.is_join()) continue;
        for (Node* const condition : items<Node>(conditions_within(join, table.relids)))
            if (const Refusal refusal = refuse_condition(table, condition)) return refusal;
        for (int relid = -1; (relid = bms_next_member(table.relids, relid)) >= 0;)
            if (may_raise_laterally(join.root, relid))
                return "it has a lateral sub-query or function that may raise an error";
    }
    return nullptr;
}

} // namespace btml::pg::planner
