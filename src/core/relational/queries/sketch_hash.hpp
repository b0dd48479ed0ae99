// The hash functions of a tensor sketch (Pham and Pagh, KDD 2013): each position of a tuple, which for a join is a
// table, has a bucket that is 3-wise and a sign that is 4-wise independent. A tuple's coordinate is the sum of its
// buckets modulo the size of the sketch, its sign the product of the signs.
#pragma once

#include "core/numbers/polynomial_hash.hpp"

#include <string_view>

namespace btml::relational {

class SketchHash {
  public:
    SketchHash(uint64_t seed, uint64_t position) : bucket_(seed, 2 * position), sign_(seed, 2 * position + 1) {}

    // Returns a bucket in [0, size).
    uint32_t bucket(uint64_t x, uint32_t size) const {
        return static_cast<uint32_t>(static_cast<unsigned __int128>(bucket_(x)) * size >> 61);
    }
    bool is_negative(uint64_t x) const { return (sign_(x) & 1) != 0; }
    // Returns the bucket, with this bit where the sign is negative.
    static constexpr uint32_t sign_bit = uint32_t{1} << 31;
    uint32_t signed_bucket(uint64_t x, uint32_t size) const {
        return bucket(x, size) | (is_negative(x) ? sign_bit : 0);
    }

  private:
    PolynomialHash<2> bucket_;
    PolynomialHash<3> sign_;
};

// 64 bits of a string of bytes: FNV-1a (Fowler, Noll, Vo).
constexpr uint64_t hash_bytes(std::string_view bytes) {
    uint64_t hash = 0xcbf29ce484222325ULL;
    for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3ULL;
    return hash;
}

} // namespace btml::relational
