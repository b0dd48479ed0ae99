// Running a query and taking its rows one by one.
#pragma once

#include "core/base/run_context.hpp"
#include "pg/bridge/guard.hpp"

namespace btml::pg {

class RowSink {
  public:
    virtual ~RowSink() = default;

    // Is called before the first row, with the planner's estimate of their number.
    virtual void expect(uint64_t /*rows*/) {}
    // The current memory context is emptied now and then between rows. An exception stops the query. A PostgreSQL error
    // may leave by longjmp, so no object with a destructor is alive where one can come up.
    virtual void add(const Datum* values, const bool* nulls) = 0;

    bool has_enough() const { return has_enough_; }

  protected:
    // Ends the query after this row: the rest of its rows would change nothing.
    void stop() { has_enough_ = true; }

  private:
    bool has_enough_ = false;
};

// Calls take(values, nulls) for each row, which returns false when it has enough.
template <class Take>
class EachRow : public RowSink {
  public:
    explicit EachRow(Take take) : take_(std::move(take)) {}

    void add(const Datum* values, const bool* nulls) override {
        if (!take_(values, nulls)) stop();
    }

  private:
    Take take_;
};

// Plans a query; may ereport.
using Planner = PlannedStmt* (*)(Query* query, const char* sql, int cursor_options);
PlannedStmt* plan_as_ever(Query* query, const char* sql, int cursor_options);

// Plans and runs the query in the active snapshot; returns the number of rows. Cancellable between rows; `phase` names
// the work in btml.progress, a string literal, or is null: then it is a part of other work.
uint64_t run_query(const Query* query, const char* sql, RowSink& sink, const char* phase, RunContext& context,
                   Planner plan = plan_as_ever);

} // namespace btml::pg
