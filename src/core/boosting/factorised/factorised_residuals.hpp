// Sums residuals of a join's rows in one of two ways. The first goes by cells of the sub-join of the tables that
// conditions touch (filtered/sub_join.hpp): a sum takes a step for each cell, however many leaves there are. The second
// goes by queries, one for each leaf of the earlier trees (factorised_queries.hpp). It is taken where there are too
// many cells to hold, or so many that queries take less time.
#pragma once

#include "core/boosting/factorised/factorised_allowance.hpp"
#include "core/boosting/factorised/factorised_queries.hpp"
#include "core/boosting/growing/training_set.hpp"
#include "core/boosting/trees/boosting_options.hpp"
#include "core/relational/filtered/sub_join_sums.hpp"

namespace btml::boosting::factorised {

class JoinResiduals {
  public:
    JoinResiduals(const relational::GroupedJoin& join, size_t target_table, const Options& options, ThreadTeam& team,
                  RunContext& context, const Allowance& allowance);

    // Numbers for the target table's rows, before any leaf.
    Buffer<double>& values() { return queries_.values(); }
    // Starts without leaves, over the join's rows as they are now. weights: of the target table's rows where trees are
    // trained, which stay as they are; null: 1 each. room: bytes that cells may take. nanoseconds_of_rows: what adding
    // up sums of rows takes the caller, for each node.
    void start(const double* weights, uint64_t room, double nanoseconds_of_rows);

    // Subtracts the values of a tree's leaves from their rows. NotWorthIt where the trees to come would take too long.
    void subtract(const std::vector<TrainingSet::Leaf>& leaves, const TreeNodes& nodes);

    // Returns for each selected row of the tables that are asked for, over the selected join rows that it takes part
    // in, the sum of weight · residual, of weights, and with squares of weight · residual². Until the next call.
    const RowSums& sums(const relational::Selection& selection, const std::vector<bool>& tables, bool with_squares);
    // The same of a selection that is always the same.
    const RowSums& root_sums(const relational::Selection& selection, const std::vector<bool>& tables,
                             bool with_squares);
    relational::FilteredSums::Total total(const relational::Selection& selection);

    // Says for people which way was taken.
    std::string report() const;
    // The queries are kept either way.
    ResidualQueries& queries() { return queries_; }

  private:
    double rows_of_tables() const;
    int trees_before_sums() const;
    double nanoseconds_of_queries() const;
    double nodes_left() const;
    double nanoseconds_of_sketches() const;
    double nanoseconds_of_cell() const;
    uint64_t worthwhile_cells() const;
    bool subtract_from_cells(const std::vector<TrainingSet::Leaf>& leaves, const TreeNodes& nodes);
    void check_allowance() const;
    void drop_cells();

    const Options& options_;
    const Allowance allowance_;
    RunContext& context_;
    ResidualQueries queries_;
    std::optional<relational::SubJoin> sub_join_;
    std::optional<relational::SubJoinSums> sub_join_sums_;
    uint64_t room_ = 0;
    double nanoseconds_of_rows_ = 0;
    int trees_ = 0;
    RowSums of_node_, root_;
    size_t root_queries_ = 0; // that are in root_
};

} // namespace btml::boosting::factorised
