// Makes queries, keys, left joins and output columns of groups of relations.
#include "pg/source/factoriser.hpp"

extern "C" {
#include "optimizer/clauses.h"
#include "rewrite/rewriteManip.h"
#include "utils/ruleutils.h"
}

namespace btml::pg {

Node* replace_placeholders(Node* node, void* context) {
    if (!node) return nullptr;
    if (IsA(node, PlaceHolderVar))
        return replace_placeholders(as_node(castNode(PlaceHolderVar, node)->phexpr), context);
    if (IsA(node, Query)) // below a sub-link, or in the range table
        return as_node(btml_compat_mutate_query(castNode(Query, node), replace_placeholders, context, 0));
    return btml_compat_mutate(node, replace_placeholders, context);
}

// The expression in a row without a match: every column is NULL, and so is all that was computed below the join.
static Node* replace_columns_by_null(Node* node, void* context) {
    if (!node) return nullptr;
    if ((IsA(node, Var) && castNode(Var, node)->varlevelsup == 0) || IsA(node, PlaceHolderVar))
        return as_node(makeNullConst(exprType(node), exprTypmod(node), exprCollation(node)));
    return btml_compat_mutate(node, replace_columns_by_null, context);
}

// Expressions of a relation's query know neither the outer joins above it nor the placeholders for them.
Node* Factoriser::for_scan(Node* expression, Relids kept_joins) {
    Node* const copy = copy_of(expression);
    return btml_compat_clear_nulling_joins(replace_placeholders(copy, nullptr), kept_joins, joins_);
}

// Tells whether a condition found where the relations `below` are joined is a condition of the query over `keep`.
bool Factoriser::belongs(Node* clause, Relids below, Relids keep) {
    const Relids rels = bms_intersect(varnos(clause), base_);
    // A condition on no relation at all goes to one of those that it governs.
    if (bms_is_empty(rels)) return bms_is_member(preserved(below), keep);
    return bms_is_subset(rels, keep);
}

Node* Factoriser::filtered(List* clauses, Relids below, Relids keep) {
    List* kept = NIL;
    for (Node* const clause : items<Node>(clauses)) {
        if (belongs(clause, below, keep)) kept = lappend(kept, clause);
    }
    return kept == NIL ? nullptr : as_node(make_ands_explicit(kept));
}

// The part of the jointree that joins the relations `keep`, with the conditions that belong to them; null when it has
// none of them. Adds the joins it keeps to `kept_joins`.
Node* Factoriser::prune(Node* node, Relids keep, Relids* kept_joins) {
    if (IsA(node, RangeTblRef)) return bms_is_member(castNode(RangeTblRef, node)->rtindex, keep) ? node : nullptr;
    const Relids below = btml_compat_base_relids(node);
    List* parts = NIL;
    List* quals;
    if (IsA(node, FromExpr)) {
        for (Node* const from : items<Node>(castNode(FromExpr, node)->fromlist))
            if (Node* const part = prune(from, keep, kept_joins)) parts = lappend(parts, part);
        quals = castNode(List, castNode(FromExpr, node)->quals);
    } else {
        JoinExpr* const join = castNode(JoinExpr, node);
        Node* const left = prune(join->larg, keep, kept_joins);
        Node* const right = prune(join->rarg, keep, kept_joins);
        quals = castNode(List, join->quals);
        if (join->jointype != JOIN_INNER) {
            if (left && right) {
                *kept_joins = bms_add_member(*kept_joins, join->rtindex);
                JoinExpr* const kept = makeNode(JoinExpr);
                *kept = *join;
                kept->larg = left;
                kept->rarg = right;
                kept->quals = quals == NIL ? nullptr : as_node(make_ands_explicit(quals));
                return as_node(kept);
            }
            if (left) return left;
        }
        if (left) parts = lappend(parts, left);
        if (right) parts = lappend(parts, right);
    }
    if (parts == NIL) return nullptr;
    Node* const condition = filtered(quals, below, keep);
    if (!condition && list_length(parts) == 1) return static_cast<Node*>(linitial(parts));
    return as_node(makeFromExpr(parts, condition));
}

// "people p", or "a, b" for several relations.
const char* Factoriser::relation_name(Relids rels) {
    StringInfoData name;
    initStringInfo(&name);
    for (int rel = -1; (rel = bms_next_member(rels, rel)) >= 0;) {
        const RangeTblEntry* const entry = rt_fetch(rel, query_->rtable);
        const char* const alias = entry->eref->aliasname;
        if (name.len > 0) appendStringInfoString(&name, ", ");
        const char* const table = entry->rtekind == RTE_RELATION ? get_rel_name(entry->relid) : nullptr;
        if (table && strcmp(table, alias) != 0) appendStringInfo(&name, "%s ", quote_identifier(table));
        appendStringInfoString(&name, quote_identifier(alias));
    }
    return name.data;
}

// An expression over one table by its SQL text; one over several, or a sub-query, by a description.
SourceText* Factoriser::describe(Node* expression, Relids rels) {
    SourceText* const text = allocate<SourceText>();
    Node* const plain = strip_relabel(expression);
    const int rel = bms_next_member(rels, -1);
    RangeTblEntry* const entry = rel > 0 ? rt_fetch(rel, query_->rtable) : nullptr;
    if (IsA(plain, Var) && castNode(Var, plain)->varattno > 0) {
        const Var* const var = castNode(Var, plain);
        text->fixed = quote_identifier(
            get_rte_attribute_name(rt_fetch(static_cast<int>(var->varno), query_->rtable), var->varattno));
    } else if (has_sublink(expression, nullptr))
        // A sub-query whose comparison was folded to a constant is nothing that can be written as SQL again.
        text->fixed = "an expression with a sub-query";
    else if (bms_membership(rels) != BMS_SINGLETON || entry->rtekind != RTE_RELATION)
        text->fixed = "an expression";
    else {
        text->expression = for_scan(expression, nullptr);
        ChangeVarNodes(text->expression, rel, 1, 0);
        text->table = entry->relid;
        text->alias = entry->eref->aliasname;
    }
    return text;
}

const char* text_of(const SourceText* text) {
    if (text->fixed) return text->fixed;
    return deparse_expression(text->expression, deparse_context_for(text->alias, text->table), false, false);
}

SourceRelation* Factoriser::make_relation(int group) {
    const Relids rels = members(group);
    Relids kept_joins = nullptr;
    Node* const jointree = prune(as_node(query_->jointree), rels, &kept_joins);
    SourceRelation* const relation = allocate<SourceRelation>();
    relation->name = relation_name(rels);
    relation->reason = reasons_[group];

    Query* const query = makeNode(Query);
    *query = *query_; // what it shares with the others is copied before it runs
    query->targetList = NIL;
    query->sortClause = NIL;
    query->rtable = NIL;
    Node* const tree = copy_of(jointree);
    query->jointree = IsA(tree, FromExpr) ? castNode(FromExpr, tree) : makeFromExpr(list_make1(tree), nullptr);

    RangeTblEntry* const nothing = makeNode(RangeTblEntry);
    nothing->rtekind = RTE_RESULT;
    nothing->eref = makeAlias("*RESULT*", NIL);
    int rel = 0;
    for (const RangeTblEntry* const original : items<const RangeTblEntry>(query_->rtable)) {
        rel++;
        if (!bms_is_member(rel, rels) && !bms_is_member(rel, kept_joins)) {
            query->rtable = lappend(query->rtable, nothing);
            continue;
        }
        RangeTblEntry* const entry = copy_of(original);
        // Pull-up may have spread out a UNION ALL; the sub-query itself is still whole.
        if (entry->rtekind == RTE_SUBQUERY) entry->inh = false;
        query->rtable = lappend(query->rtable, entry);
    }
    relation->kept_joins = kept_joins;
    relation->query = castNode(Query, column_of(as_node(query), relation));

    // The conditions of a sub-query are its own affair; those of one table are worth showing.
    for (const Conjunct* const conjunct :
         items<const Conjunct>(bms_membership(rels) == BMS_SINGLETON ? conjuncts_ : NIL)) {
        if (belongs(conjunct->clause, conjunct->below, rels))
            relation->filters = lappend(relation->filters, describe(conjunct->clause, rels));
    }
    return relation;
}

// An expression as a column of the relation's query, or that query itself.
Node* Factoriser::column_of(Node* expression, const SourceRelation* relation) {
    // Inside a group with an outer join the planner must make placeholders itself.
    if (!bms_is_empty(relation->kept_joins) && has_placeholder(expression, nullptr)) failed_ = true;
    return for_scan(expression, relation->kept_joins);
}

SourceKey* Factoriser::make_key(Node* expression, const KeyType& type, const SourceRelation* relation) {
    SourceKey* const key = allocate<SourceKey>();
    *key = {column_of(expression, relation), type, -1};
    return key;
}

int Factoriser::relation_number(Relids rels) {
    return numbers_[group_of(bms_is_empty(rels) ? preserved(base_) : bms_next_member(rels, -1))];
}

SourceRelation* Factoriser::relation_of(const SourceAnalysis* analysis, Relids rels) {
    return items<SourceRelation>(analysis->relations)[relation_number(rels)];
}

namespace {

// One side of a key equality; equal expressions of one relation that are compared alike are one vertex.
struct Vertex {
    int relation;
    Node* expression; // without relabelling
    SourceKey* key;
    Relids rels;
    int parent; // union-find over vertices
};

int find_root(const Vertex* vertices, int vertex) {
    while (vertices[vertex].parent != vertex) vertex = vertices[vertex].parent;
    return vertex;
}

} // namespace

// Join attributes are the connected components of the key equalities between different relations.
void Factoriser::add_keys(SourceAnalysis* analysis) {
    Vertex* const vertices =
        static_cast<Vertex*>(palloc(sizeof(Vertex) * 2 * static_cast<size_t>(list_length(conjuncts_) + 1)));
    int count = 0;
    const auto vertex = [&](Node* expression, const KeyType& type, Relids rels) {
        const int relation = relation_number(rels);
        Node* const plain = strip_relabel(expression);
        for (int i = 0; i < count; i++)
            if (vertices[i].relation == relation && vertices[i].key->type.compares_like(type) &&
                equal(vertices[i].expression, plain))
                return i;
        vertices[count] = {relation, plain, make_key(expression, type, relation_of(analysis, rels)), rels, count};
        return count++;
    };
    for (const Conjunct* const conjunct : items<const Conjunct>(conjuncts_)) {
        Equality equality;
        if (is_one_group(conjunct->rels) || !key_equality(conjunct->clause, &equality)) continue;
        const int left = find_root(vertices, vertex(equality.left, equality.left_type, equality.left_rels));
        const int right = find_root(vertices, vertex(equality.right, equality.right_type, equality.right_rels));
        vertices[std::max(left, right)].parent = std::min(left, right);
    }
    for (int i = 0; i < count; i++) {
        const int root = find_root(vertices, i);
        if (root == i) {
            vertices[i].key->attribute = list_length(analysis->attributes);
            analysis->attributes = lappend(analysis->attributes, describe(vertices[i].expression, vertices[i].rels));
        } else
            vertices[i].key->attribute = vertices[root].key->attribute;
        SourceRelation* const relation = items<SourceRelation>(analysis->relations)[vertices[i].relation];
        relation->keys = lappend(relation->keys, vertices[i].key);
    }
}

void Factoriser::add_left_joins(SourceAnalysis* analysis) {
    for (const OuterJoin* const outer : items<const OuterJoin>(outer_joins_)) {
        const Relids left = anchor(outer);
        if (is_one_group(bms_union(left, outer->right))) continue;
        SourceLeftJoin* const join = allocate<SourceLeftJoin>();
        join->left = relation_number(left);
        join->right = relation_number(outer->right);
        for (const Conjunct* const conjunct : items<const Conjunct>(outer->conjuncts)) {
            if (bms_is_subset(conjunct->rels, outer->right)) continue;
            Equality equality;
            if (!key_equality(conjunct->clause, &equality)) elog(ERROR, "left join was not factorised");
            const bool swapped = bms_is_subset(equality.left_rels, outer->right);
            SourceKey* const left_key =
                make_key(equality.left, equality.left_type, relation_of(analysis, equality.left_rels));
            SourceKey* const right_key =
                make_key(equality.right, equality.right_type, relation_of(analysis, equality.right_rels));
            SourceText* const name =
                swapped ? describe(equality.left, equality.left_rels) : describe(equality.right, equality.right_rels);
            join->names = lappend(join->names, name);
            join->left_keys = lappend(join->left_keys, swapped ? right_key : left_key);
            join->right_keys = lappend(join->right_keys, swapped ? left_key : right_key);
        }
        analysis->left_joins = lappend(analysis->left_joins, join);
    }
}

void Factoriser::add_outputs(SourceAnalysis* analysis) {
    for (const TargetEntry* const entry : items<const TargetEntry>(query_->targetList)) {
        if (entry->resjunk) continue;
        Node* const expression = as_node(entry->expr);
        const Relids rels = bms_intersect(varnos(expression), base_);
        SourceOutput* const output = output_of(entry);
        output->relation = relation_number(rels);
        output->expression = column_of(expression, relation_of(analysis, rels));
        if (nullable_by(rels) && !IsA(strip_relabel(expression), Var))
            output->null_row = replace_columns_by_null(copy_of(expression), nullptr);
        analysis->outputs = lappend(analysis->outputs, output);
    }
}

SourceAnalysis* Factoriser::run() {
    prepare();
    if (failed_) return nullptr;
    collect(as_node(query_->jointree));
    merge_all();
    if (failed_) return nullptr;
    SourceAnalysis* const analysis = allocate<SourceAnalysis>();
    for (int rel = -1; (rel = bms_next_member(base_, rel)) >= 0;) {
        CHECK_FOR_INTERRUPTS();
        if (group_of(rel) != rel) continue;
        numbers_[rel] = list_length(analysis->relations);
        analysis->relations = lappend(analysis->relations, make_relation(rel));
    }
    add_keys(analysis);
    add_left_joins(analysis);
    add_outputs(analysis);
    return failed_ ? nullptr : analysis;
}

} // namespace btml::pg
