// What an aggregate query asks of a join whose tables are read once, row by row, and are not kept: the tables, children
// before parents in a join tree, and the queries that each of their messages answers.
//
// The message of a table to its parent has, for each key that they share, one cell for each query: ⊕ over the table's
// rows with that key of the row's own factors ⊗ the cells of its children's messages (inside-out; Abo Khamis, Ngo,
// Rudra 2016). Group columns travel along: they are a part of the key of every message from their table to the root,
// whose message is the result.
#pragma once

#include "core/base/serial.hpp"

#include <cstdint>
#include <tuple>
#include <vector>

namespace btml::relational {

// What a column of rows holds. A decimal is a mantissa and a scale: mantissa · 10^(−scale).
enum class StreamedType : uint8_t { integer, number, decimal };

constexpr StreamedType last_of(StreamedType) {
    return StreamedType::decimal;
}

// How the values of a query add up over rows. Integers and decimals are exact in 128 bits; what does not fit ends the
// run with CannotDecide. The sum of no rows is `absent`.
enum class CellKind : uint8_t {
    count,       // of rows
    integer_sum, // of products of integers
    number_sum,  // of products of numbers, in the order of the rows; −0 where all are, if only one table has factors
                 // (otherwise −0 cannot be decided)
    decimal_sum, // of products of decimals: the scales of factors add up, the largest of the rows is the sum's
    integer_min,
    integer_max,
    number_min, // NaN cannot be decided, nor an extremum that is 0 and −0
    number_max,
    decimal_min, // an extremum of several scales cannot be decided
    decimal_max,
    decimal_max_product, // of products of decimals; a negative factor cannot be decided, nor a product that is 0
};

constexpr CellKind last_of(CellKind) {
    return CellKind::decimal_max_product;
}
constexpr bool is_extremum(CellKind kind) {
    return kind >= CellKind::integer_min;
}

// How the rows of a table go together with those of its child.
enum class StreamedJoin : uint8_t {
    inner,
    left, // rows without a partner stay; the child's columns are NULL in them
    semi, // rows with a partner stay, each once
    anti, // rows without a partner stay
};
constexpr StreamedJoin last_of(StreamedJoin) {
    return StreamedJoin::anti;
}
// Do the child's cells and groups take part in the parent's message? Otherwise its rows only let the parent's pass.
constexpr bool multiplies(StreamedJoin join) {
    return join == StreamedJoin::inner || join == StreamedJoin::left;
}

// The part of a query that is about a table and those below it. Row by row, its value is the product of the factors and
// of the children's cells, or their sum where other extrema are asked for (min-plus and max-plus); rows where a factor
// or a `present` column is NULL, where the condition does not hold, or where a child's cell is absent add nothing.
struct StreamedQuery {
    CellKind kind = CellKind::count;
    std::vector<int> factors;    // columns of the type that the kind asks for; min and max of numbers: one at most
    std::vector<int> present;    // columns that must not be NULL
    std::vector<int> conditions; // columns of integers: each must be neither NULL nor 0 (FILTER)
    // By child: its query; 0 for semi and anti. It counts, or is of the same kind; sums of numbers and of decimals also
    // take integer_sum. An extremum has a factor or a child's query of its kind; of numbers, just one of them.
    std::vector<int> children;

    template <class Self>
    static auto fields(Self& self) {
        return std::tie(self.kind, self.factors, self.present, self.conditions, self.children);
    }
    friend bool operator==(const StreamedQuery&, const StreamedQuery&) = default;
};

// How the last column of a child's key compares with its partner, all others being equal: it is less …
enum class KeyOrder : uint8_t { equal, less, less_equal, greater, greater_equal };

constexpr KeyOrder last_of(KeyOrder) {
    return KeyOrder::greater_equal;
}

struct StreamedChild {
    int table = 0;
    StreamedJoin join = StreamedJoin::inner;
    std::vector<int> key; // columns of this table, paired with the child's key
    // Other than equal: neither of the two tables is a bag; the child's message has no groups and no sums of numbers.
    KeyOrder order = KeyOrder::equal;

    template <class Self>
    static auto fields(Self& self) {
        return std::tie(self.table, self.join, self.key, self.order);
    }
    friend bool operator==(const StreamedChild&, const StreamedChild&) = default;
};

struct StreamedTable {
    std::vector<StreamedType> columns;
    std::vector<int> key;    // columns of integers, shared with the parent; none for the root or a Cartesian product
    std::vector<int> groups; // columns of integers by which the result is grouped, NULL being a group
    std::vector<StreamedChild> children;
    std::vector<StreamedQuery> queries; // the first counts rows and has neither factors, present nor conditions
    std::vector<int> measured;          // columns whose extrema over the rows that found partners are asked for
    bool held = false; // its rows are kept until the end, since a bag reads them before they are passed on

    template <class Self>
    static auto fields(Self& self) {
        return std::tie(self.columns, self.key, self.groups, self.children, self.queries, self.measured, self.held);
    }
    friend bool operator==(const StreamedTable&, const StreamedTable&) = default;
};

// A table of the combinations of attributes that all tables allow, which makes a cyclic join acyclic (bags.hpp).
struct StreamedBag {
    int table = 0; // its place among the tables: its columns are its attributes, in this order
    std::vector<int> attributes;

    template <class Self>
    static auto fields(Self& self) {
        return std::tie(self.table, self.attributes);
    }
    friend bool operator==(const StreamedBag&, const StreamedBag&) = default;
};

struct StreamedPlan {
    std::vector<StreamedTable> tables; // children before parents, the root last
    std::vector<StreamedBag> bags;     // of a cyclic join
    // By table, where there are bags: (column, attribute) of each key column that bags read.
    std::vector<std::vector<std::pair<int, int>>> attributes;

    int root() const { return static_cast<int>(tables.size()) - 1; }
    bool is_bag(int table) const;
    // Group columns of the message of a table: its own, then those of its inner and left children, one after the other.
    size_t message_groups(int table) const;

    void write(Writer& writer) const;
    // Throws corrupt_model unless every number is within its bounds and the plan can be run: nothing is checked after
    // that.
    static StreamedPlan read(Reader& reader);

    template <class Self>
    static auto fields(Self& self) {
        return std::tie(self.tables, self.bags, self.attributes);
    }
    friend bool operator==(const StreamedPlan&, const StreamedPlan&) = default;
};

// What keeps a plan from being run, as a sentence's part; null: nothing.
const char* flaw_of(const StreamedPlan& plan);

} // namespace btml::relational
