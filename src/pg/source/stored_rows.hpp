// Rows of a query kept as they are, to take some of them out afterwards by their numbers.
#pragma once

#include "core/relational/join/table.hpp"
#include "pg/bridge/guard.hpp"
#include "pg/values/values.hpp"

extern "C" {
#include "utils/tuplestore.h"
}

namespace btml::pg {

// A column of the query's result that is kept.
struct KeptColumn {
    int position; // in the result, from 0
    Oid type;
    int32 typmod;
    // KeptRows find out the rest.
    LabelRule label = {};
    int16 length = 0;
    bool by_value = false;
};

class KeptRows {
  public:
    // Rows lie in a tuplestore: in work_mem, and beyond that on disk.
    KeptRows(std::vector<KeptColumn> columns, MemoryBudget& budget);

    // Inside pg_call only: may ereport. Error memory_limit for a row that the budget has no room for.
    void add(const Datum* values, const bool* nulls);
    // A hash of each row, in their order: of the bytes of its values, and of an enum's label.
    Buffer<uint64_t>& contents() { return contents_; }

    // Reads the rows with these numbers, which ascend, into memory; the others are gone then.
    void fetch(std::span<const relational::RowId> rows, RunContext& context);
    struct Row {
        const Datum* values;
        const bool* nulls;
    };
    // The i-th row fetched. It lasts until the next call.
    Row row(size_t i);

  private:
    uint64_t hash(const KeptColumn& column, Datum value) const;

    std::vector<KeptColumn> columns_;
    std::vector<Datum> values_; // of the row that is added
    std::unique_ptr<bool[]> nulls_;
    Buffer<uint64_t> contents_;
    TupleDesc description_;
    TupleTableSlot* slot_;
    Tuplestorestate* store_;
    Buffer<MinimalTuple> tuples_;
    MemoryContext context_; // holds tuples_
    Reservation held_;      // of context_
};

} // namespace btml::pg
