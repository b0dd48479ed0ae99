#include "pg/values/result.hpp"

extern "C" {
#include "utils/lsyscache.h"
}

namespace btml::pg {

Datum text_datum(std::string_view text) {
    return pg_call(
        [=] { return PointerGetDatum(cstring_to_text_with_len(text.data(), static_cast<int>(text.size()))); });
}

Datum long_text_datum(const Buffer<char>& text, const char* what, RunContext& context) {
    constexpr size_t most = MaxAllocSize - VARHDRSZ;
    if (text.size() > most)
        throw Error(ErrorCode::limit_exceeded,
                    format("%s has %zu bytes, a text may have %zu", what, text.size(), most));
    const Reservation counted(context.memory(), what, text.size());
    return text_datum({text.data(), text.size()});
}

std::string to_string(const text* value) {
    return {VARDATA_ANY(value), static_cast<size_t>(VARSIZE_ANY_EXHDR(value))};
}

static Tuplestorestate* open_store(FunctionCallInfo fcinfo, TupleDesc* columns) {
    auto* const info = reinterpret_cast<ReturnSetInfo*>(fcinfo->resultinfo);
    if (info && IsA(info, ReturnSetInfo) && !info->expectedDesc)
        ereport(ERROR, (errcode(ERRCODE_SYNTAX_ERROR),
                        errmsg("a column definition list is required for functions returning \"record\"")));
    InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
    *columns = info->setDesc;
    return info->setResult;
}

ResultRows::ResultRows(FunctionCallInfo fcinfo) : columns_(nullptr), store_(nullptr), row_(nullptr) {
    TupleDesc* const columns = &columns_;
    store_ = pg_call([=] { return open_store(fcinfo, columns); });
    store_context_ = CurrentMemoryContext;
    row_ = pg_call([] { return AllocSetContextCreate(CurrentMemoryContext, "btml result row", ALLOCSET_SMALL_SIZES); });
    values_.resize(columns_->natts);
    nulls_ = std::make_unique<bool[]>(values_.size());
}

void ResultRows::put(Datum value, bool null) {
    if (filled_ == values_.size()) throw Error(ErrorCode::internal, "more values than result columns");
    values_[filled_] = value;
    nulls_[filled_] = null;
    filled_++;
}

static Datum make_text(std::string_view text, MemoryContext context) {
    auto* const made = static_cast<struct varlena*>(MemoryContextAlloc(context, VARHDRSZ + text.size()));
    SET_VARSIZE(made, VARHDRSZ + text.size());
    memcpy(VARDATA(made), text.data(), text.size());
    return PointerGetDatum(made);
}

static Datum make_texts(std::span<const std::string_view> texts, MemoryContext context) {
    const MemoryContext before = MemoryContextSwitchTo(context);
    auto* const items = static_cast<Datum*>(palloc(sizeof(Datum) * (texts.size() + 1)));
    for (size_t i = 0; i < texts.size(); i++) items[i] = make_text(texts[i], context);
    ArrayType* const array = construct_array(items, static_cast<int>(texts.size()), TEXTOID, -1, false, TYPALIGN_INT);
    MemoryContextSwitchTo(before);
    return PointerGetDatum(array);
}

Datum text_array(std::span<const std::string_view> texts) {
    return pg_call([=] { return make_texts(texts, CurrentMemoryContext); });
}

Datum ResultRows::read_text(std::string_view value, size_t column) {
    const auto count = static_cast<size_t>(columns_->natts);
    if (!inputs_) inputs_ = static_cast<TypeInput*>(MemoryContextAllocZero(store_context_, count * sizeof(TypeInput)));
    TypeInput& input = inputs_[column];
    if (input.function.fn_oid == InvalidOid) {
        Oid function;
        getTypeInputInfo(TupleDescAttr(columns_, column)->atttypid, &function, &input.parameter);
        fmgr_info_cxt(function, &input.function, store_context_);
    }
    const MemoryContext before = MemoryContextSwitchTo(row_);
    const Datum datum = InputFunctionCall(&input.function, pnstrdup(value.data(), value.size()), input.parameter, -1);
    MemoryContextSwitchTo(before);
    return datum;
}

Datum ResultRows::text_or_texts(std::string_view value) {
    const size_t column = filled_;
    return pg_call([=, this] {
        const bool is_text = column >= values_.size() || TupleDescAttr(columns_, column)->atttypid == TEXTOID;
        return is_text ? make_text(value, row_) : read_text(value, column);
    });
}

Datum ResultRows::text_or_texts(std::span<const std::string_view> values) {
    return pg_call([=, this] { return make_texts(values, row_); });
}

void ResultRows::finish_row() {
    if (filled_ != values_.size()) throw Error(ErrorCode::internal, "fewer values than result columns");
    filled_ = 0;
    pg_call([this] {
        CHECK_FOR_INTERRUPTS();
        tuplestore_putvalues(store_, columns_, values_.data(), nulls_.get());
        MemoryContextReset(row_);
    });
}

Datum estimate_datum(FunctionCallInfo fcinfo, const Estimate& estimate) {
    return pg_call([=] {
        TupleDesc columns;
        if (get_call_result_type(fcinfo, nullptr, &columns) != TYPEFUNC_COMPOSITE)
            ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH), errmsg("the function must return btml.estimate")));
        Datum values[] = {Float8GetDatum(estimate.value), Float8GetDatum(estimate.std_error),
                          Float8GetDatum(estimate.lower), Float8GetDatum(estimate.upper),
                          Int64GetDatum(estimate.evaluations)};
        bool nulls[std::size(values)] = {};
        return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(columns), values, nulls));
    });
}

} // namespace btml::pg
