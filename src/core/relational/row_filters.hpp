// Filters of one table's rows as bits: filter f of row ρ is bit f % 64 of word f / 64.
#pragma once

#include "core/relational/table_rows.hpp"

#include <map>
#include <unordered_map>

namespace btml::relational {

// Some of a grouped table's rows, ascending, and where each group's begin among them.
struct RowSubset {
    bool all = true; // every row: the buffers are empty
    Buffer<RowId> rows;
    Buffer<RowId> first; // by group, and one more
};

class RowFilters {
  public:
    RowFilters(uint64_t rows, MemoryBudget& memory) : rows_(rows), memory_(memory) {}

    // The filter that lets a proper subset's rows pass; the one added before where there is one of the same rows.
    int add(const RowSubset& subset, RunContext& context);
    // The filter that passes what two filters of other filters of this table pass both; −1: all rows.
    int add_both(const RowFilters& other, int a, int b, RunContext& context);
    int count() const { return count_; }
    uint64_t rows() const { return rows_; }
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

} // namespace btml::relational
