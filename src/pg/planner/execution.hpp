// One run of a factorised aggregate: reads the scans, and gives the rows of the result.
#pragma once

#include "core/relational/streamed/aggregate.hpp"
#include "pg/bridge/backend_context.hpp"
#include "pg/planner/merged_groups.hpp"
#include "pg/planner/output.hpp"
#include "pg/planner/scan_source.hpp"

namespace btml::pg::planner {

class Execution {
  public:
    // plan: the bytes of a FactorizedPlan. The scans, as the plan numbers them, live as long as this; so does `memory`,
    // in which everything of PostgreSQL's is allocated. computed: lists of Expr*, by scan, over its rows. Throws
    // corrupt_model for bytes that are no plan, wrong_type for keys of a type that cannot be hashed, and PgError.
    Execution(std::span<const std::byte> plan, std::span<PlanState* const> scans, const List* computed,
              MemoryContext memory);

    // Reads everything. Returns null, or the reason why the ordinary plan must run instead: what cannot be decided, or
    // what the memory does not hold. Throws PgError where a scan raises an error, and Cancelled.
    const char* run();

    uint64_t rows() const;
    // Fills the values of a row of the result, those passed by reference in the current memory context: groups,
    // aggregates, groupings. Throws PgError where a value leaves its type, and Cancelled.
    void row(uint64_t row, Datum* values, bool* nulls);

    // Calls body(is_bag, report) with what became of each table of each join.
    template <class Body>
    void for_each_table(const Body& body) const {
        for (const Join& join : joins_)
            for (size_t t = 0; t < join.plan->streamed.tables.size(); t++)
                body(join.plan->streamed.is_bag(static_cast<int>(t)), join.aggregate->report(static_cast<int>(t)));
    }

  private:
    struct Join {
        const FactorizedJoin* plan;
        std::vector<std::unique_ptr<ScanSource>> sources;
        std::unique_ptr<relational::StreamedAggregate> aggregate;
    };
    // A row's grouping set, and its group there.
    struct Row {
        size_t set;
        uint64_t group;
    };

    void add_join(const FactorizedJoin& plan);
    void forget();
    void merge_groups();
    void check_sums();
    const char* beyond_messages() const;
    Row at(uint64_t row) const;
    GroupTotals totals(const Row& row, size_t aggregate) const;
    bool group_datum(const Row& row, int group, Datum* value) const;
    Datum grouping_datum(const Row& row, const std::vector<int>& groups) const;

    BackendContext context_;
    MemoryContext memory_;
    const FactorizedPlan plan_;
    int result_groups_; // the first so many groups of the plan are columns of the result
    std::vector<std::unique_ptr<KeyDictionary>> dictionaries_;
    std::vector<std::unique_ptr<SharedScan>> scans_;
    std::vector<Join> joins_;
    std::vector<JoinResult> results_;
    std::vector<GroupTotals> totals_;                                          // of the row at hand, by aggregate
    std::vector<std::unique_ptr<const MergedGroups>> sets_;                    // by grouping set
    std::vector<std::vector<std::unique_ptr<const DistinctTotals>>> distinct_; // by grouping set and aggregate
};

} // namespace btml::pg::planner
