#include "core/data/dictionary.hpp"

#include <gtest/gtest.h>

#include <map>

using namespace btml;

TEST(IntegerDictionary, NumbersInOrderOfAppearance) {
    MemoryBudget budget(uint64_t{1} << 30);
    for (uint64_t seed = 0; seed < 20; seed++) {
        IntegerDictionary dictionary(budget);
        std::map<int64_t, uint32_t> expected;
        const int64_t edges[] = {0, -1, 1, 1023, 1024, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, INT64_MIN, INT64_MAX};
        for (uint64_t i = 0; i < 20000; i++) {
            const uint64_t bits = random_bits(seed, 0, i);
            const int64_t value = bits % 7 == 0   ? edges[bits / 7 % std::size(edges)]
                                  : bits % 7 == 1 ? static_cast<int64_t>(bits)
                                                  : static_cast<int64_t>(bits % (1000 << (seed % 12))) - 100;
            const auto [entry, is_new] = expected.try_emplace(value, static_cast<uint32_t>(expected.size()));
            ASSERT_EQ(dictionary.number(value), entry->second) << value;
        }
        ASSERT_EQ(dictionary.values().size(), expected.size());
        for (const auto& [value, number] : expected) EXPECT_EQ(dictionary.values()[number], value);
    }
    EXPECT_EQ(budget.used(), 0u);
}

TEST(TextDictionary, NumbersInOrderOfAppearance) {
    MemoryBudget budget(uint64_t{1} << 30);
    TextDictionary dictionary(budget);
    std::map<std::string, uint32_t> expected;
    for (uint64_t i = 0; i < 20000; i++) {
        const std::string text(random_bits(1, 1, i) % 5, static_cast<char>('a' + random_bits(1, 2, i) % 20));
        const std::string value = text + std::to_string(random_bits(1, 3, i) % 3000);
        const auto [entry, is_new] = expected.try_emplace(value, static_cast<uint32_t>(expected.size()));
        ASSERT_EQ(dictionary.number(value), entry->second) << value;
    }
    for (const auto& [value, number] : expected) EXPECT_EQ(dictionary.text(number), value);
}
