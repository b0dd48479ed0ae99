#include "pg/planner/execution.hpp"

#include <numeric>

namespace btml::pg::planner {

using namespace relational;

namespace {

FactorizedPlan decoded(std::span<const std::byte> bytes) {
    Reader reader(bytes);
    FactorizedPlan plan = FactorizedPlan::read(reader);
    reader.finish();
    return plan;
}

// Estimates of rows may be wrong by so much before the ordinary plan is thought better.
uint64_t max_bytes() {
    return static_cast<uint64_t>(2 * message_memory());
}

// Sums whose products stay within these bounds neither overflow nor vanish.
constexpr double max_number = 1e100, min_number = 1e-100;

// Returns what the magnitudes of a sum's terms may add up to.
double max_sum(Oid type) {
    switch (type) {
    case INT2OID:
        return PG_INT16_MAX;
    case INT4OID:
        return PG_INT32_MAX;
    case INT8OID:
        return 9.2e18;
    case FLOAT8OID:
        return max_number;
    default:
        return HUGE_VAL;
    }
}

bool stays_within(const MeasuredSum& sum, const StreamedAggregate& aggregate) {
    double high = 0, least = 1;
    for (const auto& product : sum.products) {
        double largest_product = 1, smallest_product = 1;
        for (const auto& [table, measured] : product) {
            const StreamedRange& range = aggregate.report(table).ranges[measured];
            if (!range.finite) return false;
            largest_product *= std::max(range.max_abs, 1.0);
            if (range.min_abs > 0) smallest_product *= std::min(range.min_abs, 1.0);
        }
        high += largest_product;
        least = std::min(least, smallest_product);
    }
    return high <= max_sum(sum.type) && (sum.type != FLOAT8OID || least >= min_number);
}

// Ranges only widen, so that the first batch after which they are too wide ends the run.
void check_ranges(const FactorizedJoin& plan, const StreamedAggregate& aggregate) {
    for (const MeasuredSum& sum : plan.sums)
        if (sum.type != NUMERICOID && !stays_within(sum, aggregate))
            throw CannotDecide{"a product or sum may leave the range of its type"};
}

} // namespace

Execution::Execution(std::span<const std::byte> plan, std::span<PlanState* const> scans, const List* computed,
                     MemoryContext memory)
    : context_("factorized aggregate", false, max_bytes()),
      memory_(memory),
      plan_(decoded(plan)),
      result_groups_(static_cast<int>(plan_.groups.size())) {
    const MemoryContext before = MemoryContextSwitchTo(memory_);
    for (const KeyType& type : plan_.dictionaries)
        dictionaries_.push_back(std::make_unique<KeyDictionary>(context_.memory(), type));
    const MemoryContext scratch = pg_call(
        [=] { return AllocSetContextCreate(memory, "btml factorized aggregate's rows", ALLOCSET_DEFAULT_SIZES); });
    for (size_t scan = 0; scan < scans.size(); scan++)
        scans_.push_back(std::make_unique<SharedScan>(scans[scan], items<List>(computed)[static_cast<int>(scan)],
                                                      scratch, context_.memory(),
                                                      static_cast<uint64_t>(waiting_share * message_memory())));
    for (const FactorizedJoin& join : plan_.joins) add_join(join);
    for (const AggregateOutput& aggregate : plan_.aggregates)
        if (aggregate.distinct >= 0) result_groups_ = std::min(result_groups_, aggregate.distinct);
    MemoryContextSwitchTo(before);
}

void Execution::add_join(const FactorizedJoin& plan) {
    Join& join = joins_.emplace_back();
    join.plan = &plan;
    std::vector<RowSource*> sources(plan.readings.size(), nullptr);
    for (size_t t = 0; t < plan.readings.size(); t++) {
        if (plan.streamed.is_bag(static_cast<int>(t))) continue;
        std::vector<KeyDictionary*> dictionaries;
        for (const ColumnReading& column : plan.readings[t])
            dictionaries.push_back(column.dictionary >= 0 ? dictionaries_[column.dictionary].get() : nullptr);
        SharedScan& scan = *scans_.at(static_cast<size_t>(plan.scans.at(t)));
        join.sources.push_back(
            std::make_unique<ScanSource>(scan, plan.readings[t], dictionaries, plan.streamed.tables[t].columns));
        sources[t] = join.sources.back().get();
    }
    join.aggregate = std::make_unique<StreamedAggregate>(plan.streamed, sources, context_);
}

const char* Execution::run() {
    const char* reason = nullptr;
    try {
        for (Join& join : joins_) join.aggregate->run([&] { check_ranges(*join.plan, *join.aggregate); });
        merge_groups();
        check_sums();
    } catch (const CannotDecide& why) {
        reason = why.reason == beyond_budget ? beyond_messages() : why.reason;
    } catch (const Error& error) {
        if (error.code() != ErrorCode::memory_limit) throw;
        reason = beyond_messages();
    }
    for (const std::unique_ptr<SharedScan>& scan : scans_) scan->forget();
    if (reason) forget();
    return reason;
}

// Gives back memory that the ordinary plan may need.
void Execution::forget() {
    distinct_.clear();
    sets_.clear();
    results_.clear();
    for (const Join& join : joins_) join.aggregate->forget();
    for (auto& dictionary : dictionaries_) dictionary.reset();
}

void Execution::merge_groups() {
    for (const Join& join : joins_)
        results_.push_back({join.aggregate.get(), join.plan->groups, join.plan->is_subtracted, join.plan->rows});
    for (const std::vector<int>& set : plan_.grouping_sets) {
        sets_.push_back(std::make_unique<MergedGroups>(results_, set, context_));
        auto& totals = distinct_.emplace_back(plan_.aggregates.size());
        for (size_t a = 0; a < plan_.aggregates.size(); a++) {
            const int group = plan_.aggregates[a].distinct;
            if (group < 0) continue;
            std::vector<int> apart = set;
            apart.push_back(group);
            totals[a] = std::make_unique<DistinctTotals>(
                *sets_.back(), MergedGroups(results_, std::move(apart), context_), group,
                [&](size_t join) { return joins_[join].plan->aggregates[a].count; }, context_);
        }
    }
}

// Adds up all that will be added up, since a row once given cannot be taken back.
void Execution::check_sums() {
    const bool are_merged = std::any_of(sets_.begin(), sets_.end(), [](const auto& set) { return !set->is_plain(); });
    for (size_t a = 0; a < plan_.aggregates.size(); a++)
        if (are_merged || joins_[0].plan->aggregates[a].terms.size() > 1)
            context_.for_each(rows(), 100, [&](uint64_t row) { totals(at(row), a); });
}

const char* Execution::beyond_messages() const {
    return pg_call([=, this] {
        return MemoryContextStrdup(memory_,
                                   psprintf("messages of more than %.0f kB, twice %s",
                                            static_cast<double>(max_bytes()) / 1024, message_memory_setting()));
    });
}

uint64_t Execution::rows() const {
    uint64_t rows = 0;
    for (const auto& set : sets_) rows += set->size();
    return rows;
}

Execution::Row Execution::at(uint64_t row) const {
    size_t set = 0;
    while (row >= sets_[set]->size()) row -= sets_[set++]->size();
    return {set, row};
}

GroupTotals Execution::totals(const Row& row, size_t aggregate) const {
    const AggregateOutput& output = plan_.aggregates[aggregate];
    const MergedGroups& groups = *sets_[row.set];
    const auto queries = [&](size_t join) -> const AggregateQueries& {
        return joins_[join].plan->aggregates[aggregate];
    };
    GroupTotals totals{{true, 0, 0, 0}, {true, 0, 0, 0}, 0};
    if (const DistinctTotals* const distinct = distinct_[row.set][aggregate].get()) {
        totals.count = distinct->count(row.group);
        totals.sum = {totals.count == 0, distinct->sum(row.group), 0, 0};
        return totals;
    }
    for (size_t i = 0; i < queries(0).terms.size(); i++) {
        StreamedCell term =
            groups.cell(row.group, output.cell, [&](size_t join) { return queries(join).terms[i].first; });
        if (term.absent) continue;
        if (queries(0).terms[i].second) {
            term.integer = -term.integer;
            term.number = -term.number;
        }
        totals.sum = totals.sum.absent ? term : added(totals.sum, term);
    }
    if (queries(0).squares >= 0)
        totals.squares = groups.cell(row.group, output.cell, [&](size_t join) { return queries(join).squares; });
    if (queries(0).count >= 0)
        totals.count =
            groups.cell(row.group, CellKind::count, [&](size_t join) { return queries(join).count; }).integer;
    return totals;
}

bool Execution::group_datum(const Row& row, int group, Datum* value) const {
    const MergedGroups& groups = *sets_[row.set];
    const GroupOutput& output = plan_.groups[group];
    if (!groups.has(group) || groups.is_null(row.group, group)) return false;
    const int64_t word = groups.value(row.group, group);
    if (output.dictionary < 0)
        *value = word_datum(word, output.type);
    else if (plan_.dictionaries[output.dictionary].kind == KeyKind::generic)
        *value = dictionaries_[output.dictionary]->generic_value(static_cast<Key>(word));
    else
        *value = dictionaries_[output.dictionary]->value(static_cast<Key>(word), output.type);
    return true;
}

// A bit for each group, the last one's the lowest: whether the row is not grouped by it.
Datum Execution::grouping_datum(const Row& row, const std::vector<int>& groups) const {
    return Int32GetDatum(std::accumulate(groups.begin(), groups.end(), 0, [&](int bits, int group) {
        return 2 * bits + (sets_[row.set]->has(group) ? 0 : 1);
    }));
}

void Execution::row(uint64_t number, Datum* values, bool* nulls) {
    const Row row = at(number);
    totals_.clear();
    for (size_t a = 0; a < plan_.aggregates.size(); a++) totals_.push_back(totals(row, a));
    pg_call([=, this] {
        size_t to = 0;
        const auto put = [&](bool is_given) { nulls[to++] = !is_given; };
        for (int group = 0; group < result_groups_; group++) put(group_datum(row, group, &values[to]));
        for (size_t a = 0; a < plan_.aggregates.size(); a++)
            put(output_datum(plan_.aggregates[a], totals_[a], &values[to]));
        for (const std::vector<int>& groups : plan_.groupings) {
            values[to] = grouping_datum(row, groups);
            put(true);
        }
    });
}

} // namespace btml::pg::planner
