#include "pg/source/grouped_query.hpp"

#include "pg/bridge/nodes.hpp"

extern "C" {
#include "catalog/pg_aggregate.h"
#include "catalog/pg_collation.h"
#include "parser/parse_coerce.h"
#include "parser/parse_oper.h"
#include "utils/regproc.h"
}

namespace btml::pg {

static Oid function_named(const char* signature) {
    return DatumGetObjectId(DirectFunctionCall1(regprocedurein, CStringGetDatum(signature)));
}

static Node* absolute_value(Node* number) {
    return as_node(makeFuncExpr(function_named("pg_catalog.abs(float8)"), FLOAT8OID, list_make1(number), InvalidOid,
                                InvalidOid, COERCE_EXPLICIT_CALL));
}

static Node* array_of(List* factors, bool absolute) {
    ArrayExpr* const array = makeNode(ArrayExpr);
    array->array_typeid = FLOAT8ARRAYOID;
    array->element_typeid = FLOAT8OID;
    array->location = -1;
    for (Node* const factor : items<Node>(factors)) {
        Node* const number = coerce_to_target_type(nullptr, copy_of(factor), exprType(factor), FLOAT8OID, -1,
                                                   COERCION_EXPLICIT, COERCE_EXPLICIT_CAST, -1);
        array->elements = lappend(array->elements, absolute ? absolute_value(number) : number);
    }
    return as_node(array);
}

Node* sumprod_of_groups(const char* semiring, List* factors, bool absolute) {
    Aggref* const total = makeNode(Aggref);
    // postgres_fdw ships no call all of whose texts are constants.
    const bool is_sum = strcmp(semiring, "sum_product") == 0;
    total->aggfnoid = function_named(is_sum ? "btml.sumprod_agg(float8[])" : "btml.sumprod_agg(float8[],text)");
    total->aggtype = FLOAT8OID;
    total->aggtranstype = InvalidOid;
    total->aggargtypes = is_sum ? list_make1_oid(FLOAT8ARRAYOID) : list_make2_oid(FLOAT8ARRAYOID, TEXTOID);
    total->aggkind = AGGKIND_NORMAL;
    total->aggsplit = AGGSPLIT_SIMPLE;
    total->location = -1;
    total->aggno = total->aggtransno = -1; // No planner has numbered it.
    List* arguments = list_make1(array_of(factors, absolute));
    if (!is_sum) {
        total->inputcollid = DEFAULT_COLLATION_OID;
        arguments = lappend(
            arguments, makeConst(TEXTOID, -1, DEFAULT_COLLATION_OID, -1, CStringGetTextDatum(semiring), false, false));
    }
    AttrNumber number = 0;
    for (Expr* const argument : items<Expr>(arguments))
        total->args = lappend(total->args, makeTargetEntry(argument, ++number, nullptr, false));
    return as_node(total);
}

void group_by_columns(Query* query) {
    Index number = 0;
    for (TargetEntry* const entry : items<TargetEntry>(query->targetList)) {
        if (IsA(entry->expr, Aggref)) continue;
        SortGroupClause* const group = makeNode(SortGroupClause);
        bool hashable;
        get_sort_group_operators(exprType(as_node(entry->expr)), false, true, false, &group->sortop, &group->eqop,
                                 nullptr, &hashable);
        group->hashable = hashable;
        group->tleSortGroupRef = entry->ressortgroupref = ++number;
        query->groupClause = lappend(query->groupClause, group);
    }
    query->hasAggs = true;
}

} // namespace btml::pg
