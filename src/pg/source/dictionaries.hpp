// Dense numbers for distinct SQL values, in the order of their first appearance.
#pragma once

#include "core/data/dictionary.hpp"
#include "core/relational/join/table.hpp"
#include "pg/bridge/guard.hpp"
#include "pg/source/analysis.hpp"
#include "pg/values/values.hpp"

extern "C" {
#include "utils/datum.h"
}

namespace btml::pg {

// Distinct values of one type, as Datums.
class DatumDictionary {
  public:
    // Error wrong_type when the type has no default hash operator class.
    DatumDictionary(MemoryBudget& budget, Oid type, Oid collation);

    // Inside pg_call only: may ereport.
    uint32_t number(Datum value);
    const Buffer<Datum>& values() const { return values_; }
    // Inside pg_call only: tells whether the value looks like the one of that number, to which it is equal, as 1.0 does
    // not look like 1.00.
    bool looks_like(uint32_t number, Datum value) const {
        return datum_image_eq(values_[number], value, type_->typbyval, type_->typlen);
    }
    // Inside pg_call only: the type's own hash, of 64 bits where it has one.
    uint64_t hash(Datum value) const;

  private:
    HashIndex index_;
    Buffer<Datum> values_;
    MemoryContext context_; // holds copies of values passed by reference
    Reservation held_;      // of context_
    TypeCacheEntry* type_;  // which lasts as long as the session
    Oid collation_;
};

// Distinct values of a column, or of the columns of one join attribute (or of one pair of columns of a left join),
// numbered alike in every table.
class KeyDictionary {
  public:
    // Bytes of a value beside its own: where it is, and the slot that it is found by.
    static constexpr size_t entry_bytes = 16;

    KeyDictionary(MemoryBudget& budget, const KeyType& type);
    // Of the labels of values.
    KeyDictionary(MemoryBudget& budget, const LabelRule& rule);

    size_t size() const;
    // Inside pg_call only: may ereport.
    relational::Key number(Datum value, Oid type);
    // Inside pg_call only: the value of a key of kind bytes, of a type that compares as the keys do, in the current
    // memory context.
    Datum value(relational::Key key, Oid type) const;
    // The value of a key of kind generic, which lasts as long as the dictionary.
    Datum generic_value(relational::Key key) const { return generic_->values()[key]; }
    // Inside pg_call only: whether a value of kind generic looks like the one of this key, to which it is equal.
    bool looks_like(relational::Key key, Datum value) const { return generic_->looks_like(key, value); }
    // The label of a key, of a dictionary of labels. It lasts until the next call.
    std::string_view label(relational::Key key) const;
    // A hash of each key's value, by key: of an enum's label, not of its number.
    const Buffer<uint64_t>& contents(RunContext& context);

  private:
    uint64_t content(relational::Key key) const;

    KeyKind kind_;
    std::optional<LabelRule> label_; // of an enum, whose label is looked up once, or of labels that are the values
    Buffer<uint64_t> contents_;
    IntegerDictionary integers_;
    TextDictionary texts_;
    std::unique_ptr<DatumDictionary> generic_;
};

// The value as an integer that equals another's where the values do: integers, floats, and types passed by value.
int64_t key_word(Datum value, Oid type);

} // namespace btml::pg
