#include "pg/planner/shape.hpp"

extern "C" {
#include "optimizer/clauses.h"
}

namespace btml::pg::planner {

using relational::StreamedJoin;

namespace {

class InnerSides {
  public:
    explicit InnerSides(JoinShape* join) : root_(join->root), join_(join) {}

    Refusal find();

  private:
    Refusal add(const SpecialJoinInfo* special);
    Refusal merge(const SpecialJoinInfo* special, Refusal because) const;
    Refusal add_semi_join(const SpecialJoinInfo* special, int table);
    Refusal add_outer_join(const SpecialJoinInfo* special, int table);
    Refusal claim(const SpecialJoinInfo* special, int table, RestrictInfo* condition);
    bool belongs(const SpecialJoinInfo* special, const RestrictInfo* condition) const;
    int find_partner(const SpecialJoinInfo* special, int table) const;
    bool is_joinable(const TableShape& table) const;
    Relids without_joins(Relids relids) const { return btml_compat_without_outer_joins(root_, relids); }

    PlannerInfo* root_;
    JoinShape* join_;
    List* claimed_ = NIL; // of RestrictInfo*
};

// PostgreSQL joins the inner side, and what its conditions are about, first.
Refusal InnerSides::merge(const SpecialJoinInfo* special, Refusal because) const {
    return join_->merge(join_->relids(special), because);
}

// Whether the condition is one of ON of this join, over its outer and its inner side.
bool InnerSides::belongs(const SpecialJoinInfo* special, const RestrictInfo* condition) const {
    return !condition->is_pushed_down && !btml_compat_is_clone(condition) &&
           bms_is_subset(without_joins(condition->required_relids),
                         bms_union(special->syn_lefthand, special->syn_righthand)) &&
           bms_overlap(condition->clause_relids, special->syn_righthand) &&
           bms_overlap(condition->clause_relids, special->syn_lefthand);
}

// An equality becomes an attribute that the two tables alone have.
Refusal InnerSides::claim(const SpecialJoinInfo* special, int table, RestrictInfo* condition) {
    const auto* const clause = reinterpret_cast<const OpExpr*>(condition->clause);
    if (!IsA(clause, OpExpr) || !condition->mergeopfamilies || list_length(clause->args) != 2)
        return merge(special, "the condition of an outer join is no equality");
    const int number = list_length(join_->attributes);
    Attribute* attribute = nullptr;
    for (Expr* const side : items<Expr>(clause->args)) {
        const int of = join_->table_of(join_->relids(as_node(side)));
        int& partner = join_->tables[table].partner;
        if (of < 0 || (of != table && partner >= 0 && partner != of))
            return merge(special, "an outer join has conditions over several tables");
        if (of != table) partner = of;
        if (join_->key(of, number) || add_key(root_, &join_->tables[of], side, condition->mergeopfamilies,
                                              clause->inputcollid, number, &attribute))
            return merge(special, "the keys of an outer join cannot be compared by their bytes");
    }
    attribute->is_private = true;
    join_->attributes = lappend(join_->attributes, attribute);
    claimed_ = lappend(claimed_, condition);
    return nullptr;
}

// Returns a table of the outer side, so that no table becomes a partner of itself, that has all attributes of this one;
// −1 for none.
int InnerSides::find_partner(const SpecialJoinInfo* special, int table) const {
    for (int t = 0; t < join_->table_count; t++) {
        bool has_all = join_->tables[t].join == StreamedJoin::inner &&
                       bms_is_subset(join_->tables[t].relids, special->syn_lefthand);
        for (const TableKey* const key : items<const TableKey>(join_->tables[table].keys))
            has_all = has_all && join_->key(t, key->attribute);
        if (has_all) return t;
    }
    return -1;
}

// The conditions of a semi-join are equalities of columns like those of inner joins.
Refusal InnerSides::add_semi_join(const SpecialJoinInfo* special, int table) {
    TableShape* const shape = &join_->tables[table];
    shape->join = StreamedJoin::semi;
    shape->partner = find_partner(special, table);
    return shape->partner < 0 ? merge(special, "a semi-join has conditions over several tables") : nullptr;
}

Refusal InnerSides::add_outer_join(const SpecialJoinInfo* special, int table) {
    TableShape* const shape = &join_->tables[table];
    if (shape->keys) return merge(special, "the inner side of an outer join has a condition above it");
    for (RestrictInfo* const condition : items<RestrictInfo>(shape->relation->joininfo))
        if (belongs(special, condition))
            if (const Refusal refusal = claim(special, table, condition)) return refusal;
    shape->join = special->jointype == JOIN_ANTI ? StreamedJoin::anti : StreamedJoin::left;
    return shape->partner < 0 ? merge(special, "an outer join has no equality to join by") : nullptr;
}

Refusal InnerSides::add(const SpecialJoinInfo* special) {
    const Relids inner_side = without_joins(special->syn_righthand);
    const int table = join_->table_of(inner_side);
    if (join_->table_of(join_->relids(special)) >= 0) return nullptr;
    if (special->jointype == JOIN_FULL) return merge(special, "it has a full join");
    if (table < 0) return join_->merge(inner_side, inner_side_is_join);
    const TableShape* const shape = &join_->tables[table];
    if (!bms_equal(shape->relids, inner_side))
        return merge(special, "the inner side of an outer join is joined to another table");
    if (shape->join != StreamedJoin::inner) return merge(special, "a table is the inner side of two joins");
    return special->jointype == JOIN_SEMI ? add_semi_join(special, table) : add_outer_join(special, table);
}

// Tells whether a table can be joined to its partner alone: what a semi-join tests must not be NULL for the want of a
// row, the inner side of a semi-join has no rows to be joined to, and that of a left join has only keys that are NULL
// where it finds no row.
bool InnerSides::is_joinable(const TableShape& table) const {
    if (table.join == StreamedJoin::inner) return true;
    const StreamedJoin partner = join_->tables[table.partner].join;
    if (partner == StreamedJoin::inner) return true;
    if (partner != StreamedJoin::left || table.join != StreamedJoin::left) return false;
    for (const TableKey* const key : items<const TableKey>(table.keys)) {
        const TableKey* const of_partner = join_->key(table.partner, key->attribute);
        if (!of_partner || contain_nonstrict_functions(as_node(of_partner->expression))) return false;
    }
    return table.keys != NIL;
}

Refusal InnerSides::find() {
    for (const SpecialJoinInfo* const special : items<const SpecialJoinInfo>(root_->join_info_list))
        if (const Refusal refusal = add(special)) return refusal;
    for (int t = 0; t < join_->table_count; t++) {
        const TableShape& table = join_->tables[t];
        if (is_joinable(table)) continue;
        return join_->merge(bms_union(table.relids, join_->tables[table.partner].relids),
                            "a join is above an outer join whose missing rows it may meet");
    }
    for (int t = 0; t < join_->table_count; t++)
        for (RestrictInfo* const condition : items<RestrictInfo>(join_->tables[t].relation->joininfo))
            if (!btml_compat_is_clone(condition) && !list_member_ptr(claimed_, condition))
                return join_->merge(bms_union(join_->tables[t].relids, join_->needed_by(condition->required_relids)),
                                    "it has a join condition other than the equality of two expressions");
    return nullptr;
}

} // namespace

Refusal find_inner_sides(JoinShape* join) {
    return InnerSides(join).find();
}

} // namespace btml::pg::planner
