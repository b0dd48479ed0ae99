// One pass over the rows of a table: each finds its partners in the messages of the table's children and adds to the
// table's own.
#pragma once

#include "core/relational/streamed/queries.hpp"
#include "core/relational/streamed/ranges.hpp"

namespace btml::relational {

class TablePass {
  public:
    // children: their messages, which are finished when rows are added, and may be others then. own: the table's.
    TablePass(const StreamedPlan& plan, int table, std::vector<const Message*> children, Message& own,
              MemoryBudget& memory);

    // Leaves out the rows whose keys, in these columns, a finished message lacks, as long as they are not few.
    void filter(const Message& message, const std::vector<int>& columns, MemoryBudget& memory) {
        filters_.push_back({&message, columns, KeyBatch(columns.size(), memory)});
    }
    // Rows add to this message of the table from now on.
    void add_to(Message& own) { own_ = &own; }
    // At most RowBatch::max_rows rows. context: of the thread that this is called on, polled by the work that rows
    // make: a row may meet many entries. known: by child, the first entry that each row meets, or none; null where that
    // is to be found. numbers: by row, the entry that it adds to, if the table's message is numbered.
    void add(const RowBatch::Column* columns, uint32_t rows, RunContext& context,
             const std::vector<const uint32_t*>& known = {}, const uint32_t* numbers = nullptr);

    uint64_t rows_read() const { return rows_read_; }
    uint64_t rows_kept() const { return rows_kept_; }
    const std::vector<StreamedRange>& ranges() const { return ranges_; }

  private:
    static constexpr uint32_t none = Message::none;

    struct Child {
        const Message* message;
        StreamedJoin join;
        std::vector<int> key;
        KeyBatch keys;
        std::array<uint32_t, RowBatch::max_rows> first; // by row: the first entry that it meets, or none
    };

    struct Filter {
        const Message* message;
        std::vector<int> columns;
        KeyBatch keys;
        uint64_t probed = 0, dropped = 0;
    };

    void keep_keyed(const std::vector<int>& key);
    void apply(Filter& filter);
    void probe(Child& child, const uint32_t* known);
    void fill_keys(KeyBatch& keys, const std::vector<int>& columns) const;
    const uint64_t* entry_of(const Child& child, uint32_t number) const {
        return number == none ? child.message->null_entry() : child.message->entry(number);
    }
    void match_once();
    void match_all(uint32_t row, size_t child, RunContext& context);
    void measure();
    bool may_meet_several() const;
    void flush(RunContext& context);
    void find_entries(RunContext& context);
    void fill_group(KeyBatch& keys, size_t word, size_t group, int column) const;
    void copy_groups(KeyBatch& keys, size_t group, size_t child) const;

    const StreamedTable& table_;
    Message* own_;
    std::vector<Filter> filters_;
    std::vector<Child> children_; // in the plan's order
    QueryEvaluator queries_;
    Matches matches_;
    KeyBatch own_keys_;
    std::vector<const uint64_t*> meets_; // by child: the entry of the match that is being made
    const RowBatch::Column* columns_ = nullptr;
    const uint32_t* numbers_ = nullptr;
    std::array<uint32_t, RowBatch::max_rows> selected_; // rows that are not out so far
    uint32_t selected_count_ = 0;
    uint64_t rows_read_ = 0, rows_kept_ = 0;
    std::vector<StreamedRange> ranges_;
};

} // namespace btml::relational
