#include "caught.hpp"
#include "core/base/json_reader.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace btml::test {
namespace {

[[noreturn]] void refuse(std::string detail) {
    throw Error(ErrorCode::invalid_argument, std::move(detail));
}

// Returns what the reader says when it skips the text, or "" where it is JSON.
std::string refusal(std::string_view text) {
    QuietContext context;
    try {
        JsonReader json(text, refuse, context);
        json.skip();
        json.finish();
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

TEST(JsonReader, SkipsAnyValue) {
    for (const char* const text :
         {"{}", "[]", " [ 1 , -2.5e-3 ] ", R"({"a": {"b": [null, true, false, "x"]}, "": 0})", "NaN", "-Infinity",
          "Infinity", R"("\"\\\/\b\f\n\r\té")", R"("😀")", "1E-45", "[[[[[[[[[[]]]]]]]]]]"})
        EXPECT_EQ(refusal(text), "") << text;
}

TEST(JsonReader, SaysWhereTheTextIsWrong) {
    const std::pair<const char*, const char*> texts[] = {
        {"", "Byte 1: the text ends where a value is missing."},
        {"[1, 2", "Byte 6: the text ends where ',' is missing."},
        {"{\"a\" 1}", "Byte 6: ':' is missing."},
        {"{1: 2}", "Byte 2: a string is missing."},
        {"[1 2]", "Byte 4: ',' is missing."},
        {"[1] 2", "Byte 5: text follows the end."},
        {"\"abc", "Byte 5: the text ends within a string."},
        {"\"a\\", "Byte 4: the text ends within a string."},
        {R"("\x")", "Byte 4: a backslash is followed by what is no escape."},
        {R"("\u12")", "Byte 4: four hexadecimal digits are missing after \\u."},
        {R"("\ud800")", "Byte 8: half of a surrogate pair is missing."},
        {R"("\udc00\ud800")", "Byte 8: half of a surrogate pair is missing."},
        {R"("\u0000")", "Byte 8: a string has the character \\u0000, which no text has."},
        {"nul", "Byte 1: a value is missing."},
        {"truth", "Byte 1: true or false is missing."},
        {"1e999", "Byte 6: the number 1e999 is out of range."},
        {"nan", "Byte 1: a value is missing."},
        {"inf", "Byte 4: \"inf\" is no number."},
        {"0x10", "Byte 5: \"0x10\" is no number."},
        {"--1", "Byte 4: \"--1\" is no number."},
        {"'a'", "Byte 1: a number is missing."},
    };
    for (const auto& [text, said] : texts) EXPECT_EQ(refusal(text), said) << text;
    EXPECT_EQ(refusal(std::string(1000, '[')), "Byte 65: values are nested more than 64 deep.");
    EXPECT_EQ(refusal(std::string_view("\"a\0b\"", 5)), "Byte 3: a string has a zero byte.");
    EXPECT_EQ(refusal(std::string_view("\0", 1)), "Byte 1: a zero byte.");
}

TEST(JsonReader, ReadsStringsAndNumbers) {
    QuietContext context;
    EXPECT_EQ(JsonReader(R"("Aé€😀\n")", refuse, context).string(), "Aé€😀\n");
    EXPECT_EQ(JsonReader("0.1", refuse, context).number(), 0.1);
    EXPECT_EQ(JsonReader("0.1", refuse, context).number_of_32_bits(), 0.1F);
    EXPECT_EQ(JsonReader("1E-45", refuse, context).number_of_32_bits(), std::nextafter(0.0F, 1.0F));
    EXPECT_TRUE(std::isnan(JsonReader(" NaN", refuse, context).number_of_32_bits()));
    EXPECT_THROW(JsonReader("1e39", refuse, context).number_of_32_bits(), Error);
    EXPECT_EQ(JsonReader("3.0", refuse, context).integer(0, 3), 3);
    for (const char* const bad : {"3.5", "4", "-1", "NaN", "1e300"})
        EXPECT_THROW(JsonReader(bad, refuse, context).integer(0, 3), Error) << bad;
    EXPECT_TRUE(JsonReader("1", refuse, context).boolean());
}

// A text that claims nothing is read without memory.
TEST(JsonReader, TakesNoMemoryForDepthOrSize) {
    QuietContext context(1, 0);
    std::string text = "[";
    for (int i = 0; i < 100000; i++) text += "[[1,2],{\"a\":3}],";
    const std::string large(300000, 'x');
    text += "\"" + large + "\",{\"" + large + "\":\"\\n" + large + "\"}," + std::string(300000, ' ') + "4]";
    JsonReader json(text, refuse, context);
    size_t count = 0;
    json.array([&] { json.skip(), count++; });
    EXPECT_EQ(count, 100003u);
}

TEST(JsonReader, CountsStringsThatItBuilds) {
    const std::string inner(100000, 'x'), text = "[\"" + inner + "\", \"" + inner + "\"]";
    QuietContext small(1, inner.size() - 1), enough(1, inner.size());
    const auto read = [&](RunContext& context) {
        JsonReader json(text, refuse, context);
        json.array([&] { EXPECT_EQ(json.string(), inner); });
        EXPECT_EQ(context.memory().used(), inner.size());
    };
    read(enough);
    EXPECT_EQ(btml::test::caught([&] { read(small); }).code, ErrorCode::memory_limit);
    for (QuietContext* const context : {&small, &enough}) EXPECT_EQ(context->memory().used(), 0u);
}

// A text that is one value and large is polled within, not after: as many polls as of many small values.
TEST(JsonReader, PollsWithinOneValue) {
    constexpr size_t size = 40000000;
    std::string escapes;
    while (escapes.size() < size) escapes += "\\u00e9";
    const auto polls = [](const std::string& text, bool builds, uint64_t patience) {
        btml::test::ImpatientContext context(patience);
        try {
            JsonReader json(text, refuse, context);
            builds ? json.string().clear() : json.skip();
        } catch (const Cancelled&) {
        }
        return context.polls;
    };
    for (const std::string& text : {"\"" + std::string(size, 'a') + "\"", "\"" + escapes + "\"",
                                    "[" + std::string(size, ' ') + "1]", "[\"\"" + std::string(size, '\n') + "]"}) {
        EXPECT_GT(polls(text, false, UINT64_MAX), 100u);
        EXPECT_EQ(polls(text, false, 50), 51u);
        if (text[0] != '"') continue;
        EXPECT_GT(polls(text, true, UINT64_MAX), 200u); // It is measured, then built.
        EXPECT_EQ(polls(text, true, 150), 151u);
    }
}

TEST(JsonReader, NumbersHaveAnEnd) {
    EXPECT_EQ(refusal("0." + std::string(1998, '1')), "");
    EXPECT_EQ(refusal("0." + std::string(1999, '1')), "Byte 2002: a number has more than 2000 characters.");
}

} // namespace
} // namespace btml::test
