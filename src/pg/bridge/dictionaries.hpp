// Dense numbers for distinct SQL values, in the order of their first appearance.
#pragma once

#include "core/base/dictionary.hpp"
#include "core/relational/table.hpp"
#include "pg/bridge/analysis.hpp"
#include "pg/bridge/guard.hpp"

namespace btml::pg {

// Distinct values of one type, as Datums.
class DatumDictionary {
  public:
    // Error wrong_type when the type has no default hash operator class.
    DatumDictionary(MemoryBudget& budget, Oid type, Oid collation);

    // Inside pg_call only: may ereport.
    uint32_t number(Datum value);
    const Buffer<Datum>& values() const { return values_; }

  private:
    HashIndex index_;
    Buffer<Datum> values_;
    MemoryContext context_; // holds copies of values passed by reference
    Reservation held_;      // of context_
    FmgrInfo *hash_, *equal_;
    Oid collation_;
    int16 length_;
    bool by_value_;
};

// Keys of one join attribute (or of one pair of columns of a left join), numbered alike in every table.
class KeyDictionary {
  public:
    KeyDictionary(MemoryBudget& budget, const KeyType& type);

    // Inside pg_call only: may ereport.
    relational::Key number(Datum value, Oid type);

  private:
    KeyKind kind_;
    IntegerDictionary integers_;
    TextDictionary texts_;
    std::unique_ptr<DatumDictionary> generic_;
};

} // namespace btml::pg
