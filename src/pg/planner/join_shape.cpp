#include "pg/planner/shape.hpp"

extern "C" {
#include "optimizer/paths.h"
}

namespace btml::pg::planner {

namespace {

constexpr int max_tables = 64;

Refusal refuse_features(const PlannerInfo* root) {
    const Query* const query = root->parse;
    if (query->commandType != CMD_SELECT) return "it is no SELECT";
    if (!query->hasAggs) return "it has no aggregates";
    if (query->groupingSets) return "it has grouping sets";
    if (query->hasTargetSRFs) return "its target list has a set-returning function";
    if (query->rowMarks) return "it locks rows";
    if (root->placeholder_list)
        return "it has an expression that is evaluated below an outer join or a lateral sub-query";
    if (root->hasPseudoConstantQuals) return "it has a condition without columns";
    return nullptr;
}

bool is_volatile(const RelOptInfo* relation) {
    for (const RestrictInfo* const condition : items<const RestrictInfo>(relation->baserestrictinfo))
        if (contain_volatile_functions(as_node(condition->clause))) return true;
    return contain_volatile_functions(as_node(relation->reltarget->exprs));
}

Refusal add_table(PlannerInfo* root, int relid, JoinShape* join) {
    RelOptInfo* const relation = root->simple_rel_array[relid];
    if (!relation || relation->reloptkind != RELOPT_BASEREL)
        return "one of its relations is no table, view or sub-query";
    if (!bms_is_empty(relation->lateral_relids)) return "it has a lateral sub-query";
    if (is_volatile(relation)) return "it calls a volatile function";
    Path* const path = relation->cheapest_total_path;
    if (!path || path->param_info) return "one of its relations depends on another";
    join->tables[join->table_count++] = {
        relation, path, root->simple_rte_array[relid]->eref->aliasname, NIL, relational::StreamedJoin::inner, -1};
    return nullptr;
}

Refusal add_tables(PlannerInfo* root, const RelOptInfo* input, JoinShape* join) {
    const Relids relids = btml_compat_without_outer_joins(root, input->relids);
    if (bms_num_members(relids) > max_tables) return "it joins more than 64 relations";
    join->tables = static_cast<TableShape*>(palloc0(sizeof(TableShape) * bms_num_members(relids)));
    for (int relid = -1; (relid = bms_next_member(relids, relid)) >= 0;)
        if (const Refusal refusal = add_table(root, relid, join)) return refusal;
    return nullptr;
}

// Whether these families compare values as the type's own hash function and equality do.
bool compares_by_default(const List* families, Oid type) {
    const TypeCacheEntry* const entry = lookup_type_cache(type, TYPECACHE_EQ_OPR);
    for (int i = 0; i < list_length(families); i++)
        if (op_in_opfamily(entry->eq_opr, list_nth_oid(families, i))) return true;
    return false;
}

const char* column_name(PlannerInfo* root, Node* expression) {
    const Node* const stripped = strip_implicit_coercions(expression);
    if (!IsA(stripped, Var)) return "an expression";
    const auto* const var = reinterpret_cast<const Var*>(stripped);
    return get_rte_attribute_name(root->simple_rte_array[var->varno], var->varattno);
}

// Gives the table a key of an attribute, whose type the first key decides.
Refusal add_key(PlannerInfo* root, TableShape* table, Expr* expression, const List* families, Oid collation, int number,
                Attribute** attribute) {
    const Oid type = exprType(as_node(expression));
    KeyType key;
    if (!is_total(as_node(expression))) return "a join key is an expression that may raise an error";
    if (!key_type(type, collation, &key)) return "a join key has a type without a hash function";
    if (!compares_by_default(families, getBaseType(type)))
        return "a join key is compared in another way than its type's own";
    if (!*attribute) {
        *attribute = allocate<Attribute>();
        **attribute = {key, column_name(root, as_node(expression)), false};
    } else if (!(*attribute)->type.compares_like(key))
        return "a join key compares values of different types";
    auto* const table_key = allocate<TableKey>();
    *table_key = {number, copy_of(expression)};
    table->keys = lappend(table->keys, table_key);
    return nullptr;
}

// A member of the class becomes a key of its table; a second one of the same table is a condition of that table's scan.
Refusal add_member(PlannerInfo* root, const EquivalenceClass* equal, const EquivalenceMember* member, int number,
                   Attribute** attribute, JoinShape* join) {
    int relid = 0;
    if (!bms_get_singleton_member(member->em_relids, &relid)) return "a join key is an expression over several tables";
    const int table = join->table_of(relid);
    if (table < 0) return "a join key belongs to no table of the join";
    if (join->key(table, number)) return nullptr;
    return add_key(root, &join->tables[table], member->em_expr, equal->ec_opfamilies, equal->ec_collation, number,
                   attribute);
}

// Takes an attribute away again that one table alone has: it joins nothing.
void drop_if_alone(JoinShape* join, int number) {
    int tables = 0, last = -1;
    for (int t = 0; t < join->table_count; t++)
        if (join->key(t, number)) {
            tables++;
            last = t;
        }
    if (tables != 1) return;
    join->tables[last].keys = list_delete_last(join->tables[last].keys);
    join->attributes = list_delete_last(join->attributes);
}

Refusal add_attribute(PlannerInfo* root, const EquivalenceClass* equal, JoinShape* join) {
    if (list_length(equal->ec_members) < 2 || bms_membership(equal->ec_relids) != BMS_MULTIPLE) return nullptr;
    if (equal->ec_has_volatile || equal->ec_broken || btml_compat_below_outer_join(equal))
        return "an equality of columns is volatile, lies below an outer join or cannot be implied";
    if (equal->ec_has_const) return nullptr; // The scan of each member's table compares it with the constant.
    Attribute* attribute = nullptr;
    const int number = list_length(join->attributes);
    for (const EquivalenceMember* const member : items<const EquivalenceMember>(equal->ec_members)) {
        if (member->em_is_child || member->em_is_const) continue;
        if (const Refusal refusal = add_member(root, equal, member, number, &attribute, join)) return refusal;
    }
    if (!attribute) return nullptr;
    join->attributes = lappend(join->attributes, attribute);
    drop_if_alone(join, number);
    return nullptr;
}

// Outer and semi-joins whose right side is one table that hangs on one other by keys.
class HungTables {
  public:
    HungTables(PlannerInfo* root, JoinShape* join) : root_(root), join_(join) {}

    Refusal find();

  private:
    Refusal add(const SpecialJoinInfo* special);
    Refusal claim(const SpecialJoinInfo* special, int table, RestrictInfo* condition);
    bool belongs(const SpecialJoinInfo* special, const RestrictInfo* condition) const;
    Refusal hang(int table, relational::StreamedJoin kind);
    int find_partner(int table) const;
    Relids tables_of(Relids relids) const { return btml_compat_without_outer_joins(root_, relids); }

    PlannerInfo* root_;
    JoinShape* join_;
    List* claimed_ = NIL; // of RestrictInfo*
};

// Whether the condition is one of ON of this join, over the partner and its right side.
bool HungTables::belongs(const SpecialJoinInfo* special, const RestrictInfo* condition) const {
    return !condition->is_pushed_down && !btml_compat_is_clone(condition) &&
           bms_is_subset(tables_of(condition->required_relids),
                         bms_union(special->syn_lefthand, special->syn_righthand)) &&
           bms_overlap(condition->clause_relids, special->syn_righthand) &&
           bms_overlap(condition->clause_relids, special->syn_lefthand);
}

// An equality becomes an attribute that the two tables alone have.
Refusal HungTables::claim(const SpecialJoinInfo* special, int table, RestrictInfo* condition) {
    const auto* const clause = reinterpret_cast<const OpExpr*>(condition->clause);
    if (!IsA(clause, OpExpr) || !condition->mergeopfamilies || list_length(clause->args) != 2)
        return "the condition of an outer join is no equality";
    const int number = list_length(join_->attributes);
    Attribute* attribute = nullptr;
    for (Expr* const side : items<Expr>(clause->args)) {
        int relid = 0;
        if (!bms_get_singleton_member(tables_of(join_->relids(as_node(side))), &relid))
            return "a key of an outer join is not over one table";
        const int of = join_->table_of(relid);
        if (of != table) {
            if (!bms_is_member(relid, special->syn_lefthand)) return "a key of an outer join belongs to another join";
            int& partner = join_->tables[table].partner;
            if (partner >= 0 && partner != of) return "an outer join has conditions over several tables";
            partner = of;
        }
        auto* const plain = reinterpret_cast<Expr*>(
            btml_compat_clear_nulling_joins(as_node(copy_of(side)), nullptr, btml_compat_outer_joins(root_)));
        if (const Refusal refusal = add_key(root_, &join_->tables[of], plain, condition->mergeopfamilies,
                                            clause->inputcollid, number, &attribute))
            return refusal;
    }
    if (!join_->key(table, number) || list_length(clause->args) != 2) return "a key of an outer join is missing";
    attribute->is_private = true;
    join_->attributes = lappend(join_->attributes, attribute);
    claimed_ = lappend(claimed_, condition);
    return nullptr;
}

// A table that has all attributes of this one.
int HungTables::find_partner(int table) const {
    for (int t = 0; t < join_->table_count; t++) {
        if (t == table || join_->tables[t].join != relational::StreamedJoin::inner) continue;
        bool has_all = true;
        for (const TableKey* const key : items<const TableKey>(join_->tables[table].keys))
            has_all = has_all && join_->key(t, key->attribute);
        if (has_all) return t;
    }
    return -1;
}

Refusal HungTables::hang(int table, relational::StreamedJoin kind) {
    TableShape* const shape = &join_->tables[table];
    shape->join = kind;
    if (shape->partner < 0) shape->partner = find_partner(table);
    if (shape->partner < 0) return "an outer or semi-join has conditions over several tables";
    return nullptr;
}

Refusal HungTables::add(const SpecialJoinInfo* special) {
    int relid = 0;
    if (special->jointype == JOIN_FULL) return "it has a full join";
    if (!bms_get_singleton_member(special->syn_righthand, &relid))
        return "the inner side of an outer or semi-join is a join itself";
    const int table = join_->table_of(relid);
    if (table < 0) return "the inner side of an outer join is no table of the join";
    TableShape* const shape = &join_->tables[table];
    if (shape->join != relational::StreamedJoin::inner) return "a table is the inner side of two joins";
    if (special->jointype == JOIN_SEMI) return hang(table, relational::StreamedJoin::semi);
    if (shape->keys) return "the inner side of an outer join has a condition above it";
    for (RestrictInfo* const condition : items<RestrictInfo>(shape->relation->joininfo))
        if (belongs(special, condition))
            if (const Refusal refusal = claim(special, table, condition)) return refusal;
    return hang(table,
                special->jointype == JOIN_ANTI ? relational::StreamedJoin::anti : relational::StreamedJoin::left);
}

Refusal HungTables::find() {
    for (const SpecialJoinInfo* const special : items<const SpecialJoinInfo>(root_->join_info_list))
        if (const Refusal refusal = add(special)) return refusal;
    for (int t = 0; t < join_->table_count; t++) {
        for (RestrictInfo* const condition : items<RestrictInfo>(join_->tables[t].relation->joininfo))
            if (!list_member_ptr(claimed_, condition))
                return "it has a join condition other than the equality of two expressions";
    }
    return nullptr;
}

} // namespace

Relids JoinShape::relids(Node* expression) const {
    return btml_compat_varnos_of_level(root, expression, 0);
}

int JoinShape::table_of(int relid) const {
    for (int t = 0; t < table_count; t++)
        if (static_cast<int>(tables[t].relation->relid) == relid) return t;
    return -1;
}

const TableKey* JoinShape::key(int table, int attribute) const {
    for (const TableKey* const key : items<const TableKey>(tables[table].keys))
        if (key->attribute == attribute) return key;
    return nullptr;
}

Refusal find_join(PlannerInfo* root, RelOptInfo* input, JoinShape* join) {
    join->root = root;
    if (const Refusal refusal = refuse_features(root)) return refusal;
    if (const Refusal refusal = add_tables(root, input, join)) return refusal;
    for (const EquivalenceClass* const equal : items<const EquivalenceClass>(root->eq_classes))
        if (const Refusal refusal = add_attribute(root, equal, join)) return refusal;
    return HungTables(root, join).find();
}

} // namespace btml::pg::planner
