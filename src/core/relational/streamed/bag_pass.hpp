// The pass over the rows of a bag: chunks of them are joined and find their partners on several threads.
#pragma once

#include "core/relational/streamed/bag_rows.hpp"
#include "core/relational/streamed/table_pass.hpp"

#include <map>
#include <memory>

namespace btml::relational {

// What the rows of a bag are made from. The message of a nested child is never whole in memory: each chunk of the bag's
// rows meets only a small part, which is made when the chunk is at hand and found in the caches.
struct BagInput {
    int table;
    BagJoin rows;
    std::vector<std::unique_ptr<Message>> messages;        // by child; null where one is nested
    std::vector<std::unique_ptr<const BagInput>> nested{}; // by child; null where one is not
};

class BagPass {
  public:
    // own: the bag's message, which gets the same bits for any number of threads.
    BagPass(const StreamedPlan& plan, const BagInput& bag, Message& own, RunContext& context);

    void add();

    // By table: what became of the bag and those nested in it; keys and bytes are those of nested ones.
    const std::map<int, StreamedReport>& reports() const { return reports_; }

  private:
    class Worker;

    bool sums_numbers() const;
    size_t chunks() const { return bounds_.size() - 1; }
    void add_in_order();
    void add_by_chunks(bool disjoint);
    void add_by_number();

    const StreamedPlan& plan_;
    const BagInput& bag_;
    Message& own_;
    RunContext& context_;
    std::vector<Key> bounds_; // of chunks
    std::map<int, StreamedReport> reports_;
};

} // namespace btml::relational
