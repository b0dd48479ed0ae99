#include "pg/planner/execution.hpp"

#include "core/numbers/wide_integer.hpp"
#include "pg/values/decimal.hpp"

#include <exception>

extern "C" {
#include "utils/date.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"
}

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

Datum word_datum(int64_t word, Oid type) {
    switch (type) {
    case INT2OID:
        return Int16GetDatum(static_cast<int16>(word));
    case INT4OID:
    case DATEOID:
        return Int32GetDatum(static_cast<int32>(word));
    case BOOLOID:
        return BoolGetDatum(word != 0);
    case CHAROID:
        return CharGetDatum(static_cast<char>(word));
    case INT8OID:
    case TIMEOID:
    case TIMESTAMPOID:
    case TIMESTAMPTZOID:
        return Int64GetDatum(word);
    default: // oid, enum
        return ObjectIdGetDatum(static_cast<Oid>(word));
    }
}

Datum number_datum(double number, Oid type) {
    return type == FLOAT4OID ? Float4GetDatum(static_cast<float4>(number)) : Float8GetDatum(number);
}

StreamedCell added(StreamedCell a, StreamedCell b) {
    StreamedCell sum{false, 0, std::max(a.scale, b.scale), a.number + b.number};
    if (!scale_up(a.integer, sum.scale - a.scale) || !scale_up(b.integer, sum.scale - b.scale) ||
        __builtin_add_overflow(a.integer, b.integer, &sum.integer))
        throw CannotDecide{"a sum beyond 128 bits"};
    return sum;
}

Datum int64_datum(__int128 value) {
    if (value > PG_INT64_MAX || value < PG_INT64_MIN)
        ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE), errmsg("bigint out of range")));
    return Int64GetDatum(static_cast<int64>(value));
}

Datum extremum(const AggregateOutput& output, const StreamedCell& cell) {
    switch (output.cell) {
    case CellKind::number_min:
    case CellKind::number_max:
        return number_datum(cell.number, output.type);
    case CellKind::decimal_min:
    case CellKind::decimal_max:
    case CellKind::decimal_max_product:
        return numeric_of(cell.integer, cell.scale);
    default:
        return word_datum(static_cast<int64_t>(cell.integer), output.type);
    }
}

Datum total(const AggregateOutput& output, const StreamedCell& cell) {
    if (output.cell == CellKind::number_sum) return Float8GetDatum(cell.number);
    if (output.cell == CellKind::decimal_sum) return numeric_of(cell.integer, cell.scale);
    return output.type == INT8OID ? numeric_of(cell.integer, 0) : int64_datum(cell.integer);
}

Datum average(const AggregateOutput& output, const StreamedCell& cell, __int128 count) {
    // PostgreSQL's average, unlike its sum, begins with 0: that of −0 is 0.
    if (output.cell == CellKind::number_sum) return Float8GetDatum((0 + cell.number) / static_cast<double>(count));
    const int scale = output.cell == CellKind::decimal_sum ? cell.scale : 0;
    return DirectFunctionCall2(numeric_div, numeric_of(cell.integer, scale), numeric_of(count, 0));
}

Datum call(PGFunction function, Datum a, Datum b) {
    return DirectFunctionCall2(function, a, b);
}

// PostgreSQL takes the root of the rounded variance at the variance's own scale. numeric_sqrt gives more digits where
// the argument displays more; these are so many that rounding them is rounding the root.
Datum root_of(Datum variance) {
    constexpr int more_digits = 40;
    const Datum scale = DirectFunctionCall1(numeric_scale, variance);
    const Datum zero = numeric_of(0, 0);
    const Datum padded =
        call(numeric_add, variance, call(numeric_round, zero, Int32GetDatum(DatumGetInt32(scale) + more_digits)));
    return call(numeric_round, DirectFunctionCall1(numeric_sqrt, padded), scale);
}

bool is_sample(AggregateFunction function) {
    return function == AggregateFunction::var_samp || function == AggregateFunction::stddev_samp;
}

// (n·Σx² − (Σx)²) / (n·(n − 1)), or / n², by numeric's own arithmetic; 0 where that is not positive.
Datum variance(const AggregateOutput& output, const StreamedCell& sum, const StreamedCell& squares, __int128 count) {
    const bool sample = is_sample(output.function);
    const bool root =
        output.function == AggregateFunction::stddev_pop || output.function == AggregateFunction::stddev_samp;
    const int scale = output.cell == CellKind::decimal_sum ? sum.scale : 0;
    const Datum n = numeric_of(count, 0), s = numeric_of(sum.integer, scale);
    const Datum numerator =
        call(numeric_sub, call(numeric_mul, n, numeric_of(squares.integer, 2 * scale)), call(numeric_mul, s, s));
    if (!DatumGetBool(call(numeric_gt, numerator, numeric_of(0, 0)))) return numeric_of(0, 0);
    const Datum value = call(numeric_div, numerator, call(numeric_mul, n, numeric_of(sample ? count - 1 : count, 0)));
    return root ? root_of(value) : value;
}

} // namespace

Execution::Execution(std::span<const std::byte> plan, std::span<PlanState* const> scans, MemoryContext memory)
    : context_("factorized aggregate", false, max_bytes()), memory_(memory), plan_(decoded(plan)) {
    const MemoryContext before = MemoryContextSwitchTo(memory_);
    for (const KeyType& type : plan_.dictionaries)
        dictionaries_.push_back(std::make_unique<KeyDictionary>(context_.memory(), type));
    const MemoryContext scratch = pg_call(
        [=] { return AllocSetContextCreate(memory, "btml factorized aggregate's rows", ALLOCSET_DEFAULT_SIZES); });
    for (PlanState* const scan : scans)
        scans_.push_back(std::make_unique<SharedScan>(scan, scratch, context_.memory(),
                                                      static_cast<uint64_t>(waiting_share * message_memory())));
    std::vector<RowSource*> sources(plan_.readings.size(), nullptr);
    for (size_t t = 0; t < plan_.readings.size(); t++) {
        if (plan_.streamed.is_bag(static_cast<int>(t))) continue;
        std::vector<KeyDictionary*> dictionaries;
        for (const ColumnReading& column : plan_.readings[t])
            dictionaries.push_back(column.reading == Reading::dictionary ? dictionaries_[column.dictionary].get()
                                                                         : nullptr);
        SharedScan& scan = *scans_.at(static_cast<size_t>(plan_.scans.at(t)));
        sources_.push_back(
            std::make_unique<ScanSource>(scan, plan_.readings[t], dictionaries, plan_.streamed.tables[t].columns));
        sources[t] = sources_.back().get();
    }
    aggregate_ = std::make_unique<StreamedAggregate>(plan_.streamed, sources, context_);
    MemoryContextSwitchTo(before);
}

const char* Execution::run() {
    const char* reason = nullptr;
    try {
        aggregate_->run([this] { check_ranges(); });
        check_sums();
    } catch (const CannotDecide& why) {
        reason = why.reason == beyond_budget ? beyond_messages() : why.reason;
    }
    for (const std::unique_ptr<SharedScan>& scan : scans_) scan->forget();
    return reason;
}

const char* Execution::beyond_messages() const {
    return pg_call([=, this] {
        return MemoryContextStrdup(memory_,
                                   psprintf("messages of more than %.0f kB, twice %s",
                                            static_cast<double>(max_bytes()) / 1024, message_memory_setting()));
    });
}

bool Execution::stays_within(const MeasuredSum& sum) const {
    double high = 0, least = 1;
    for (const auto& product : sum.products) {
        double largest_product = 1, smallest_product = 1;
        for (const auto& [table, measured] : product) {
            const StreamedRange& range = aggregate_->report(table).ranges[measured];
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
void Execution::check_ranges() const {
    for (const MeasuredSum& sum : plan_.sums)
        if (sum.type != NUMERICOID && !stays_within(sum))
            throw CannotDecide{"a product or sum may leave the range of its type"};
}

// Adds up all that will be added up, since a row once given cannot be taken back.
void Execution::check_sums() {
    for (const AggregateOutput& output : plan_.aggregates)
        if (output.terms.size() > 1) context_.for_each(rows(), 100, [&](uint64_t row) { sum_of(row, output.terms); });
}

// Adds the terms, one after the other.
StreamedCell Execution::sum_of(uint64_t row, const std::vector<std::pair<int, bool>>& terms) const {
    StreamedCell sum{true, 0, 0, 0};
    for (const auto& [query, is_negative] : terms) {
        StreamedCell cell = aggregate_->cell(row, query);
        if (cell.absent) continue;
        if (is_negative) {
            cell.integer = -cell.integer;
            cell.number = -cell.number;
        }
        sum = sum.absent ? cell : added(sum, cell);
    }
    return sum;
}

void Execution::group(uint64_t row, const ColumnReading& group, Datum* value, bool* null) {
    *null = aggregate_->group_is_null(row, group.position);
    if (*null) return;
    const int64_t word = aggregate_->group_value(row, group.position);
    *value = group.reading == Reading::dictionary
                 ? dictionaries_[group.dictionary]->value(static_cast<Key>(word), group.type)
                 : word_datum(word, group.type);
}

void Execution::aggregate(uint64_t row, const AggregateOutput& output, Datum* value, bool* null) {
    const StreamedCell cell = sum_of(row, output.terms);
    const __int128 count = output.count >= 0 ? aggregate_->cell(row, output.count).integer : 0;
    if (output.function == AggregateFunction::count) {
        *value = int64_datum(count);
        return;
    }
    *null = is_extremum(output.cell) ? cell.absent : count <= (is_sample(output.function) ? 1 : 0);
    if (*null) return;
    if (is_extremum(output.cell))
        *value = extremum(output, cell);
    else if (is_variance(output.function))
        *value = variance(output, cell, aggregate_->cell(row, output.squares), count);
    else
        *value = output.function == AggregateFunction::sum ? total(output, cell) : average(output, cell, count);
}

void Execution::row(uint64_t row, Datum* values, bool* nulls) {
    pg_call([&, this] {
        size_t at = 0;
        for (size_t i = 0; i < plan_.groups.size(); i++, at++) {
            nulls[at] = false;
            group(row, plan_.groups[i], &values[at], &nulls[at]);
        }
        for (size_t i = 0; i < plan_.aggregates.size(); i++, at++) {
            nulls[at] = false;
            aggregate(row, plan_.aggregates[i], &values[at], &nulls[at]);
        }
    });
}

} // namespace btml::pg::planner
