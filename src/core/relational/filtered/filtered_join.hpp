// A join whose rows are looked at through a selection of its tables' rows, and queries that differ only in which rows
// of the tables they let pass.
#pragma once

#include "core/base/threads.hpp"
#include "core/relational/filtered/filtered_kernels.hpp"
#include "core/relational/join/grouped_join.hpp"

#include <map>
#include <unordered_map>

namespace btml::relational {

// Some of a grouped table's rows, ascending, and where each group's begin among them.
struct RowSubset {
    bool all = true; // every row: the buffers are empty
    Buffer<RowId> rows;
    Buffer<RowId> first; // by group, and one more
};

// Filters of one table's rows as bits: filter f of row ρ is bit f % 64 of word f / 64.
class RowFilters {
  public:
    RowFilters(uint64_t rows, MemoryBudget& memory) : rows_(rows), memory_(memory) {}

    // The filter that lets a proper subset's rows pass; the one added before where there is one of the same rows.
    int add(const RowSubset& subset, RunContext& context);
    // The filter that passes what two filters of other filters of this table pass both; −1: all rows.
    int add_both(const RowFilters& other, int a, int b, RunContext& context);
    int count() const { return count_; }
    size_t words() const { return words_.size(); }
    const uint64_t* word(size_t i) const { return words_[i].data(); } // by row

  private:
    bool equals(int filter, const RowSubset& subset) const;
    int add_empty();

    uint64_t rows_;
    MemoryBudget& memory_;
    int count_ = 0;
    std::vector<Buffer<uint64_t>> words_;
    std::vector<uint64_t> sizes_;                      // by filter: rows that pass
    std::unordered_multimap<uint64_t, int> by_digest_; // of the rows
    std::map<std::pair<int, int>, int> by_pair_;
};

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

// Says by table and group whether the group has rows that take part in the join of all selected rows.
using AliveGroups = std::vector<Buffer<uint8_t>>;

// body(begin, end, worker) over ranges of 0 ≤ i < count that take about `steps` steps of a nanosecond in all.
template <class Body>
void for_ranges(ThreadTeam& team, uint64_t count, uint64_t steps, const Body& body) {
    constexpr uint64_t max_steps = uint64_t{1} << 20, min_steps = uint64_t{1} << 14; // of a range
    const uint64_t threads = team.size();
    const uint64_t ranges = std::max(std::min(threads, steps / min_steps), steps / max_steps) + 1;
    const uint64_t size = (count + ranges - 1) / ranges;
    if (count == 0) return;
    team.for_each((count + size - 1) / size, [&](size_t range, int worker) {
        body(range * size, std::min<uint64_t>(count, (range + 1) * size), worker);
    });
}

// `values`, by row of value_table, and the filters are looked at again in every call.
struct FilteredJoin {
    const GroupedJoin& join;
    const std::vector<RowFilters>& filters; // by table
    size_t value_table;
    const Buffer<double>& values;
    ThreadTeam& team;
    RunContext& context;

    const GroupedTable& table(size_t t) const { return join.tables()[t]; }
    size_t tables() const { return join.tables().size(); }
    // The selected rows of one group.
    kernels::GroupRows selected(const Selection& selection, size_t table, uint64_t group) const;

    AliveGroups find_alive(const Selection& selection) const;
    // Calls body(group, worker) for a table's groups that are alive, on all threads, in about so many nanoseconds.
    template <class Body>
    void for_each_alive(const AliveGroups& alive, size_t t, uint64_t steps, const Body& body) const {
        for_ranges(team, alive[t].size(), steps, [&](uint64_t begin, uint64_t end, int worker) {
            for (uint64_t g = begin; g < end; g++)
                if (alive[t][g]) body(g, worker);
        });
    }
    // The queries without those that some table's selection contradicts, and without filters that all its rows pass;
    // those that are the same then are one.
    std::vector<FilterQuery> relevant(const Selection& selection, const AliveGroups& alive,
                                      const std::vector<FilterQuery>& queries) const;
};

template <class Body>
void for_each_row(const kernels::GroupRows& rows, const Body& body) {
    for (size_t i = 0; i < rows.count; i++) body(rows.row(i));
}

} // namespace btml::relational
