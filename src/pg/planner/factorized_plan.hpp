// A factorised aggregate as it is stored in a plan: what the core does, how its columns are read from PostgreSQL's rows
// and what becomes of its result.
#pragma once

#include "core/relational/streamed/plan.hpp"
#include "pg/planner/arithmetic.hpp"
#include "pg/planner/shape.hpp"

namespace btml::pg::planner {

enum class Reading : uint8_t {
    presence,   // whether it is NULL, and nothing else
    integer,    // a value whose bits, as an integer, order and equal as it does
    number,     // float4, float8
    decimal,    // numeric
    dictionary, // the number of its value in a dictionary
    form,    // a group's value as integer or dictionary has it; equal ones that look different make the run fall back
    derived, // computed from columns before it
};
constexpr Reading last_of(Reading) {
    return Reading::derived;
}

// From this position on a row has the values of expressions that may raise an error: the scan does not give them, they
// are computed from what it gives.
constexpr int computed_from = 1 << 16;

// How one column of a table's batches is read from a row of its scan.
struct ColumnReading {
    Reading reading;
    int position;   // in the row, from 0; −1 for derived columns
    int dictionary; // for Reading::dictionary and form; −1 for others, and for the form of a float
    Oid type;
    DerivedColumn derived = {Operation::cast, -1, -1};

    template <class Self>
    static auto fields(Self& self) {
        return std::tie(self.reading, self.position, self.dictionary, self.type, self.derived);
    }
    friend bool operator==(const ColumnReading&, const ColumnReading&) = default;
};

// A group column of the result, or one whose values an aggregate tells apart. dictionary: −1 for none.
struct GroupOutput {
    int dictionary;
    Oid type;

    template <class Self>
    static auto fields(Self& self) {
        return std::tie(self.dictionary, self.type);
    }
};

struct AggregateOutput {
    AggregateFunction function;
    relational::CellKind cell;
    Oid type;     // of the argument
    int distinct; // the group whose values it takes once each; −1: its argument's, of every row

    template <class Self>
    static auto fields(Self& self) {
        return std::tie(self.function, self.cell, self.type, self.distinct);
    }
};

// The queries of the root that an aggregate is made of.
struct AggregateQueries {
    // Queries, and whether each is subtracted: their sum is that of the argument; its extremum is one query.
    std::vector<std::pair<int, bool>> terms;
    int squares, count; // −1 for none

    template <class Self>
    static auto fields(Self& self) {
        return std::tie(self.terms, self.squares, self.count);
    }
};

// The sum of these products, in any row, was to stay within the type.
struct MeasuredSum {
    Oid type;
    std::vector<std::vector<std::pair<int, int>>> products; // of (table, number among those that it measures)

    template <class Self>
    static auto fields(Self& self) {
        return std::tie(self.type, self.products);
    }
};

// A join that is run, and what the result takes of it: of several joins the sum, in each group that has rows then.
struct FactorizedJoin {
    bool is_subtracted = false;
    relational::StreamedPlan streamed;
    std::vector<std::vector<ColumnReading>> readings; // by table and column
    std::vector<int> scans;  // by table: of the plan's scans, the one that it reads; −1 for a bag
    std::vector<int> groups; // by group of the plan: its position among the groups of the root's message
    int rows = 0;            // the query of the root that counts them
    std::vector<AggregateQueries> aggregates;
    std::vector<MeasuredSum> sums;

    // All but `streamed`.
    template <class Self>
    static auto fields(Self& self) {
        return std::tie(self.is_subtracted, self.readings, self.scans, self.groups, self.rows, self.aggregates,
                        self.sums);
    }
};

struct FactorizedPlan {
    std::vector<FactorizedJoin> joins;
    std::vector<KeyType> dictionaries;
    std::vector<GroupOutput> groups; // of the result, then those whose values are told apart
    std::vector<AggregateOutput> aggregates;
    std::vector<std::vector<int>> grouping_sets; // groups by which the rows of the result are grouped; one set at least
    std::vector<std::vector<int>> groupings;     // GROUPING(…): the groups that it is about

    // All but `joins`.
    template <class Self>
    static auto fields(Self& self) {
        return std::tie(self.dictionaries, self.groups, self.aggregates, self.grouping_sets, self.groupings);
    }
    void write(Writer& writer) const;
    // Throws corrupt_model unless the bytes have the form that write() gives them. Numbers of columns, dictionaries and
    // queries are not checked, except those of `streamed`.
    static FactorizedPlan read(Reader& reader);
};

// Bytes that the messages of a join are planned to take at most: what a hash table may, and no more than half of
// btml.memory_limit, since they may turn out to take twice as many.
double message_memory();
// Returns the setting that gives messages more memory.
const char* message_memory_setting();

// The part of the memory for messages that rows of a scan may take while they wait for other tables with the same rows.
constexpr double waiting_share = 0.25;

// Holds a join with what the planner asks to know of it.
struct PlannedJoin {
    FactorizedJoin join;
    std::vector<int> tables;         // of the join's shape, by table of the plan; −1 for a bag
    std::vector<int> scans;          // the tables of the plan whose own scans these are
    std::vector<bool> has_rows_once; // by table of the plan: whether its scan gives each row once
    std::vector<List*> columns;  // by table of the plan: the expressions (Expr*) that its scan gives, if it has its own
    std::vector<List*> computed; // by table of the plan: the expressions (Expr*) that are computed from its columns
    double cost = 0;             // beyond that of the scans
    double memory = 0;           // in bytes, with that of the result
    double result_memory = 0;
    double width = 1;         // the fractional hypertree width of the inner joins; 1: acyclic
    std::string description;  // the join tree, for people
    std::string shared_scans; // which tables are read by the scan of another, for people; empty: none
};

struct PlannedQuery {
    FactorizedPlan plan; // without its joins
    std::vector<PlannedJoin> joins;
};

// Why a query that could be factorized otherwise has no plan with its orders.
struct NotPlanned {
    Refusal reason;
};

// Orders the tables of each join into a tree, gives every aggregate its queries, and estimates the cost; groups: about
// how many the result has. Throws NotPlanned, PgError where PostgreSQL raises an error, and Cancelled.
PlannedQuery plan_query(const QueryShape& query, double groups, RunContext& context);

} // namespace btml::pg::planner
