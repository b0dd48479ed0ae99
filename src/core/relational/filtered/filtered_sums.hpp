// Many SumProd queries that differ only in which rows of the tables they let pass, evaluated together by inside-out: a
// sum of their answers, each times a coefficient, for every row of every table.
//
// Cromp, Samadian, Pruhs: Relational Boosted Regression Trees, §2. The cost of a query is a step for each group of rows
// with equal keys (see GroupedJoin) and, per row, one for each different filter of its table, whatever the size of the
// join.
#pragma once

#include "core/relational/filtered/sub_query_messages.hpp"

namespace btml::relational {

class FilteredSums {
  public:
    explicit FilteredSums(const FilteredJoin& filtered) : filtered_(filtered), messages_(filtered) {}

    // sums[t][ρ] += Σ_q coefficient_q · (query q over the selected join rows that ρ takes part in), for the rows ρ of
    // the selection and tables t with sums[t]; where counts[t], counts[t][ρ] = their weight. Queries that the
    // selection contradicts cost nothing, and neither do filters that let all its rows pass.
    void add(const Selection& selection, const std::vector<FilterQuery>& queries, const std::vector<double*>& sums,
             const std::vector<double*>& counts);

    struct Total {
        double sum, count;
    };
    // Returns the same over the whole selected join; upward messages suffice.
    Total total(const Selection& selection, const std::vector<FilterQuery>& queries);

    // Bytes that one more query evaluated at the same time takes at most, and how many all together take at most (or as
    // many as eight queries do). They are kept for the next call.
    static constexpr uint64_t block_memory = uint64_t{64} << 20;
    static uint64_t bytes_per_query(const GroupedJoin& join);

  private:
    struct Local;

    template <class Body>
    void for_each_block(const Selection& selection, const AliveGroups& alive, const std::vector<FilterQuery>& queries,
                        bool with_count, const Body& body);
    void add_rows(const Selection& selection, const AliveGroups& alive, const Local& local, size_t table,
                  bool has_count, double* sums, double* counts);

    const FilteredJoin filtered_;
    SubQueryMessages<double> messages_;
};

} // namespace btml::relational
