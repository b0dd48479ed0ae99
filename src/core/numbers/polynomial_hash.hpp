// Hash functions of a stated independence: random polynomials over the field of 2^61 − 1 elements (Wegman and Carter,
// 1981). The values of a polynomial of degree d at any d + 1 points are independent and uniform.
#pragma once

#include "core/numbers/rng.hpp"

#include <array>
#include <cstddef>

namespace btml {

template <size_t degree>
class PolynomialHash {
  public:
    static constexpr uint64_t prime = (uint64_t{1} << 61) - 1;

    // A function of its own for each (seed, stream).
    constexpr PolynomialHash(uint64_t seed, uint64_t stream) {
        for (size_t i = 0; i <= degree; i++) coefficients_[i] = reduce(random_bits(seed, stream, i));
    }

    // Returns a value in [0, prime). Points are taken modulo the prime.
    constexpr uint64_t operator()(uint64_t x) const {
        const uint64_t point = reduce(x);
        uint64_t value = coefficients_[degree];
        for (size_t i = degree; i-- > 0;) value = multiply_add(value, point, coefficients_[i]);
        return value;
    }

  private:
    using Wide = unsigned __int128;

    // 2^61 is 1 modulo the prime.
    static constexpr uint64_t reduce(Wide x) {
        uint64_t low = static_cast<uint64_t>(x & prime) + static_cast<uint64_t>(x >> 61 & prime);
        low = (low & prime) + (low >> 61);
        return low == prime ? 0 : low;
    }
    static constexpr uint64_t multiply_add(uint64_t a, uint64_t b, uint64_t c) {
        return reduce(static_cast<Wide>(a) * b + c);
    }

    std::array<uint64_t, degree + 1> coefficients_{};
};

} // namespace btml
