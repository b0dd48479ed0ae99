// The sum that FilteredSums evaluates, as a vector over the selected rows of a join, and its squared norm by tensor
// sketch: Σ over the join's rows of weight · (Σ_q coefficient_q · [the row passes q] · value^power_q)², without the
// pairs of queries that its exact value takes (Cromp, Samadian, Pruhs: Relational Boosted Regression Trees, §3).
#pragma once

#include "core/relational/filtered_sums.hpp"
#include "core/relational/join.hpp"

namespace btml::relational {

class FilteredSketch {
  public:
    // Copies the keys, weights and values of the selected rows. The filters must stay as they are; no query has
    // power 2.
    FilteredSketch(const GroupedJoin& join, const std::vector<RowFilters>& filters, int value_table,
                   const Buffer<double>& values, const Selection& selection, std::vector<FilterQuery> queries,
                   RunContext& context);

    // For each row of a table, the squared norm over the join's rows that it takes part in; 0 for rows that are not
    // selected. By one sketch of `size` numbers (its errors are those of TensorSketch); different seeds give
    // independent sketches. For how far it is off, see sketch_size.hpp.
    Buffer<double> squared_norms(int table, uint64_t size, uint64_t seed) const;

    // Bytes that this takes at most, a sketch of `size` numbers included.
    static uint64_t bytes(const GroupedJoin& join, uint64_t size, int threads);

  private:
    class Vector;

    const Buffer<RowId>& rows_of(int table) const;

    const GroupedJoin& grouped_;
    const std::vector<RowFilters>& filters_;
    const int value_table_;
    const std::vector<FilterQuery> queries_;
    RunContext& context_;
    Join join_;                           // of the rows that are left; its one column is their numbers in grouped_
    std::vector<Buffer<double>> weights_; // by table and row of join_: the square root
    Buffer<double> values_;               // of the value table's rows, times that
};

} // namespace btml::relational
