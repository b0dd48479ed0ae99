// Running one query of a source into columns.
#pragma once

#include "pg/bridge/source.hpp"
#include "pg/bridge/values.hpp"

namespace btml::pg {

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

// Where one column of the query's result goes. Exactly one of keys, numbers and codes is set.
struct ColumnSink {
    int position = 0; // in the query's result, from 0
    Oid type = InvalidOid;

    KeyDictionary* dictionary = nullptr;
    Buffer<relational::Key>* keys = nullptr;

    NumberKind number = NumberKind::none;
    Buffer<double>* numbers = nullptr;

    LabelKind label = LabelKind::text;
    FmgrInfo* output_function = nullptr;   // LabelKind::output
    TextDictionary* labels = nullptr;      // text-like and output labels
    IntegerDictionary* integers = nullptr; // boolean and enum labels
    DatumDictionary* datums = nullptr;     // groups
    Buffer<uint32_t>* codes = nullptr;
};

// Plans and runs the query in the active snapshot and appends every row to the sinks; returns the number of rows.
// Error limit_exceeded, naming `relation`, when a table would hold more than relational::max_rows.
uint64_t scan(const Query* query, const char* sql, const char* relation, const std::vector<ColumnSink>& sinks,
              RunContext& context);

} // namespace btml::pg
