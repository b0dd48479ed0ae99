#include "pg/planner/polynomial.hpp"

#include "pg/planner/arithmetic.hpp"
#include "pg/source/factoriser.hpp"

extern "C" {
#include "optimizer/clauses.h"
}

namespace btml::pg::planner {

namespace {

constexpr int max_terms = 16;
constexpr Refusal too_many_terms = "an aggregate's argument has more than 16 terms";
constexpr const char* no_polynomial = "brings columns of several tables together by something other than +, - and *";

bool is_float(const Node* expression) {
    const Oid type = exprType(expression);
    return type == FLOAT4OID || type == FLOAT8OID;
}

Term* product_of(const Term* a, const Term* b) {
    auto* const term = allocate<Term>();
    *term = {a->negative != b->negative, list_concat_copy(a->factors, b->factors)};
    return term;
}

} // namespace

Refusal refuse_inner_side(const JoinShape& join, int table, Node* expression) {
    const relational::StreamedJoin kind = table < 0 ? relational::StreamedJoin::inner : join.tables[table].join;
    if (kind == relational::StreamedJoin::inner) return nullptr;
    if (kind != relational::StreamedJoin::left) return "it asks for columns of a table that must have no partner";
    if (!contain_nonstrict_functions(expression)) return nullptr;
    const TableShape& inner = join.tables[table];
    return join.merge(bms_union(inner.relids, join.tables[inner.partner].relids),
                      "an expression may not be NULL where an outer join finds no row");
}

// Asks for the tables of an expression to be joined first, for a flaw that the argument has.
Refusal Polynomial::joined_first(Node* expression, const char* flaw) const {
    return join_.merge(join_.relids(expression), psprintf("the argument of %s %s", aggregate_, flaw));
}

Refusal Polynomial::take(Node* expression, Form form) {
    form_ = form;
    return add(expression, &terms_);
}

Refusal Polynomial::add(Node* expression, List** terms) {
    expression = strip_relabel(expression);
    const Relids relids = join_.relids(expression);
    Arithmetic parts;
    if (bms_is_empty(relids) || join_.table_of(relids) >= 0) return add_factor(expression, terms);
    if (!take_apart(expression, &parts)) return joined_first(expression, no_polynomial);
    if (IsA(expression, OpExpr)) return add_operator(reinterpret_cast<const OpExpr*>(expression), terms);
    // A cast: of integers to wider ones or to numeric it keeps every value.
    return is_float(expression) ? joined_first(expression, no_polynomial) : add(parts.left, terms);
}

// Keeps in mind that the value of the operator was to stay within its type.
void Polynomial::add_bound(const OpExpr* call, List* terms) {
    auto* const bound = allocate<Bound>();
    *bound = {call->opresulttype, terms};
    bounds_ = lappend(bounds_, bound);
}

Refusal Polynomial::multiply(const OpExpr* call, List** terms) {
    List *left = NIL, *right = NIL, *products = NIL;
    if (const Refusal refusal = add(static_cast<Node*>(linitial(call->args)), &left)) return refusal;
    if (const Refusal refusal = add(static_cast<Node*>(lsecond(call->args)), &right)) return refusal;
    if (list_length(left) * list_length(right) > max_terms) return too_many_terms;
    for (const Term* const a : items<const Term>(left))
        for (const Term* const b : items<const Term>(right)) products = lappend(products, product_of(a, b));
    add_bound(call, products);
    *terms = list_concat_copy(*terms, products);
    return nullptr;
}

Refusal Polynomial::add_operator(const OpExpr* call, List** terms) {
    Arithmetic parts;
    auto* const whole = reinterpret_cast<Node*>(const_cast<OpExpr*>(call));
    take_apart(whole, &parts);
    const bool multiplies = parts.operation == Operation::multiply;
    const Form refused = multiplies ? Form::sum : Form::product;
    if (!multiplies && parts.operation != Operation::divide && is_float(whole))
        return joined_first(whole, "adds floats of several tables");
    if (multiplies && form_ == refused)
        return joined_first(whole, "has a product over several tables; of extrema only a max of numerics may be one");
    if (parts.operation == Operation::divide || form_ == refused) return joined_first(whole, no_polynomial);
    if (multiplies) return multiply(call, terms);
    List *left = NIL, *right = NIL;
    if (const Refusal refusal = add(parts.left, &left)) return refusal;
    if (parts.right)
        if (const Refusal refusal = add(parts.right, &right)) return refusal;
    List* const flipped = parts.operation == Operation::negate ? left : right;
    if (parts.operation != Operation::add)
        for (Term* const term : items<Term>(flipped)) term->negative = !term->negative;
    List* const own = list_concat_copy(left, right);
    add_bound(call, own);
    *terms = list_concat_copy(*terms, own);
    return list_length(*terms) > max_terms ? too_many_terms : nullptr;
}

Refusal Polynomial::add_factor(Node* expression, List** terms) {
    auto* const factor = allocate<Factor>();
    auto* const term = allocate<Term>();
    *factor = {join_.table_of(join_.relids(expression)), reinterpret_cast<Expr*>(expression)};
    const char* const whose = psprintf("the argument of %s", aggregate_);
    if (!is_arithmetic(expression)) return refuse_part(whose, innermost_without(is_arithmetic, expression));
    if (factor->table < 0 && !IsA(expression, Const)) return psprintf("%s has a factor without a column", whose);
    if (const Refusal refusal = refuse_inner_side(join_, factor->table, expression)) return refusal;
    if (IsA(expression, Const) && reinterpret_cast<const Const*>(expression)->constisnull)
        return "an aggregate's argument is NULL";
    *term = {false, list_make1(factor)};
    *terms = lappend(*terms, term);
    return nullptr;
}

} // namespace btml::pg::planner
