#include "core/boosting/growing/packed_sums.hpp"

namespace btml::boosting::BTML_LEVEL {

namespace {

constexpr size_t words = 8;
using Words [[gnu::vector_size(words * sizeof(int64_t))]] = int64_t;
using Unsigned [[gnu::vector_size(words * sizeof(uint64_t))]] = uint64_t;
using Pairs [[gnu::vector_size(2 * words * sizeof(int64_t))]] = int64_t;

[[gnu::always_inline]] inline int64_t sum_of(int64_t packed, int count_bit) {
    return static_cast<int64_t>(static_cast<uint64_t>(packed) << (64 - count_bit)) >> (64 - count_bit);
}

} // namespace

void unpack_sums(int count_bit, size_t count, int64_t* packed, Stats* to) {
    size_t i = 0;
    for (; i + words <= count; i += words) {
        Words word;
        __builtin_memcpy(&word, packed + i, sizeof(word));
        const Words sum = word << (64 - count_bit) >> (64 - count_bit);
        const auto rows = __builtin_bit_cast(Words, __builtin_bit_cast(Unsigned, word - sum) >> count_bit);
        Pairs held;
        __builtin_memcpy(&held, to + i, sizeof(held));
        held += __builtin_shufflevector(sum, rows, 0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15);
        __builtin_memcpy(static_cast<void*>(to + i), &held, sizeof(held));
        word = Words{};
        __builtin_memcpy(packed + i, &word, sizeof(word));
    }
    for (; i < count; i++) {
        const int64_t sum = sum_of(packed[i], count_bit);
        to[i] += {sum, static_cast<int64_t>(static_cast<uint64_t>(packed[i] - sum) >> count_bit)};
        packed[i] = 0;
    }
}

} // namespace btml::boosting::BTML_LEVEL
