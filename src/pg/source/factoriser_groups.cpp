#include "pg/source/factoriser.hpp"

extern "C" {
#include "access/stratnum.h"
#include "optimizer/clauses.h"
#include "rewrite/rewriteManip.h"
}

namespace btml::pg {

Node* strip_relabel(Node* node) {
    while (node && IsA(node, RelabelType)) node = as_node(castNode(RelabelType, node)->arg);
    return node;
}

bool has_placeholder(Node* node, void* context) {
    if (!node) return false;
    if (IsA(node, PlaceHolderVar)) return true;
    if (IsA(node, Query))
        return btml_compat_walk_query(castNode(Query, node), has_placeholder, context, QTW_IGNORE_JOINALIASES);
    return btml_compat_walk(node, has_placeholder, context);
}

bool has_sublink(Node* node, void* context) {
    if (!node) return false;
    if (IsA(node, SubLink)) return true;
    return btml_compat_walk(node, has_sublink, context);
}

Factoriser::Factoriser(const Query* original, bool pull_up) : pull_up_(pull_up) {
    query_ = copy_of(original);
    root_ = makeNode(PlannerInfo);
    root_->glob = makeNode(PlannerGlobal);
    root_->query_level = 1;
    root_->planner_cxt = CurrentMemoryContext;
    root_->parse = query_;
}

Node* Factoriser::preprocess(Node* expression) {
    return eval_const_expressions(root_, btml_compat_flatten_aliases(root_, query_, expression));
}

namespace {

// Replaces every qualification of a part of the jointree by what the function makes of it.
template <class Function>
void replace_quals(Node* node, const Function& function) {
    Node** quals = nullptr;
    if (IsA(node, FromExpr)) {
        for (Node* const part : items<Node>(castNode(FromExpr, node)->fromlist)) replace_quals(part, function);
        quals = &castNode(FromExpr, node)->quals;
    } else if (IsA(node, JoinExpr)) {
        replace_quals(castNode(JoinExpr, node)->larg, function);
        replace_quals(castNode(JoinExpr, node)->rarg, function);
        quals = &castNode(JoinExpr, node)->quals;
    }
    if (quals && *quals) *quals = function(*quals);
}

// Hides that a column must be NULL in an OR of this condition alone.
Node* hide_null_test(Node* clause) {
    return find_forced_null_var(clause) ? as_node(make_orclause(list_make1(clause))) : clause;
}

Node* show_null_test(Node* clause) {
    if (!is_orclause(clause) || list_length(castNode(BoolExpr, clause)->args) != 1) return clause;
    return static_cast<Node*>(linitial(castNode(BoolExpr, clause)->args));
}

void replace_conjuncts(Node* jointree, Node* (*replace)(Node*)) {
    replace_quals(jointree, [replace](Node* quals) {
        List* conjuncts = NIL;
        for (Node* const conjunct : items<Node>(castNode(List, quals)))
            conjuncts = lappend(conjuncts, replace(conjunct));
        return as_node(conjuncts);
    });
}

} // namespace

// Turns every qualification of the jointree into a list of conjuncts, as the planner does before it looks at joins.
void Factoriser::preprocess_quals() {
    replace_quals(as_node(query_->jointree), [this](Node* quals) {
        Expr* const clause = canonicalize_qual(reinterpret_cast<Expr*>(preprocess(quals)), false);
        return as_node(make_ands_implicit(clause));
    });
}

// A left join whose right side must be NULL stays one: PostgreSQL would make it an anti-join, which only its planner
// knows how to run, and PostgreSQL 17 also removes the condition that says so.
void Factoriser::reduce_joins() {
    replace_conjuncts(as_node(query_->jointree), hide_null_test);
    reduce_outer_joins(root_);
    query_ = root_->parse;
    replace_conjuncts(as_node(query_->jointree), show_null_test);
}

// What a lateral entry refers to may be columns of a join, which no base relation has.
void Factoriser::flatten_lateral(RangeTblEntry* entry) {
    const auto flatten = [this](auto*& part) {
        Node* const flat = btml_compat_flatten_aliases(root_, query_, as_node(part));
        part = reinterpret_cast<std::remove_reference_t<decltype(part)>>(flat);
    };
    flatten(entry->subquery);
    flatten(entry->functions);
    flatten(entry->values_lists);
    flatten(entry->tablefunc);
    flatten(entry->tablesample);
}

namespace {

// Sets the mark of a query and of all queries inside it that says whether it has sub-links.
bool mark_sublinks(Node* node, void* hide) {
    if (!node) return false;
    if (!IsA(node, Query)) return btml_compat_walk(node, mark_sublinks, hide);
    castNode(Query, node)->hasSubLinks = !*static_cast<bool*>(hide) && checkExprHasSubLink(node);
    return btml_compat_walk_query(castNode(Query, node), mark_sublinks, hide, 0);
}

bool has_semi_join(Node* node, void* context) {
    if (!node || IsA(node, Query)) return false;
    if (IsA(node, JoinExpr) &&
        (castNode(JoinExpr, node)->jointype == JOIN_SEMI || castNode(JoinExpr, node)->jointype == JOIN_ANTI))
        return true;
    return btml_compat_walk(node, has_semi_join, context);
}

} // namespace

// Pull-up would turn the EXISTS and IN of sub-queries into semi-joins, which are no conditions that a scan could have:
// it sees no sub-links.
void Factoriser::pull_up() {
    bool hide = true;
    mark_sublinks(as_node(query_), &hide);
    pull_up_subqueries(root_);
    query_ = root_->parse;
    hide = false;
    mark_sublinks(as_node(query_), &hide);
    // Functions that it expanded in place may bring some.
    failed_ = has_semi_join(as_node(query_->jointree), nullptr);
}

void Factoriser::prepare() {
    if (pull_up_) {
        pull_up();
        if (failed_) return;
        // Views that were pulled up are not part of any query that runs later.
        btml_compat_check_permissions(query_);
    }
    bool outer = false;
    for (RangeTblEntry* const entry : items<RangeTblEntry>(query_->rtable)) {
        if (entry->lateral) flatten_lateral(entry);
        outer = outer || (entry->rtekind == RTE_JOIN && IS_OUTER_JOIN(entry->jointype));
    }
    for (TargetEntry* const entry : items<TargetEntry>(query_->targetList)) {
        entry->expr = reinterpret_cast<Expr*>(preprocess(as_node(entry->expr)));
    }
    preprocess_quals();
    if (outer) reduce_joins();
    const int size = list_length(query_->rtable) + 1;
    parent_ = static_cast<int*>(palloc(sizeof(int) * static_cast<size_t>(size)));
    numbers_ = static_cast<int*>(palloc0(sizeof(int) * static_cast<size_t>(size)));
    reasons_ = static_cast<const char**>(palloc0(sizeof(char*) * static_cast<size_t>(size)));
    for (int i = 0; i < size; i++) parent_[i] = i;
}

// Returns what an expression mentions: a placeholder counts as its place and, if it came from a lateral sub-query, as
// more.
Relids Factoriser::varnos(Node* node, int levels_up) {
    if (!node) return nullptr;
    return bms_union(pull_varnos_of_level(root_, node, levels_up),
                     pull_varnos_of_level(root_, replace_placeholders(node, nullptr), levels_up));
}

int Factoriser::group_of(int rel) {
    while (parent_[rel] != rel) rel = parent_[rel];
    return rel;
}

bool Factoriser::is_one_group(Relids rels) {
    int rel = bms_next_member(rels, -1);
    if (rel < 0) return true;
    const int group = group_of(rel);
    while ((rel = bms_next_member(rels, rel)) >= 0)
        if (group_of(rel) != group) return false;
    return true;
}

// Makes the relations one group, for this reason; true when they were not.
bool Factoriser::merge(Relids rels, const char* reason) {
    if (is_one_group(rels)) return false;
    int rel = bms_next_member(rels, -1);
    int group = group_of(rel);
    while ((rel = bms_next_member(rels, rel)) >= 0) {
        const int other = group_of(rel);
        if (other == group) continue;
        // The least member stands for its group, so that relations keep the order of the source.
        parent_[std::max(group, other)] = std::min(group, other);
        group = std::min(group, other);
    }
    reasons_[group] = reason;
    return true;
}

Relids Factoriser::members(int group) {
    Relids result = nullptr;
    for (int rel = -1; (rel = bms_next_member(base_, rel)) >= 0;)
        if (group_of(rel) == group) result = bms_add_member(result, rel);
    return result;
}

void Factoriser::add_conjuncts(List* clauses, Relids below, List** to) {
    for (Node* const clause : items<Node>(clauses)) {
        Conjunct* const conjunct = allocate<Conjunct>();
        // Relations collected so far: all that the clause can mention.
        *conjunct = {clause, bms_intersect(varnos(clause), base_), below};
        *to = lappend(*to, conjunct);
    }
}

// Lists base relations, conjuncts and outer joins of a part of the jointree; returns its base relations.
Relids Factoriser::collect(Node* node) {
    CHECK_FOR_INTERRUPTS();
    if (IsA(node, RangeTblRef)) {
        const int rel = castNode(RangeTblRef, node)->rtindex;
        base_ = bms_add_member(base_, rel);
        return bms_make_singleton(rel);
    }
    if (IsA(node, FromExpr)) {
        FromExpr* const from = castNode(FromExpr, node);
        Relids rels = nullptr;
        for (Node* const part : items<Node>(from->fromlist)) rels = bms_add_members(rels, collect(part));
        add_conjuncts(castNode(List, from->quals), rels, &conjuncts_);
        return rels;
    }
    JoinExpr* const join = castNode(JoinExpr, node);
    joins_ = bms_add_member(joins_, join->rtindex);
    const Relids left = collect(join->larg), right = collect(join->rarg), both = bms_union(left, right);
    List* const quals = castNode(List, join->quals);
    if (join->jointype == JOIN_INNER)
        add_conjuncts(quals, both, &conjuncts_);
    else if (join->jointype == JOIN_LEFT) {
        OuterJoin* const outer = allocate<OuterJoin>();
        *outer = {join, left, right, NIL};
        add_conjuncts(quals, both, &outer->conjuncts);
        outer_joins_ = lappend(outer_joins_, outer);
        for (const Conjunct* const conjunct : items<const Conjunct>(outer->conjuncts)) // of a lateral sub-query
            if (!bms_is_subset(conjunct->rels, both)) failed_ = true;
        merge(right, "the nullable side of a left join is several tables");
    } else {
        if (join->jointype != JOIN_FULL) failed_ = true;
        merge(both, "a full join");
    }
    return both;
}

// Tells whether a clause is an equality of keys, and of which.
bool Factoriser::key_equality(Node* clause, Equality* equality) {
    if (!IsA(clause, OpExpr)) return false;
    const OpExpr* const op = castNode(OpExpr, clause);
    if (list_length(op->args) != 2) return false;
    equality->left = static_cast<Node*>(linitial(op->args));
    equality->right = static_cast<Node*>(lsecond(op->args));
    equality->left_rels = bms_intersect(varnos(equality->left), base_);
    equality->right_rels = bms_intersect(varnos(equality->right), base_);
    if (bms_is_empty(equality->left_rels) || bms_is_empty(equality->right_rels) ||
        bms_overlap(equality->left_rels, equality->right_rels))
        return false;
    if (has_sublink(clause, nullptr)) return false;
    const Oid left = exprType(equality->left);
    const TypeCacheEntry* const entry = lookup_type_cache(getBaseType(left), TYPECACHE_BTREE_OPFAMILY);
    if (!OidIsValid(entry->btree_opf) || get_op_opfamily_strategy(op->opno, entry->btree_opf) != BTEqualStrategyNumber)
        return false;
    if (!key_type(left, op->inputcollid, &equality->left_type) ||
        !key_type(exprType(equality->right), op->inputcollid, &equality->right_type))
        return false;
    return equality->left_type.compares_like(equality->right_type);
}

// The relations on the left that decide whether a row of the right matches.
Relids Factoriser::anchor(const OuterJoin* outer) {
    Relids rels = nullptr;
    for (const Conjunct* const conjunct : items<const Conjunct>(outer->conjuncts))
        rels = bms_add_members(rels, conjunct->rels);
    rels = bms_intersect(rels, outer->left);
    return bms_is_empty(rels) ? bms_make_singleton(preserved(outer->left)) : rels;
}

// One of the relations joined at a place of the jointree that no left join among them adds null rows for.
int Factoriser::preserved(Relids rels) {
    Relids nullable = nullptr;
    for (const OuterJoin* const outer : items<const OuterJoin>(outer_joins_)) {
        if (bms_is_subset(outer->left, rels)) nullable = bms_add_members(nullable, outer->right);
    }
    return bms_next_member(bms_difference(rels, nullable), -1);
}

// The left join between two groups, if any, that adds rows without a match for one of the relations.
const OuterJoin* Factoriser::nullable_by(Relids rels) {
    for (const OuterJoin* const outer : items<const OuterJoin>(outer_joins_)) {
        if (bms_overlap(rels, outer->right) && !is_one_group(bms_union(outer->right, anchor(outer)))) return outer;
    }
    return nullptr;
}

bool Factoriser::merge_conjunct(Conjunct* conjunct) {
    bool changed = false;
    // A condition above an outer join on its nullable side sees the rows without a match: it stays above the join.
    for (const OuterJoin* const outer : items<const OuterJoin>(outer_joins_)) {
        // A condition of a lateral sub-query on the nullable side decides which rows match.
        if (bms_is_subset(conjunct->below, outer->right) && !bms_is_subset(conjunct->rels, outer->right))
            failed_ = true;
        if (bms_overlap(conjunct->rels, outer->right) && !bms_is_subset(conjunct->below, outer->right))
            changed =
                merge(bms_union(outer->right, anchor(outer)), "a condition is applied after a left join") || changed;
    }
    if (is_one_group(conjunct->rels)) return changed;
    Equality equality;
    if (!key_equality(conjunct->clause, &equality))
        return merge(conjunct->rels, "a condition other than key equality mixes tables") || changed;
    static const char* const reason = "a join key is computed from several tables";
    changed = merge(equality.left_rels, reason) || changed;
    return merge(equality.right_rels, reason) || changed;
}

// Merges both sides of a left join unless its condition is conditions on the right and keys of one relation on the
// left.
bool Factoriser::merge_outer_join(OuterJoin* outer) {
    static const char* const reason = "a left join whose condition is not key equality with one table";
    const Relids left = anchor(outer), both = bms_union(outer->right, left);
    if (is_one_group(both)) return false;
    if (!is_one_group(left)) return merge(both, reason);
    if (!bms_is_subset(members(group_of(outer->right)), outer->right)) return merge(both, reason);
    for (const Conjunct* const conjunct : items<const Conjunct>(outer->conjuncts)) {
        if (!bms_is_empty(conjunct->rels) && bms_is_subset(conjunct->rels, outer->right)) continue;
        Equality equality;
        if (!key_equality(conjunct->clause, &equality)) return merge(both, reason);
        const bool swapped = bms_is_subset(equality.left_rels, outer->right);
        const Relids near = swapped ? equality.right_rels : equality.left_rels;
        const Relids far = swapped ? equality.left_rels : equality.right_rels;
        if (!bms_is_subset(near, outer->left) || !bms_is_subset(far, outer->right)) return merge(both, reason);
        // In a row without a match the key must be NULL.
        Node* const key = swapped ? equality.right : equality.left;
        if (nullable_by(near) && contain_nonstrict_functions(key)) return merge(both, reason);
    }
    return false;
}

Relids Factoriser::lateral_references(RangeTblEntry* entry) {
    if (entry->rtekind == RTE_SUBQUERY) return varnos(as_node(entry->subquery), 1);
    return varnos(as_node(list_make4(entry->functions, entry->values_lists, entry->tablefunc, entry->tablesample)));
}

// Merges relations until every condition and every output column either belongs to one group or is a key.
void Factoriser::merge_all() {
    for (bool changed = true; changed;) {
        CHECK_FOR_INTERRUPTS();
        changed = false;
        for (int rel = -1; (rel = bms_next_member(base_, rel)) >= 0;) {
            RangeTblEntry* const entry = rt_fetch(rel, query_->rtable);
            if (!entry->lateral) continue;
            const Relids used = bms_intersect(lateral_references(entry), base_);
            changed = merge(bms_add_member(used, rel), "a lateral reference") || changed;
        }
        for (Conjunct* const conjunct : items<Conjunct>(conjuncts_)) changed = merge_conjunct(conjunct) || changed;
        for (OuterJoin* const outer : items<OuterJoin>(outer_joins_)) changed = merge_outer_join(outer) || changed;
        for (const TargetEntry* const entry : items<const TargetEntry>(query_->targetList)) {
            if (entry->resjunk) continue;
            Node* const expression = as_node(entry->expr);
            const Relids rels = bms_intersect(varnos(expression), base_);
            changed = merge(rels, "an output column mixes tables") || changed;
            // Its value in a row without a match is not that of a constant expression.
            const OuterJoin* const outer = has_sublink(expression, nullptr) ? nullable_by(rels) : nullptr;
            if (outer)
                changed = merge(bms_union(outer->right, anchor(outer)),
                                "an output column with a sub-query is computed after a left join") ||
                          changed;
        }
    }
}

} // namespace btml::pg
