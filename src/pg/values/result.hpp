// Rows of a set-returning function, collected in a tuplestore.
#pragma once

#include "core/base/buffer.hpp"
#include "pg/values/number_array.hpp"

extern "C" {
#include "utils/tuplestore.h"
}

namespace btml::pg {

Datum text_datum(std::string_view text);
// Makes a datum of a text that may be long, which is counted while it is copied. Error limit_exceeded beyond 1 GB,
// where it is called `what`.
Datum long_text_datum(const Buffer<char>& text, const char* what, RunContext& context);
Datum text_array(std::span<const std::string_view> texts); // text[] of one dimension
std::string to_string(const text* value);

struct SqlValue {
    Datum datum;
};

template <class T>
std::optional<T> null_if(bool null, const T& value) {
    return null ? std::nullopt : std::optional<T>(value);
}

class ResultRows {
  public:
    // The columns are those of the call: declared in SQL, or the caller's column list for `SETOF record`.
    explicit ResultRows(FunctionCallInfo fcinfo);

    TupleDesc columns() const { return columns_; }

    // Adds a row of as many values as there are columns: see add.
    template <class... Values>
    void add_row(const Values&... values) {
        (add(values), ...);
        finish_row();
    }
    // Gives the row at hand its next value: an integer, bigint, number, boolean, text, text[], float8[] or any other
    // SQL value. An empty optional is NULL. A text for a column of another type is read as a value of that type.
    template <class T>
    void add(const T& value) {
        if constexpr (std::is_same_v<T, bool>)
            put(BoolGetDatum(value));
        else if constexpr (std::is_same_v<T, int32>)
            put(Int32GetDatum(value));
        else if constexpr (std::is_same_v<T, int64>)
            put(Int64GetDatum(value));
        else if constexpr (std::is_same_v<T, double>)
            put(pg_call([=] { return Float8GetDatum(value); }));
        else if constexpr (std::is_same_v<T, SqlValue>)
            put(value.datum);
        else if constexpr (requires { value.has_value(); })
            value ? add(*value) : add_null();
        else if constexpr (std::is_convertible_v<T, std::span<const double>>)
            put(number_array(value));
        else
            put(text_or_texts(value));
    }
    void add_null() { put(static_cast<Datum>(0), true); }
    void finish_row();
    Datum done() const { return static_cast<Datum>(0); }

  private:
    void put(Datum value, bool null = false);
    Datum text_or_texts(std::string_view value);
    Datum read_text(std::string_view value, size_t column);
    Datum text_or_texts(std::span<const std::string_view> values);

    TupleDesc columns_;
    Tuplestorestate* store_;
    MemoryContext store_context_ = nullptr; // lives as long as the call
    MemoryContext row_;                     // holds the texts of the row at hand
    std::vector<Datum> values_;
    std::unique_ptr<bool[]> nulls_;
    size_t filled_ = 0;
    // What reads texts of the columns of other types; made when the first such text comes.
    struct TypeInput {
        FmgrInfo function;
        Oid parameter;
    };
    TypeInput* inputs_ = nullptr;
};

// A value of type btml.estimate.
struct Estimate {
    double value, std_error, lower, upper;
    int64 evaluations;
};
Datum estimate_datum(FunctionCallInfo fcinfo, const Estimate& estimate);

} // namespace btml::pg
