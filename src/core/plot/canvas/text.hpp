// Texts of a picture. A label is a user's data: any bytes become characters that XML allows, written in ASCII.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace btml::plot {

// Sizes of the fonts in the style sheet.
inline constexpr double title_font = 15, name_font = 12, tick_font = 11;

// Longer texts are cut: no picture has room for more.
inline constexpr size_t max_characters = 200;

// Returns UTF-8 in one line: line breaks and tabs become spaces; control characters, bytes that are no UTF-8 and what
// XML forbids become U+FFFD.
std::string clean_text(std::string_view bytes);

// Returns the width in pixels, for a sans-serif font of usual width; never much too small for wider ones.
double text_width(std::string_view clean, double font_size);

// Returns the text, or its beginning and an ellipsis where it is wider than that.
std::string cut_to_width(const std::string& clean, double font_size, double width);

// Returns at most `lines` lines of at most that width, broken at spaces; the last may end with an ellipsis.
std::vector<std::string> wrapped(const std::string& clean, double font_size, double width, size_t lines);

// Returns ASCII for XML, both for content and for attributes: other characters as references.
std::string escaped(std::string_view clean);

} // namespace btml::plot
