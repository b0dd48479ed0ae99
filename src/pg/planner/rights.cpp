#include "pg/planner/rights.hpp"

#include "pg/bridge/function_rights.hpp"
#include "pg/bridge/nodes.hpp"

extern "C" {
#include "catalog/pg_aggregate.h"
#include "utils/syscache.h"
}

namespace btml::pg::planner {

namespace {

HeapTuple catalog_row(int cache, Oid function) {
    const HeapTuple tuple = SearchSysCache1(cache, ObjectIdGetDatum(function));
    if (!HeapTupleIsValid(tuple)) elog(ERROR, "cache lookup failed for function %u", function);
    return tuple;
}

// The user may call an aggregate whose functions its owner may call, those that this part of the aggregation needs.
void check_aggregate(const Aggref* call) {
    require_execute(call->aggfnoid, GetUserId(), OBJECT_AGGREGATE);
    const HeapTuple function = catalog_row(PROCOID, call->aggfnoid), tuple = catalog_row(AGGFNOID, call->aggfnoid);
    const Oid owner = reinterpret_cast<Form_pg_proc>(GETSTRUCT(function))->proowner;
    const auto* const aggregate = reinterpret_cast<Form_pg_aggregate>(GETSTRUCT(tuple));
    const AggSplit split = call->aggsplit;
    const bool is_internal = aggregate->aggtranstype == INTERNALOID;
    for (const Oid called : {DO_AGGSPLIT_SKIPFINAL(split) ? InvalidOid : aggregate->aggfinalfn,
                             DO_AGGSPLIT_SERIALIZE(split) && is_internal ? aggregate->aggserialfn : InvalidOid,
                             DO_AGGSPLIT_DESERIALIZE(split) && is_internal ? aggregate->aggdeserialfn : InvalidOid,
                             DO_AGGSPLIT_COMBINE(split) ? aggregate->aggcombinefn : aggregate->aggtransfn})
        if (OidIsValid(called)) require_execute(called, owner);
    ReleaseSysCache(tuple);
    ReleaseSysCache(function);
}

bool check_function(Oid function, void*) {
    require_execute(function);
    return false;
}

// PostgreSQL asks for no rights on the functions of input, output and of the order of rows.
bool check_expression(Node* node, void* context) {
    if (!node) return false;
    if (IsA(node, Aggref))
        check_aggregate(reinterpret_cast<const Aggref*>(node));
    else if (!IsA(node, CoerceViaIO) && !IsA(node, RowCompareExpr))
        check_functions_in_node(node, check_function, context);
    return btml_compat_walk(node, check_expression, context);
}

void check_list(const List* expressions) {
    check_expression(as_node(const_cast<List*>(expressions)), nullptr);
}

void check_equality(int columns, const Oid* operators) {
    for (int i = 0; i < columns; i++) require_execute(get_opcode(operators[i]));
}

// A hash table of groups is not made where the plan is only shown.
void check_groups(const Agg* plan, int flags) {
    if (plan->aggstrategy == AGG_HASHED && (flags & EXEC_FLAG_EXPLAIN_ONLY) != 0) return;
    check_equality(plan->numCols, plan->grpOperators);
}

void check_plans(const List* plans, int flags) {
    for (const Plan* const plan : items<const Plan>(plans)) check_rights(plan, flags);
}

} // namespace

void check_rights(const Plan* plan, int flags) {
    if (!plan) return;
    check_rights(plan->lefttree, flags);
    check_rights(plan->righttree, flags);
    check_list(plan->targetlist);
    check_list(plan->qual);
    switch (nodeTag(plan)) {
    case T_Agg:
        check_groups(as<Agg>(plan), flags);
        break;
    case T_Group:
        check_equality(as<Group>(plan)->numCols, as<Group>(plan)->grpOperators);
        break;
    case T_Unique:
        check_equality(as<Unique>(plan)->numCols, as<Unique>(plan)->uniqOperators);
        break;
    case T_HashJoin:
        check_list(as<HashJoin>(plan)->hashclauses);
        check_list(as<Join>(plan)->joinqual);
        break;
    case T_NestLoop:
    case T_MergeJoin:
        check_list(as<Join>(plan)->joinqual);
        break;
    case T_IndexScan:
        check_list(as<IndexScan>(plan)->indexqualorig);
        break;
    case T_IndexOnlyScan:
        check_list(as<IndexOnlyScan>(plan)->indexqual);
        break;
    case T_BitmapHeapScan:
        check_list(as<BitmapHeapScan>(plan)->bitmapqualorig);
        break;
    case T_Memoize:
        // It keeps rows by their parameters, which it compares.
        check_equality(as<Memoize>(plan)->numKeys, as<Memoize>(plan)->hashOperators);
        break;
    case T_Append:
        check_plans(as<Append>(plan)->appendplans, flags);
        break;
    case T_MergeAppend:
        check_plans(as<MergeAppend>(plan)->mergeplans, flags);
        break;
    default:
        break;
    }
}

} // namespace btml::pg::planner
