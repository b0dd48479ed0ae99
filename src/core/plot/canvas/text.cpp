#include "core/plot/canvas/text.hpp"

#include "core/base/error.hpp"
#include "core/base/utf8.hpp"

namespace btml::plot {

namespace {

constexpr char32_t replacement = 0xFFFD, ellipsis = 0x2026;

// Takes the next character of UTF-8; of bytes that are none, one and the replacement.
char32_t take_character(std::string_view& rest) {
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(rest[i]); };
    const unsigned char first = byte(0);
    size_t length = first < 0x80 ? 1 : first >= 0xC2 && first < 0xE0 ? 2 : first >= 0xE0 && first < 0xF0 ? 3 : 4;
    if ((first >= 0x80 && first < 0xC2) || first > 0xF4 || length > rest.size()) length = 0;
    char32_t c = length <= 1 ? first : first & (0xFFU >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        if ((byte(i) & 0xC0) != 0x80) {
            length = 0;
            break;
        }
        c = c << 6 | (byte(i) & 0x3FU);
    }
    static constexpr char32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const bool valid = length > 0 && c >= least[length] && c <= 0x10FFFF && !(c >= 0xD800 && c < 0xE000);
    rest.remove_prefix(valid ? length : 1);
    return valid ? c : replacement;
}

char32_t allowed(char32_t c) {
    if (c == '\t' || c == '\n' || c == '\r' || c == 0x85 || c == 0x2028 || c == 0x2029) return ' ';
    const bool control = c < 0x20 || (c >= 0x7F && c < 0xA0);
    return control || (c & 0xFFFE) == 0xFFFE ? replacement : c;
}

// In thousandths of the font's size, from ' ' to '~': what sans-serif fonts are about.
constexpr unsigned short ascii_widths[] = {
    278, 300, 370, 600, 580, 890, 690, 210, 350, 350, 400, 600, 290, 350,  290, 300, 570, 570, 570,
    570, 570, 570, 570, 570, 570, 570, 290, 290, 600, 600, 600, 560, 1015, 680, 680, 720, 730, 670,
    620, 780, 730, 285, 510, 680, 570, 840, 730, 780, 670, 780, 720, 670,  620, 730, 680, 950, 680,
    670, 620, 290, 300, 290, 500, 560, 340, 570, 580, 510, 580, 570, 300,  580, 570, 235, 240, 520,
    235, 850, 570, 570, 580, 580, 350, 510, 300, 570, 515, 740, 510, 515,  505, 340, 270, 340, 600};

bool is_wide(char32_t c) {
    static constexpr char32_t ranges[][2] = {{0x1100, 0x115F}, {0x2E80, 0xA4CF},   {0xAC00, 0xD7A3},
                                             {0xF900, 0xFAFF}, {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},
                                             {0xFFE0, 0xFFE6}, {0x1F000, 0x1FAFF}, {0x20000, 0x3FFFD}};
    for (const auto& [first, last] : ranges)
        if (c >= first && c <= last) return true;
    return false;
}

double character_width(char32_t c) {
    if (c >= ' ' && c <= '~') return ascii_widths[c - ' '];
    const bool combining = (c >= 0x300 && c < 0x370) || (c >= 0x200B && c <= 0x200F) || (c >= 0x202A && c <= 0x202E);
    if (combining) return 0;
    return is_wide(c) || c == ellipsis ? 1020 : c < 0x250 ? 610 : 650;
}

} // namespace

std::string clean_text(std::string_view bytes) {
    std::string text;
    size_t characters = 0;
    while (!bytes.empty()) {
        const char32_t c = allowed(take_character(bytes));
        if (++characters > max_characters) {
            append_utf8(text, ellipsis);
            break;
        }
        append_utf8(text, c);
    }
    return text;
}

double text_width(std::string_view clean, double font_size) {
    double width = 0;
    while (!clean.empty()) width += character_width(take_character(clean));
    return width * font_size / 1000;
}

std::string cut_to_width(const std::string& clean, double font_size, double width) {
    if (text_width(clean, font_size) <= width) return clean;
    double left = width * 1000 / font_size - character_width(ellipsis);
    std::string_view rest = clean;
    std::string text;
    while (!rest.empty()) {
        const char32_t c = take_character(rest);
        left -= character_width(c);
        if (left < 0) break;
        append_utf8(text, c);
    }
    while (!text.empty() && text.back() == ' ') text.pop_back();
    append_utf8(text, ellipsis);
    return text;
}

std::vector<std::string> wrapped(const std::string& clean, double font_size, double width, size_t lines) {
    std::vector<std::string> result;
    std::string_view rest = clean;
    while (result.size() + 1 < lines && text_width(rest, font_size) > width) {
        size_t cut = 0;
        for (size_t space = rest.find(' '); space != std::string_view::npos; space = rest.find(' ', space + 1)) {
            if (text_width(rest.substr(0, space), font_size) > width) break;
            cut = space;
        }
        if (cut == 0) break;
        result.emplace_back(rest.substr(0, cut));
        rest.remove_prefix(cut + 1);
    }
    result.push_back(cut_to_width(std::string(rest), font_size, width));
    return result;
}

std::string escaped(std::string_view clean) {
    std::string text;
    while (!clean.empty()) {
        const char32_t c = allowed(take_character(clean));
        if (c >= 0x80)
            text += format("&#x%X;", static_cast<unsigned>(c));
        else if (c == '&' || c == '<' || c == '>' || c == '"' || c == '\'')
            text += format("&#%u;", static_cast<unsigned>(c));
        else
            text += static_cast<char>(c);
    }
    return text;
}

} // namespace btml::plot
