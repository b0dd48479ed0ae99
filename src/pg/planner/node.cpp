#include "pg/planner/node.hpp"

#include "core/relational/streamed/aggregate.hpp"
#include "pg/bridge/backend_context.hpp"
#include "pg/bridge/nodes.hpp"
#include "pg/planner/factorized_plan.hpp"
#include "pg/planner/merged_groups.hpp"
#include "pg/planner/rights.hpp"
#include "pg/planner/scan_source.hpp"
#include "pg/planner/watch.hpp"
#include "pg/source/dictionaries.hpp"
#include "pg/values/decimal.hpp"

#include <exception>

extern "C" {
#include "utils/date.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"
#include <storage/ipc.h>
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

// One run of a factorised aggregate: reads the scans, and gives the result's rows.
class Execution {
  public:
    // The scans, as the plan numbers them, live as long as this; so does `memory`, in which everything of PostgreSQL's
    // is allocated. computed: lists of Expr*, by scan, over its rows. Throws corrupt_model for bytes that are no plan,
    // wrong_type for keys of a type that cannot be hashed, and PgError.
    Execution(std::span<const std::byte> plan, std::span<PlanState* const> scans, const List* computed,
              MemoryContext memory)
        : context_("factorized aggregate", false, max_bytes()), memory_(memory), plan_(decoded(plan)) {
        const MemoryContext before = MemoryContextSwitchTo(memory_);
        for (const KeyType& type : plan_.dictionaries)
            dictionaries_.push_back(std::make_unique<KeyDictionary>(context_.memory(), type));
        const MemoryContext scratch = pg_call(
            [=] { return AllocSetContextCreate(memory, "btml factorized aggregate's rows", ALLOCSET_DEFAULT_SIZES); });
        for (size_t scan = 0; scan < scans.size(); scan++)
            scans_.push_back(std::make_unique<SharedScan>(scans[scan], items<List>(computed)[static_cast<int>(scan)],
                                                          scratch, context_.memory(),
                                                          static_cast<uint64_t>(waiting_share * message_memory())));
        std::vector<RowSource*> sources(plan_.readings.size(), nullptr);
        for (size_t t = 0; t < plan_.readings.size(); t++) {
            if (plan_.streamed.is_bag(static_cast<int>(t))) continue;
            std::vector<KeyDictionary*> dictionaries;
            for (const ColumnReading& column : plan_.readings[t])
                dictionaries.push_back(column.dictionary >= 0 ? dictionaries_[column.dictionary].get() : nullptr);
            SharedScan& scan = *scans_.at(static_cast<size_t>(plan_.scans.at(t)));
            sources_.push_back(
                std::make_unique<ScanSource>(scan, plan_.readings[t], dictionaries, plan_.streamed.tables[t].columns));
            sources[t] = sources_.back().get();
        }
        aggregate_ = std::make_unique<StreamedAggregate>(plan_.streamed, sources, context_);
        MemoryContextSwitchTo(before);
    }

    // Reads everything. Returns null, or the reason why the ordinary plan must run instead: what cannot be decided, or
    // what the memory does not hold. Throws PgError where a scan raises an error, and Cancelled.
    const char* run() {
        const char* reason = nullptr;
        try {
            aggregate_->run([this] { check_ranges(); });
            if (plan_.counts_distinct) merge_groups();
            check_sums();
        } catch (const CannotDecide& why) {
            reason = why.reason == beyond_budget ? beyond_messages() : why.reason;
        } catch (const Error& error) {
            if (error.code() != ErrorCode::memory_limit) throw;
            reason = beyond_messages();
        }
        for (const std::unique_ptr<SharedScan>& scan : scans_) scan->forget();
        return reason;
    }

    uint64_t rows() const { return merged_ ? merged_->size() : aggregate_->groups(); }
    // Fills the values of a row of the result, those passed by reference in the current memory context. Throws PgError
    // where a value leaves its type.
    void row(uint64_t row, Datum* values, bool* nulls) {
        pg_call([&, this] {
            size_t at = 0;
            for (size_t i = 0; i < plan_.groups.size() - plan_.counts_distinct; i++, at++) {
                nulls[at] = false;
                group(merged_ ? merged_->group_of(row) : row, plan_.groups[i], &values[at], &nulls[at]);
            }
            for (size_t i = 0; i < plan_.aggregates.size(); i++, at++) {
                nulls[at] = false;
                aggregate(row, plan_.aggregates[i], &values[at], &nulls[at]);
            }
        });
    }

    size_t tables() const { return plan_.streamed.tables.size(); }
    bool is_bag(int table) const { return plan_.streamed.is_bag(table); }
    const StreamedReport& report(int table) const { return aggregate_->report(table); }

  private:
    void merge_groups() {
        std::vector<int> columns;
        for (const ColumnReading& group : plan_.groups) columns.push_back(group.position);
        columns.pop_back();
        merged_ = std::make_unique<MergedGroups>(*aggregate_, std::move(columns), context_);
    }
    // Adds up all that will be added up, since a row once given cannot be taken back.
    void check_sums() {
        for (const AggregateOutput& output : plan_.aggregates)
            if (output.terms.size() > 1 || merged_)
                context_.for_each(rows(), 100, [&](uint64_t row) {
                    sum_of(row, output);
                    if (output.squares >= 0) cell(row, output.squares, output.cell);
                });
    }
    StreamedCell cell(uint64_t row, int query, CellKind kind) const {
        return merged_ ? merged_->cell(row, query, kind) : aggregate_->cell(row, query);
    }
    const char* beyond_messages() const {
        return pg_call([=, this] {
            return MemoryContextStrdup(memory_,
                                       psprintf("messages of more than %.0f kB, twice %s",
                                                static_cast<double>(max_bytes()) / 1024, message_memory_setting()));
        });
    }
    // Ranges only widen, so that the first batch after which they are too wide ends the run.
    void check_ranges() const {
        for (const MeasuredSum& sum : plan_.sums)
            if (sum.type != NUMERICOID && !stays_within(sum))
                throw CannotDecide{"a product or sum may leave the range of its type"};
    }
    bool stays_within(const MeasuredSum& sum) const {
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
    // Adds the terms, one after the other.
    StreamedCell sum_of(uint64_t row, const AggregateOutput& output) const {
        StreamedCell sum{true, 0, 0, 0};
        for (const auto& [query, is_negative] : output.terms) {
            StreamedCell term = cell(row, query, output.cell);
            if (term.absent) continue;
            if (is_negative) {
                term.integer = -term.integer;
                term.number = -term.number;
            }
            sum = sum.absent ? term : added(sum, term);
        }
        return sum;
    }
    void group(uint64_t row, const ColumnReading& group, Datum* value, bool* null) {
        *null = aggregate_->group_is_null(row, group.position);
        if (*null) return;
        const int64_t word = aggregate_->group_value(row, group.position);
        if (group.dictionary < 0)
            *value = word_datum(word, group.type);
        else if (plan_.dictionaries[group.dictionary].kind == KeyKind::generic)
            *value = dictionaries_[group.dictionary]->generic_value(static_cast<Key>(word));
        else
            *value = dictionaries_[group.dictionary]->value(static_cast<Key>(word), group.type);
    }
    void aggregate(uint64_t row, const AggregateOutput& output, Datum* value, bool* null) {
        if (output.is_distinct) {
            *value = Int64GetDatum(merged_->distinct(row, output.count));
            return;
        }
        const StreamedCell sum = sum_of(row, output);
        const __int128 count = output.count >= 0 ? cell(row, output.count, CellKind::count).integer : 0;
        if (output.function == AggregateFunction::count) {
            *value = int64_datum(count);
            return;
        }
        *null = is_extremum(output.cell) ? sum.absent : count <= (is_sample(output.function) ? 1 : 0);
        if (*null) return;
        if (is_extremum(output.cell))
            *value = extremum(output, sum);
        else if (is_variance(output.function))
            *value = variance(output, sum, cell(row, output.squares, output.cell), count);
        else
            *value = output.function == AggregateFunction::sum ? total(output, sum) : average(output, sum, count);
    }

    BackendContext context_;
    MemoryContext memory_;
    FactorizedPlan plan_;
    std::vector<std::unique_ptr<KeyDictionary>> dictionaries_;
    std::vector<std::unique_ptr<SharedScan>> scans_;
    std::vector<std::unique_ptr<ScanSource>> sources_;
    std::unique_ptr<StreamedAggregate> aggregate_;
    std::unique_ptr<const MergedGroups> merged_; // where distinct values are counted
};

constexpr char node_name[] = "btml Factorized Aggregate";

struct NodeState {
    CustomScanState scan; // first: PostgreSQL sees only this
    EState* estate;
    MemoryContext memory; // of one run
    Execution* execution; // null until the first row is asked for
    PlanState* ordinary;  // null unless it was begun with the scans or fallen back to
    const char* reason;   // why it fell back, in this run or an earlier one; null: it did not
    double max_rows;      // that the ordinary plan may find before it is given up; 0: it is not begun first
    bool is_given_up;     // in this run or an earlier one
    bool is_begun;
    bool gives_ordinary;   // the rows of the ordinary plan
    TupleTableSlot* first; // of these, where it was asked for already; else null
    uint64 next_row;
};

NodeState* state_of(CustomScanState* scan) {
    return reinterpret_cast<NodeState*>(scan);
}

const CustomScan* plan_of(const NodeState* state) {
    return castNode(CustomScan, state->scan.ss.ps.plan);
}

// Frees what is C++, at the latest when the query's memory goes. A session that is terminated while it reads leaves a
// thread behind that uses it, until the process ends.
void end_execution(NodeState* state) {
    if (!proc_exit_inprogress) delete state->execution;
    state->execution = nullptr;
}

// What EXPLAIN says of the plan, as descriptions() of the hook has it.
const char* description(const NodeState* state, int number) {
    return strVal(list_nth(static_cast<const List*>(lsecond(plan_of(state)->custom_private)), number));
}

bool reads_foreign_table(PlanState* state, void* context) {
    return IsA(state, ForeignScanState) || btml_compat_walk_states(state, reads_foreign_table, context);
}

bool has_workers(PlanState* state, void* context) {
    return IsA(state, GatherState) || IsA(state, GatherMergeState) ||
           btml_compat_walk_states(state, has_workers, context);
}

// What a foreign scan opens belongs to the subtransaction of the moment, which may end before a cursor does: the
// ordinary plan is begun with the scans where there are some.
bool is_begun_at_once(const NodeState* state) {
    if (state->max_rows > 0) return true;
    for (PlanState* const scan : items<PlanState>(state->scan.custom_ps))
        if (reads_foreign_table(scan, nullptr)) return true;
    return false;
}

void begin(CustomScanState* scan, EState* estate, int eflags) {
    NodeState* const state = state_of(scan);
    const CustomScan* const plan = plan_of(state);
    const int flags = eflags & ~(EXEC_FLAG_REWIND | EXEC_FLAG_BACKWARD | EXEC_FLAG_MARK);
    state->estate = estate;
    state->max_rows = floatVal(list_nth(plan->custom_private, 4));
    for (int i = 0; i + 1 < list_length(plan->custom_plans); i++)
        scan->custom_ps =
            lappend(scan->custom_ps, ExecInitNode(static_cast<Plan*>(list_nth(plan->custom_plans, i)), estate, flags));
    if (is_begun_at_once(state)) {
        state->ordinary = ExecInitNode(static_cast<Plan*>(llast(plan->custom_plans)), estate, flags);
        scan->custom_ps = lappend(scan->custom_ps, state->ordinary);
    }
    check_rights(static_cast<const Plan*>(llast(plan->custom_plans)), eflags);
    state->memory = AllocSetContextCreate(estate->es_query_cxt, "btml factorized aggregate", ALLOCSET_DEFAULT_SIZES);
    auto* const callback = allocate<MemoryContextCallback>();
    callback->func = [](void* argument) { end_execution(static_cast<NodeState*>(argument)); };
    callback->arg = state;
    MemoryContextRegisterResetCallback(estate->es_query_cxt, callback);
}

std::span<const std::byte> plan_bytes(const CustomScan* plan) {
    const auto* const bytes = DatumGetByteaPP(castNode(Const, linitial(plan->custom_private))->constvalue);
    return {reinterpret_cast<const std::byte*>(VARDATA_ANY(bytes)), VARSIZE_ANY_EXHDR(bytes)};
}

// The initial plans of sub-queries are shared with the scans, for which they may have run to their end.
bool restart_initial_plans(PlanState* state, void* context) {
    for (SubPlanState* const initial : items<SubPlanState>(state->initPlan))
        if (initial->subplan->subLinkType != CTE_SUBLINK) ExecReScan(initial->planstate);
    return btml_compat_walk_states(state, restart_initial_plans, context);
}

void fall_back(NodeState* state) {
    // Lets go of the scans' workers, which the plan would lack; a scan that was shut down could not be run again.
    for (PlanState* const scan : items<PlanState>(state->scan.custom_ps))
        if (scan != state->ordinary && has_workers(scan, nullptr)) ExecReScan(scan);
    const MemoryContext before = MemoryContextSwitchTo(state->estate->es_query_cxt);
    if (!state->ordinary) {
        state->ordinary = ExecInitNode(static_cast<Plan*>(llast(plan_of(state)->custom_plans)), state->estate, 0);
        state->scan.custom_ps = lappend(state->scan.custom_ps, state->ordinary);
    }
    restart_initial_plans(state->ordinary, nullptr);
    MemoryContextSwitchTo(before);
    state->gives_ordinary = true;
}

void end_ordinary(NodeState* state) {
    ExecEndNode(state->ordinary);
    state->scan.custom_ps = list_delete_last(state->scan.custom_ps);
    state->ordinary = nullptr;
}

void compute(NodeState* state) {
    state->is_begun = true;
    if (state->max_rows > 0 && !state->is_given_up) {
        state->gives_ordinary = first_row_within(state->ordinary, state->max_rows, state->memory, &state->first);
        if (state->gives_ordinary) return;
        state->is_given_up = true;
        state->first = nullptr;
        end_ordinary(state);
    }
    guarded_call([=] {
        std::vector<PlanState*> scans;
        const int count = list_length(plan_of(state)->custom_plans) - 1;
        for (int i = 0; i < count; i++) scans.push_back(items<PlanState>(state->scan.custom_ps)[i]);
        state->execution =
            new Execution(plan_bytes(plan_of(state)), scans,
                          static_cast<const List*>(lfourth(plan_of(state)->custom_private)), state->memory);
        state->reason = state->execution->run();
    });
    state->next_row = 0;
    if (state->reason) fall_back(state);
}

// Puts the next row, the node's own or the ordinary plan's, into the slot; returns false where there are no more.
bool next_row(NodeState* state, TupleTableSlot* slot) {
    ExecClearTuple(slot);
    if (state->gives_ordinary) {
        TupleTableSlot* const row = state->first ? state->first : ExecProcNode(state->ordinary);
        state->first = nullptr;
        if (TupIsNull(row)) return false;
        ExecCopySlot(slot, row);
        return true;
    }
    bool more = false;
    const MemoryContext before = MemoryContextSwitchTo(state->scan.ss.ps.ps_ExprContext->ecxt_per_tuple_memory);
    guarded_call([&] {
        more = state->next_row < state->execution->rows();
        if (more) state->execution->row(state->next_row++, slot->tts_values, slot->tts_isnull);
    });
    MemoryContextSwitchTo(before);
    if (more) ExecStoreVirtualTuple(slot);
    return more;
}

TupleTableSlot* execute(CustomScanState* scan) {
    NodeState* const state = state_of(scan);
    ExprContext* const expressions = scan->ss.ps.ps_ExprContext;
    TupleTableSlot* const slot = scan->ss.ss_ScanTupleSlot;
    if (!state->is_begun) compute(state);
    for (;;) {
        CHECK_FOR_INTERRUPTS();
        ResetExprContext(expressions);
        if (!next_row(state, slot)) return nullptr;
        expressions->ecxt_scantuple = slot;
        if (scan->ss.ps.qual && !ExecQual(scan->ss.ps.qual, expressions)) {
            InstrCountFiltered1(scan, 1);
            continue;
        }
        return scan->ss.ps.ps_ProjInfo ? ExecProject(scan->ss.ps.ps_ProjInfo) : slot;
    }
}

void end(CustomScanState* scan) {
    end_execution(state_of(scan));
    for (PlanState* const child : items<PlanState>(scan->custom_ps)) ExecEndNode(child);
}

void rescan(CustomScanState* scan) {
    NodeState* const state = state_of(scan);
    // What could not be decided once would most likely be tried in vain again.
    if (!state->reason) {
        end_execution(state);
        MemoryContextReset(state->memory);
        state->is_begun = state->gives_ordinary = false;
        state->first = nullptr;
    }
    state->next_row = 0;
    for (PlanState* const child : items<PlanState>(scan->custom_ps)) {
        if (scan->ss.ps.chgParam) UpdateChangedParamSet(child, scan->ss.ps.chgParam);
        if (!child->chgParam) ExecReScan(child);
    }
}

// What became of each table: a line of text for all, or objects with numbers.
void explain_messages(const NodeState* state, ExplainState* out) {
    const auto* const names = static_cast<const List*>(lthird(plan_of(state)->custom_private));
    const bool is_text = out->format == EXPLAIN_FORMAT_TEXT;
    List* lines = NIL;
    int scan = 0;
    if (!is_text) ExplainOpenGroup("Messages", "Messages", false, out);
    for (int t = 0; t < static_cast<int>(state->execution->tables()); t++) {
        const StreamedReport& counts = state->execution->report(t);
        const char* const name = state->execution->is_bag(t) ? "bag" : strVal(list_nth(names, scan++));
        const uint64_t kilobytes = (counts.bytes + 1023) / 1024;
        if (is_text) {
            lines = lappend(lines, psprintf("%s rows=" UINT64_FORMAT "/" UINT64_FORMAT " keys=" UINT64_FORMAT
                                            " memory=" UINT64_FORMAT "kB",
                                            name, counts.rows_kept, counts.rows_read, counts.keys, kilobytes));
            continue;
        }
        ExplainOpenGroup("Message", nullptr, true, out);
        ExplainPropertyText("Table", name, out);
        ExplainPropertyUInteger("Rows Kept", nullptr, counts.rows_kept, out);
        ExplainPropertyUInteger("Rows Read", nullptr, counts.rows_read, out);
        ExplainPropertyUInteger("Keys", nullptr, counts.keys, out);
        ExplainPropertyUInteger("Memory", "kB", kilobytes, out);
        ExplainCloseGroup("Message", nullptr, true, out);
    }
    if (is_text)
        ExplainPropertyList("Messages", lines, out);
    else
        ExplainCloseGroup("Messages", "Messages", false, out);
}

void explain(CustomScanState* scan, List*, ExplainState* out) {
    const NodeState* const state = state_of(scan);
    ExplainPropertyText("Join Tree", description(state, 0), out);
    if (const char* const shared = description(state, 3); *shared) ExplainPropertyText("Shared Scans", shared, out);
    if (out->costs) {
        if (const double width = atof(description(state, 4)); width > 1)
            ExplainPropertyFloat("Hypertree Width", nullptr, width, 2, out);
        ExplainPropertyFloat("Join Rows", nullptr, atof(description(state, 1)), 0, out);
        ExplainPropertyFloat("Message Memory", "kB", atof(description(state, 2)), 0, out);
        if (state->max_rows > 0) ExplainPropertyFloat("Ordinary Plan First", "rows", state->max_rows, 0, out);
    }
    if (out->analyze && state->max_rows > 0) ExplainPropertyBool("Switched", state->is_given_up, out);
    if (!out->analyze || !state->execution) return;
    explain_messages(state, out);
    if (state->reason) ExplainPropertyText("Fell Back", state->reason, out);
}

constexpr CustomExecMethods exec_methods = {node_name, begin,   execute, end,     rescan,  nullptr, nullptr,
                                            nullptr,   nullptr, nullptr, nullptr, nullptr, explain};

Node* create_state(CustomScan*) {
    auto* const state = allocate<NodeState>();
    state->scan.ss.ps.type = T_CustomScanState;
    state->scan.methods = &exec_methods;
    return as_node(state);
}

constexpr CustomScanMethods scan_methods = {node_name, create_state};

// The scans and the ordinary plan share the planner's state of their sub-queries, each of which is finished twice so.
// Everything in it bears that but its AppendRelInfos, which would be shifted twice; they only name columns in EXPLAIN.
void forget_append_relations(const PlannerInfo* root) {
    for_each_subroot(root, [](PlannerInfo* of) {
        of->append_rel_list = NIL;
        forget_append_relations(of);
    });
}

Plan* plan_path(PlannerInfo* root, RelOptInfo*, CustomPath* path, List* targets, List*, List* plans) {
    forget_append_relations(root);
    auto* const scan = makeNode(CustomScan);
    scan->scan.plan.targetlist = targets;
    scan->scan.plan.qual = copy_of(static_cast<List*>(lsecond(path->custom_private)));
    scan->flags = path->flags;
    scan->custom_plans = plans;
    scan->custom_scan_tlist = static_cast<List*>(linitial(path->custom_private));
    scan->custom_private =
        list_make5(lthird(path->custom_private), lfourth(path->custom_private), list_nth(path->custom_private, 4),
                   list_nth(path->custom_private, 5), list_nth(path->custom_private, 6));
    scan->methods = &scan_methods;
    return &scan->scan.plan;
}

} // namespace

extern const CustomPathMethods path_methods = {node_name, plan_path, nullptr};

void register_node() {
    RegisterCustomScanMethods(&scan_methods);
}

} // namespace btml::pg::planner
