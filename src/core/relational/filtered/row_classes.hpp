// The rows of one table in classes: rows of a class have equal keys, and no condition so far tells them apart.
#pragma once

#include "core/relational/filtered/filtered_join.hpp"

namespace btml::relational {

// Which of a tree's leaves let a row or a class pass, a bit for each, in so many words.
struct LeafBits {
    size_t words;
    Buffer<uint64_t> bits;

    uint64_t* of(uint64_t i) { return bits.data() + i * words; }
    const uint64_t* of(uint64_t i) const { return bits.data() + i * words; }
};

class RowClasses {
  public:
    // A class for each combination of keys. The table's keys must outlive it.
    RowClasses(const GroupedTable& table, ThreadTeam& team, RunContext& context);

    uint64_t count() const { return group_.size(); }
    uint32_t of(RowId row) const { return of_row_[row]; }
    // The first group of the class's rows, which has its keys.
    RowId group(uint64_t number) const { return group_[number]; }

    // Groups with equal keys, one after the other, are a run; classes are numbered by run.
    uint64_t runs() const { return first_group_.size() - 1; }
    RowId first_group(uint64_t run) const { return first_group_[run]; } // one more than there are runs
    uint32_t first_class(uint64_t run) const { return first_class_[run]; }
    // The run that begins with the group, or nothing where none does.
    std::optional<uint64_t> run_from(RowId group) const;

    struct Refinement {
        Buffer<uint32_t> first; // by class before, and one more: the classes that it has become
        LeafBits leaves;        // of each class
        bool is_finer;
    };
    // Tells apart the rows that not the same leaves let pass. A class becomes several that stand together.
    Refinement refine(const LeafBits& leaves_of_rows);

    uint64_t bytes() const;
    // What refine() takes meanwhile.
    static uint64_t scratch_bytes(uint64_t rows, size_t words) { return rows * (2 * words + 3) * sizeof(uint64_t); }

  private:
    static constexpr RowId max_sorted = 1 << 16;

    template <class Polled>
    uint32_t refine_run(uint64_t run, const LeafBits& leaves, uint32_t* next, uint32_t* children,
                        const Polled& polled) const;
    void number(const Buffer<uint32_t>& counts);

    const GroupedTable& table_;
    ThreadTeam& team_;
    RunContext& context_;
    Buffer<RowId> first_group_;     // by run, and one more
    Buffer<uint32_t> first_class_;  // likewise
    Buffer<uint32_t> run_of_group_; // empty: the same number
    Buffer<uint32_t> of_row_;
    Buffer<RowId> group_; // by class
};

} // namespace btml::relational
