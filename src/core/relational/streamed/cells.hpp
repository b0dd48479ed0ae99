// The cells of messages: how the values of a query are held, in words of 8 bytes, and how they add up and multiply.
#pragma once

#include "core/numbers/number.hpp"
#include "core/numbers/wide_integer.hpp"
#include "core/relational/streamed/row_batch.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

namespace btml::relational {

// Thrown where a result cannot be had exactly, or not in the memory there is: whoever asked must find it in another
// way. The reason is a sentence's part that people read: "a sum beyond 128 bits".
struct CannotDecide {
    const char* reason;
};

// The reason where the budget of the run's context is the limit.
inline constexpr const char* beyond_budget = "more memory than is allowed";

// One number of the result. absent: no row added anything (the count is 0 then).
struct StreamedCell {
    bool absent;
    __int128 integer; // counts, integers, the mantissa of decimals
    int scale;        // of decimals
    double number;
};

// A decimal number; ambiguous: equal to another one of a different scale, and which of them SQL takes as the extremum
// depends on the order of rows.
struct WideDecimal {
    WideInteger mantissa;
    int32_t scale;
    bool ambiguous = false;
};

// Stands for the sum or extremum of no rows. No sum may come to be it.
inline constexpr WideInteger absent_integer = std::numeric_limits<WideInteger>::min();
inline constexpr uint64_t absent_number = null_bits;
// Zeros of both signs, which are equal: which of them SQL takes as the extremum depends on the order of rows.
inline constexpr uint64_t ambiguous_zero = null_bits ^ 1;

[[noreturn]] void refuse(const char* reason); // throws CannotDecide
inline constexpr const char* beyond_128_bits = "a number beyond 128 bits";
inline constexpr const char* not_finite = "a number that is not finite";

inline bool is_integer(CellKind kind) {
    return kind == CellKind::count || kind == CellKind::integer_sum || kind == CellKind::integer_min ||
           kind == CellKind::integer_max;
}
inline bool is_number(CellKind kind) {
    return kind == CellKind::number_sum || kind == CellKind::number_min || kind == CellKind::number_max;
}
inline size_t cell_words(CellKind kind) {
    return is_integer(kind) ? 2 : is_number(kind) ? 1 : 3;
}

inline WideInteger load_integer(const uint64_t* cell) {
    WideInteger value;
    std::memcpy(&value, cell, sizeof(value));
    return value;
}
inline void store_integer(uint64_t* cell, WideInteger value) {
    std::memcpy(cell, &value, sizeof(value));
}
inline WideDecimal load_decimal(const uint64_t* cell) {
    return {load_integer(cell), static_cast<int32_t>(cell[2] >> 1), (cell[2] & 1) != 0};
}
inline void store_decimal(uint64_t* cell, const WideDecimal& value) {
    store_integer(cell, value.mantissa);
    cell[2] = static_cast<uint64_t>(value.scale) << 1 | uint64_t{value.ambiguous};
}

// What a cell is before any row adds to it.
void store_absent(CellKind kind, uint64_t* cell);
// Whether the order of rows would decide which of several equal values the extremum in a cell is.
bool is_ambiguous(CellKind kind, const uint64_t* cell);
StreamedCell read_cell(CellKind kind, const uint64_t* cell);

inline WideInteger product(WideInteger a, WideInteger b) {
    const auto small_a = static_cast<int64_t>(a), small_b = static_cast<int64_t>(b);
    if (small_a == a && small_b == b) [[likely]]
        return static_cast<WideInteger>(small_a) * small_b;
    WideInteger result;
    if (__builtin_mul_overflow(a, b, &result) || result == absent_integer) refuse(beyond_128_bits);
    return result;
}
inline double product(double a, double b) {
    return a * b;
}
inline WideInteger sum(WideInteger a, WideInteger b) {
    WideInteger result;
    if (__builtin_add_overflow(a, b, &result) || result == absent_integer) [[unlikely]]
        refuse(beyond_128_bits);
    return result;
}

inline WideDecimal product(const WideDecimal& a, const WideDecimal& b) {
    if (a.scale + b.scale > RowBatch::max_scale) refuse("a product with too many digits after the point");
    return {product(a.mantissa, b.mantissa), a.scale + b.scale};
}
// Multiplies what a maximum is sought of. With 0 as a factor the product is 0 for each of the other's values, and the
// scales of those that were less are not known any more.
inline WideDecimal max_product(const WideDecimal& a, const WideDecimal& b) {
    WideDecimal result = product(a, b);
    result.ambiguous = a.ambiguous || b.ambiguous || result.mantissa == 0;
    return result;
}
inline WideDecimal sum(WideDecimal a, WideDecimal b) {
    const int32_t scale = std::max(a.scale, b.scale);
    if (!scale_up(a.mantissa, scale - a.scale) || !scale_up(b.mantissa, scale - b.scale)) refuse(beyond_128_bits);
    return {sum(a.mantissa, b.mantissa), scale, a.ambiguous || b.ambiguous};
}
// Below 0, 0 or above 0 as a is less than, equal to or greater than b.
inline int compare(WideDecimal a, WideDecimal b) {
    if (a.scale < b.scale && !scale_up(a.mantissa, b.scale - a.scale)) return a.mantissa < 0 ? -1 : 1;
    if (b.scale < a.scale && !scale_up(b.mantissa, a.scale - b.scale)) return b.mantissa < 0 ? 1 : -1;
    return a.mantissa < b.mantissa ? -1 : a.mantissa > b.mantissa;
}

// Each kind of cell says here how it is read and added to.

struct CountCell {
    using Value = WideInteger;
    static bool load(const uint64_t* cell, Value& value) {
        value = load_integer(cell);
        return value != 0;
    }
    static void add(uint64_t* cell, Value value) { store_integer(cell, sum(load_integer(cell), value)); }
};

struct IntegerCell {
    using Value = WideInteger;
    static bool load(const uint64_t* cell, Value& value) {
        value = load_integer(cell);
        return value != absent_integer;
    }
    static void add(uint64_t* cell, Value value) {
        const Value before = load_integer(cell);
        store_integer(cell, before == absent_integer ? value : sum(before, value));
    }
};

template <bool max>
struct IntegerExtremumCell : IntegerCell {
    static void add(uint64_t* cell, Value value) {
        const Value before = load_integer(cell);
        if (before == absent_integer || (max ? value > before : value < before)) store_integer(cell, value);
    }
};

struct NumberCell {
    using Value = double;
    static bool load(const uint64_t* cell, Value& value) {
        value = std::bit_cast<double>(*cell);
        return *cell != absent_number;
    }
    static void add(uint64_t* cell, Value value) {
        const Value before = std::bit_cast<double>(*cell);
        const Value after = *cell == absent_number ? value : before + value;
        if (!std::isfinite(after)) [[unlikely]]
            refuse(not_finite);
        *cell = std::bit_cast<uint64_t>(after);
    }
};

template <bool max>
struct NumberExtremumCell : NumberCell {
    static void add(uint64_t* cell, Value value) {
        const Value before = std::bit_cast<double>(*cell);
        if (max ? value > before : value < before)
            *cell = std::bit_cast<uint64_t>(value);
        else if (!(max ? value < before : value > before) && std::bit_cast<uint64_t>(value) != *cell)
            add_marked(cell, std::bit_cast<uint64_t>(value));
    }

  private:
    static double compared(uint64_t bits) { return bits == ambiguous_zero ? 0 : std::bit_cast<double>(bits); }
    // Adds bits that differ from the cell's, where both are zeros or one of them is absent or ambiguous.
    static void add_marked(uint64_t* cell, uint64_t bits) {
        if (*cell == absent_number) {
            *cell = bits;
            return;
        }
        const double before = compared(*cell), value = compared(bits);
        if (max ? value > before : value < before) *cell = bits;
        if (value == before) *cell = ambiguous_zero;
    }
};

struct DecimalCell {
    using Value = WideDecimal;
    static bool load(const uint64_t* cell, Value& value) {
        value = load_decimal(cell);
        return value.mantissa != absent_integer;
    }
    static void add(uint64_t* cell, const Value& value) {
        const Value before = load_decimal(cell);
        store_decimal(cell, before.mantissa == absent_integer ? value : sum(before, value));
    }
};

template <bool max>
struct DecimalExtremumCell : DecimalCell {
    static void add(uint64_t* cell, const Value& value) {
        Value before = load_decimal(cell);
        if (before.mantissa == absent_integer) {
            store_decimal(cell, value);
            return;
        }
        const int order = compare(value, before);
        if (max ? order > 0 : order < 0) store_decimal(cell, value);
        if (order != 0) return;
        before.ambiguous |= value.ambiguous || value.scale != before.scale;
        store_decimal(cell, before);
    }
};

// Calls body(cell) with an object of the struct above for the kind.
template <class Body>
void with_cell(CellKind kind, const Body& body) {
    switch (kind) {
    case CellKind::count:
        return body(CountCell{});
    case CellKind::integer_sum:
        return body(IntegerCell{});
    case CellKind::number_sum:
        return body(NumberCell{});
    case CellKind::decimal_sum:
        return body(DecimalCell{});
    case CellKind::integer_min:
        return body(IntegerExtremumCell<false>{});
    case CellKind::integer_max:
        return body(IntegerExtremumCell<true>{});
    case CellKind::number_min:
        return body(NumberExtremumCell<false>{});
    case CellKind::number_max:
        return body(NumberExtremumCell<true>{});
    case CellKind::decimal_min:
        return body(DecimalExtremumCell<false>{});
    case CellKind::decimal_max:
    case CellKind::decimal_max_product:
        return body(DecimalExtremumCell<true>{});
    }
}

} // namespace btml::relational
