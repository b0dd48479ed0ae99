// Rows of a set-returning function, collected in a tuplestore.
#pragma once

#include "pg/bridge/guard.hpp"

extern "C" {
#include "utils/tuplestore.h"
}

namespace btml::pg {

Datum text_datum(std::string_view text);
std::string to_string(const text* value);

class ResultRows {
  public:
    // The columns are those of the call: declared in SQL, or the caller's column list for `SETOF record`.
    explicit ResultRows(FunctionCallInfo fcinfo);

    TupleDesc columns() const { return columns_; }

    void add(Datum value) { put(value, false); }
    void add_null() { put(static_cast<Datum>(0), true); }
    void add_text(std::string_view value);
    void add_texts(const std::vector<std::string_view>& values); // as text[]
    void add_integer(int32 value) { add(Int32GetDatum(value)); }
    void add_bigint(int64 value) { add(Int64GetDatum(value)); }
    void add_number(double value) {
        add(pg_call([=] { return Float8GetDatum(value); }));
    }
    void add_boolean(bool value) { add(BoolGetDatum(value)); }
    // After as many values as there are columns.
    void finish_row();
    Datum done() const { return static_cast<Datum>(0); }

  private:
    void put(Datum value, bool null);

    TupleDesc columns_;
    Tuplestorestate* store_;
    MemoryContext row_; // holds the texts of the row at hand
    std::vector<Datum> values_;
    std::unique_ptr<bool[]> nulls_;
    size_t filled_ = 0;
};

// A value of type btml.estimate.
struct Estimate {
    double value, std_error, lower, upper;
    int64 evaluations;
};
Datum estimate_datum(FunctionCallInfo fcinfo, const Estimate& estimate);

} // namespace btml::pg
