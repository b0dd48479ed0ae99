// Aggregates over a join in one pass over each of its tables (plan.hpp says which).
#pragma once

#include "core/base/run_context.hpp"
#include "core/relational/streamed/row_batch.hpp"

#include <functional>
#include <memory>

namespace btml::relational {

// Thrown where a result cannot be had exactly, or not in the memory there is: whoever asked must find it in another
// way. The reason is a sentence's part that people read: "a sum beyond 128 bits".
struct CannotDecide {
    const char* reason;
};

// The reason where the budget of the run's context is the limit.
inline constexpr const char* beyond_budget = "more memory than is allowed";

// One number of the result. absent: no row added anything (the count is 0 then).
struct StreamedCell {
    bool absent;
    __int128 integer; // counts, integers, the mantissa of decimals
    int scale;        // of decimals
    double number;
};

// The range of a column over the rows that found partners in the tables before, NULLs left out. Absolute values;
// numbers and integers as doubles, rounded away from what would be safe: max_abs up, min_abs (of those that are not 0)
// down.
struct StreamedRange {
    double max_abs = 0;
    double min_abs = 0; // 0: no value but 0
    bool finite = true; // neither NaN nor an infinity
};

// What became of one table, for people and for bounds.
struct StreamedReport {
    uint64_t rows_read = 0, rows_kept = 0, keys = 0, bytes = 0; // keys, bytes: of its message
    std::vector<StreamedRange> ranges;                          // of its measured columns
};

class StreamedAggregate {
  public:
    // sources: one for each table that is no bag, in the order of the plan; null for bags. They must live until the end
    // of run().
    StreamedAggregate(const StreamedPlan& plan, std::vector<RowSource*> sources, RunContext& context);
    ~StreamedAggregate();

    // Reads every table. widened: called after every batch of rows of a table with measured columns, whose ranges, and
    // those of tables before it, are known so far; not on the main thread only. Throws CannotDecide; memory beyond the
    // budget is one reason.
    void run(const std::function<void()>& widened = [] {});

    // The result: groups in the order in which they were met; without group columns one group, always.
    uint64_t groups() const;
    // The value of a group column (by number in the root's message).
    int64_t group_value(uint64_t group, size_t column) const;
    bool group_is_null(uint64_t group, size_t column) const;
    // Returns the value that a query of the root has in a group.
    StreamedCell cell(uint64_t group, size_t query) const;

    const StreamedReport& report(int table) const;

  private:
    class Implementation;
    std::unique_ptr<Implementation> implementation_;
};

} // namespace btml::relational
