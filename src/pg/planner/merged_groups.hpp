// Groups of the results of joins brought together: by fewer columns, and with the signs that the joins have.
#pragma once

#include "core/data/dictionary.hpp"
#include "core/relational/streamed/aggregate.hpp"

#include <algorithm>
#include <span>

namespace btml::pg::planner {

// The result of a join, whose groups and rows are added or subtracted.
struct JoinResult {
    const relational::StreamedAggregate* aggregate;
    std::span<const int> groups; // by group of the query: its position among the groups of the root's message
    bool is_subtracted;
    int rows; // the query of the root that counts them
};

class MergedGroups {
  public:
    // At most, of a group of a join, while groups are merged: three numbers, and slots of the index as it grows.
    static constexpr double bytes_per_group = 4 * sizeof(uint32_t) + 48;

    // groups: those of the query whose values stay apart; of none there is one merged group, always. Merged groups
    // without rows are left out. The results live as long as this. Throws CannotDecide for more than 2^32 − 1 groups;
    // error memory_limit where the memory does not hold them.
    MergedGroups(std::span<const JoinResult> results, std::vector<int> groups, RunContext& context);

    uint64_t size() const { return is_plain_ ? results_[0].aggregate->groups() : first_.size(); }
    // Whether cells are those of one join's own groups.
    bool is_plain() const { return is_plain_; }
    bool has(int group) const { return std::find(groups_.begin(), groups_.end(), group) != groups_.end(); }
    // Both are of a group that has() and of a merged group with rows.
    bool is_null(uint64_t merged, int group) const;
    int64_t value(uint64_t merged, int group) const;
    // Returns what a query, query(i) of the root of the join i, has in all of them. Polls, as they may be many. Throws
    // CannotDecide.
    template <class Query>
    relational::StreamedCell cell(uint64_t merged, relational::CellKind kind, const Query& query) const {
        relational::StreamedCell all{kind != relational::CellKind::count, 0, 0, 0};
        for_each_group(merged, [&](size_t i, uint64_t group) {
            add(kind, results_[i].is_subtracted, results_[i].aggregate->cell(group, static_cast<size_t>(query(i))),
                &all);
        });
        return all;
    }
    // The merged group that one of another merger of the same results is a part of.
    uint64_t that_has(const MergedGroups& parts, uint64_t part) const;

  private:
    static void add(relational::CellKind kind, bool is_subtracted, relational::StreamedCell one,
                    relational::StreamedCell* all);
    // Calls body(i, group) with the groups of the join i.
    template <class Body>
    void for_each_group(uint64_t merged, const Body& body) const {
        constexpr uint64_t polled = 1024, work = 8;
        if (is_plain_) return body(size_t{0}, merged);
        uint64_t met = 0;
        for (uint32_t at = first_[merged]; at != none; at = next_[at]) {
            const size_t i = join_of(at);
            body(i, at - begins_[i]);
            if (++met % polled == 0) context_.worked(polled * work);
        }
    }
    size_t join_of(uint32_t at) const {
        size_t i = 0;
        while (i + 1 < begins_.size() && at >= begins_[i + 1]) i++;
        return i;
    }
    // The join and the group there that were met first.
    std::pair<size_t, uint64_t> first(uint64_t merged) const;
    bool is_null_in(size_t join, uint64_t in_join, int group) const;
    int64_t value_in(size_t join, uint64_t in_join, int group) const;
    void merge(RunContext& context);
    void drop_empty(RunContext& context);

    static constexpr uint32_t none = UINT32_MAX;

    RunContext& context_;
    const std::span<const JoinResult> results_;
    const std::vector<int> groups_;
    const bool is_plain_;
    // The groups of all joins are numbered one after the other.
    std::vector<uint64_t> begins_; // by join
    Buffer<uint32_t> first_;       // by merged group
    Buffer<uint32_t> next_;        // by group: the next one of the same merged group
    Buffer<uint32_t> merged_;      // by group
};

// What distinct values add up to, by merged group.
class DistinctTotals {
  public:
    // apart: keeps the values of a query's group, integers where they are added up, apart, too. query(i), of the root
    // of the join i, counts the rows of a value, none of NULL.
    template <class Query>
    DistinctTotals(const MergedGroups& groups, const MergedGroups& apart, int group, const Query& query,
                   RunContext& context)
        : counts_(context.memory(), "groups", groups.size(), 0), sums_(context.memory(), "groups", groups.size(), 0) {
        context.for_each(apart.size(), 10, [&](uint64_t part) {
            if (apart.cell(part, relational::CellKind::count, query).integer == 0) return;
            const uint64_t merged = groups.that_has(apart, part);
            counts_[merged]++;
            sums_[merged] += apart.value(part, group);
        });
    }

    int64_t count(uint64_t merged) const { return counts_[merged]; }
    __int128 sum(uint64_t merged) const { return sums_[merged]; }

  private:
    Buffer<int64_t> counts_;
    Buffer<__int128> sums_;
};

// Returns the sum of two sums. Throws CannotDecide.
relational::StreamedCell added(relational::StreamedCell a, relational::StreamedCell b);

} // namespace btml::pg::planner
