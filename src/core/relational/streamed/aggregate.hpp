// Aggregates over a join in one pass over each of its tables (plan.hpp says which).
#pragma once

#include "core/relational/streamed/bag_rows.hpp"
#include "core/relational/streamed/ranges.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>

namespace btml::relational {

struct BagInput; // what the rows of a bag are made from
class TablePass;

class StreamedAggregate {
  public:
    // The plan is one that StreamedPlan::read returned, or has no flaw_of(). sources: one for each table that is no
    // bag, in the order of the plan; null for bags. They must live until the end of run().
    StreamedAggregate(const StreamedPlan& plan, std::vector<RowSource*> sources, RunContext& context);
    ~StreamedAggregate();
    StreamedAggregate(const StreamedAggregate&) = delete;
    StreamedAggregate& operator=(const StreamedAggregate&) = delete;

    // Reads every table. widened: called after every batch of rows of a table with measured columns, whose ranges, and
    // those of tables before it, are known so far; not on the main thread only. Throws CannotDecide; memory beyond the
    // budget is one reason.
    void run(const std::function<void()>& widened = [] {});

    // Gives back the memory of the result, which is none from now on; reports stay.
    void forget() { messages_.clear(); }

    // The result: groups in the order in which they were met; without group columns one group, always.
    uint64_t groups() const { return result().entries(); }
    // The value of a group column (by number in the root's message).
    int64_t group_value(uint64_t group, size_t column) const { return static_cast<int64_t>(entry(group)[column]); }
    bool group_is_null(uint64_t group, size_t column) const { return result().layout().is_null(entry(group), column); }
    // Returns the value that a query of the root has in a group.
    StreamedCell cell(uint64_t group, size_t query) const;

    const StreamedReport& report(int table) const { return reports_[table]; }

  private:
    const Message& result() const { return *messages_.back(); }
    const uint64_t* entry(uint64_t group) const { return result().entry(static_cast<uint32_t>(group)); }
    bool is_needed(int table) const;
    void note_empty(int table);
    void pass(int table);
    void pass_table(int table);
    void pass_bag(int table);
    std::unique_ptr<const BagInput> input_of(int table);
    std::map<int, int> in_parent(int table, const std::map<int, int>& columns) const;
    bool hands_keys_on(const StreamedChild& child, int table) const;
    void add_filters(int table, TablePass& pass) const;
    void finish(int table);
    bool prepare(int table);
    void hold(int table);
    std::vector<const uint32_t*> met_by_rows(int table);
    void read_rows(int table, TablePass& rows);
    void check_result();
    int sums_in(int table, int query) const;

    const StreamedPlan plan_;
    std::vector<RowSource*> sources_;
    RunContext& context_;
    const std::function<void()>* widened_ = nullptr; // while it runs
    std::vector<std::unique_ptr<Message>> messages_; // of the tables so far whose parents are still to come
    std::vector<StreamedReport> reports_;
    std::vector<bool> empty_; // the message of the table is known to be
    BagRows bag_rows_;
    const BagOrder& order_;
    std::vector<std::optional<HeldRows>> held_;
    std::vector<std::unique_ptr<const BagInput>> nested_; // by table: bags so far whose parents are still to come
};

} // namespace btml::relational
