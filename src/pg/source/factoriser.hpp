// Factorising one analysed SELECT: which tables become one base relation, which equalities become keys.
//
// The rule is that of a union-find over the base relations of the flattened query: whatever cannot be expressed as
// conditions and columns of one relation, key equality, or a left join on keys, makes one group of the relations that
// it mentions; PostgreSQL runs each group as one query. So nothing is ever dropped, and the result is always that of
// the query as it stands.
#pragma once

#include "pg/bridge/nodes.hpp"
#include "pg/source/analysis.hpp"

namespace btml::pg {

struct Conjunct {
    Node* clause;
    Relids rels;  // base relations it mentions
    Relids below; // base relations joined at its place in the jointree
};

struct OuterJoin {
    JoinExpr* join;
    Relids left, right;
    List* conjuncts; // of Conjunct*: its ON clause
};

// An equality that can be a join key: left = right, each over relations of its own.
struct Equality {
    Node *left, *right;
    Relids left_rels, right_rels;
    KeyType left_type, right_type;
};

class Factoriser {
    // Only plain data: a PostgreSQL error may leave at any call.
  public:
    Factoriser(const Query* original, bool pull_up);

    // Null when it met what only works without pulling up sub-queries.
    SourceAnalysis* run();

  private:
    void pull_up();
    void prepare();
    Node* preprocess(Node* expression);
    void preprocess_quals();
    void reduce_joins();
    Relids collect(Node* node);
    void add_conjuncts(List* clauses, Relids below, List** to);

    Relids varnos(Node* node, int levels_up = 0);
    int group_of(int rel);
    int group_of(Relids rels) { return group_of(bms_next_member(rels, -1)); }
    bool is_one_group(Relids rels);
    bool merge(Relids rels, const char* reason);
    Relids members(int group);

    bool key_equality(Node* clause, Equality* equality);
    bool merge_conjunct(Conjunct* conjunct);
    bool merge_outer_join(OuterJoin* outer);
    Relids lateral_references(RangeTblEntry* entry);
    Relids anchor(const OuterJoin* outer);
    int preserved(Relids rels);
    const OuterJoin* nullable_by(Relids rels);
    void merge_all();

    Node* prune(Node* node, Relids keep, Relids* kept_joins);
    Node* filtered(List* clauses, Relids below, Relids keep);
    bool belongs(Node* clause, Relids below, Relids keep);

    SourceRelation* make_relation(int group);
    const char* relation_name(Relids rels);
    void add_keys(SourceAnalysis* analysis);
    void add_left_joins(SourceAnalysis* analysis);
    void add_outputs(SourceAnalysis* analysis);
    SourceKey* make_key(Node* expression, const KeyType& type, const SourceRelation* relation);
    Node* for_scan(Node* expression, Relids kept_joins);
    Node* column_of(Node* expression, const SourceRelation* relation);
    SourceText* describe(Node* expression, Relids rels);
    int relation_number(Relids rels);
    SourceRelation* relation_of(const SourceAnalysis* analysis, Relids rels);
    void flatten_lateral(RangeTblEntry* entry);

    PlannerInfo* root_;
    Query* query_;
    bool pull_up_;
    bool failed_ = false;
    Relids base_ = nullptr;
    Relids joins_ = nullptr; // range table indexes of all joins
    List* conjuncts_ = NIL;  // of Conjunct*, outside the ON clauses of outer joins
    List* outer_joins_ = NIL;
    int* parent_;          // union-find over range table indexes
    const char** reasons_; // by root of the union-find
    int* numbers_;         // relation number by root of the union-find
};

// An output without its place: name, type, modifier and collation of the entry.
SourceOutput* output_of(const TargetEntry* entry);
Node* strip_relabel(Node* node);
bool has_sublink(Node* node, void* context);
bool has_placeholder(Node* node, void* context);
Node* replace_placeholders(Node* node, void* context);

} // namespace btml::pg
