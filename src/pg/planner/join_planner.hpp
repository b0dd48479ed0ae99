// Plans a factorised aggregate: the order of its tables, the columns of each, the queries of each message, the cost.
// Its files: join_planner.cpp (tables, bags, groups), columns, queries, scans, estimate.
#pragma once

#include "core/relational/join/join_tree.hpp"
#include "pg/bridge/guard.hpp"
#include "pg/planner/factorized_plan.hpp"

namespace btml::pg::planner {

using relational::CellKind;
using relational::KeyOrder;
using relational::StreamedChild;
using relational::StreamedJoin;
using relational::StreamedTable;
using relational::StreamedType;

// An aggregate's question, by table of the plan: what it multiplies, and what must hold. Kinds and children follow.
using Question = std::vector<relational::StreamedQuery>;

// The dictionaries of a plan, which all its joins number values by.
class PlannedDictionaries {
  public:
    explicit PlannedDictionaries(const QueryShape& query);

    // Both return −1 where values are told apart without a dictionary.
    int of_attribute(int number);
    int of_group(int number);
    // Returns the attribute of whose columns the group's is one, so that the values that the two read look the same; −1
    // for none.
    int attribute_of(int group) const;
    const std::vector<KeyType>& types() const { return types_; }

  private:
    int add(const KeyType& type, int& known);

    const QueryShape& query_;
    std::vector<KeyType> types_;
    std::vector<int> of_attributes_, of_groups_; // −1: none yet
};

class JoinPlanner {
  public:
    // join: of the rows that a set of the query's exclusions leaves out, a bit each.
    JoinPlanner(const QueryShape& query, const JoinShape& join, unsigned set, double groups,
                PlannedDictionaries& dictionaries, RunContext& context)
        : query_(query), join_(join), set_(set), groups_(groups), dictionaries_(dictionaries), context_(context) {}

    // root_table: one of roots(). Throws NotPlanned.
    PlannedJoin plan(int root_table);
    // The tables that the root is best chosen from.
    std::vector<int> roots() const;

  private:
    int find_root() const;
    int group_table(int group, int root) const;
    bool covers(int table) const;
    void find_tree(int root);
    void find_inner_tree(int root);
    void hang_higher(int node);
    bool narrows(int parent, int node) const;
    double rows_of(int node) const;
    void add_inner_sides();
    void place(int node);
    void add_tables();
    void add_table(int place);
    StreamedJoin join_of(int place);
    void add_bag(int place);
    std::vector<int> tables_of(const std::vector<int>& bag) const;
    void read_by_bags();
    double estimate_bag(int place) const;
    void add_groups();
    void add_group(int number);
    void add_aggregate(const AggregateShape& aggregate);
    void add_bound(Oid type, const List* terms);
    Question rows_that_stay();
    Question count_of(const AggregateShape& aggregate);
    Question sum_of(const AggregateShape& aggregate, const Term& term, const Question& count);
    Question extremum_of(const AggregateShape& aggregate, const Question& count);
    int ask(const Question& question, CellKind kind, int place);
    bool asks_for_factors(const Question& question, int place) const;
    void estimate();
    double estimate_bag_message(int place) const;
    double estimate_keys(int place) const;
    double matches_of_row(int place) const;
    double kept_share(int place) const;
    double ordering_bytes(int place, double entries) const;
    double estimate_distinct(const std::vector<Expr*>& expressions, double rows) const;
    double estimate_dictionary(int number) const;
    double estimate_bag_keys() const;
    std::string describe(int place) const;
    std::string attribute_name(int number) const;
    std::string attribute_names(const std::vector<int>& attributes) const;

    const std::vector<int>& bag(int place) const { return bags_[node_at_[place] - join_.table_count]; }
    bool is_bag(int place) const { return planned_.tables[place] < 0; }
    int root() const { return planned_.join.streamed.root(); }
    StreamedTable& table(int place) { return planned_.join.streamed.tables[place]; }
    const StreamedTable& table(int place) const { return planned_.join.streamed.tables[place]; }
    const Attribute* attribute(int number) const { return items<const Attribute>(join_.attributes)[number]; }
    int key_column(int place, int attribute);
    int add_column(int place, const ColumnReading& column);
    int add_column(int place, Expr* expression, Reading reading, int dictionary);
    Expr* expression_at(int place, int position) const;
    int add_arithmetic(int place, Expr* expression);
    int add_factor_column(int place, const Factor& factor, bool value_matters);
    int add_value_column(int place, const Factor& factor, CellKind cell);
    int place_of(const Factor& factor) const { return factor.table < 0 ? root() : places_[factor.table]; }

    const QueryShape& query_;
    const JoinShape& join_;
    const unsigned set_;
    const double groups_;
    PlannedDictionaries& dictionaries_;
    RunContext& context_;
    PlannedJoin planned_;
    std::vector<relational::JoinTree::Node> nodes_; // the query's tables, then bags
    std::vector<std::vector<int>> bags_;            // attributes
    std::vector<double> bag_bounds_;                // on their rows
    std::vector<int> node_at_;                      // by place in the plan
    std::vector<int> places_;                       // by node: its place in the plan
    std::vector<std::vector<int>> carried_;         // by place: numbers of the query's groups in its message, in order
    std::vector<std::vector<int>> own_groups_;      // by place
};

// Returns the position of an expression in the rows of a scan, which gives `columns`, those that raise no error, and
// from which `computed` are computed; it is added where it is not there.
int add_expression(Expr* expression, List*& columns, List*& computed);

// Has the tables of all joins that have the same rows read by one scan, as far as the memory for waiting rows goes;
// numbers the scans.
void share_scans(const JoinShape& shape, std::vector<PlannedJoin>& joins);

// The place of a value in a list, to whose end it is added where it is not there.
template <class T>
int place_in(std::vector<T>& list, const T& value) {
    const auto known = std::find(list.begin(), list.end(), value);
    const auto place = static_cast<int>(known - list.begin());
    if (known == list.end()) list.push_back(value);
    return place;
}

inline bool same_expression(const Expr* a, const Expr* b) {
    return pg_call([=] { return equal(a, b); });
}

inline Oid base_type(const Expr* expression) {
    return pg_call([=] { return getBaseType(exprType(reinterpret_cast<const Node*>(expression))); });
}

// Whether equal values of the type may look different, as 0 and −0 do.
inline bool may_look_different(const KeyType& type) {
    return type.kind == KeyKind::generic || type.kind == KeyKind::real;
}

inline bool needs_dictionary(const KeyType& type) {
    return type.kind == KeyKind::bytes || type.kind == KeyKind::generic;
}

} // namespace btml::pg::planner
