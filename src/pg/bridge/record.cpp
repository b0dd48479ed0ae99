#include "pg/bridge/record.hpp"

#include "core/base/number.hpp"

extern "C" {
#include "utils/fmgrprotos.h"
}

namespace btml::pg {

using boosting::Feature;

namespace {

int find_attribute(TupleDesc columns, const Feature& feature) {
    int found = -1;
    std::vector<std::string> names;
    for (int i = 0; i < columns->natts; i++) {
        const Form_pg_attribute attribute = TupleDescAttr(columns, i);
        if (attribute->attisdropped) continue;
        names.emplace_back(NameStr(attribute->attname));
        if (names.back() != feature.name) continue;
        if (found >= 0)
            throw Error(ErrorCode::duplicate_column,
                        format("the record has more than one column \"%s\"", feature.name.c_str()));
        found = i;
    }
    if (found >= 0) return found;
    const std::string nearest = nearest_name(feature.name, names);
    throw Error(ErrorCode::undefined_column,
                format("the record has no column \"%s\", which the model needs", feature.name.c_str()),
                names.empty() ? "The record has no columns." : "The record's columns are " + quoted_list(names) + ".",
                nearest.empty()
                    ? "Write t.* to pass a whole row of t."
                    : format("Perhaps it is \"%s\" there. Write t.* to pass a whole row of t.", nearest.c_str()));
}

} // namespace

FmgrInfo* RecordReader::output_function(Oid type) const {
    return pg_call([=, this] {
        Oid function;
        bool is_varlena;
        getTypeOutputInfo(type, &function, &is_varlena);
        auto* const info = static_cast<FmgrInfo*>(MemoryContextAlloc(context_, sizeof(FmgrInfo)));
        fmgr_info_cxt(function, info, context_);
        return info;
    });
}

void RecordReader::learn(Oid type, int32 typmod) {
    type_ = InvalidOid;
    columns_ = pg_call([=, this] {
        MemoryContextReset(context_);
        const MemoryContext before = MemoryContextSwitchTo(context_);
        const TupleDesc columns = lookup_rowtype_tupdesc_copy(type, typmod);
        MemoryContextSwitchTo(before);
        return columns;
    });
    sources_.clear();
    for (const Feature& feature : features_) {
        const int attribute = find_attribute(columns_, feature);
        const Oid column = TupleDescAttr(columns_, attribute)->atttypid;
        Source source{attribute, feature.categorical, NumberKind::none, LabelKind::text, nullptr, {}, {}};
        source.number = pg_call([=] { return number_kind(column); });
        source.label = pg_call([=] { return label_kind(column); });
        if (!feature.categorical && source.number == NumberKind::none)
            throw Error(ErrorCode::wrong_type,
                        format("column \"%s\" of the record has type %s, the model's feature has type %s",
                               feature.name.c_str(), pg_call([=] { return format_type_be(column); }),
                               feature.type.c_str()),
                        "", format("Cast it, as in \"%s\"::float8.", feature.name.c_str()));
        for (size_t code = 0; code < feature.categories.size(); code++)
            source.codes.emplace(feature.categories[code], static_cast<double>(code));
        if (feature.categorical && source.label == LabelKind::output) source.output_function = output_function(column);
        sources_.push_back(std::move(source));
    }
    values_.resize(static_cast<size_t>(columns_->natts));
    nulls_ = std::make_unique<bool[]>(values_.size());
    type_ = type;
    typmod_ = typmod;
}

double RecordReader::category(Source& source, Datum value) {
    static constexpr double unseen = -1;
    const auto code_of = [&](std::string_view label) {
        const auto found = source.codes.find(label);
        return found == source.codes.end() ? unseen : found->second;
    };
    switch (source.label) {
    case LabelKind::boolean:
        return code_of(DatumGetBool(value) ? "true" : "false");
    case LabelKind::name:
        return code_of(NameStr(*DatumGetName(value)));
    case LabelKind::text:
    case LabelKind::bpchar: {
        const struct varlena* const stored = pg_call([=] { return PG_DETOAST_DATUM_PACKED(value); });
        std::string_view text(VARDATA_ANY(stored), static_cast<size_t>(VARSIZE_ANY_EXHDR(stored)));
        if (source.label == LabelKind::bpchar)
            while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
        return code_of(text);
    }
    case LabelKind::enumeration: {
        const auto [entry, is_new] = source.enum_codes.try_emplace(DatumGetObjectId(value), unseen);
        if (is_new)
            entry->second = code_of(pg_call([=] { return DatumGetCString(DirectFunctionCall1(enum_out, value)); }));
        return entry->second;
    }
    case LabelKind::output:
        break;
    }
    FmgrInfo* const function = source.output_function;
    return code_of(pg_call([=] { return OutputFunctionCall(function, value); }));
}

void RecordReader::read(Datum record, std::vector<double>& values) {
    HeapTupleHeader const header = pg_call([=] { return DatumGetHeapTupleHeader(record); });
    const Oid type = HeapTupleHeaderGetTypeId(header);
    const int32 typmod = HeapTupleHeaderGetTypMod(header);
    if (type != type_ || typmod != typmod_) learn(type, typmod);
    pg_call([this, header] {
        HeapTupleData tuple;
        tuple.t_len = HeapTupleHeaderGetDatumLength(header);
        ItemPointerSetInvalid(&tuple.t_self);
        tuple.t_tableOid = InvalidOid;
        tuple.t_data = header;
        heap_deform_tuple(&tuple, columns_, values_.data(), nulls_.get());
    });
    for (size_t i = 0; i < sources_.size(); i++) {
        Source& source = sources_[i];
        const auto at = static_cast<size_t>(source.attribute);
        if (nulls_[at])
            values[i] = null_number;
        else if (source.categorical)
            values[i] = category(source, values_[at]);
        else if (source.number == NumberKind::numeric)
            values[i] = pg_call([&] { return to_number(values_[at], NumberKind::numeric); });
        else
            values[i] = to_number(values_[at], source.number);
    }
}

} // namespace btml::pg
