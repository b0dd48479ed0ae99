#include "pg/planner/scan_source.hpp"

#include "pg/bridge/guard.hpp"
#include "pg/planner/output.hpp"
#include "pg/values/decimal.hpp"

namespace btml::pg::planner {

using namespace relational;

ScanSource::ScanSource(SharedScan& scan, const std::vector<ColumnReading>& readings,
                       std::vector<KeyDictionary*> dictionaries, std::vector<StreamedType> columns)
    : scan_(scan), readings_(readings), dictionaries_(std::move(dictionaries)), columns_(std::move(columns)) {
    scan_.add(this);
}

void ScanSource::next(RowBatch& batch) {
    scan_.next(this, batch);
    for (size_t i = 0; i < readings_.size(); i++)
        if (readings_[i].reading == Reading::derived)
            derive(batch, static_cast<int>(i), readings_[i].derived, readings_[i].type,
                   readings_[readings_[i].derived.left].type);
}

SharedScan::SharedScan(PlanState* scan, List* computed, MemoryContext scratch, MemoryBudget& memory, uint64_t max_kept)
    : scan_(scan), values_(list_length(computed)), scratch_(scratch), memory_(memory), max_kept_(max_kept) {
    if (!computed) return;
    expressions_ = pg_call([] { return CreateStandaloneExprContext(); });
    computed_ = pg_call([=] { return ExecInitExprList(computed, nullptr); });
}

void SharedScan::compute(TupleTableSlot* slot) {
    NullableDatum* value = values_.data();
    computing_ = true;
    if (expressions_) expressions_->ecxt_outertuple = slot;
    for (ExprState* const expression : items<ExprState>(computed_)) {
        value->value = ExecEvalExpr(expression, expressions_, &value->isnull);
        value++;
    }
    computing_ = false;
}

// Returns the word of a group's value, which looks like every other value that equals it; else throws CannotDecide.
int64_t SharedScan::form_word(Datum value, const Target& to) {
    const Oid type = to.reading->type;
    const int64_t word = to.dictionary ? to.dictionary->number(value, type) : key_word(value, type);
    const bool looks_alike = to.dictionary ? to.dictionary->looks_like(static_cast<Key>(word), value)
                                           : word_datum(word, type) == value; // a float, by value
    if (!looks_alike) throw CannotDecide{"equal values of a group that look different"};
    return word;
}

void SharedScan::read_value(const TupleTableSlot* slot, const Target& to, uint32_t row) const {
    const ColumnReading& reading = *to.reading;
    const RowBatch::Column& column = to.column;
    const bool is_computed = reading.position >= computed_from;
    const NullableDatum* const computed = is_computed ? &values_[reading.position - computed_from] : nullptr;
    const Datum value = is_computed ? computed->value : slot->tts_values[reading.position];
    column.nulls[row] = is_computed ? computed->isnull : slot->tts_isnull[reading.position];
    if (column.nulls[row]) {
        column.words[row] = 0;
        return;
    }
    switch (reading.reading) {
    case Reading::presence:
        column.words[row] = 0;
        break;
    case Reading::integer:
        column.words[row] = key_word(value, reading.type);
        break;
    case Reading::number:
        column.words[row] = std::bit_cast<int64_t>(
            reading.type == FLOAT4OID ? static_cast<double>(DatumGetFloat4(value)) : DatumGetFloat8(value));
        break;
    case Reading::decimal: {
        int scale = 0;
        if (!decimal_of(PointerGetDatum(PG_DETOAST_DATUM_PACKED(value)), &column.mantissas[row], &scale))
            throw CannotDecide{"a numeric that is not finite or has too many digits"};
        column.words[row] = scale;
        break;
    }
    case Reading::dictionary:
        column.words[row] = to.dictionary->number(value, reading.type);
        break;
    case Reading::form:
        column.words[row] = form_word(value, to);
        break;
    case Reading::derived:
        break;
    }
}

bool SharedScan::read_row(const TupleTableSlot* slot, const std::vector<Target>& targets, uint32_t row,
                          std::exception_ptr* failure) const {
    try {
        for (const Target& to : targets) read_value(slot, to, row);
        return true;
    } catch (...) {
        *failure = std::current_exception();
        return false;
    }
}

// Stays within one guarded call for a whole batch. What the scan keeps, it keeps in the caller's memory.
void SharedScan::fill(const std::vector<Target>& targets, uint32_t* rows, std::exception_ptr* failure) {
    while (*rows < RowBatch::max_rows && !done_) {
        TupleTableSlot* const slot = ExecProcNode(scan_);
        if (TupIsNull(slot)) {
            done_ = true;
            return;
        }
        slot_getallattrs(slot);
        const MemoryContext before = MemoryContextSwitchTo(scratch_);
        compute(slot);
        done_ = !read_row(slot, targets, *rows, failure);
        MemoryContextSwitchTo(before);
        MemoryContextReset(scratch_);
        (*rows)++;
    }
}

// Tells whether an error is about values, and no request to cancel, wait that ended, or fault of the server. What is
// told to be internal may be about values: a text that is too long for memory, a modifier of a type.
static bool is_of_values(const ErrorData* error) {
    const int kind = ERRCODE_TO_CATEGORY(error->sqlerrcode);
    return kind != ERRCODE_OPERATOR_INTERVENTION && kind != ERRCODE_SYSTEM_ERROR &&
           kind != ERRCODE_TRANSACTION_ROLLBACK && kind != ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE;
}

int SharedScan::kept_column(const ColumnReading& reading) const {
    const auto at = std::find_if(kept_columns_.begin(), kept_columns_.end(),
                                 [&](const Target& kept) { return *kept.reading == reading; });
    return at == kept_columns_.end() ? -1 : static_cast<int>(at - kept_columns_.begin());
}

// Has the columns kept that the reader has, too.
void SharedScan::keep(const ScanSource* reader) {
    for (size_t i = 0; i < reader->readings_.size(); i++) {
        const ColumnReading& reading = reader->readings_[i];
        if (reading.reading == Reading::derived || kept_column(reading) >= 0) continue;
        kept_columns_.push_back({&reading, reader->dictionaries_[i], {}});
        kept_types_.push_back(reader->columns_[i]);
    }
}

// A table that begins after the scan was used has its rows already, unless these were too many.
void SharedScan::begin(ScanSource* reader) {
    reader->begun_ = true;
    std::erase(waiting_, reader);
    reader->reads_kept_ = used_ && keeps_;
    if (reader->reads_kept_) return;
    kept_.clear();
    if (used_) pg_call([this] { ExecReScan(scan_); });
    keeps_ = !used_ && !waiting_.empty();
    if (keeps_)
        for (const ScanSource* const other : waiting_) keep(other);
    used_ = true;
    done_ = false;
}

void SharedScan::show_kept(const ScanSource* reader, const RowBatch& kept, RowBatch& batch) const {
    for (size_t i = 0; i < reader->readings_.size(); i++)
        if (const int column = kept_column(reader->readings_[i]); column >= 0)
            batch.show(static_cast<int>(i), kept.column(column));
}

// Reads rows into the batch, and into one that is kept, whose columns it shows where it has the same.
void SharedScan::read(ScanSource* reader, RowBatch& batch) {
    if (done_) return;
    std::vector<Target> targets;
    if (keeps_) {
        kept_.push_back(std::make_unique<RowBatch>(kept_types_, memory_));
        targets = kept_columns_;
        for (size_t i = 0; i < targets.size(); i++) targets[i].column = kept_.back()->column(static_cast<int>(i));
        show_kept(reader, *kept_.back(), batch);
    }
    for (size_t i = 0; i < reader->readings_.size(); i++) {
        const ColumnReading& reading = reader->readings_[i];
        if (reading.reading == Reading::derived || (keeps_ && kept_column(reading) >= 0)) continue;
        targets.push_back({&reading, reader->dictionaries_[i], batch.column(static_cast<int>(i))});
    }
    std::exception_ptr failure;
    try {
        pg_call([&, this, failed = &failure] { fill(targets, &batch.rows, failed); });
    } catch (const PgError& error) {
        if (!computing_ || !is_of_values(error.data)) throw;
        pg_call([&] { FreeErrorData(error.data); });
        throw CannotDecide{"an expression that raises an error for a row, which the join may leave out"};
    }
    if (failure) std::rethrow_exception(failure);
    if (!keeps_) return;
    kept_.back()->rows = batch.rows;
    // What was kept is shown by batches that are not added yet.
    keeps_ = kept_.size() * RowBatch::max_rows * RowBatch::row_bytes(kept_types_) <= max_kept_;
}

void SharedScan::next(ScanSource* reader, RowBatch& batch) {
    if (!reader->begun_) begin(reader);
    batch.show_own();
    batch.rows = 0;
    if (!reader->reads_kept_) {
        read(reader, batch);
        return;
    }
    // Where no other table waits, the rows that were given last were kept for nobody else.
    if (waiting_.empty() && reader->given_ > 0) kept_[reader->given_ - 1].reset();
    if (reader->given_ < kept_.size()) {
        const RowBatch& kept = *kept_[reader->given_++];
        show_kept(reader, kept, batch);
        batch.rows = kept.rows;
    }
}

} // namespace btml::pg::planner
