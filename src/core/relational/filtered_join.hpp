// A join whose rows are looked at through a selection of its tables' rows, and queries that differ only in which rows
// of the tables they let pass.
#pragma once

#include "core/base/threads.hpp"
#include "core/relational/filtered_kernels.hpp"
#include "core/relational/grouped_join.hpp"
#include "core/relational/row_filters.hpp"

namespace btml::relational {

// Σ over the join's rows that pass of weight · value^power, where weight is the product of the tables' row weights and
// value a number of one table's rows.
struct FilterQuery {
    double coefficient;
    int power;                // 0, 1 or 2
    std::vector<int> filters; // by table; −1: all rows pass
};

inline constexpr uint64_t units_of_query = 64; // of work (RunContext::worked)

// The rows of a join that are looked at, by table.
struct Selection {
    std::vector<const RowSubset*> rows;
    std::vector<const double*> weights; // by row; nullptr: 1 each
};

// Whether a group has rows that take part in the join of all selected rows, by table and group.
using AliveGroups = std::vector<Buffer<uint8_t>>;

// `values`, by row of value_table, and the filters are looked at again in every call.
struct FilteredJoin {
    const GroupedJoin& join;
    const std::vector<RowFilters>& filters; // by table
    int value_table;
    const Buffer<double>& values;
    ThreadTeam& team;
    RunContext& context;

    const GroupedTable& table(int t) const { return join.tables()[static_cast<size_t>(t)]; }
    int tables() const { return static_cast<int>(join.tables().size()); }
    // The selected rows of one group.
    kernels::GroupRows selected(const Selection& selection, int table, uint64_t group) const;

    AliveGroups find_alive(const Selection& selection) const;
    // The queries without those that some table's selection contradicts, and without filters that all its rows pass;
    // those that are the same then are one.
    std::vector<FilterQuery> relevant(const Selection& selection, const std::vector<FilterQuery>& queries) const;
    std::vector<FilterQuery> relevant(const Selection& selection, const AliveGroups& alive,
                                      const std::vector<FilterQuery>& queries) const;
};

template <class Body>
void for_each_row(const kernels::GroupRows& rows, const Body& body) {
    for (size_t i = 0; i < rows.count; i++) body(rows.row(i));
}

// body(begin, end, worker) over ranges of 0 ≤ i < count that take about `steps` steps of a nanosecond in all.
template <class Body>
void for_ranges(ThreadTeam& team, uint64_t count, uint64_t steps, const Body& body) {
    constexpr uint64_t max_steps = uint64_t{1} << 20, min_steps = uint64_t{1} << 14; // of a range
    const auto threads = static_cast<uint64_t>(team.size());
    const uint64_t ranges = std::max(std::min(threads, steps / min_steps), steps / max_steps) + 1;
    const uint64_t size = (count + ranges - 1) / ranges;
    if (count == 0) return;
    team.for_each((count + size - 1) / size, [&](size_t range, int worker) {
        body(range * size, std::min<uint64_t>(count, (range + 1) * size), worker);
    });
}

} // namespace btml::relational
