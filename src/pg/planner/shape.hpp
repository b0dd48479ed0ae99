// What a grouped query over a join asks, found in the planner's own structures. Everything here is plain data in the
// current memory context; no object has a destructor, so a PostgreSQL error may leave at any call.
#pragma once

#include "core/relational/streamed/plan.hpp"
#include "pg/bridge/nodes.hpp"
#include "pg/bridge/settings.hpp"
#include "pg/source/analysis.hpp"

namespace btml::pg::planner {

// Null where the query can be factorised so far; else the reason why it cannot, a part of a sentence for people.
using Refusal = const char*;

constexpr Refusal inner_side_is_join = "the inner side of an outer or semi-join is a join itself";

// One relation of the join, read by the cheapest path that PostgreSQL has for it: a base relation, or a join of some
// that could not be taken apart.
struct TableShape {
    RelOptInfo* relation;
    Relids relids; // of base relations
    Path* path;
    const char* name;
    List* keys; // of TableKey*
    // How its rows go together with those of `partner`, a table; inner: with those of all tables, by the keys they
    // share.
    relational::StreamedJoin join;
    int partner;
    // Whether it has each combination of its keys once: the inner side of a semi-join with several tables, or of an
    // anti-join with several, in joins of the rows that it leaves out.
    bool has_rows_once;
    int exclusion; // that it makes, by an anti-join with several tables; −1: none

    // Whether it is a join of several relations, which PostgreSQL makes first.
    bool is_join() const { return bms_membership(relids) == BMS_MULTIPLE; }
};

// A class of equal columns: NULL joins to nothing.
struct Attribute {
    KeyType type;
    const char* name;      // of the first of its columns
    const char* qualified; // with the table's
    bool is_private;       // of the two tables of an outer join: no other table has it
    int exclusion;         // of only the joins of the rows that this one leaves out; −1: of all
    // How the value of the table `ordered` compares with that of the other, there being two.
    relational::KeyOrder order;
    int ordered;

    // Whether it stands for equal columns in every join.
    bool is_shared() const { return !is_private && exclusion < 0 && order == relational::KeyOrder::equal; }
};

// A condition that leaves rows out which are a join themselves: what all rows add up to less what those do is what the
// others add up to. It is `x <> y` over two tables, whose rows with equal values are left out, or an anti-join with
// several tables, which leaves out those with a partner.
struct Exclusion {
    List* present;   // of Factor*: what is not NULL in rows that stay
    Relids partners; // which must be joined by inner joins
};

struct TableKey {
    int attribute;
    Expr* expression; // over this table alone
};

// Which base relations PostgreSQL must join first, as it would: those that something mentions together which cannot be
// taken apart. It grows from try to try.
struct JoinedFirst {
    List* sets;       // of Relids, which are disjoint and have several members each
    List* reasons;    // of Refusal, by the try that asked
    Relids wanted;    // what the last try asks for; empty: nothing
    Refusal because;  // why the last try asks for it
    bool may_compare; // whether there may be exclusions and orders
    bool may_exclude; // whether there may be exclusions
};

struct JoinShape {
    PlannerInfo* root;
    JoinedFirst* joined_first;
    TableShape* tables;
    int table_count;
    List* attributes; // of Attribute*
    List* claimed;    // of RestrictInfo*: conditions of outer joins that are keys, and those of exclusions
    List* exclusions; // of Exclusion*
    bool has_orders;  // attributes with one

    // The relations whose columns the expression has.
    Relids relids(Node* expression) const;
    // The table that has all of these relations; -1 for none.
    int table_of(Relids relids) const;
    // The relations of an outer or semi-join: its inner side and what its conditions need of the outer one.
    Relids relids(const SpecialJoinInfo* special) const;
    // These relations, and those of the outer joins among them, which 16 counts: what must be joined before an
    // expression over them has its value.
    Relids needed_by(Relids relids) const;
    // Asks for another try in which these relations are one table.
    Refusal join_first(Relids relids, Refusal because) const;
    // The table's key of an attribute, or null.
    const TableKey* key(int table, int attribute) const;
    // Whether the table stands in the tree of inner joins.
    bool is_inner(int table) const { return tables[table].join == relational::StreamedJoin::inner; }
    // The join of the rows that all exclusions of this set leave out, a bit each, whatever the other exclusions say.
    // Tables of the others have no keys, and are none of it.
    JoinShape excluded_by(unsigned set) const;
    bool has(int table, unsigned set) const;
};

// A factor of a product, over one table; table -1: a constant.
struct Factor {
    int table;
    Expr* expression;
};

// A product of factors, or its negative.
struct Term {
    bool negative;
    List* factors; // of Factor*
};

// Says that a sum of these terms was to stay within a type, in every row.
struct Bound {
    Oid type;
    List* terms; // of Term*
};

enum class AggregateFunction : uint8_t { count, sum, average, min, max, var_pop, var_samp, stddev_pop, stddev_samp };

constexpr AggregateFunction last_of(AggregateFunction) {
    return AggregateFunction::stddev_samp;
}
// Whether it needs the sum of squares.
constexpr bool is_variance(AggregateFunction function) {
    return function >= AggregateFunction::var_pop;
}

struct AggregateShape {
    Aggref* aggref;
    AggregateFunction function;
    relational::CellKind cell; // count: of rows
    Oid argument_type;         // invalid for count(*)
    List* terms;               // of Term*, whose sum is the argument; of count: what must not be NULL
    List* conditions;          // of Factor*: FILTER
    List* bounds;              // of Bound*
    int distinct;              // the group whose values it takes once each; −1: its argument's, of every row
};

struct GroupShape {
    Expr* shown;      // as the targets have it
    Expr* expression; // over one table: the same before rows are grouped
    int table;
    KeyType type;
    bool is_for_aggregate; // is none of the result's groups: its values are told apart for an aggregate with DISTINCT
};

// What a query makes of the rows of its join: groups, each of which is a row of the result.
struct Asked {
    List* groups; // of Expr*, by whose values rows are told apart: of GROUP BY, or all that DISTINCT gives
    const PathTarget* targets;
    Node* having;
};

struct QueryShape {
    JoinShape join;
    List* aggregates;    // of AggregateShape*
    List* groups;        // of GroupShape*, those for DISTINCT last
    List* grouping_sets; // of lists of int: the groups by which rows of the result are grouped; one list at least
    List* groupings;     // of GroupingFunc*

    // Returns the numbers of the groups that are referred to, as the query's grouping clauses are; none where it has no
    // grouping sets.
    List* groups_of(const List* references) const;
};

// Finds what the query over the join `input` asks, with as few relations joined first as can be. may_compare: whether
// there may be exclusions and orders, rather than tables that are joined first.
Refusal find_query(PlannerInfo* root, RelOptInfo* input, const Asked& asked, Factorize mode, bool may_compare,
                   QueryShape* query);

// Calls body(subroot) with the planner's state of each sub-query of FROM that has a plan of its own.
template <class Body>
void for_each_subroot(const PlannerInfo* root, const Body& body) {
    for (int relid = 1; relid < root->simple_rel_array_size; relid++)
        if (const RelOptInfo* const relation = root->simple_rel_array[relid]; relation && relation->subroot)
            body(relation->subroot);
}

// The relation that PostgreSQL's search for an order of joins made of these, or null.
RelOptInfo* relation_of(PlannerInfo* root, Relids relids);

// Returns the path below one that gives the rows of one path; null for a scan or a join.
const Path* below(const Path* path);

// Returns the aliases of the relations.
const char* relation_names(PlannerInfo* root, Relids relids, const char* between);

// Finds the tables of the join `input`, and the columns that must be equal in them.
Refusal find_join(PlannerInfo* root, RelOptInfo* input, JoinedFirst* joined_first, JoinShape* join);

// Finds the outer and semi-joins whose inner side is one table that is joined to one other, its partner, by keys, or is
// distinct, and exclusions; after the attributes of inner joins were found.
Refusal find_inner_sides(JoinShape* join);

// Refuses a table that is a join of several relations where that evaluates what may raise an error: PostgreSQL's own
// plan may join other tables before, and not meet the rows for which it does.
Refusal refuse_raising_joins(const JoinShape& join);

// Finds the aggregates and group columns of the targets and of HAVING; after find_join.
Refusal find_aggregates(const Asked& asked, Factorize mode, QueryShape* query);

// Tells whether the function is PostgreSQL's own cast of a number to a type that holds every value of the first, up to
// the rounding of integers to floats.
bool is_widening_cast(const FuncExpr* call);

// Tells whether the expression, over columns of one relation, gives the same value whenever it is evaluated and cannot
// raise an error for any row: it is evaluated for rows that the join leaves out, too.
bool is_total(Node* expression);

// Tells whether the expression, over columns of one relation, gives the same value whenever it is evaluated, and leaves
// nothing behind where it raises an error: for a row that the join leaves out the run ends with CannotDecide. What is
// total is pure.
bool is_pure(Node* expression);

// Returns the innermost part for which it does not hold, of an expression for which it does not.
Node* innermost_without(bool (*holds)(Node*), Node* expression);

// Says of an expression that is_pure does not hold for what in it is not known. whose: "the argument of sum".
Refusal refuse_impure(const char* whose, Node* expression);
// Says it of this part of it.
Refusal refuse_part(const char* whose, Node* part);

} // namespace btml::pg::planner
