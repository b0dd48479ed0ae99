// Runs of random streamed joins.
#pragma once

#include "streamed_join.hpp"

namespace btml::relational::test {

// A run over the rows of a test; sources outlive it. Bags have no source.
struct Streamed {
    Streamed(const StreamedJoinTest& test, RunContext& context, uint32_t batch_rows = RowBatch::max_rows) {
        std::vector<RowSource*> pointers;
        for (const Rows& rows : test.rows) {
            sources.push_back(std::make_unique<VectorSource>(rows, batch_rows));
            pointers.push_back(sources.back().get());
        }
        for (const StreamedBag& bag : test.plan.bags) pointers[bag.table] = nullptr;
        aggregate = std::make_unique<StreamedAggregate>(test.plan, pointers, context);
    }

    // The reason for which there is no result, or null.
    const char* run() {
        try {
            aggregate->run();
        } catch (const CannotDecide& why) {
            return why.reason;
        }
        return nullptr;
    }

    std::vector<std::unique_ptr<VectorSource>> sources;
    std::unique_ptr<StreamedAggregate> aggregate;
};

} // namespace btml::relational::test
