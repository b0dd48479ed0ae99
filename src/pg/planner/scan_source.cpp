#include "pg/planner/scan_source.hpp"

#include "pg/bridge/decimal.hpp"
#include "pg/bridge/guard.hpp"

namespace btml::pg::planner {

using namespace relational;

ScanSource::ScanSource(SharedScan& scan, const std::vector<ColumnReading>& readings,
                       std::vector<KeyDictionary*> dictionaries, std::vector<StreamedType> columns,
                       MemoryBudget& memory)
    : scan_(scan),
      readings_(readings),
      dictionaries_(std::move(dictionaries)),
      columns_(std::move(columns)),
      memory_(memory) {
    scan_.add(this);
}

// Writes the row after the last of the batch.
void ScanSource::read(const TupleTableSlot* slot) {
    RowBatch::Column* const columns = batch_->columns();
    const uint32_t row = batch_->rows;
    for (size_t i = 0; i < readings_.size(); i++) {
        const ColumnReading& reading = readings_[i];
        const RowBatch::Column& column = columns[i];
        if (reading.reading == Reading::derived) continue;
        const Datum value = slot->tts_values[reading.position];
        column.nulls[row] = slot->tts_isnull[reading.position];
        if (column.nulls[row]) {
            column.words[row] = 0;
            continue;
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
            column.words[row] = dictionaries_[i]->number(value, reading.type);
            break;
        case Reading::derived:
            break;
        }
    }
    batch_->rows++;
}

void ScanSource::give_kept(RowBatch& batch) {
    std::vector<RowBatch::Column> from;
    batch.rows = static_cast<uint32_t>(std::min<uint64_t>(kept_->rows() - given_, RowBatch::max_rows));
    kept_->view(given_, from);
    for (size_t c = 0; c < from.size(); c++) {
        const RowBatch::Column& to = batch.columns()[c];
        std::copy_n(from[c].words, batch.rows, to.words);
        std::copy_n(from[c].nulls, batch.rows, to.nulls);
        if (to.mantissas) std::copy_n(from[c].mantissas, batch.rows, to.mantissas);
    }
    given_ += batch.rows;
    if (batch.rows == 0) kept_.reset();
}

void ScanSource::next(RowBatch& batch) {
    if (!begun_) scan_.begin(this);
    begun_ = true;
    batch.rows = 0;
    if (kept_) {
        give_kept(batch);
    } else {
        batch_ = &batch;
        scan_.next(this);
    }
    for (size_t i = 0; i < readings_.size(); i++)
        if (readings_[i].reading == Reading::derived)
            derive(batch, static_cast<int>(i), readings_[i].derived, readings_[i].type,
                   readings_[readings_[i].derived.left].type);
}

void ScanSource::forget() {
    kept_.reset();
    own_batch_.reset();
}

// A table that begins after the scan was used has its rows already, unless these were too many.
void SharedScan::begin(ScanSource* reader) {
    std::erase(waiting_, reader);
    reader->own_batch_.reset();
    if (reader->kept_) return;
    keeps_ = !used_;
    if (used_) pg_call([this] { ExecReScan(scan_); });
    for (ScanSource* const other : waiting_) {
        if (!keeps_) break;
        other->own_batch_.emplace(other->columns_, other->memory_);
        other->batch_ = &*other->own_batch_;
        other->kept_.emplace(other->columns_, other->memory_);
    }
    used_ = true;
    done_ = false;
}

bool SharedScan::read_row(ScanSource* reader, const TupleTableSlot* slot, std::exception_ptr* failure) {
    try {
        reader->read(slot);
        if (keeps_)
            for (ScanSource* const other : waiting_) other->read(slot);
        return true;
    } catch (...) {
        *failure = std::current_exception();
        return false;
    }
}

// Stays within one guarded call for a whole batch. What the scan keeps, it keeps in the caller's memory.
void SharedScan::fill(ScanSource* reader, std::exception_ptr* failure) {
    while (reader->batch_->rows < RowBatch::max_rows && !done_) {
        TupleTableSlot* const slot = ExecProcNode(scan_);
        if (TupIsNull(slot)) {
            done_ = true;
            return;
        }
        slot_getallattrs(slot);
        const MemoryContext before = MemoryContextSwitchTo(scratch_);
        done_ = !read_row(reader, slot, failure);
        MemoryContextSwitchTo(before);
        MemoryContextReset(scratch_);
    }
}

// Puts the batches of those that wait to their rows, or forgets all of them.
void SharedScan::keep_waiting() {
    uint64_t bytes = 0;
    for (ScanSource* const other : waiting_) {
        other->kept_->append(*other->batch_);
        other->batch_->rows = 0;
        bytes += other->kept_->bytes();
    }
    keeps_ = bytes <= max_waiting_;
    if (keeps_) return;
    for (ScanSource* const other : waiting_) other->forget();
}

void SharedScan::next(ScanSource* reader) {
    std::exception_ptr failure;
    pg_call([&, this, failed = &failure] { fill(reader, failed); });
    if (failure) std::rethrow_exception(failure);
    if (keeps_ && !waiting_.empty()) keep_waiting();
}

} // namespace btml::pg::planner
