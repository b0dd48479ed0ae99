// Many SumProd queries that differ only in which rows of the tables they let pass, evaluated together by inside-out: a
// sum of their answers, each times a coefficient, for every row of every table.
//
// Cromp, Samadian, Pruhs: Relational Boosted Regression Trees, §2. The cost of a query is a step for each group of rows
// with equal keys (see GroupedJoin) and, per row, one for each different filter of its table, whatever the size of the
// join.
#pragma once

#include "core/base/threads.hpp"
#include "core/relational/filtered_kernels.hpp"
#include "core/relational/grouped_join.hpp"
#include "core/relational/row_filters.hpp"

#include <span>

namespace btml::relational {

// Σ over the join's rows that pass of weight · value^power, where weight is the product of the tables' row weights and
// value a number of one table's rows.
struct FilterQuery {
    double coefficient;
    int power;                // 0, 1 or 2
    std::vector<int> filters; // by table; −1: all rows pass
};

// The rows of a join that are looked at, by table.
struct Selection {
    std::vector<const RowSubset*> rows;
    std::vector<const double*> weights; // by row; nullptr: 1 each
};

class FilteredSums {
  public:
    // `values`, by row of value_table, and the filters are looked at again in every call.
    FilteredSums(const GroupedJoin& join, const std::vector<RowFilters>& filters, int value_table,
                 const Buffer<double>& values, ThreadTeam& team, RunContext& context);

    // sums[t][ρ] += Σ_q coefficient_q · (query q over the selected join rows that ρ takes part in), for the rows ρ of
    // the selection and tables t with sums[t]; where counts[t], counts[t][ρ] = their weight. Queries that the
    // selection contradicts cost nothing, and neither do filters that let all its rows pass.
    void add(const Selection& selection, const std::vector<FilterQuery>& queries, const std::vector<double*>& sums,
             const std::vector<double*>& counts);

    struct Total {
        double sum, count;
    };
    // The same over the whole selected join, by upward messages only.
    Total total(const Selection& selection, const std::vector<FilterQuery>& queries);

    // The queries without those that some table's selection contradicts, and without filters that all its rows pass;
    // those that are the same then are one.
    std::vector<FilterQuery> relevant(const Selection& selection, const std::vector<FilterQuery>& queries) const;

    // Bytes that one more query evaluated at the same time takes, and how many all together take at most (or as many as
    // eight queries do).
    static constexpr uint64_t block_memory = uint64_t{64} << 20;
    static uint64_t bytes_per_query(const GroupedJoin& join);

  private:
    struct Local;
    struct Block;
    struct Passing {
        std::vector<uint64_t> any, all;
    };
    using Alive = std::vector<Buffer<uint8_t>>; // by table and group

    kernels::GroupRows selected(const Selection& selection, int table, uint64_t group) const;
    Alive find_alive(const Selection& selection) const;
    Passing find_passing(const Selection& selection, const Alive& alive, int table) const;
    std::vector<FilterQuery> relevant(const Selection& selection, const Alive& alive,
                                      const std::vector<FilterQuery>& queries) const;
    template <class Body>
    void for_each_block(const Selection& selection, const std::vector<FilterQuery>& queries, const Body& body);
    Block make_block(const Selection& selection, const Alive& alive, std::span<const FilterQuery> queries);
    void sum_locally(Block& block, int table);
    size_t factors_of(const Block& block, int table, uint64_t group, size_t except, const double** factors) const;
    void send(Block& block, int table, size_t edge);
    void send_up(Block& block);
    void send_down(Block& block);
    void add_rows(Block& block, int table, double* sums, double* counts);

    const GroupedTable& table(int t) const { return join_.tables()[static_cast<size_t>(t)]; }

    const GroupedJoin& join_;
    const std::vector<RowFilters>& filters_;
    const int value_table_;
    const Buffer<double>& values_;
    ThreadTeam& team_;
    RunContext& context_;
};

} // namespace btml::relational
