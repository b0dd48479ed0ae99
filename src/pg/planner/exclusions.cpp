#include "pg/planner/conditions.hpp"

#include <utility>

extern "C" {
#include "optimizer/optimizer.h"
}

namespace btml::pg::planner {

using relational::StreamedJoin;

namespace {

// Returns the two sides of a mergejoinable equality of one table each, the given table's first; false for another
// condition.
bool take_sides(const JoinShape* join, int table, const RestrictInfo* condition, Expr** own, Expr** other) {
    const auto* const clause = reinterpret_cast<const OpExpr*>(condition->clause);
    if (!IsA(clause, OpExpr) || !condition->mergeopfamilies || list_length(clause->args) != 2) return false;
    *own = static_cast<Expr*>(linitial(clause->args));
    *other = static_cast<Expr*>(lsecond(clause->args));
    if (join->table_of(join->relids(as_node(*own))) != table) std::swap(*own, *other);
    const int of_other = join->table_of(join->relids(as_node(*other)));
    return join->table_of(join->relids(as_node(*own))) == table && of_other >= 0 && of_other != table;
}

// Returns the number of the attribute of inner joins that has this expression as a table's key; −1 for none.
int attribute_of(const JoinShape* join, int table, const Expr* expression) {
    for (const TableKey* const key : items<const TableKey>(join->tables[table].keys)) {
        const auto* const attribute = items<const Attribute>(join->attributes)[key->attribute];
        if (attribute->is_shared() && equal(key->expression, expression)) return key->attribute;
    }
    return -1;
}

// Adds the keys that an anti-join with several tables compares, which are attributes of the joins of what it leaves
// out.
Refusal exclude_by_keys(JoinShape* join, int table, RestrictInfo* condition, Exclusion* exclusion) {
    Expr *own = nullptr, *other = nullptr;
    if (!take_sides(join, table, condition, &own, &other)) return several_partners;
    const auto* const clause = reinterpret_cast<const OpExpr*>(condition->clause);
    const int partner = join->table_of(join->relids(as_node(other))), known = attribute_of(join, partner, other);
    const int number = known >= 0 ? known : list_length(join->attributes);
    Attribute* attribute = known >= 0 ? items<Attribute>(join->attributes)[known] : nullptr;
    const auto add = [&](int of, Expr* side) {
        return add_key(join->root, &join->tables[of], side, condition->mergeopfamilies, clause->inputcollid, number,
                       &attribute);
    };
    if (join->key(table, number) || add(table, own) || (known < 0 && add(partner, other))) return odd_outer_keys;
    if (known < 0) {
        name_pair(join->root, own, "=", other, attribute);
        attribute->exclusion = list_length(join->exclusions);
        join->attributes = lappend(join->attributes, attribute);
    }
    exclusion->partners = bms_union(exclusion->partners, join->tables[partner].relids);
    join->claimed = lappend(join->claimed, condition);
    return nullptr;
}

// Whether every one of these relations is joined by inner joins, all its rows.
bool are_inner(const JoinShape* join, Relids relids) {
    for (int relid = -1; (relid = bms_next_member(relids, relid)) >= 0;) {
        const int table = join->table_of(bms_make_singleton(relid));
        if (table < 0 || !join->is_inner(table) || join->tables[table].has_rows_once) return false;
    }
    return true;
}

// Whether rows are left out: OFFSET 0 leaves out none, and keeps a sub-query apart.
bool leaves_out(Node* offset) {
    if (!offset) return false;
    const Node* const count = eval_const_expressions(nullptr, offset);
    return !IsA(count, Const) || as<Const>(count)->constisnull || DatumGetInt64(as<Const>(count)->constvalue) != 0;
}

// Tells of a part of a query that its rows may be others each time that it is run, by the order in which its tables
// give theirs or by chance.
bool varies(Node* node, void* context) {
    if (!node) return false;
    if (IsA(node, RangeTblEntry)) {
        const auto* const sample = as<RangeTblEntry>(node)->tablesample;
        return sample && !sample->repeatable;
    }
    if (!IsA(node, Query)) return btml_compat_walk(node, varies, context);
    auto* const query = reinterpret_cast<Query*>(node);
    return query->limitCount || leaves_out(query->limitOffset) || query->hasWindowFuncs || query->hasDistinctOn ||
           query->hasAggs || btml_compat_walk_query(query, varies, context, QTW_EXAMINE_RTES_BEFORE);
}

} // namespace

bool rows_never_vary(const PlannerInfo* root) {
    for (int relid = 1; relid < root->simple_rel_array_size; relid++) {
        const RangeTblEntry* const source = root->simple_rte_array[relid];
        if (source &&
            (varies(as_node(source->subquery), nullptr) || (source->tablesample && !source->tablesample->repeatable)))
            return false;
    }
    return true;
}

bool may_exclude_more(const JoinShape* join) {
    constexpr int max_exclusions = 3; // a join for each set of them
    return join->joined_first->may_exclude && list_length(join->exclusions) < max_exclusions;
}

bool has_several_partners(const JoinShape* join, const SpecialJoinInfo* special, int table) {
    Relids others = nullptr;
    for (const RestrictInfo* const condition : items<const RestrictInfo>(conditions_of(join, special, table)))
        others = bms_union(others, bms_difference(condition->clause_relids, join->tables[table].relids));
    others = btml_compat_without_outer_joins(join->root, others);
    return !bms_is_empty(others) && join->table_of(others) < 0;
}

Refusal exclude_partners(JoinShape* join, const SpecialJoinInfo* special, int table) {
    TableShape* const shape = &join->tables[table];
    auto* const exclusion = allocate<Exclusion>();
    for (RestrictInfo* const condition : items<RestrictInfo>(conditions_of(join, special, table)))
        if (const Refusal refusal = exclude_by_keys(join, table, condition, exclusion))
            return join->join_first(join->relids(special), refusal);
    if (!can_be_distinct(*shape))
        return join->join_first(join->relids(special), "the keys of an outer join have no hash function");
    shape->join = StreamedJoin::anti;
    shape->has_rows_once = true;
    shape->exclusion = list_length(join->exclusions);
    join->exclusions = lappend(join->exclusions, exclusion);
    return nullptr;
}

bool take_pair(const JoinShape* join, const RestrictInfo* condition, Expr** left, Expr** right) {
    const auto* const clause = reinterpret_cast<const OpExpr*>(condition->clause);
    if (!condition->is_pushed_down || !IsA(clause, OpExpr) || list_length(clause->args) != 2) return false;
    *left = static_cast<Expr*>(linitial(clause->args));
    *right = static_cast<Expr*>(lsecond(clause->args));
    const int of_left = join->table_of(join->relids(as_node(*left)));
    const int of_right = join->table_of(join->relids(as_node(*right)));
    return of_left >= 0 && of_right >= 0 && of_left != of_right && are_inner(join, condition->required_relids);
}

Attribute* add_pair(JoinShape* join, RestrictInfo* condition, Expr* left, Expr* right, const List* families) {
    const int number = list_length(join->attributes);
    const Oid collation = as<OpExpr>(condition->clause)->inputcollid;
    Attribute* attribute = nullptr;
    const auto table_of = [=](const Expr* side) {
        return &join->tables[join->table_of(join->relids(as_node(const_cast<Expr*>(side))))];
    };
    if (add_key(join->root, table_of(left), left, families, collation, number, &attribute)) return nullptr;
    if (add_key(join->root, table_of(right), right, families, collation, number, &attribute)) {
        table_of(left)->keys = list_delete_last(table_of(left)->keys);
        return nullptr;
    }
    join->attributes = lappend(join->attributes, attribute);
    join->claimed = lappend(join->claimed, condition);
    return attribute;
}

// x <> y holds where neither is NULL, less where x = y.
bool exclude_equal(JoinShape* join, RestrictInfo* condition) {
    Expr *left = nullptr, *right = nullptr;
    if (!may_exclude_more(join) || !take_pair(join, condition, &left, &right)) return false;
    const Oid equality = get_negator(as<OpExpr>(condition->clause)->opno);
    if (!OidIsValid(equality) || !op_mergejoinable(equality, exprType(as_node(left)))) return false;
    Attribute* const attribute = add_pair(join, condition, left, right, get_mergejoin_opfamilies(equality));
    if (!attribute) return false;
    auto* const exclusion = allocate<Exclusion>();
    for (Expr* const side : {left, right}) {
        auto* const factor = allocate<Factor>();
        *factor = {join->table_of(join->relids(as_node(side))), side};
        exclusion->present = lappend(exclusion->present, factor);
    }
    name_pair(join->root, left, "=", right, attribute);
    attribute->exclusion = list_length(join->exclusions);
    join->exclusions = lappend(join->exclusions, exclusion);
    return true;
}

bool JoinShape::has(int table, unsigned set) const {
    return tables[table].exclusion < 0 || (set >> tables[table].exclusion & 1) != 0;
}

JoinShape JoinShape::excluded_by(unsigned set) const {
    JoinShape join = *this;
    join.tables = static_cast<TableShape*>(palloc(sizeof(TableShape) * table_count));
    for (int t = 0; t < table_count; t++) {
        TableShape& table = join.tables[t];
        table = tables[t];
        table.keys = NIL;
        for (TableKey* const key : items<TableKey>(tables[t].keys)) {
            const int exclusion = items<const Attribute>(attributes)[key->attribute]->exclusion;
            if (has(t, set) && (exclusion < 0 || (set >> exclusion & 1) != 0)) table.keys = lappend(table.keys, key);
        }
        if (table.exclusion >= 0 && has(t, set)) table.join = StreamedJoin::inner;
    }
    return join;
}

} // namespace btml::pg::planner
