#include "pg/source/stored_rows.hpp"

#include "core/relational/queries/sketch_hash.hpp"

extern "C" {
#include "access/detoast.h"
#include "executor/tuptable.h"
}

namespace btml::pg {

using relational::hash_bytes;
using relational::RowId;

namespace {

constexpr const char* what = "the rows of a sample";
constexpr uint64_t null_hash = 1; // as likely as any other
constexpr uint64_t row_work = 20; // units of work of skipping a row

// What lies beyond the length of a value that is passed by value may be anything.
uint64_t bits_of(Datum value, int16 length) {
    switch (length) {
    case 1:
        return DatumGetUInt8(value);
    case 2:
        return DatumGetUInt16(value);
    case 4:
        return DatumGetUInt32(value);
    default:
        return DatumGetUInt64(value);
    }
}

// Error memory_limit where the budget has no room for the whole of a value that is stored apart or compressed.
uint64_t hash_varlena(Datum value, const MemoryBudget& budget) {
    const auto* const stored = reinterpret_cast<struct varlena*>(DatumGetPointer(value));
    if (VARATT_IS_EXTERNAL(stored) || VARATT_IS_COMPRESSED(stored)) budget.require(toast_raw_datum_size(value), what);
    struct varlena* const plain = PG_DETOAST_DATUM_PACKED(value);
    const uint64_t hash = hash_bytes({VARDATA_ANY(plain), VARSIZE_ANY_EXHDR(plain)});
    if (plain != reinterpret_cast<struct varlena*>(DatumGetPointer(value))) pfree(plain);
    return hash;
}

} // namespace

KeptRows::KeptRows(std::vector<KeptColumn> columns, MemoryBudget& budget)
    : columns_(std::move(columns)),
      values_(columns_.size()),
      nulls_(std::make_unique<bool[]>(columns_.size())),
      contents_(budget, "the contents of a source's rows"),
      tuples_(budget, what),
      held_(budget, what) {
    pg_call([&, this] {
        for (KeptColumn& column : columns_) {
            get_typlenbyval(column.type, &column.length, &column.by_value);
            column.label = label_rule(getBaseType(column.type), CurrentMemoryContext);
        }
        description_ = CreateTemplateTupleDesc(static_cast<int>(columns_.size()));
        for (size_t i = 0; i < columns_.size(); i++)
            TupleDescInitEntry(description_, static_cast<AttrNumber>(i + 1), "column", columns_[i].type,
                               columns_[i].typmod, 0);
        slot_ = MakeSingleTupleTableSlot(description_, &TTSOpsMinimalTuple);
        store_ = tuplestore_begin_heap(false, false, work_mem);
        context_ = AllocSetContextCreate(CurrentMemoryContext, "btml kept rows", ALLOCSET_DEFAULT_SIZES);
    });
}

uint64_t KeptRows::hash(const KeptColumn& column, Datum value) const {
    if (column.label.kind == LabelKind::enumeration) return hash_bytes(label_of(value, column.label));
    if (column.by_value) return bits_of(value, column.length);
    if (column.length == -1) return hash_varlena(value, contents_.budget());
    const char* const bytes = DatumGetPointer(value);
    return hash_bytes({bytes, column.length > 0 ? static_cast<size_t>(column.length) : strlen(bytes)});
}

void KeptRows::add(const Datum* values, const bool* nulls) {
    uint64_t content = 0;
    for (size_t i = 0; i < columns_.size(); i++) {
        const int position = columns_[i].position;
        values_[i] = values[position];
        nulls_[i] = nulls[position];
        content = mix64(content ^ (nulls_[i] ? null_hash : mix64(hash(columns_[i], values_[i]))));
    }
    // A row is not copied where it would not fit: what is written to disk is in memory first.
    contents_.budget().require(heap_compute_data_size(description_, values_.data(), nulls_.get()), what);
    tuplestore_putvalues(store_, description_, values_.data(), nulls_.get());
    contents_.push_back(content);
}

void KeptRows::fetch(std::span<const RowId> rows, RunContext& context) {
    RowId next = 0;
    tuples_.reserve(rows.size());
    for (const RowId row : rows) {
        const uint32 bytes = pg_call([&, this]() -> uint32 {
            if (row > next && !tuplestore_skiptuples(store_, row - next, true)) return 0;
            if (!tuplestore_gettupleslot(store_, true, false, slot_)) return 0;
            bool is_copy; // false of a slot of minimal tuples
            return ExecFetchSlotMinimalTuple(slot_, &is_copy)->t_len;
        });
        if (bytes == 0) throw Error(ErrorCode::internal, "a row that was kept is gone");
        held_.grow(bytes);
        tuples_.append_reserved(pg_call([this] {
            const MemoryContext before = MemoryContextSwitchTo(context_);
            const MinimalTuple copy = ExecCopySlotMinimalTuple(slot_);
            MemoryContextSwitchTo(before);
            return copy;
        }));
        next = row + 1;
        context.worked(row_work);
    }
    pg_call([this] {
        ExecClearTuple(slot_);
        tuplestore_end(store_);
    });
}

KeptRows::Row KeptRows::row(size_t i) {
    pg_call([=, this] {
        ExecStoreMinimalTuple(tuples_[i], slot_, false);
        slot_getallattrs(slot_);
    });
    return {slot_->tts_values, slot_->tts_isnull};
}

} // namespace btml::pg
