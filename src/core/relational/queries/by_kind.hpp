// Semirings over SQL's float8. Infinities and NaN do not distribute, ∞·1 + ∞·0 is NaN and ∞·(1 + 0) is ∞, and the rows
// of a join give the former. So a value here tells which kinds of products a set of rows has, and adds only the finite
// ones up; that is a semiring again.
#pragma once

#include "core/relational/join/semiring.hpp"

#include <cmath>

namespace btml::relational {

// What ⊕ and ⊗ of finite numbers come to must be finite, as in SQL. Error out_of_range.
inline double checked(double result) {
    if (!std::isfinite(result))
        throw Error(ErrorCode::out_of_range, "a sum or a product of factors is out of the range of numbers");
    return result;
}

// S: a semiring whose values are doubles.
template <Semiring S>
struct ByKind {
    struct Value {
        double finite;  // ⊕ over the rows whose product is finite
        unsigned kinds; // of the rows' products; none of the empty set
    };

    static Value zero() { return {S::zero(), 0}; }
    static Value one() { return {S::one(), kind_of(S::one())}; }
    static Value of_factor(double x) { return {std::isfinite(x) ? S::of_factor(x) : S::zero(), kind_of(x)}; }
    static Value add(const Value& a, const Value& b) { return {S::add(a.finite, b.finite), a.kinds | b.kinds}; }
    static Value multiply(const Value& a, const Value& b) {
        const bool finite = (a.kinds & finite_kinds) && (b.kinds & finite_kinds);
        return {finite ? S::multiply(a.finite, b.finite) : S::zero(), multiply_kinds(a.kinds, b.kinds)};
    }
    // ⊕ over all of the rows. Error out_of_range where finite ones have no finite sum.
    static double result(const Value& value) {
        double sum = value.kinds & finite_kinds ? checked(value.finite) : S::zero();
        for (unsigned kind = 3; kind < examples.size(); kind++)
            if (value.kinds & 1U << kind) sum = S::add(sum, examples[kind]);
        return sum;
    }

  private:
    // A number of each kind. It tells the kind of any product; sums of finite numbers are finite, whichever of the
    // finite kinds they count as.
    static constexpr std::array<double, 6> examples{0,
                                                    1,
                                                    -1,
                                                    std::numeric_limits<double>::infinity(),
                                                    -std::numeric_limits<double>::infinity(),
                                                    std::numeric_limits<double>::quiet_NaN()};
    static constexpr unsigned finite_kinds = 7;

    static unsigned kind_of(double x) {
        if (std::isnan(x)) return 1U << 5;
        if (std::isinf(x)) return x > 0 ? 1U << 3 : 1U << 4;
        return x == 0 ? 1U : x > 0 ? 1U << 1 : 1U << 2;
    }
    static unsigned multiply_kinds(unsigned a, unsigned b) {
        unsigned kinds = 0;
        for (unsigned i = 0; i < examples.size(); i++)
            for (unsigned j = 0; j < examples.size(); j++)
                if (a & 1U << i && b & 1U << j) kinds |= kind_of(S::multiply(examples[i], examples[j]));
        return kinds;
    }
};

} // namespace btml::relational
