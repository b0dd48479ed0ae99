#include "pg/planner/conditions.hpp"

extern "C" {
#include "optimizer/clauses.h"
#include "optimizer/paths.h"
}

namespace btml::pg::planner {

namespace {

// What follows from a join that comes first, whose own reason then tells more.
constexpr Refusal all_joined_first = "all of it must be joined first",
                  no_plan_for_part = "PostgreSQL has no plan for a part of the join that must be joined first";

constexpr int max_tables = 64;

// Whether rows are locked here or in a sub-query of FROM, whose plan would be in two places.
bool locks_rows(const PlannerInfo* root) {
    bool locks = root->parse->rowMarks != NIL;
    for_each_subroot(root, [&](const PlannerInfo* of) { locks = locks || locks_rows(of); });
    return locks;
}

// Whether a sub-query of FROM has alternatives of a sub-plan. Each time that the sub-query is finished, those that are
// not chosen go, and the two copies of its plan may choose differently.
bool has_alternatives_below(const PlannerInfo* root) {
    bool has = false;
    for_each_subroot(
        root, [&](const PlannerInfo* of) { has = has || of->hasAlternativeSubPlans || has_alternatives_below(of); });
    return has;
}

// What is volatile would be evaluated twice where the node falls back; an expression's sub-plans are told by the
// planner.
bool is_volatile(PlannerInfo* root, Node* expression) {
    if (contain_volatile_functions(expression)) return true;
    if (!contain_subplans(expression)) return false;
    for (const PlannerInfo* const planned : items<const PlannerInfo>(root->glob->subroots))
        if (contain_volatile_functions(as_node(planned->parse))) return true;
    return false;
}

Refusal refuse_features(const PlannerInfo* root) {
    const Query* const query = root->parse;
    if (query->commandType != CMD_SELECT) return "it is no SELECT";
    if (query->hasTargetSRFs) return "its target list has a set-returning function";
    if (locks_rows(root)) return "it locks rows";
    if (has_alternatives_below(root)) return "a sub-query in FROM has an EXISTS that may be hashed or not";
    if (root->placeholder_list)
        return "it has an expression that is evaluated below an outer join or a lateral sub-query";
    if (root->hasPseudoConstantQuals) return "it has a condition without columns";
    return nullptr;
}

bool is_volatile(PlannerInfo* root, Relids relids) {
    for (int relid = -1; (relid = bms_next_member(relids, relid)) >= 0;) {
        const RangeTblEntry* const source = root->simple_rte_array[relid];
        const RelOptInfo* const relation = root->simple_rel_array[relid];
        // Citus keeps numbers of its own in that field of tables.
        List* const values = source->rtekind == RTE_VALUES ? source->values_lists : NIL;
        for (Node* const expression :
             {as_node(source->subquery), as_node(source->functions), as_node(values), as_node(source->tablefunc),
              as_node(source->tablesample), as_node(relation->reltarget->exprs)})
            if (is_volatile(root, expression)) return true;
        for (const List* const conditions : {relation->baserestrictinfo, relation->joininfo})
            for (const RestrictInfo* const condition : items<const RestrictInfo>(conditions))
                if (is_volatile(root, as_node(condition->clause))) return true;
    }
    return false;
}

// Relations that PostgreSQL never joins by themselves may be a part of an outer join that comes first.
Refusal join_outer_joins_first(const JoinShape* join, Relids relids) {
    for (const SpecialJoinInfo* const special : items<const SpecialJoinInfo>(join->root->join_info_list)) {
        const Relids both = join->relids(special);
        if (bms_overlap(relids, special->syn_righthand) && !bms_is_subset(both, relids))
            return join->join_first(bms_union(relids, both), no_plan_for_part);
    }
    return no_plan_for_part;
}

Refusal add_table(Relids relids, JoinShape* join) {
    PlannerInfo* const root = join->root;
    RelOptInfo* const relation = relation_of(root, relids);
    if (!relation) return join_outer_joins_first(join, relids);
    if (relation->reloptkind != RELOPT_BASEREL && relation->reloptkind != RELOPT_JOINREL)
        return "one of its relations is no table, view or sub-query";
    if (!bms_is_empty(relation->lateral_relids))
        return join->join_first(bms_union(relids, relation->lateral_relids), "it has a lateral sub-query");
    if (is_volatile(root, relids)) return "it calls a volatile function";
    Path* const path = relation->cheapest_total_path;
    if (!path || path->param_info) return "one of its relations depends on another";
    join->tables[join->table_count++] = {
        relation, relids, path, relation_names(root, relids, " + "), NIL, relational::StreamedJoin::inner,
        -1,       false,  -1};
    return nullptr;
}

Relids joined_first_with(const JoinedFirst* joined_first, int relid) {
    for (Bitmapset* const set : items<Bitmapset>(joined_first->sets))
        if (bms_is_member(relid, set)) return set;
    return bms_make_singleton(relid);
}

Refusal add_tables(const RelOptInfo* input, JoinShape* join) {
    const Relids relids = btml_compat_without_outer_joins(join->root, input->relids);
    if (bms_num_members(relids) > max_tables) return "it joins more than 64 relations";
    join->tables = static_cast<TableShape*>(palloc0(sizeof(TableShape) * bms_num_members(relids)));
    for (int relid = -1; (relid = bms_next_member(relids, relid)) >= 0;) {
        if (join->table_of(bms_make_singleton(relid)) >= 0) continue;
        if (!join->root->simple_rel_array[relid]) return "one of its relations is no table, view or sub-query";
        if (const Refusal refusal = add_table(joined_first_with(join->joined_first, relid), join)) return refusal;
    }
    return join->table_count > 1 ? nullptr : all_joined_first;
}

// Whether these families compare values as the type's own hash function and equality do.
bool compares_by_default(const List* families, Oid type) {
    const TypeCacheEntry* const entry = lookup_type_cache(type, TYPECACHE_EQ_OPR);
    for (int i = 0; i < list_length(families); i++)
        if (op_in_opfamily(entry->eq_opr, list_nth_oid(families, i))) return true;
    return false;
}

// A member of the class becomes a key of its table; a second one of the same table is a condition of that table's scan.
Refusal add_member(PlannerInfo* root, const EquivalenceClass* equal, const EquivalenceMember* member, int number,
                   Attribute** attribute, JoinShape* join) {
    const Relids relids = btml_compat_without_outer_joins(root, member->em_relids);
    const int table = join->table_of(relids);
    if (table < 0) return "a join key is an expression over several tables";
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
    const Relids relids = btml_compat_without_outer_joins(root, equal->ec_relids);
    if (const int table = join->table_of(relids); table >= 0)
        // From 16 on columns may be equal above an outer join that makes NULLs of them, which no scan looks at.
        return bms_is_subset(equal->ec_relids, join->tables[table].relation->relids)
                   ? nullptr
                   : join->join_first(join->needed_by(equal->ec_relids), "columns are to be equal above an outer join");
    if (equal->ec_has_volatile) return "it calls a volatile function";
    if (equal->ec_broken) return join->join_first(relids, "an equality of columns cannot be implied");
    if (btml_compat_below_outer_join(equal)) return join->join_first(relids, inner_side_is_join);
    if (equal->ec_has_const) return nullptr; // The scan of each member's table compares it with the constant.
    Attribute* attribute = nullptr;
    const int number = list_length(join->attributes);
    for (const EquivalenceMember* const member : items<const EquivalenceMember>(equal->ec_members)) {
        if (member->em_is_child || member->em_is_const) continue;
        if (const Refusal refusal = add_member(root, equal, member, number, &attribute, join))
            return join->join_first(relids, refusal);
    }
    if (!attribute) return nullptr;
    join->attributes = lappend(join->attributes, attribute);
    drop_if_alone(join, number);
    return nullptr;
}

} // namespace

static void name_attribute(PlannerInfo* root, Node* expression, Attribute* attribute) {
    const Node* const stripped = strip_implicit_coercions(expression);
    attribute->name = attribute->qualified = "an expression";
    if (!IsA(stripped, Var)) return;
    const auto* const var = reinterpret_cast<const Var*>(stripped);
    RangeTblEntry* const entry = root->simple_rte_array[var->varno];
    attribute->name = get_rte_attribute_name(entry, var->varattno);
    attribute->qualified = psprintf("%s.%s", entry->eref->aliasname, attribute->name);
}

void name_pair(PlannerInfo* root, const Expr* left, const char* operator_, const Expr* right, Attribute* attribute) {
    Attribute of_left = {}, of_right = {};
    name_attribute(root, as_node(const_cast<Expr*>(left)), &of_left);
    name_attribute(root, as_node(const_cast<Expr*>(right)), &of_right);
    attribute->name = attribute->qualified = psprintf("%s %s %s", of_left.qualified, operator_, of_right.qualified);
}

Refusal add_key(PlannerInfo* root, TableShape* table, Expr* expression, const List* families, Oid collation, int number,
                Attribute** attribute) {
    const Oid type = exprType(as_node(expression));
    KeyType key;
    if (!is_pure(as_node(expression))) return refuse_impure("a join key", as_node(expression));
    if (type_is_collatable(type) && !OidIsValid(collation)) return "a join key has no collation";
    if (OidIsValid(collation) && !get_collation_isdeterministic(collation))
        return "a join key has a nondeterministic collation";
    if (!key_type(type, collation, &key)) return "a join key has a type without a hash function";
    if (!compares_by_default(families, getBaseType(type)))
        return "a join key is compared in another way than its type's own";
    if (!*attribute) {
        *attribute = allocate<Attribute>();
        (*attribute)->type = key;
        (*attribute)->exclusion = (*attribute)->ordered = -1;
        name_attribute(root, as_node(expression), *attribute);
    } else if (!(*attribute)->type.compares_like(key))
        return "a join key compares values of different types";
    auto* const table_key = allocate<TableKey>();
    *table_key = {number, copy_of(expression)};
    table->keys = lappend(table->keys, table_key);
    return nullptr;
}

const Path* below(const Path* path) {
    switch (nodeTag(path)) {
    case T_SortPath:
    case T_IncrementalSortPath:
        return as<SortPath>(path)->subpath;
    case T_MaterialPath:
        return as<MaterialPath>(path)->subpath;
    case T_MemoizePath:
        return as<MemoizePath>(path)->subpath;
    case T_GatherPath:
        return as<GatherPath>(path)->subpath;
    case T_GatherMergePath:
        return as<GatherMergePath>(path)->subpath;
    case T_ProjectionPath:
        return as<ProjectionPath>(path)->subpath;
    case T_UniquePath:
        return as<UniquePath>(path)->subpath;
    case T_UpperUniquePath:
        return as<UpperUniquePath>(path)->subpath;
    case T_AggPath:
        return as<AggPath>(path)->subpath;
    case T_GroupPath:
        return as<GroupPath>(path)->subpath;
    case T_GroupingSetsPath:
        return as<GroupingSetsPath>(path)->subpath;
    default:
        return nullptr;
    }
}

RelOptInfo* relation_of(PlannerInfo* root, Relids relids) {
    int relid = 0;
    if (bms_get_singleton_member(relids, &relid)) return root->simple_rel_array[relid];
    for (RelOptInfo* const relation : items<RelOptInfo>(root->join_rel_list))
        if (bms_equal(btml_compat_without_outer_joins(root, relation->relids), relids)) return relation;
    return nullptr;
}

const char* relation_names(PlannerInfo* root, Relids relids, const char* between) {
    StringInfoData names;
    initStringInfo(&names);
    for (int relid = -1; (relid = bms_next_member(relids, relid)) >= 0;)
        appendStringInfo(&names, "%s%s", names.len > 0 ? between : "", root->simple_rte_array[relid]->eref->aliasname);
    return names.data;
}

Relids JoinShape::relids(Node* expression) const {
    return btml_compat_without_outer_joins(root, pull_varnos(root, expression));
}

Relids JoinShape::relids(const SpecialJoinInfo* special) const {
    return btml_compat_without_outer_joins(root, bms_union(special->min_lefthand, special->syn_righthand));
}

Relids JoinShape::needed_by(Relids relids) const {
    for (const SpecialJoinInfo* const special : items<const SpecialJoinInfo>(root->join_info_list))
        if (btml_compat_is_after(relids, special)) relids = bms_union(relids, this->relids(special));
    return relids;
}

int JoinShape::table_of(Relids relids) const {
    for (int t = 0; t < table_count && !bms_is_empty(relids); t++)
        if (bms_is_subset(relids, tables[t].relids)) return t;
    return -1;
}

Refusal JoinShape::join_first(Relids relids, Refusal because) const {
    joined_first->wanted = btml_compat_without_outer_joins(root, relids);
    joined_first->because = because;
    return because;
}

const TableKey* JoinShape::key(int table, int attribute) const {
    for (const TableKey* const key : items<const TableKey>(tables[table].keys))
        if (key->attribute == attribute) return key;
    return nullptr;
}

Refusal find_join(PlannerInfo* root, RelOptInfo* input, JoinedFirst* joined_first, JoinShape* join) {
    join->root = root;
    join->joined_first = joined_first;
    if (const Refusal refusal = refuse_features(root)) return refusal;
    if (const Refusal refusal = add_tables(input, join)) return refusal;
    for (const EquivalenceClass* const equal : items<const EquivalenceClass>(root->eq_classes))
        if (const Refusal refusal = add_attribute(root, equal, join)) return refusal;
    if (const Refusal refusal = find_inner_sides(join)) return refusal;
    return refuse_raising_joins(*join);
}

// Whether joined_first would change nothing: then no other try would go better.
static bool has_wanted(const JoinedFirst* joined_first) {
    if (bms_membership(joined_first->wanted) != BMS_MULTIPLE) return true;
    for (Bitmapset* const set : items<Bitmapset>(joined_first->sets))
        if (bms_is_subset(joined_first->wanted, set)) return true;
    return false;
}

// Joins two sets where they meet.
static void add_wanted(JoinedFirst* joined_first) {
    Relids all = joined_first->wanted;
    List* others = NIL;
    for (bool grown = true; grown;) {
        grown = false;
        others = NIL;
        for (Bitmapset* const set : items<Bitmapset>(joined_first->sets)) {
            if (bms_overlap(set, all) && !bms_is_subset(set, all)) {
                all = bms_union(all, set);
                grown = true;
            }
            if (!bms_overlap(set, all)) others = lappend(others, set);
        }
    }
    joined_first->sets = lappend(others, all);
    joined_first->reasons = lappend(joined_first->reasons, const_cast<char*>(joined_first->because));
    joined_first->wanted = nullptr;
}

// Whether what the aggregate asks for can be subtracted exactly. A sum of decimals has the largest scale of its rows.
static bool can_be_subtracted(const AggregateShape* aggregate) {
    return aggregate->cell == relational::CellKind::count || aggregate->cell == relational::CellKind::integer_sum;
}

// Whether conditions over two tables leave all aggregates exact. Floats are added in an order that is not ours.
static bool compares_well(const QueryShape* query) {
    for (const AggregateShape* const aggregate : items<const AggregateShape>(query->aggregates)) {
        if (query->join.exclusions && !can_be_subtracted(aggregate)) return false;
        if (query->join.has_orders && aggregate->cell == relational::CellKind::number_sum) return false;
    }
    return true;
}

Refusal find_query(PlannerInfo* root, RelOptInfo* input, const Asked& asked, Factorize mode, bool may_compare,
                   QueryShape* query) {
    auto* const joined_first = allocate<JoinedFirst>();
    joined_first->may_compare = may_compare;
    joined_first->may_exclude = may_compare && rows_never_vary(root);
    for (;;) {
        *query = {};
        Refusal refusal = find_join(root, input, joined_first, &query->join);
        if (!refusal) refusal = find_aggregates(asked, mode, query);
        if (!refusal && !compares_well(query)) return find_query(root, input, asked, mode, false, query);
        if (!refusal || has_wanted(joined_first)) {
            const bool is_told_by_first = refusal == all_joined_first || refusal == no_plan_for_part;
            return is_told_by_first && joined_first->reasons ? static_cast<Refusal>(linitial(joined_first->reasons))
                                                             : refusal;
        }
        add_wanted(joined_first);
    }
}

} // namespace btml::pg::planner
