// The rows of bags, joined from the keys of held tables and handed on as they are found: they are never in memory.
#pragma once

#include "core/base/dictionary.hpp"
#include "core/relational/generic_join.hpp"
#include "core/relational/streamed/held_rows.hpp"

#include <functional>
#include <map>

namespace btml::relational {

class BagRows {
  public:
    BagRows(const StreamedPlan& plan, RunContext& context);

    // To be called for each table that a bag reads, before that bag is joined.
    void add_table(int table, const HeldRows& rows);
    bool has_table(int table) const { return !tables_[table].keys.empty(); }
    // Tables whose attributes a bag has, one or more of them.
    std::vector<int> tables_of(const StreamedBag& bag) const;

    // Calls body(batch) with all rows of a bag, each combination of its attributes once.
    void join(const StreamedBag& bag, const std::function<void(RowBatch& batch)>& body);

    // Gives back all memory.
    void clear();

  private:
    std::vector<int> attributes_in(int table, const std::vector<int>& order) const;

    const StreamedPlan& plan_;
    RunContext& context_;
    RowBlocks blocks_;
    std::map<int, IntegerDictionary> dictionaries_; // by attribute
    std::vector<Table> tables_;                     // keys only
};

} // namespace btml::relational
