// Commutative semirings (S, ⊕, ⊗), the algebra of SumProd queries. Each is a type with a trivially copyable Value and
// static functions; where a query's factors are SQL numbers, of_factor() says which value such a number stands for.
#pragma once

#include "core/base/error.hpp"
#include "core/numbers/number.hpp"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace btml::relational {

template <class S>
concept Semiring = std::is_trivially_copyable_v<typename S::Value> &&
    requires(typename S::Value a, typename S::Value b) {
    { S::zero() } -> std::same_as<typename S::Value>; // identity of ⊕
    { S::one() } -> std::same_as<typename S::Value>;  // identity of ⊗
    { S::add(a, b) } -> std::same_as<typename S::Value>;
    { S::multiply(a, b) } -> std::same_as<typename S::Value>;
};

// Has what semirings of SQL numbers have in common.
struct OverNumbers {
    using Value = double;
    static constexpr double of_factor(double x) { return x; }
};

struct SumProduct : OverNumbers {
    static constexpr double zero() { return 0; }
    static constexpr double one() { return 1; }
    static constexpr double add(double a, double b) { return a + b; }
    static constexpr double multiply(double a, double b) { return a * b; }
};

// Counts that are exact up to a power of two. All larger counts are one value, `too_many`: that is a semiring again, so
// nothing needs a check before the end of a query.
template <class Count, int bits>
struct CountingTo {
    using Value = Count;
    static constexpr Count most = Count{1} << bits;
    static constexpr Count too_many = most + 1;

    static constexpr Count zero() { return 0; }
    static constexpr Count one() { return 1; }
    static constexpr Count add(Count a, Count b) {
        Count sum = 0;
        return __builtin_add_overflow(a, b, &sum) || sum > most ? too_many : sum;
    }
    static constexpr Count multiply(Count a, Count b) {
        Count product = 0;
        return __builtin_mul_overflow(a, b, &product) || product > most ? too_many : product;
    }
};

using Counting = CountingTo<uint64_t, 53>; // as far as doubles are exact
using WideCounting = CountingTo<WideCount, 127>;

// The larger and the smaller number; NaN if either is NaN, so that the order of evaluation does not matter.
constexpr double max_number(double a, double b) {
    return a > b || a != a ? a : b;
}
constexpr double min_number(double a, double b) {
    return a < b || a != a ? a : b;
}

// Over numbers ≥ 0 only: max does not distribute over products of mixed sign.
struct MaxProduct : OverNumbers {
    static constexpr double zero() { return 0; }
    static constexpr double one() { return 1; }
    static constexpr double add(double a, double b) { return max_number(a, b); }
    static constexpr double multiply(double a, double b) { return a * b; }
};

// Takes numbers of any sign by their absolute values.
struct MaxAbsProduct : MaxProduct {
    static constexpr double of_factor(double x) { return x < 0 ? -x : x; }
};

struct MinPlus : OverNumbers {
    static constexpr double zero() { return std::numeric_limits<double>::infinity(); }
    static constexpr double one() { return 0; }
    static constexpr double add(double a, double b) { return min_number(a, b); }
    static constexpr double multiply(double a, double b) { return a + b; }
};

struct MaxPlus : OverNumbers {
    static constexpr double zero() { return -std::numeric_limits<double>::infinity(); }
    static constexpr double one() { return 0; }
    static constexpr double add(double a, double b) { return max_number(a, b); }
    static constexpr double multiply(double a, double b) { return a + b; }
};

// Truth values as 0 and 1; every factor but 0 is true.
struct OrAnd : OverNumbers {
    static constexpr double zero() { return 0; }
    static constexpr double one() { return 1; }
    static constexpr double add(double a, double b) { return a != 0 || b != 0 ? 1 : 0; }
    static constexpr double multiply(double a, double b) { return a != 0 && b != 0 ? 1 : 0; }
    static constexpr double of_factor(double x) { return x != 0 ? 1 : 0; }
};

} // namespace btml::relational
