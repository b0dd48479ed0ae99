#include "pg/source/dictionaries.hpp"

#include "core/relational/queries/sketch_hash.hpp"

namespace btml::pg {

using relational::Key;

DatumDictionary::DatumDictionary(MemoryBudget& budget, Oid type, Oid collation)
    : index_(budget, "a dictionary of keys"),
      values_(budget, "a dictionary of keys"),
      held_(budget, "a dictionary of keys"),
      type_(pg_call([=] {
          return lookup_type_cache(type, TYPECACHE_HASH_PROC_FINFO | TYPECACHE_HASH_EXTENDED_PROC_FINFO |
                                             TYPECACHE_EQ_OPR_FINFO);
      })),
      collation_(collation) {
    if (!OidIsValid(type_->hash_proc) || !OidIsValid(type_->eq_opr))
        throw Error(ErrorCode::wrong_type, format("type %s has no default hash operator class", type_name(type)));
    context_ = pg_call(
        [] { return AllocSetContextCreate(CurrentMemoryContext, "btml distinct values", ALLOCSET_DEFAULT_SIZES); });
}

uint32_t DatumDictionary::number(Datum value) {
    const auto next = static_cast<uint32_t>(values_.size());
    const uint32_t hash = DatumGetUInt32(FunctionCall1Coll(&type_->hash_proc_finfo, collation_, value));
    const uint32_t number = index_.find_or_add(hash, next, [&](uint32_t other) {
        return DatumGetBool(FunctionCall2Coll(&type_->eq_opr_finfo, collation_, values_[other], value));
    });
    if (number == next) {
        if (!type_->typbyval) held_.grow(datumGetSize(value, false, type_->typlen));
        const MemoryContext before = MemoryContextSwitchTo(context_);
        values_.push_back(datumCopy(value, type_->typbyval, type_->typlen));
        MemoryContextSwitchTo(before);
    }
    return number;
}

uint64_t DatumDictionary::hash(Datum value) const {
    if (!OidIsValid(type_->hash_extended_proc))
        return DatumGetUInt32(FunctionCall1Coll(&type_->hash_proc_finfo, collation_, value));
    return DatumGetUInt64(FunctionCall2Coll(&type_->hash_extended_proc_finfo, collation_, value, Int64GetDatum(0)));
}

KeyDictionary::KeyDictionary(MemoryBudget& budget, const KeyType& type)
    : kind_(type.kind), contents_(budget, "the contents of join keys"), integers_(budget), texts_(budget) {
    if (kind_ == KeyKind::by_value && pg_call([=] { return type_is_enum(type.type); }))
        label_ = LabelRule{LabelKind::enumeration, nullptr};
    if (kind_ == KeyKind::generic) generic_ = std::make_unique<DatumDictionary>(budget, type.type, type.collation);
}

KeyDictionary::KeyDictionary(MemoryBudget& budget, const LabelRule& rule)
    : kind_(rule.kind == LabelKind::enumeration ? KeyKind::by_value : KeyKind::bytes),
      label_(rule),
      contents_(budget, "the contents of join keys"),
      integers_(budget),
      texts_(budget) {}

// −0 equals 0, and every NaN every other.
static int64_t real_bits(double number) {
    if (number == 0) number = 0;
    return std::bit_cast<int64_t>(from_sql(number));
}

// A Datum's bytes beyond the length of its type may be anything.
int64_t key_word(Datum value, Oid type) {
    switch (type) {
    case INT2OID:
        return DatumGetInt16(value);
    case INT8OID:
    case TIMEOID:
    case TIMESTAMPOID:
    case TIMESTAMPTZOID:
        return DatumGetInt64(value);
    case FLOAT4OID:
        return real_bits(static_cast<double>(DatumGetFloat4(value)));
    case FLOAT8OID:
        return real_bits(DatumGetFloat8(value));
    case OIDOID:
        return DatumGetObjectId(value);
    case BOOLOID:
        return DatumGetBool(value);
    case CHAROID:
        return DatumGetChar(value);
    default: // int4, date, enum
        return DatumGetInt32(value);
    }
}

Key KeyDictionary::number(Datum value, Oid type) {
    if (generic_) return generic_->number(value);
    if (kind_ != KeyKind::bytes) return integers_.number(key_word(value, type));
    return texts_.number(label_ ? label_of(value, *label_) : bytes_of(value, type));
}

Datum KeyDictionary::value(Key key, Oid type) const {
    return bytes_datum(texts_.text(key), type);
}

std::string_view KeyDictionary::label(Key key) const {
    if (kind_ == KeyKind::bytes) return texts_.text(key);
    const Datum value = ObjectIdGetDatum(static_cast<Oid>(integers_.values()[key]));
    return pg_call([=, this] { return label_of(value, *label_); });
}

size_t KeyDictionary::size() const {
    return generic_ ? generic_->values().size() : kind_ == KeyKind::bytes ? texts_.size() : integers_.values().size();
}

uint64_t KeyDictionary::content(Key key) const {
    if (label_) return relational::hash_bytes(label(key));
    if (generic_) {
        const Datum value = generic_->values()[key];
        return pg_call([&] { return generic_->hash(value); });
    }
    return kind_ == KeyKind::bytes ? relational::hash_bytes(texts_.text(key))
                                   : static_cast<uint64_t>(integers_.values()[key]);
}

const Buffer<uint64_t>& KeyDictionary::contents(RunContext& context) {
    const size_t known = contents_.size();
    contents_.resize(size());
    context.for_each(size() - known, 20,
                     [&](size_t i) { contents_[known + i] = mix64(content(static_cast<Key>(known + i))); });
    return contents_;
}

} // namespace btml::pg
