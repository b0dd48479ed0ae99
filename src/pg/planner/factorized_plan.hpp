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
    form,    // the number of a group's value in a dictionary; equal values that look different make the run fall back
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
    int dictionary; // for Reading::dictionary and form; −1 for others
    Oid type;
    DerivedColumn derived = {Operation::cast, -1, -1};

    template <class Self>
    static auto fields(Self& self) {
        return std::tie(self.reading, self.position, self.dictionary, self.type, self.derived);
    }
    friend bool operator==(const ColumnReading&, const ColumnReading&) = default;
};

struct AggregateOutput {
    AggregateFunction function;
    relational::CellKind cell;
    Oid type; // of the argument
    // Queries of the root, and whether each is subtracted: their sum is that of the argument; its extremum is one
    // query.
    std::vector<std::pair<int, bool>> terms;
    int squares, count; // queries of the root; −1 for none
    bool is_distinct;   // counts values of the last group, where `count` is not 0

    template <class Self>
    static auto fields(Self& self) {
        return std::tie(self.function, self.cell, self.type, self.terms, self.squares, self.count, self.is_distinct);
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

struct FactorizedPlan {
    relational::StreamedPlan streamed;
    std::vector<std::vector<ColumnReading>> readings; // by table and column
    std::vector<int> scans; // by table: of the plan's scans, the one that it reads; −1 for a bag
    std::vector<KeyType> dictionaries;
    std::vector<ColumnReading> groups; // whose positions are those among the groups of the root's message
    std::vector<AggregateOutput> aggregates;
    std::vector<MeasuredSum> sums;
    bool counts_distinct = false; // the last group is none of the result's, but has values that are counted

    // All but `streamed`.
    template <class Self>
    static auto fields(Self& self) {
        return std::tie(self.readings, self.scans, self.dictionaries, self.groups, self.aggregates, self.sums,
                        self.counts_distinct);
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

// Holds a plan with what the planner asks to know of it.
struct PlannedJoin {
    FactorizedPlan plan;
    std::vector<int> tables;     // of the join's shape, by table of the plan; −1 for a bag
    std::vector<int> scans;      // the tables of the plan whose own scans these are
    std::vector<List*> columns;  // by table of the plan: the expressions (Expr*) that its scan gives, if it has its own
    std::vector<List*> computed; // by table of the plan: the expressions (Expr*) that are computed from its columns
    double cost = 0;             // beyond that of the scans
    double memory = 0;           // in bytes
    double width = 1;            // the fractional hypertree width of the inner joins; 1: acyclic
    std::string description;     // the join tree, for people
    std::string shared_scans;    // which tables are read by the scan of another, for people; empty: none
};

// Orders the tables into a tree, gives every aggregate its queries, and estimates the cost; groups: about how many the
// result has. Throws PgError where PostgreSQL raises an error, and Cancelled.
PlannedJoin plan_join(const QueryShape& query, double groups, RunContext& context);

} // namespace btml::pg::planner
