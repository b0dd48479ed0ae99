// The rows of one table in classes: rows of a class have equal keys, and no condition so far tells them apart.
#pragma once

#include "core/relational/filtered/filtered_join.hpp"

#include <numeric>

namespace btml::relational {

// Which of a tree's leaves let a row or a class pass, a bit for each, in so many words.
struct LeafBits {
    size_t words;
    Buffer<uint64_t> bits;

    uint64_t* of(uint64_t i) { return bits.data() + i * words; }
    const uint64_t* of(uint64_t i) const { return bits.data() + i * words; }
};

// The order of a run's rows by class, and then by the leaves that let them pass.
struct ByLeaves {
    const Buffer<uint32_t>& classes;
    const LeafBits& leaves;

    bool operator()(RowId a, RowId b) const {
        if (classes[a] != classes[b]) return classes[a] < classes[b];
        const uint64_t *const of_a = leaves.of(a), *const of_b = leaves.of(b);
        return std::lexicographical_compare(of_a, of_a + leaves.words, of_b, of_b + leaves.words);
    }
};

// Sorts rows and leaves one of those that are equal, the least.
inline void sort_distinct(std::vector<RowId>& rows, const ByLeaves& less) {
    std::sort(rows.begin(), rows.end(), [&](RowId a, RowId b) { return less(a, b) || (!less(b, a) && a < b); });
    const auto equal = [&](RowId a, RowId b) { return !less(a, b) && !less(b, a); };
    rows.erase(std::unique(rows.begin(), rows.end(), equal), rows.end());
}

class RowClasses {
  public:
    // A class for each combination of keys. The table's keys must outlive it.
    RowClasses(const GroupedTable& table, ThreadTeam& team, RunContext& context)
        : table_(table),
          team_(team),
          context_(context),
          first_group_(context.memory(), what_classes),
          first_class_(context.memory(), what_classes),
          run_of_group_(context.memory(), what_classes),
          of_row_(context.memory(), what_classes, table.rows),
          group_(context.memory(), what_classes) {
        const auto begins_run = [&](uint64_t g) {
            return g == 0 || std::any_of(table.edges.begin(), table.edges.end(), [&](const GroupedTable::Edge& edge) {
                       return edge.key[g] != edge.key[g - 1];
                   });
        };
        context.for_each(table.groups(), 1, [&](uint64_t g) {
            if (begins_run(g)) first_group_.push_back(static_cast<RowId>(g));
        });
        first_group_.push_back(static_cast<RowId>(table.groups()));
        first_group_.shrink_to_fit();
        if (runs() < table.groups()) run_of_group_.resize(table.groups());
        for (uint64_t run = 0; run < runs(); run++) {
            const RowId begin = first_group_[run], end = first_group_[run + 1];
            if (!run_of_group_.empty())
                std::fill_n(run_of_group_.data() + begin, end - begin, static_cast<uint32_t>(run));
            std::fill(of_row_.begin() + table.first[begin], of_row_.begin() + table.first[end],
                      static_cast<uint32_t>(run));
            context.worked(end - begin);
        }
        number(Buffer<uint32_t>(context.memory(), what_classes, runs(), 1));
    }

    uint64_t count() const { return group_.size(); }
    uint32_t of(RowId row) const { return of_row_[row]; }
    // The first group of the class's rows, which has its keys.
    RowId group(uint64_t number) const { return group_[number]; }

    // Groups with equal keys, one after the other, are a run; classes are numbered by run.
    uint64_t runs() const { return first_group_.size() - 1; }
    RowId first_group(uint64_t run) const { return first_group_[run]; } // one more than there are runs
    uint32_t first_class(uint64_t run) const { return first_class_[run]; }
    // The run that begins with the group, or nothing where none does.
    std::optional<uint64_t> run_from(RowId group) const {
        const uint64_t run = run_of_group_.empty() ? group : run_of_group_[group];
        return first_group_[run] == group ? std::optional(run) : std::nullopt;
    }

    struct Refinement {
        Buffer<uint32_t> first; // by class before, and one more: the classes that it has become
        LeafBits leaves;        // of each class
        bool is_finer;
    };
    // Tells apart the rows that not the same leaves let pass. A class becomes several that stand together.
    Refinement refine(const LeafBits& leaves) {
        constexpr uint64_t steps_of_row = 50;
        MemoryBudget& memory = context_.memory();
        Buffer<uint32_t> next(memory, what_classes, of_row_.size()), counts(memory, what_classes, runs());
        Refinement result{Buffer<uint32_t>(memory, what_classes, count() + 1, 0),
                          {leaves.words, Buffer<uint64_t>(memory, what_classes)},
                          false};
        const uint64_t before = count();
        const auto is_long = [&](uint64_t run) {
            return table_.first[first_group_[run + 1]] - table_.first[first_group_[run]] > max_sorted;
        };
        const auto refine = [&](uint64_t run, const auto& polled) {
            counts[run] = refine_run(run, leaves, next.data(), result.first.data(), polled);
        };
        for_ranges(team_, runs(), steps_of_row * of_row_.size(), [&](uint64_t begin, uint64_t end, int) {
            for (uint64_t run = begin; run < end; run++)
                if (!is_long(run)) refine(run, [](uint64_t) {});
        });
        for (uint64_t run = 0; run < runs(); run++)
            if (is_long(run)) refine(run, [&](uint64_t units) { context_.worked(units); });
        uint32_t classes = 0;
        context_.for_each(before + 1, 1, [&](uint64_t i) { classes += std::exchange(result.first[i], classes); });
        number(counts);
        result.is_finer = count() > before;
        result.leaves.bits.resize(count() * leaves.words);
        for_ranges(team_, runs(), 3 * of_row_.size(), [&](uint64_t begin, uint64_t end, int) {
            for (uint64_t run = begin; run < end; run++)
                for (RowId row = table_.first[first_group_[run]]; row < table_.first[first_group_[run + 1]]; row++) {
                    of_row_[row] = first_class_[run] + next[row];
                    std::copy_n(leaves.of(row), leaves.words, result.leaves.of(of_row_[row]));
                }
        });
        return result;
    }

    uint64_t bytes() const {
        return sizeof(uint32_t) *
               (first_group_.size() + first_class_.size() + run_of_group_.size() + of_row_.size() + group_.size());
    }
    // What refine() takes meanwhile.
    static uint64_t scratch_bytes(uint64_t rows, size_t words) { return rows * (2 * words + 3) * sizeof(uint64_t); }

  private:
    static constexpr const char* what_classes = "rows by class";

    static constexpr RowId max_sorted = 1 << 16;

    // Writes the classes of a run's rows, from 0 on, and how many each of the classes before has become. Sorts so many
    // rows at a time, as sorting cannot be cancelled; polled(rows) is called after each.
    template <class Polled>
    uint32_t refine_run(uint64_t run, const LeafBits& leaves, uint32_t* next, uint32_t* children,
                        const Polled& polled) const {
        const RowId begin = table_.first[first_group_[run]], end = table_.first[first_group_[run + 1]];
        const uint32_t base = first_class_[run], classes = first_class_[run + 1] - base;
        if (classes == end - begin) { // a row each
            for (RowId row = begin; row < end; row++) next[row] = of_row_[row] - base;
            std::fill_n(children + base, classes, 1);
            return classes;
        }
        const ByLeaves less{of_row_, leaves};
        std::vector<RowId> distinct, block, both;
        for (RowId from = begin; from < end; from += std::min(max_sorted, end - from)) {
            block.resize(std::min(max_sorted, end - from));
            std::iota(block.begin(), block.end(), from);
            sort_distinct(block, less);
            both.clear();
            std::set_union(distinct.begin(), distinct.end(), block.begin(), block.end(), std::back_inserter(both),
                           less);
            distinct.swap(both);
            polled(10 * block.size() + distinct.size());
        }
        for (const RowId row : distinct) children[of_row_[row]]++;
        for (RowId row = begin; row < end; row++) {
            next[row] =
                static_cast<uint32_t>(std::lower_bound(distinct.begin(), distinct.end(), row, less) - distinct.begin());
            if ((row - begin) % max_sorted == max_sorted - 1) polled(10 * max_sorted);
        }
        return static_cast<uint32_t>(distinct.size());
    }
    // counts: classes by run.
    void number(const Buffer<uint32_t>& counts) {
        first_class_.resize(runs() + 1);
        uint32_t classes = 0;
        context_.for_each(runs(), 1, [&](uint64_t run) {
            first_class_[run] = classes;
            classes += counts[run];
        });
        first_class_[runs()] = classes;
        group_.resize(classes);
        group_.shrink_to_fit();
        context_.for_each(runs(), 1, [&](uint64_t run) {
            std::fill(group_.begin() + first_class_[run], group_.begin() + first_class_[run + 1], first_group_[run]);
        });
    }

    const GroupedTable& table_;
    ThreadTeam& team_;
    RunContext& context_;
    Buffer<RowId> first_group_;     // by run, and one more
    Buffer<uint32_t> first_class_;  // by run, and one more
    Buffer<uint32_t> run_of_group_; // empty: the same number
    Buffer<uint32_t> of_row_;
    Buffer<RowId> group_; // by class
};

} // namespace btml::relational
