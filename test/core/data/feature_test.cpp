#include "core/data/feature.hpp"

#include "core/numbers/rng.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace btml {
namespace {

std::vector<std::string> in_order(const char* type, std::vector<std::string> categories) {
    std::sort(categories.begin(), categories.end(), CategoryOrder(type));
    return categories;
}

TEST(CategoryOrder, NumbersAreOrderedByValueAndTextsByBytes) {
    const std::vector<std::string> integers = {
        "-9223372036854775808", "-9223372036854775807", "-10", "-9", "0", "9", "10", "9007199254740992",
        "9007199254740993",     "10000000000000000000"};
    std::vector<std::string> turned(integers.rbegin(), integers.rend());
    for (const char* type : {"smallint", "integer", "bigint", "numeric", "real", "double precision"})
        EXPECT_EQ(in_order(type, turned), integers) << type;
    EXPECT_EQ(in_order("text", {"9", "10", "b", "B"}), (std::vector<std::string>{"10", "9", "B", "b"}));
    EXPECT_EQ(in_order("double precision", {"NaN", "1e+20", "0.5", "-Infinity", "-1e-07"}),
              (std::vector<std::string>{"-Infinity", "-1e-07", "0.5", "1e+20", "NaN"}));
}

// A model that somebody made may have any texts.
TEST(CategoryOrder, IsAnOrderOfAnyTexts) {
    RandomStream random(7, 0);
    std::vector<std::string> texts;
    for (int i = 0; i < 60; i++) {
        std::string& text = texts.emplace_back();
        for (size_t length = random.below(5); text.size() < length;) text += "-.019ean "[random.below(9)];
    }
    const CategoryOrder is_less("numeric");
    for (const std::string& a : texts)
        for (const std::string& b : texts) {
            EXPECT_EQ(is_less(a, b) + is_less(b, a), a != b) << a << " " << b;
            for (const std::string& c : texts)
                EXPECT_FALSE(is_less(a, b) && is_less(b, c) && !is_less(a, c)) << a << " " << b << " " << c;
        }
}

TEST(Features, AreReadInTheOrderOfTheirType) {
    QuietContext quiet;
    for (const char* type : {"integer", "text"})
        for (const bool ascending : {true, false}) {
            Writer writer(quiet);
            encode({{"f", type, true,
                     ascending ? std::vector<std::string>{"9", "10"} : std::vector<std::string>{"10", "9"}}},
                   writer);
            Reader reader(writer.bytes());
            if (ascending == (type == std::string_view("integer")))
                EXPECT_EQ(decode_features(reader)[0].categories.size(), 2u);
            else
                EXPECT_THROW(decode_features(reader), Error);
        }
}

} // namespace
} // namespace btml
