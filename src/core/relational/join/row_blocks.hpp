// Loops over rows that stay cancellable.
#pragma once

#include "core/base/run_context.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace btml::relational {

// One phase of work that is measured in rows: its loops run in blocks and it polls the context between them.
class RowBlocks {
  public:
    // Rows between two polls: well under 10 ms at a few nanoseconds a row.
    static constexpr uint64_t rows_per_poll = uint64_t{1} << 16;

    // `phase` is a string literal; total_rows is an estimate of the sum over all loops, 0 when unknown.
    RowBlocks(RunContext& context, const char* phase, uint64_t total_rows)
        : context_(context), phase_(phase), total_(total_rows) {}

    // body(begin, end) over consecutive ranges that make up 0 ≤ row < rows.
    template <class Body>
    void run(uint64_t rows, Body&& body, uint64_t block = rows_per_poll) {
        for (uint64_t begin = 0; begin < rows; begin += block) {
            const uint64_t end = std::min(rows, begin + block);
            body(begin, end);
            report(end - begin);
        }
    }

    // body(row) for each 0 ≤ row < rows.
    template <class Body>
    void for_each(uint64_t rows, Body&& body) {
        run(rows, [&](uint64_t begin, uint64_t end) {
            for (uint64_t row = begin; row < end; row++) body(row);
        });
    }

    // Tells of `rows` more that are done, for loops of another shape.
    void advance(uint64_t rows) {
        unreported_ += rows;
        if (unreported_ >= rows_per_poll) report(0);
    }

  private:
    void report(uint64_t rows) {
        done_ += rows + std::exchange(unreported_, 0);
        context_.poll();
        context_.progress(phase_, total_ > 0 ? std::min(done_, total_) : done_, total_);
    }

    RunContext& context_;
    const char* phase_;
    uint64_t total_;
    uint64_t done_ = 0, unreported_ = 0;
};

} // namespace btml::relational
