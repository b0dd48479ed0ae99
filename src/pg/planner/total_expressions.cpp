#include "pg/planner/hook.hpp"
#include "pg/planner/shape.hpp"

#include <algorithm>

extern "C" {
#include "catalog/pg_language_d.h"
#include "catalog/pg_namespace_d.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "utils/syscache.h"
}

namespace btml::pg::planner {

namespace {

bool is_builtin(Oid function) {
    return function < FirstNormalObjectId && get_func_namespace(function) == PG_CATALOG_NAMESPACE;
}

// Whether the type holds every value of the first.
bool is_wider(Oid type, Oid than) {
    switch (type) {
    case INT4OID:
        return than == INT2OID;
    case INT8OID:
        return than == INT2OID || than == INT4OID;
    case FLOAT8OID:
        return than == INT2OID || than == INT4OID || than == INT8OID || than == FLOAT4OID;
    case NUMERICOID:
        return than == INT2OID || than == INT4OID || than == INT8OID;
    default:
        return false;
    }
}

bool is_comparable(Oid type) {
    KeyType key;
    return type == NUMERICOID || (key_type(type, InvalidOid, &key) && key.kind != KeyKind::generic);
}

// Comparisons of types whose values compare without looking anything up. Arguments with two collations leave none.
bool is_total_comparison(Oid op, Oid function, Oid collation, const List* arguments) {
    if (!is_builtin(function)) return false;
    for (Node* const argument : items<Node>(arguments)) {
        const Oid of_argument = exprCollation(argument);
        if (!is_comparable(getBaseType(exprType(argument)))) return false;
        if (OidIsValid(of_argument) && (!OidIsValid(collation) || !get_collation_isdeterministic(of_argument)))
            return false;
    }
    return btml_compat_is_comparison(op);
}

// PostgreSQL's functions that have a value for every argument; lower() and upper() have none for a text that is longer
// than the memory they ask for, four times its own, may be.
constexpr std::pair<const char*, Oid> total_functions[] = {
    {"int4", BOOLOID},         {"abs", FLOAT8OID},         {"abs", NUMERICOID},
    {"length", TEXTOID},       {"length", BPCHAROID},      {"length", BYTEAOID},
    {"char_length", TEXTOID},  {"char_length", BPCHAROID}, {"character_length", TEXTOID},
    {"octet_length", TEXTOID}, {"octet_length", BYTEAOID}, {"octet_length", BPCHAROID},
    {"now", InvalidOid},
};

bool is_total_function(const FuncExpr* call) {
    if (!is_builtin(call->funcid) || list_length(call->args) > 1 || call->funcretset) return false;
    const Oid type = call->args ? getBaseType(exprType(static_cast<Node*>(linitial(call->args)))) : InvalidOid;
    const char* const name = get_func_name(call->funcid);
    return std::any_of(std::begin(total_functions), std::end(total_functions),
                       [&](const auto& known) { return known.second == type && strcmp(known.first, name) == 0; });
}

// Types whose values are made and read by code that looks nothing up.
constexpr Oid plain_types[] = {BOOLOID,    INT2OID,      INT4OID,        INT8OID,   FLOAT4OID,   FLOAT8OID,
                               NUMERICOID, TEXTOID,      VARCHAROID,     BPCHAROID, BYTEAOID,    DATEOID,
                               TIMEOID,    TIMESTAMPOID, TIMESTAMPTZOID, TIMETZOID, INTERVALOID, UUIDOID};

bool is_plain(Oid type) {
    return std::find(std::begin(plain_types), std::end(plain_types), getBaseType(type)) != std::end(plain_types);
}

bool all_plain(const List* expressions) {
    for (const Node* const expression : items<const Node>(expressions))
        if (!is_plain(exprType(expression))) return false;
    return true;
}

// Whether every value of the type has a text.
bool is_always_written(Oid type) {
    constexpr Oid types[] = {BOOLOID, INT2OID, INT4OID, INT8OID, UUIDOID};
    return type_is_enum(type) || std::find(std::begin(types), std::end(types), type) != std::end(types);
}

// PostgreSQL's functions whose value depends on settings and on the time of the transaction alone.
constexpr const char* stable_functions[] = {"age",     "concat",   "concat_ws", "date",    "date_part",   "date_trunc",
                                            "extract", "interval", "now",       "time",    "timestamp",   "timestamptz",
                                            "timetz",  "timezone", "to_char",   "to_date", "to_timestamp"};

// Whether the function is PostgreSQL's own and written in C, and has plain types and no memory of other calls. All that
// it leaves behind where it raises an error is memory of the current context.
bool is_pure_function(Oid function, Oid result, const List* arguments, bool takes_stable) {
    if (!is_builtin(function) || !is_plain(result) || !all_plain(arguments)) return false;
    const HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
    if (!HeapTupleIsValid(tuple)) return false;
    const auto* const row = as<FormData_pg_proc>(GETSTRUCT(tuple));
    const char* const name = NameStr(row->proname);
    takes_stable = takes_stable || std::any_of(std::begin(stable_functions), std::end(stable_functions),
                                               [&](const char* known) { return strcmp(known, name) == 0; });
    const bool is_pure =
        row->prolang == INTERNALlanguageId && !row->proretset && row->prokind == PROKIND_FUNCTION &&
        (row->provolatile == PROVOLATILE_IMMUTABLE || (takes_stable && row->provolatile == PROVOLATILE_STABLE));
    ReleaseSysCache(tuple);
    return is_pure;
}

bool is_of_time(const Node* expression) {
    char category = 0;
    bool is_preferred = false;
    get_type_category_preferred(getBaseType(exprType(expression)), &category, &is_preferred);
    return category == TYPCATEGORY_DATETIME || category == TYPCATEGORY_TIMESPAN;
}

// Operators that are stable look something up, but those over times: these depend on settings alone.
bool is_pure_operator(Oid op, const List* arguments) {
    bool is_of_times = false;
    for (const Node* const argument : items<const Node>(arguments)) is_of_times = is_of_times || is_of_time(argument);
    return is_pure_function(get_opcode(op), get_op_rettype(op), arguments, is_of_times);
}

// Says what is to hold, and has the part for which it does not.
using PartSearch = std::pair<bool (*)(Node*), Node*>;

bool find_part(Node* node, void* context) {
    if (!node) return false;
    if (btml_compat_walk(node, find_part, context)) return true;
    auto& [holds, found] = *static_cast<PartSearch*>(context);
    if (IsA(node, List) || holds(node)) return false;
    found = node;
    return true;
}

const char* name_of_cast(Oid type) {
    return psprintf("a cast to %s", format_type_be(type));
}

// Names what calls a function or reads a value; null for what only combines its parts.
const char* name_of_call(const Node* part) {
    switch (nodeTag(part)) {
    case T_FuncExpr: {
        const auto* const call = as<FuncExpr>(part);
        if (call->funcformat == COERCE_EXPLICIT_CAST || call->funcformat == COERCE_IMPLICIT_CAST)
            return name_of_cast(call->funcresulttype);
        return psprintf("%s()", get_func_name(call->funcid));
    }
    case T_OpExpr:
    case T_DistinctExpr:
        return psprintf("the operator %s", get_opname(as<OpExpr>(part)->opno));
    case T_ScalarArrayOpExpr:
        return psprintf("the operator %s", get_opname(as<ScalarArrayOpExpr>(part)->opno));
    case T_NullIfExpr:
        return "NULLIF";
    case T_MinMaxExpr:
        return "GREATEST or LEAST";
    case T_CoerceViaIO:
        return name_of_cast(as<CoerceViaIO>(part)->resulttype);
    case T_ArrayCoerceExpr:
        return name_of_cast(as<ArrayCoerceExpr>(part)->resulttype);
    case T_CoerceToDomain:
        return name_of_cast(as<CoerceToDomain>(part)->resulttype);
    case T_Var:
        return "a whole row or a system column";
    case T_SubPlan:
    case T_AlternativeSubPlan:
        return "a sub-query";
    case T_Param:
        return as<Param>(part)->paramkind == PARAM_EXTERN ? "a parameter"
                                                          : "a sub-query, or a column of an outer query";
    default:
        return nullptr;
    }
}

const char* name_of(Node* part) {
    if (const char* const call = name_of_call(part)) return call;
    const Node* const inner = innermost_without(is_pure, part);
    const char* const call = inner == part ? nullptr : name_of_call(inner);
    const char* const around = IsA(part, CoalesceExpr) ? "COALESCE"
                               : IsA(part, CaseExpr)   ? "CASE"
                                                       : "another expression";
    return call ? psprintf("%s inside of %s", call, around) : "something other than columns, casts and comparisons";
}

bool may_raise(const Node* part) {
    return !IsA(part, Var) && !IsA(part, Param) && !IsA(part, SubPlan) && !IsA(part, AlternativeSubPlan);
}

// What is asked of the parts of an expression: that they raise no error, or that an error leaves nothing behind.
enum class Demand : uint8_t { total, pure };

bool meets(Demand demand, Node* expression);

bool all_meet(Demand demand, const List* expressions) {
    for (Node* const expression : items<Node>(expressions))
        if (!meets(demand, expression)) return false;
    return true;
}

bool function_meets(Demand demand, const FuncExpr* call) {
    return is_widening_cast(call) || is_total_function(call) ||
           (demand == Demand::pure && !call->funcvariadic &&
            is_pure_function(call->funcid, call->funcresulttype, call->args, false));
}

bool operator_meets(Demand demand, const OpExpr* call) {
    return is_total_comparison(call->opno, get_opcode(call->opno), call->inputcollid, call->args) ||
           (demand == Demand::pure && is_pure_operator(call->opno, call->args));
}

bool list_operator_meets(Demand demand, const ScalarArrayOpExpr* call) {
    const List* const value = list_make1(linitial(call->args));
    return IsA(lsecond(call->args), Const) &&
           (is_total_comparison(call->opno, get_opcode(call->opno), call->inputcollid, value) ||
            (demand == Demand::pure && is_pure_operator(call->opno, value)));
}

bool cast_meets(Demand demand, const CoerceViaIO* cast) {
    const Oid type = getBaseType(exprType(as_node(cast->arg)));
    return (cast->resulttype == TEXTOID && is_always_written(type)) ||
           (demand == Demand::pure && is_plain(cast->resulttype) && is_plain(type));
}

bool case_meets(Demand demand, const CaseExpr* expression) {
    if (!meets(demand, as_node(expression->arg))) return false;
    for (const CaseWhen* const when : items<const CaseWhen>(expression->args))
        if (!meets(demand, as_node(when->expr)) || !meets(demand, as_node(when->result))) return false;
    return meets(demand, as_node(expression->defresult));
}

bool meets(Demand demand, Node* expression) {
    if (!expression) return true;
    const bool is_pure = demand == Demand::pure;
    switch (nodeTag(expression)) {
    case T_Var:
        return as<Var>(expression)->varlevelsup == 0 && as<Var>(expression)->varattno > 0;
    case T_Const:
    case T_CaseTestExpr:
        return true;
    case T_RelabelType:
        return meets(demand, as_node(as<RelabelType>(expression)->arg));
    case T_FuncExpr:
        return function_meets(demand, as<FuncExpr>(expression)) && all_meet(demand, as<FuncExpr>(expression)->args);
    case T_SQLValueFunction:
        return as<SQLValueFunction>(expression)->op <= SVFOP_LOCALTIMESTAMP_N; // the time that the transaction began
    case T_OpExpr:
    case T_DistinctExpr:
    case T_NullIfExpr:
        return operator_meets(demand, as<OpExpr>(expression)) && all_meet(demand, as<OpExpr>(expression)->args);
    case T_ScalarArrayOpExpr:
        return list_operator_meets(demand, as<ScalarArrayOpExpr>(expression)) &&
               meets(demand, static_cast<Node*>(linitial(as<ScalarArrayOpExpr>(expression)->args)));
    case T_BoolExpr:
        return all_meet(demand, as<BoolExpr>(expression)->args);
    case T_NullTest:
        return !as<NullTest>(expression)->argisrow && meets(demand, as_node(as<NullTest>(expression)->arg));
    case T_BooleanTest:
        return meets(demand, as_node(as<BooleanTest>(expression)->arg));
    case T_CaseExpr:
        return case_meets(demand, as<CaseExpr>(expression));
    case T_CoalesceExpr:
        return all_meet(demand, as<CoalesceExpr>(expression)->args);
    case T_MinMaxExpr:
        return is_pure && is_plain(as<MinMaxExpr>(expression)->minmaxtype) &&
               all_meet(demand, as<MinMaxExpr>(expression)->args);
    case T_CoerceViaIO:
        return cast_meets(demand, as<CoerceViaIO>(expression)) &&
               meets(demand, as_node(as<CoerceViaIO>(expression)->arg));
    case T_Param:
        // A plan that is run has a constant in its place where it is made for the values.
        return is_pure && as<Param>(expression)->paramkind == PARAM_EXTERN && collects_verdicts();
    default:
        return false;
    }
}

} // namespace

bool is_widening_cast(const FuncExpr* call) {
    if (!is_builtin(call->funcid) || list_length(call->args) != 1 || call->funcretset) return false;
    const Oid to = call->funcresulttype;
    const char* const name = to == INT4OID ? "int4" : to == INT8OID ? "int8" : to == FLOAT8OID ? "float8" : "numeric";
    return is_wider(to, getBaseType(exprType(static_cast<Node*>(linitial(call->args))))) &&
           strcmp(get_func_name(call->funcid), name) == 0;
}

Node* innermost_without(bool (*holds)(Node*), Node* expression) {
    PartSearch search = {holds, expression};
    find_part(expression, &search);
    return search.second;
}

Refusal refuse_impure(const char* whose, Node* expression) {
    return refuse_part(whose, innermost_without(is_pure, expression));
}

Refusal refuse_part(const char* whose, Node* part) {
    return psprintf("%s has %s%s; compute it in a sub-query that ends in OFFSET 0", whose, name_of(part),
                    may_raise(part) ? ", which may raise an error" : "");
}

bool is_total(Node* expression) {
    return meets(Demand::total, expression);
}

bool is_pure(Node* expression) {
    return meets(Demand::pure, expression);
}

} // namespace btml::pg::planner
