// One run of a factorised aggregate: reads the scans, and gives the result's rows.
#pragma once

#include "core/relational/streamed/aggregate.hpp"
#include "pg/bridge/backend_context.hpp"
#include "pg/planner/factorized_plan.hpp"
#include "pg/planner/scan_source.hpp"
#include "pg/source/dictionaries.hpp"

namespace btml::pg::planner {

class Execution {
  public:
    // The scans, as the plan numbers them, live as long as this; so does `memory`, in which everything of PostgreSQL's
    // is allocated. Throws corrupt_model for bytes that are no plan, wrong_type for keys of a type that cannot be
    // hashed, and PgError.
    Execution(std::span<const std::byte> plan, std::span<PlanState* const> scans, MemoryContext memory);

    // Reads everything. Returns null, or the reason why the ordinary plan must run instead: what cannot be decided, or
    // what the memory does not hold. Throws PgError where a scan raises an error, and Cancelled.
    const char* run();

    uint64_t rows() const { return aggregate_->groups(); }
    // Fills the values of a row of the result, those passed by reference in the current memory context. Throws PgError
    // where a value leaves its type.
    void row(uint64_t row, Datum* values, bool* nulls);

    size_t tables() const { return plan_.streamed.tables.size(); }
    bool is_bag(int table) const { return plan_.streamed.is_bag(table); }
    const relational::StreamedReport& report(int table) const { return aggregate_->report(table); }

  private:
    void check_sums();
    const char* beyond_messages() const;
    void check_ranges() const;
    bool stays_within(const MeasuredSum& sum) const;
    relational::StreamedCell sum_of(uint64_t row, const std::vector<std::pair<int, bool>>& terms) const;
    void group(uint64_t row, const ColumnReading& group, Datum* value, bool* null);
    void aggregate(uint64_t row, const AggregateOutput& output, Datum* value, bool* null);

    BackendContext context_;
    MemoryContext memory_;
    FactorizedPlan plan_;
    std::vector<std::unique_ptr<KeyDictionary>> dictionaries_;
    std::vector<std::unique_ptr<SharedScan>> scans_;
    std::vector<std::unique_ptr<ScanSource>> sources_;
    std::unique_ptr<relational::StreamedAggregate> aggregate_;
};

} // namespace btml::pg::planner
