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

Feature element(std::string column, uint32_t number, std::string type = "real[]") {
    return {element_name(column, number), std::move(type), false, {}, number};
}

TEST(Features, OfAnArrayAreOneGroup) {
    const std::vector<Feature> features = {element("a", 1),    element("a", 2),
                                           element("b", 1),    {"c[3]", "real", false, {}},
                                           element("x[1]", 1), element("x[1]", 2)};
    std::vector<std::pair<std::string, size_t>> found;
    for (const FeatureGroup& group : grouped(features, false)) found.emplace_back(group.name, group.count);
    EXPECT_EQ(found, (std::vector<std::pair<std::string, size_t>>{{"a", 2}, {"b", 1}, {"c[3]", 1}, {"x[1]", 2}}));
    const std::vector<FeatureGroup> each = grouped(features, true);
    ASSERT_EQ(each.size(), features.size());
    for (size_t f = 0; f < each.size(); f++) EXPECT_EQ(each[f].name, features[f].name);
    const double values[] = {1, 2, 4, 8, 16, 32};
    EXPECT_EQ(total_of(grouped(features, false)[3], values), 48);
}

std::vector<Feature> stored(const std::vector<Feature>& features) {
    QuietContext quiet;
    Writer writer(quiet);
    encode(features, writer);
    Reader reader(writer.bytes());
    return decode_features(reader);
}

TEST(Features, OfAnArrayAreStoredInOrder) {
    const std::vector<Feature> read = stored({{"x", "real", false, {}}, element("a", 1), element("a", 2)});
    EXPECT_EQ(read[2].element, 2u);
    EXPECT_EQ(read[2].column(), "a");
    EXPECT_EQ(read[0].element, 0u);
    const std::vector<Feature> wrong[] = {{element("a", 2)},
                                          {element("a", 1), element("a", 3)},
                                          {element("a", 1), element("b", 2)},
                                          {element("a", 1), element("a", 2, "numeric[]")},
                                          {element("a", 1), {"x", "real", false, {}}, element("a", 2)},
                                          {element("a", 1, "vector); DROP")},
                                          {{"a", "real[]", false, {}, 1}},
                                          {{"a[2]", "real[]", false, {}, 1}},
                                          {{"a[01]", "real[]", false, {}, 1}}};
    for (const std::vector<Feature>& features : wrong) EXPECT_THROW(stored(features), Error);
}

} // namespace
} // namespace btml
