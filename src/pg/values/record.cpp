#include "pg/values/record.hpp"

#include "core/numbers/number.hpp"
#include "pg/values/feature_type.hpp"

extern "C" {
#include "access/xact.h"
}

namespace btml::pg {

namespace {

int find_attribute(TupleDesc columns, const Feature& feature) {
    int found = -1;
    for (int i = 0; i < columns->natts; i++) {
        const Form_pg_attribute attribute = TupleDescAttr(columns, i);
        if (attribute->attisdropped || feature.column() != NameStr(attribute->attname)) continue;
        if (found >= 0)
            throw Error(ErrorCode::duplicate_column,
                        format("the record has more than one column \"%s\"", NameStr(attribute->attname)));
        found = i;
    }
    return found;
}

// Tells whether the columns are called f1, f2, ..., as those of ROW(...) are.
bool has_no_names(TupleDesc columns) {
    for (int i = 0; i < columns->natts; i++)
        if (format("f%d", i + 1) != NameStr(TupleDescAttr(columns, i)->attname)) return false;
    return columns->natts > 0;
}

[[noreturn]] void lacks(TupleDesc columns, const Feature& feature) {
    std::vector<std::string> names;
    for (int i = 0; i < columns->natts; i++)
        if (!TupleDescAttr(columns, i)->attisdropped) names.emplace_back(NameStr(TupleDescAttr(columns, i)->attname));
    const std::string column(feature.column());
    const std::string error = format("the record has no column \"%s\", which the model needs", column.c_str());
    if (has_no_names(columns))
        throw Error(ErrorCode::undefined_column, error,
                    "Its columns have no names: a distributed query loses those of x.* of a view or subquery.",
                    "Cast the row to a type with names, as in ROW(x.a, x.b)::my_type, or pass an array in the order of "
                    "btml.feature_names(model).");
    const std::string nearest = nearest_name(column, names);
    throw Error(ErrorCode::undefined_column, error,
                names.empty() ? "The record has no columns." : "The record's columns are " + quoted_list(names) + ".",
                (nearest.empty() ? "" : format("Perhaps it is \"%s\" there. ", nearest.c_str())) +
                    "Pass a row with all features: t.* of a table, or x.* of LATERAL (SELECT a, b, ...) x.");
}

} // namespace

CategoryCodes::CategoryCodes(const std::vector<Feature>& features) : codes_(features.size()) {
    for (size_t f = 0; f < features.size(); f++)
        for (size_t code = 0; code < features[f].categories.size(); code++)
            codes_[f].emplace(features[f].categories[code], static_cast<double>(code));
}

double CategoryCodes::find(size_t feature, std::string_view category) const {
    const auto found = codes_[feature].find(category);
    return found == codes_[feature].end() ? -1 : found->second;
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
    attributes_.clear();
    for (const Feature& feature : features_) {
        if (feature.element > 1) { // which is read with the first
            attributes_.push_back(attributes_.back());
            continue;
        }
        const int position = find_attribute(columns_, feature);
        if (position < 0) lacks(columns_, feature);
        const Oid column = TupleDescAttr(columns_, position)->atttypid;
        Attribute attribute{position, feature.categorical, NumberKind::none, nullptr, {}, {}, {}};
        attribute.number = pg_call([=] { return number_kind(column); });
        if (feature.categorical) attribute.label = pg_call([=, this] { return category_rule(column, context_); });
        require_feature_type(feature, column, "the record");
        if (feature.element > 0)
            attribute.array = pg_call([=, this] { return array_rule(column, context_); });
        else if (!feature.categorical)
            attribute.time_cast = time_cast(feature, column);
        attributes_.push_back(std::move(attribute));
    }
    values_.resize(columns_->natts);
    nulls_ = std::make_unique<bool[]>(values_.size());
    type_ = type;
    typmod_ = typmod;
}

double RecordReader::category(size_t feature, Datum value) {
    Attribute& attribute = attributes_[feature];
    const auto code = [&] { return codes_.find(feature, pg_call([&] { return label_of(value, attribute.label); })); };
    if (attribute.label.kind != LabelKind::enumeration) return code();
    const Oid number = DatumGetObjectId(value);
    if (const auto known = attribute.enum_codes.find(number); known != attribute.enum_codes.end()) return known->second;
    return attribute.enum_codes[number] = code();
}

double RecordReader::number(size_t feature, Datum value) {
    NumberColumn column{features_[feature].name.c_str()};
    return guarded_number(value, attributes_[feature].number, column, attributes_[feature].time_cast);
}

// Reads the array whose elements the features from the first on are, as many as there are values.
void RecordReader::read_elements(size_t first, std::span<double> values) {
    const Attribute& attribute = attributes_[first];
    NumberColumn column{NameStr(TupleDescAttr(columns_, attribute.position)->attname)};
    read_vector(attribute.array, values_[static_cast<size_t>(attribute.position)], values.size(), true, elements_,
                column);
    std::copy(elements_.begin(), elements_.end(), values.begin());
}

void RecordReader::read(Datum record, std::vector<double>& values) {
    HeapTupleHeader const header = pg_call([=] { return DatumGetHeapTupleHeader(record); });
    const Oid type = HeapTupleHeaderGetTypeId(header);
    const int32 typmod = HeapTupleHeaderGetTypMod(header);
    const CommandId command = GetCurrentCommandId(false);
    if (type != type_ || typmod != typmod_ || command != command_) learn(type, typmod);
    command_ = command;
    pg_call([this, header] {
        HeapTupleData tuple;
        tuple.t_len = HeapTupleHeaderGetDatumLength(header);
        ItemPointerSetInvalid(&tuple.t_self);
        tuple.t_tableOid = InvalidOid;
        tuple.t_data = header;
        heap_deform_tuple(&tuple, columns_, values_.data(), nulls_.get());
    });
    for (size_t i = 0, count = 1; i < attributes_.size(); i += count) {
        const Attribute& attribute = attributes_[i];
        const auto at = static_cast<size_t>(attribute.position);
        count = features_of_column(features_, i);
        const std::span<double> own = std::span(values).subspan(i, count);
        if (nulls_[at])
            std::fill(own.begin(), own.end(), null_number);
        else if (features_[i].element > 0)
            read_elements(i, own);
        else if (attribute.categorical)
            values[i] = category(i, values_[at]);
        else
            values[i] = number(i, values_[at]);
    }
}

std::optional<std::string> RecordReader::text(size_t i) {
    const Attribute& attribute = attributes_[i];
    const auto at = static_cast<size_t>(attribute.position);
    if (nulls_[at]) return {};
    if (attribute.categorical) return std::string(pg_call([&] { return label_of(values_[at], attribute.label); }));
    const Oid type = TupleDescAttr(columns_, attribute.position)->atttypid;
    return pg_call([this, at, type] {
        Oid output;
        bool is_varlena;
        getTypeOutputInfo(type, &output, &is_varlena);
        return static_cast<const char*>(OidOutputFunctionCall(output, values_[at]));
    });
}

} // namespace btml::pg
