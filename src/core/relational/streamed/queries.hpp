// What rows add to the cells of their table's queries.
#pragma once

#include "core/relational/streamed/message.hpp"

#include <array>
#include <memory>

namespace btml::relational {

// Rows of a table with their partners: each match is a row and, by child, one of the entries that it meets. A row that
// meets several entries is in as many matches.
struct Matches {
    static constexpr uint32_t max = RowBatch::max_rows;
    using Entries = std::array<const uint64_t*, max>;

    explicit Matches(size_t children) : from(children) {}

    const RowBatch::Column* columns = nullptr;
    uint32_t count = 0;
    std::array<uint32_t, max> rows;
    std::vector<Entries> from;     // by child; of those that multiply
    std::array<uint64_t*, max> to; // the entry that the match adds to
};

class QueryEvaluator {
  public:
    // children: their messages.
    QueryEvaluator(const StreamedPlan& plan, int table, const std::vector<const Message*>& children,
                   const MessageLayout& layout);
    ~QueryEvaluator();

    // Adds the values of all queries in all matches, query after query, in the order of the matches.
    void add(const Matches& matches);

  private:
    struct Factor {
        size_t child;
        size_t cell; // where it begins in the child's entries
        CellKind kind;
    };
    struct Query {
        CellKind kind;
        size_t cell;
        std::vector<int> factors, present, conditions;
        std::vector<Factor> children;
    };
    template <class Cell>
    void add_query(const Query& query, const Matches& matches);
    uint32_t pick(const Query& query, const Matches& matches);

    std::vector<Query> queries_;
    std::array<uint32_t, Matches::max> picked_; // the matches in which a query has a value
    struct Values;
    std::unique_ptr<Values> values_;
};

} // namespace btml::relational
