#include "pg/planner/conditions.hpp"

extern "C" {
#include "optimizer/clauses.h"
#include "parser/parse_oper.h"
}

namespace btml::pg::planner {

using relational::StreamedJoin;

namespace {

// PostgreSQL joins the inner side, and what its conditions are about, first.
Refusal join_first(const JoinShape* join, const SpecialJoinInfo* special, Refusal because) {
    return join->join_first(join->relids(special), because);
}

// An equality becomes an attribute that the two tables alone have.
Refusal claim(JoinShape* join, const SpecialJoinInfo* special, int table, RestrictInfo* condition) {
    const auto* const clause = reinterpret_cast<const OpExpr*>(condition->clause);
    if (!IsA(clause, OpExpr) || !condition->mergeopfamilies || list_length(clause->args) != 2)
        return join_first(join, special, "the condition of an outer join is no equality");
    const int number = list_length(join->attributes);
    Attribute* attribute = nullptr;
    for (Expr* const side : items<Expr>(clause->args)) {
        const int of = join->table_of(join->relids(as_node(side)));
        int& partner = join->tables[table].partner;
        if (of < 0 || (of != table && partner >= 0 && partner != of))
            return join_first(join, special, several_partners);
        if (of != table) partner = of;
        if (join->key(of, number) || add_key(join->root, &join->tables[of], side, condition->mergeopfamilies,
                                             clause->inputcollid, number, &attribute))
            return join_first(join, special, odd_outer_keys);
    }
    attribute->is_private = true;
    join->attributes = lappend(join->attributes, attribute);
    join->claimed = lappend(join->claimed, condition);
    return nullptr;
}

// Returns a table of the outer side, so that no table becomes a partner of itself, that has all attributes of this one;
// −1 for none.
int find_partner(const JoinShape* join, const SpecialJoinInfo* special, int table) {
    for (int t = 0; t < join->table_count; t++) {
        bool has_all =
            join->tables[t].join == StreamedJoin::inner && bms_is_subset(join->tables[t].relids, special->syn_lefthand);
        for (const TableKey* const key : items<const TableKey>(join->tables[table].keys))
            has_all = has_all && join->key(t, key->attribute);
        if (has_all) return t;
    }
    return -1;
}

// The conditions of a semi-join are equalities of columns like those of inner joins. With several tables it is an inner
// join of distinct keys.
Refusal add_semi_join(JoinShape* join, const SpecialJoinInfo* special, int table) {
    TableShape* const shape = &join->tables[table];
    const int partner = find_partner(join, special, table);
    if (partner >= 0) {
        shape->join = StreamedJoin::semi;
        shape->partner = partner;
        return nullptr;
    }
    shape->has_rows_once = can_be_distinct(*shape);
    return shape->has_rows_once ? nullptr : join_first(join, special, "a semi-join has conditions over several tables");
}

Refusal add_outer_join(JoinShape* join, const SpecialJoinInfo* special, int table) {
    TableShape* const shape = &join->tables[table];
    if (shape->keys) return join_first(join, special, "the inner side of an outer join has a condition above it");
    if (special->jointype == JOIN_ANTI && may_exclude_more(join) && has_several_partners(join, special, table))
        return exclude_partners(join, special, table);
    for (RestrictInfo* const condition : items<RestrictInfo>(conditions_of(join, special, table)))
        if (const Refusal refusal = claim(join, special, table, condition)) return refusal;
    shape->join = special->jointype == JOIN_ANTI ? StreamedJoin::anti : StreamedJoin::left;
    return shape->partner < 0 ? join_first(join, special, "an outer join has no equality to join by") : nullptr;
}

Refusal add(JoinShape* join, const SpecialJoinInfo* special) {
    const Relids inner_side = btml_compat_without_outer_joins(join->root, special->syn_righthand);
    const int table = join->table_of(inner_side);
    if (join->table_of(join->relids(special)) >= 0) return nullptr;
    if (special->jointype == JOIN_FULL) return join_first(join, special, "it has a full join");
    if (table < 0) return join->join_first(inner_side, inner_side_is_join);
    const TableShape* const shape = &join->tables[table];
    if (!bms_equal(shape->relids, inner_side))
        return join_first(join, special, "the inner side of an outer join is joined to another table");
    if (shape->join != StreamedJoin::inner) return join_first(join, special, "a table is the inner side of two joins");
    return special->jointype == JOIN_SEMI ? add_semi_join(join, special, table) : add_outer_join(join, special, table);
}

// Tells whether a table can be joined to its partner alone: what a semi-join tests must not be NULL for the want of a
// row, the inner side of a semi-join has no rows to be joined to, and that of a left join has only keys that are NULL
// where it finds no row.
bool is_joinable(const JoinShape* join, const TableShape& table) {
    if (table.join == StreamedJoin::inner || table.exclusion >= 0) return true;
    const StreamedJoin partner = join->tables[table.partner].join;
    if (partner == StreamedJoin::inner) return true;
    if (partner != StreamedJoin::left || table.join != StreamedJoin::left) return false;
    for (const TableKey* const key : items<const TableKey>(table.keys)) {
        const TableKey* const of_partner = join->key(table.partner, key->attribute);
        if (!of_partner || contain_nonstrict_functions(as_node(of_partner->expression))) return false;
    }
    return table.keys != NIL;
}

} // namespace

// Tells whether the condition is one of ON of this join, over its outer and its inner side.
static bool belongs(const JoinShape* join, const SpecialJoinInfo* special, const RestrictInfo* condition) {
    return !condition->is_pushed_down && !btml_compat_is_clone(condition) &&
           bms_is_subset(btml_compat_without_outer_joins(join->root, condition->required_relids),
                         bms_union(special->syn_lefthand, special->syn_righthand)) &&
           bms_overlap(condition->clause_relids, special->syn_righthand) &&
           bms_overlap(condition->clause_relids, special->syn_lefthand);
}

List* conditions_of(const JoinShape* join, const SpecialJoinInfo* special, int table) {
    List* conditions = NIL;
    for (RestrictInfo* const condition : items<RestrictInfo>(join->tables[table].relation->joininfo))
        if (belongs(join, special, condition)) conditions = lappend(conditions, condition);
    return conditions;
}

bool can_be_distinct(const TableShape& table) {
    for (const TableKey* const key : items<const TableKey>(table.keys)) {
        Oid equality = InvalidOid;
        bool hashes = false;
        get_sort_group_operators(exprType(as_node(key->expression)), false, false, false, nullptr, &equality, nullptr,
                                 &hashes);
        if (!hashes || !is_total(as_node(key->expression))) return false;
    }
    return table.keys != NIL;
}

Refusal find_inner_sides(JoinShape* join) {
    for (const SpecialJoinInfo* const special : items<const SpecialJoinInfo>(join->root->join_info_list))
        if (const Refusal refusal = add(join, special)) return refusal;
    for (int t = 0; t < join->table_count; t++) {
        const TableShape& table = join->tables[t];
        if (is_joinable(join, table)) continue;
        return join->join_first(bms_union(table.relids, join->tables[table.partner].relids),
                                "a join is above an outer join whose missing rows it may meet");
    }
    for (int t = 0; t < join->table_count; t++) {
        const TableShape& table = join->tables[t];
        if (table.exclusion < 0) continue;
        const Relids partners = items<const Exclusion>(join->exclusions)[table.exclusion]->partners;
        if (!are_inner(join, partners)) return join->join_first(bms_union(table.relids, partners), several_partners);
    }
    for (int t = 0; t < join->table_count; t++)
        for (RestrictInfo* const condition : items<RestrictInfo>(join->tables[t].relation->joininfo))
            if (!btml_compat_is_clone(condition) && !list_member_ptr(join->claimed, condition) &&
                !exclude_equal(join, condition) && !order_rows(join, condition))
                return join->join_first(bms_union(join->tables[t].relids, join->needed_by(condition->required_relids)),
                                        "it has a join condition other than the equality of two expressions");
    return nullptr;
}

} // namespace btml::pg::planner
