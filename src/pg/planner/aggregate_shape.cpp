#include "pg/planner/arithmetic.hpp"
#include "pg/planner/factor_type.hpp"
#include "pg/planner/shape.hpp"
#include "pg/source/factoriser.hpp"

extern "C" {
#include "catalog/pg_aggregate.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_namespace_d.h"
#include "optimizer/clauses.h"
#include "optimizer/tlist.h"
}

namespace btml::pg::planner {

using relational::CellKind;
using relational::StreamedType;

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

// Refuses what cannot be had of a table that is the inner side of a join: its columns, unless it is a left join's. They
// are NULL in rows without a partner, where only a strict expression is known to be.
Refusal refuse_inner_side(const JoinShape& join, int table, Node* expression) {
    const relational::StreamedJoin kind = table < 0 ? relational::StreamedJoin::inner : join.tables[table].join;
    if (kind == relational::StreamedJoin::inner) return nullptr;
    if (kind != relational::StreamedJoin::left) return "it asks for columns of a table that must have no partner";
    if (!contain_nonstrict_functions(expression)) return nullptr;
    const TableShape& inner = join.tables[table];
    return join.join_first(bms_union(inner.relids, join.tables[inner.partner].relids),
                           "an expression may not be NULL where an outer join finds no row");
}

// The argument of an aggregate as a sum of products of factors of one table each.
class Polynomial {
    // Only plain data: a PostgreSQL error may leave at any call.
  public:
    Polynomial(const JoinShape& join, const char* aggregate) : join_(join), aggregate_(aggregate) {}

    // What may be over several tables; else they ask to be joined first, as sums of floats do always, whose order of
    // additions is SQL's.
    enum class Form : uint8_t { any, sum, product };
    Refusal take(Node* expression, Form form) {
        form_ = form;
        return add(expression, &terms_);
    }

    List* terms() const { return terms_; }   // of Term*
    List* bounds() const { return bounds_; } // of Bound*

  private:
    Refusal add(Node* expression, List** terms) {
        expression = strip_relabel(expression);
        const Relids relids = join_.relids(expression);
        Arithmetic parts;
        if (bms_is_empty(relids) || join_.table_of(relids) >= 0) return add_factor(expression, terms);
        if (!take_apart(expression, &parts)) return joined_first(expression, no_polynomial);
        if (IsA(expression, OpExpr)) return add_operator(reinterpret_cast<const OpExpr*>(expression), terms);
        // A cast: of integers to wider ones or to numeric it keeps every value.
        return is_float(expression) ? joined_first(expression, no_polynomial) : add(parts.left, terms);
    }
    Refusal add_operator(const OpExpr* call, List** terms) {
        Arithmetic parts;
        auto* const whole = reinterpret_cast<Node*>(const_cast<OpExpr*>(call));
        take_apart(whole, &parts);
        const bool multiplies = parts.operation == Operation::multiply;
        const Form refused = multiplies ? Form::sum : Form::product;
        if (!multiplies && parts.operation != Operation::divide && is_float(whole))
            return joined_first(whole, "adds floats of several tables");
        if (multiplies && form_ == refused)
            return joined_first(whole,
                                "has a product over several tables; of extrema only a max of numerics may be one");
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
    Refusal multiply(const OpExpr* call, List** terms) {
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
    Refusal add_factor(Node* expression, List** terms) {
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
    // Keeps in mind that the value of the operator was to stay within its type.
    void add_bound(const OpExpr* call, List* terms) {
        auto* const bound = allocate<Bound>();
        *bound = {call->opresulttype, terms};
        bounds_ = lappend(bounds_, bound);
    }
    // Asks for the tables of an expression to be joined first, for a flaw that the argument has.
    Refusal joined_first(Node* expression, const char* flaw) const {
        return join_.join_first(join_.relids(expression), psprintf("the argument of %s %s", aggregate_, flaw));
    }

    const JoinShape& join_;
    const char* const aggregate_; // names the one whose argument it is
    Form form_ = Form::any;
    List* terms_ = NIL;
    List* bounds_ = NIL;
};

using KnownAggregate = std::pair<const char*, AggregateFunction>;

// PostgreSQL's own aggregates that can be had from sums over parts of the join.
constexpr KnownAggregate sums[] = {
    {"sum", AggregateFunction::sum},
    {"avg", AggregateFunction::average},
    {"var_pop", AggregateFunction::var_pop},
    {"var_samp", AggregateFunction::var_samp},
    {"variance", AggregateFunction::var_samp},
    {"stddev_pop", AggregateFunction::stddev_pop},
    {"stddev_samp", AggregateFunction::stddev_samp},
    {"stddev", AggregateFunction::stddev_samp},
};

constexpr KnownAggregate extrema[] = {
    {"min", AggregateFunction::min},   {"max", AggregateFunction::max},     {"bool_and", AggregateFunction::min},
    {"every", AggregateFunction::min}, {"bool_or", AggregateFunction::max},
};

constexpr Refusal floats_need_on = "an aggregate over floats is only taken with btml.factorize_aggregates = on";

Refusal find_extremum(AggregateShape* shape, Factorize mode) {
    const bool least = shape->function == AggregateFunction::min;
    const FactorType* const type = factor_type(shape->argument_type);
    if (!type)
        return "an aggregate is a min or max of something other than numbers, booleans, dates, times and timestamps";
    switch (type->held) {
    case StreamedType::integer:
        shape->cell = least ? CellKind::integer_min : CellKind::integer_max;
        return nullptr;
    case StreamedType::decimal:
        shape->cell = least ? CellKind::decimal_min : CellKind::decimal_max;
        return nullptr;
    case StreamedType::number:
        shape->cell = least ? CellKind::number_min : CellKind::number_max;
    }
    return mode == Factorize::on ? nullptr : floats_need_on;
}

// Sums of float4 are rounded to it row by row, and variances of floats from row to row.
Refusal find_sum(AggregateShape* shape, Factorize mode) {
    const FactorType* const type = factor_type(shape->argument_type);
    const bool rounds = shape->argument_type == FLOAT4OID && shape->function == AggregateFunction::sum;
    const bool is_float = type && type->held == StreamedType::number;
    if (!type || !type->has_arithmetic)
        return "an aggregate is a sum, average or variance of a type that is not known here";
    if (rounds) return "an aggregate is a sum of float4, which is rounded after every row, unlike one of float8";
    if (is_float && is_variance(shape->function))
        return "an aggregate is a variance of floats, which is rounded after every row";
    shape->cell = is_float                              ? CellKind::number_sum
                  : type->held == StreamedType::integer ? CellKind::integer_sum
                                                        : CellKind::decimal_sum;
    return is_float && mode != Factorize::on ? floats_need_on : nullptr;
}

Refusal find_function(AggregateShape* shape, Factorize mode) {
    const Oid function = shape->aggref->aggfnoid;
    const char* const name = get_func_name(function);
    if (function >= FirstNormalObjectId || get_func_namespace(function) != PG_CATALOG_NAMESPACE)
        return "an aggregate is not one of PostgreSQL's own";
    shape->cell = CellKind::count;
    shape->function = AggregateFunction::count;
    if (strcmp(name, "count") == 0) return nullptr;
    for (const auto& [known, of_name] : sums)
        if (strcmp(name, known) == 0) {
            shape->function = of_name;
            return find_sum(shape, mode);
        }
    for (const auto& [known, of_name] : extrema)
        if (strcmp(name, known) == 0) {
            shape->function = of_name;
            return find_extremum(shape, mode);
        }
    return psprintf("%s is none of count, sum, avg, min, max, bool_and, bool_or, every, variance and stddev", name);
}

Refusal find_conditions(const JoinShape& join, AggregateShape* shape) {
    if (!shape->aggref->aggfilter) return nullptr;
    auto* const conjuncts = make_ands_implicit(shape->aggref->aggfilter);
    for (Node* const conjunct : items<Node>(conjuncts)) {
        const Relids relids = join.relids(conjunct);
        auto* const factor = allocate<Factor>();
        *factor = {join.table_of(relids), reinterpret_cast<Expr*>(conjunct)};
        if (factor->table < 0 && !bms_is_empty(relids))
            return join.join_first(relids, "a FILTER is a condition over several tables");
        if (!is_pure(conjunct)) return refuse_impure("a FILTER", conjunct);
        if (factor->table < 0 && !IsA(conjunct, Const)) return "a FILTER has no column";
        if (const Refusal refusal = refuse_inner_side(join, factor->table, conjunct)) return refusal;
        shape->conditions = lappend(shape->conditions, factor);
    }
    return nullptr;
}

Refusal refuse_form(const Aggref* aggref) {
    if (aggref->aggkind != AGGKIND_NORMAL || aggref->aggdirectargs) return "an aggregate has WITHIN GROUP";
    if (aggref->aggorder) return "an aggregate has ORDER BY";
    if (aggref->agglevelsup != 0) return "an aggregate belongs to an outer query";
    if (aggref->aggsplit != AGGSPLIT_SIMPLE) return "an aggregate is one part of several";
    return nullptr;
}

// Extrema of sums add up; maxima of decimals multiply where no factor is negative, which is seen when they are read.
Polynomial::Form form_of(const JoinShape& join, Node* argument, CellKind cell) {
    using Form = Polynomial::Form;
    Arithmetic parts;
    if (!is_extremum(cell)) return Form::any;
    const bool multiplies = join.table_of(join.relids(argument)) < 0 && take_apart(argument, &parts) &&
                            parts.operation == Operation::multiply;
    return multiplies && cell == CellKind::decimal_max ? Form::product : Form::sum;
}

Expr* argument_of(const AggregateShape* aggregate) {
    return static_cast<TargetEntry*>(linitial(aggregate->aggref->args))->expr;
}

// The square of a sum has terms of pairs, which are not asked for.
Refusal find_argument(const JoinShape& join, AggregateShape* shape) {
    Node* const argument = as_node(argument_of(shape));
    const Polynomial::Form form = form_of(join, argument, shape->cell);
    Polynomial polynomial(join, get_func_name(shape->aggref->aggfnoid));
    if (form == Polynomial::Form::product) shape->cell = CellKind::decimal_max_product;
    if (const Refusal refusal = polynomial.take(argument, form)) return refusal;
    shape->terms = polynomial.terms();
    shape->bounds = polynomial.bounds();
    return is_variance(shape->function) && list_length(shape->terms) > 1
               ? join.join_first(join.relids(argument), "it asks for the variance of a sum over several tables")
               : nullptr;
}

Refusal find_aggregate(const JoinShape& join, Aggref* aggref, Factorize mode, AggregateShape* shape) {
    if (const Refusal refusal = refuse_form(aggref)) return refusal;
    shape->aggref = aggref;
    shape->argument_type = aggref->args ? exprType(as_node(argument_of(shape))) : InvalidOid;
    if (const Refusal refusal = find_function(shape, mode)) return refusal;
    if (const Refusal refusal = find_conditions(join, shape)) return refusal;
    return aggref->args ? find_argument(join, shape) : nullptr;
}

Refusal find_group(const JoinShape& join, Node* shown, GroupShape* group) {
    Node* const expression = btml_compat_below_grouping(join.root, shown);
    group->shown = reinterpret_cast<Expr*>(shown);
    const Relids relids = join.relids(expression);
    group->expression = reinterpret_cast<Expr*>(expression);
    group->table = join.table_of(relids);
    if (bms_is_empty(relids)) return "a grouping expression has no column";
    if (group->table < 0) return join.join_first(relids, "a grouping expression is not over one table");
    if (!is_pure(expression)) return refuse_impure("a grouping expression", expression);
    if (const Refusal refusal = refuse_inner_side(join, group->table, expression)) return refusal;
    if (!key_type(exprType(expression), exprCollation(expression), &group->type))
        return "a grouping column has a nondeterministic collation or a type without a hash function";
    return nullptr;
}

// Finds the group that tells the values of an aggregate with DISTINCT apart, as those of groups are, whatever they look
// like.
Refusal find_distinct(AggregateShape* aggregate, QueryShape* query) {
    Expr* const expression = argument_of(aggregate);
    const bool is_sum =
        aggregate->function == AggregateFunction::sum || aggregate->function == AggregateFunction::average;
    if (!is_sum && aggregate->function != AggregateFunction::count) return "a variance has DISTINCT";
    if (is_sum && aggregate->cell != CellKind::integer_sum)
        return "a sum or average of other than integers has DISTINCT";
    aggregate->distinct = 0;
    for (const GroupShape* const known : items<const GroupShape>(query->groups)) {
        if (known->is_for_aggregate && equal(known->expression, expression)) return nullptr;
        aggregate->distinct++;
    }
    auto* const group = allocate<GroupShape>();
    if (const Refusal refusal = find_group(query->join, as_node(expression), group)) return refusal;
    group->is_for_aggregate = true;
    query->groups = lappend(query->groups, group);
    return nullptr;
}

struct Uses {
    List* aggregates; // of Aggref*
    List* groupings;  // of GroupingFunc*
    const List* groups;
    List* columns; // of Var*, which are neither in an aggregate nor a grouping expression
    bool others;   // whether something else than a column is neither in an aggregate nor a grouping expression
    bool sub_plans;
};

bool collect_uses(Node* node, void* context) {
    if (!node) return false;
    auto* const uses = static_cast<Uses*>(context);
    if (list_member(uses->groups, node)) return false;
    if (IsA(node, Aggref)) {
        uses->aggregates = list_append_unique(uses->aggregates, node);
        return false;
    }
    if (IsA(node, GroupingFunc)) {
        uses->groupings = list_append_unique(uses->groupings, node);
        return false;
    }
    if (IsA(node, SubPlan) || IsA(node, AlternativeSubPlan) || IsA(node, SubLink)) uses->sub_plans = true;
    if (IsA(node, Var)) uses->columns = list_append_unique(uses->columns, node);
    if (IsA(node, PlaceHolderVar)) uses->others = true;
    return btml_compat_walk(node, collect_uses, context);
}

// Finds the numbers of the groups that each set has; without sets, all are one.
List* grouping_sets_of(const QueryShape& query) {
    List *sets = NIL, *all = NIL;
    for (int group = 0; group < list_length(query.groups); group++) all = lappend_int(all, group);
    if (!query.join.root->parse->groupingSets) return list_make1(all);
    for (const List* const references : items<const List>(query.join.root->parse->groupingSets))
        sets = lappend(sets, query.groups_of(references));
    return sets;
}

// Tells whether the primary key of the column's table is among the groups, each of which then has one value of it.
bool depends_on_groups(const PlannerInfo* root, const Var* column, const List* groups) {
    const RangeTblEntry* const table = root->simple_rte_array[column->varno];
    Oid constraint = InvalidOid;
    if (table->rtekind != RTE_RELATION || column->varlevelsup > 0) return false;
    if (table->inh && table->relkind != RELKIND_PARTITIONED_TABLE) return false; // children may have the same key
    const Bitmapset* const key = get_primary_key_attnos(table->relid, false, &constraint);
    Bitmapset* grouped = nullptr;
    for (Node* const group : items<Node>(groups))
        if (const auto* const of = reinterpret_cast<const Var*>(group); IsA(group, Var) && of->varno == column->varno)
            grouped = bms_add_member(grouped, of->varattno - FirstLowInvalidHeapAttributeNumber);
    return key && bms_is_subset(key, grouped);
}

} // namespace

List* QueryShape::groups_of(const List* references) const {
    List* numbers = NIL;
    if (!join.root->parse->groupingSets) return NIL;
    for (int i = 0; i < list_length(references); i++) {
        int number = 0;
        for (const SortGroupClause* const group : items<const SortGroupClause>(join.root->parse->groupClause)) {
            if (group->tleSortGroupRef == static_cast<Index>(list_nth_int(references, i)))
                numbers = lappend_int(numbers, number);
            number++;
        }
    }
    return numbers;
}

Refusal find_aggregates(const Asked& asked, Factorize mode, QueryShape* query) {
    const PlannerInfo* const root = query->join.root;
    List* const groups = asked.groups;
    Uses uses = {NIL, NIL, groups, NIL, false, false};
    collect_uses(as_node(asked.targets->exprs), &uses);
    collect_uses(asked.having, &uses);
    if (uses.sub_plans) return "a sub-query stands in its target list or in HAVING";
    for (const Var* const column : items<const Var>(uses.columns))
        uses.others = uses.others || root->parse->groupingSets || !depends_on_groups(root, column, groups);
    if (uses.others) return "a column is no grouping column but depends on one";
    List *const all = list_concat_copy(groups, uses.columns), *numbered = NIL;
    for (Node* const expression : items<Node>(all)) {
        auto* const group = allocate<GroupShape>();
        if (root->parse->groupingSets && list_member(numbered, expression))
            return "its grouping sets have one expression under two names";
        numbered = lappend(numbered, expression);
        if (const Refusal refusal = find_group(query->join, expression, group)) return refusal;
        query->groups = lappend(query->groups, group);
    }
    query->grouping_sets = grouping_sets_of(*query);
    query->groupings = uses.groupings;
    for (Aggref* const aggref : items<Aggref>(uses.aggregates)) {
        auto* const shape = allocate<AggregateShape>();
        if (const Refusal refusal = find_aggregate(query->join, aggref, mode, shape)) return refusal;
        query->aggregates = lappend(query->aggregates, shape);
        shape->distinct = -1;
        if (aggref->aggdistinct && !is_extremum(shape->cell))
            if (const Refusal refusal = find_distinct(shape, query)) return refusal;
    }
    return query->aggregates || query->groups ? nullptr : "it has no aggregates that its result uses";
}

} // namespace btml::pg::planner
