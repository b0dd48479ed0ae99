// The distinct parts of queries that are evaluated together. What a message of inside-out depends on is the part of a
// query that concerns the tables behind it, its sub-query; queries whose conditions are on few tables have few of them,
// and each is evaluated once.
#pragma once

#include "core/relational/filtered/filtered_join.hpp"

#include <unordered_map>

namespace btml::relational {

class SubQueries {
  public:
    struct Condition {
        int power;
        int filter; // −1: all rows pass
    };
    // Holds what is asked of one table and those below it in the join tree.
    struct OfTable {
        std::vector<Condition> conditions;           // of the table's own rows
        std::vector<uint32_t> own;                   // by sub-query: its condition
        std::vector<std::vector<uint32_t>> children; // by edge away from the root and sub-query: the child's sub-query

        size_t count() const { return own.size(); }
        uint64_t widths() const { return conditions.size() + 2 * count(); }
    };

    SubQueries(const GroupedJoin& join, size_t value_table);

    // apart: shares nothing with other queries. The first query's sub-queries and conditions are number 0.
    void add(const FilterQuery& query, bool apart = false);

    const OfTable& table(size_t t) const { return tables_[t]; }
    // Returns a coefficient for each sub-query of the root, which is a whole query.
    const std::vector<double>& coefficients() const { return coefficients_; }

  private:
    // Pairs of numbers, each with a number of its own.
    using Numbers = std::unordered_map<uint64_t, uint32_t>;

    uint32_t find_condition(size_t table, Condition condition, bool apart);
    uint32_t find_sub_query(size_t table, bool apart);

    const GroupedJoin& join_;
    const size_t value_table_;
    std::vector<OfTable> tables_;
    std::vector<Numbers> conditions_;            // by table
    std::vector<std::vector<Numbers>> prefixes_; // by table and child: of the condition and the children up to it
    std::vector<uint32_t> own_, sub_queries_;    // of the query that is added, by table
    std::vector<double> coefficients_;
};

} // namespace btml::relational
