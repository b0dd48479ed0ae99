#include "core/plot/canvas/text.hpp"

#include "core/numbers/rng.hpp"
#include "core/plot/canvas/svg.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace btml::plot {
namespace {

TEST(PlotText, KeepsWhatXmlAllowsAndReplacesTheRest) {
    EXPECT_EQ(clean_text("a\tb\r\nc"), "a b  c");
    EXPECT_EQ(clean_text(std::string_view("\0\x01\x1f\x7f", 4)), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
    EXPECT_EQ(clean_text("\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80"), "\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80");
    EXPECT_EQ(clean_text("\xC0\xAF"), "\xEF\xBF\xBD\xEF\xBF\xBD") << "an overlong slash";
    EXPECT_EQ(clean_text("\xED\xA0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD") << "a surrogate";
    EXPECT_EQ(clean_text("\xE2\x82"), "\xEF\xBF\xBD\xEF\xBF\xBD") << "a character that ends too soon";
    EXPECT_EQ(clean_text("\xEF\xBF\xBE"), "\xEF\xBF\xBD") << "no character";
}

TEST(PlotText, EscapesMarkupAndWritesAscii) {
    EXPECT_EQ(escaped("</text><script>\"'&"), "&#60;/text&#62;&#60;script&#62;&#34;&#39;&#38;");
    EXPECT_EQ(escaped("\xD7\xA9\xF0\x9F\x98\x80"), "&#x5E9;&#x1F600;");
}

TEST(PlotText, CutsTexts) {
    EXPECT_EQ(clean_text(std::string(max_characters, 'x')).size(), max_characters);
    EXPECT_EQ(clean_text(std::string(1'000'000, 'x')), std::string(max_characters, 'x') + "\xE2\x80\xA6");
    EXPECT_EQ(cut_to_width("short", 11, 100), "short");
    for (double width = 15; width < 200; width += 7) {
        const std::string cut = cut_to_width(std::string(80, 'm'), 11, width);
        EXPECT_LE(text_width(cut, 11), width);
        EXPECT_GT(text_width(cut, 11), width - 25);
        EXPECT_TRUE(cut.ends_with("\xE2\x80\xA6"));
    }
    EXPECT_EQ(text_width("\xE4\xB8\xAD", 10), 10.2) << "wide";
    EXPECT_EQ(text_width("e\xCC\x81", 10), text_width("e", 10)) << "combined";
}

TEST(PlotText, BreaksLinesAtSpaces) {
    const std::vector<std::string> lines = wrapped("one two three four five", 10, 50, 2);
    ASSERT_EQ(lines.size(), 2);
    EXPECT_EQ(lines[0], "one two");
    EXPECT_EQ(lines[1].substr(0, 5), "three");
    for (const std::string& text : lines) EXPECT_LE(text_width(text, 10), 50);
    EXPECT_EQ(wrapped("", 10, 50, 2), std::vector<std::string>{""});
    EXPECT_EQ(wrapped("wordwithoutanyspaceatall", 10, 50, 2).size(), 1);
}

TEST(PlotText, AnyBytesBecomeXml) {
    for (uint64_t seed = 0; seed < 3000; seed++) {
        std::string bytes;
        for (uint64_t i = 0; i < seed % 40; i++) bytes += static_cast<char>(random_bits(1, seed, i));
        for (const char c : escaped(clean_text(bytes))) {
            EXPECT_GE(c, ' ');
            EXPECT_LE(c, '~');
            EXPECT_EQ(std::string_view("<>\"'").find(c), std::string_view::npos);
        }
    }
}

TEST(PlotSvg, WritesTenths) {
    QuietContext context;
    Svg svg(context);
    svg.put(1.0, ' ', 1.25, ' ', -0.04, ' ', -0.06, ' ', -12.34, ' ', 1e300, ' ', std::nan(""));
    EXPECT_EQ(svg.text(), "1 1.3 0 -0.1 -12.3 100000 0");
}

} // namespace
} // namespace btml::plot
