// The pass over the rows of a bag: chunks of them are joined and find their partners on several threads.
#pragma once

#include "core/relational/streamed/bag_rows.hpp"
#include "core/relational/streamed/table_pass.hpp"

namespace btml::relational {

class BagPass {
  public:
    // children: the messages of the bag's children. own: its own, which gets the same bits for any number of threads.
    BagPass(const StreamedPlan& plan, int table, std::vector<const Message*> children, Message& own,
            RunContext& context);

    void add(BagJoin rows);

    uint64_t rows_read() const { return rows_read_; }
    uint64_t rows_kept() const { return rows_kept_; }
    const std::vector<StreamedRange>& ranges() const { return ranges_; }

  private:
    void add_in_order(const BagJoin& rows);
    void add_by_chunks(const BagJoin& rows, bool disjoint);
    void add_by_number(const BagJoin& rows);
    void add_chunk(const BagJoin& rows, size_t chunk, TablePass& pass, RunContext& context);
    void count(const TablePass& pass);
    bool sums_numbers() const;

    const StreamedPlan& plan_;
    const int table_;
    const std::vector<const Message*> children_;
    Message& own_;
    RunContext& context_;
    uint64_t rows_read_ = 0, rows_kept_ = 0;
    std::vector<StreamedRange> ranges_;
};

} // namespace btml::relational
