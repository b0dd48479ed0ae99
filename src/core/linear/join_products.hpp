// Sums over a join's rows of products of two columns of different tables, by messages between the tables.
#pragma once

#include "core/base/threads.hpp"
#include "core/relational/join/join.hpp"

namespace btml::linear {

// What the groups of a table's rows have in columns of the design. A group's weight is Σ of those of its rows.
struct TableMeans {
    std::vector<size_t> places; // of its columns among all
    Buffer<double> means;       // group by group: of each of these columns, by the rows' weights
    Buffer<double> weights;     // by group
    Buffer<double> totals;      // by group: the weight of all rows of the join that it takes part in
};

// Adds Σ weight·z_i·z_j over the join's rows to the lower triangle of a matrix of size × size numbers, for all places i
// and j of different tables. groups: the join of the tables' groups, of which `tables` has one entry for each.
void add_products_across(const relational::Join& groups, const std::vector<TableMeans>& tables, size_t size,
                         ThreadTeam& team, RunContext& context, Buffer<double>& matrix);

// Returns a rough number of the multiplications that it takes. groups, columns: how many each table has.
double products_across(const relational::JoinTree& tree, const std::vector<double>& groups,
                       const std::vector<size_t>& columns);

} // namespace btml::linear
