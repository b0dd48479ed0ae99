// Colours that the colour-blind tell apart, on light and on dark backgrounds.
#pragma once

#include <cstddef>
#include <string>

namespace btml::plot {

inline constexpr size_t series_colours = 8;
inline constexpr size_t shade_count = 24;

// Returns the content of a picture's <style>: classes c0 … c7 of series and `other` of rows without one set `color`.
std::string style_sheet();

// Returns the class of a series.
std::string series_class(size_t series);

// Returns a colour for a share in [0, 1] of the range of values, as #rrggbb: from dark blue to yellow, ever lighter.
std::string shade_colour(double share);
// Returns the number of the shade that a share of the range has.
size_t shade_of(double share);
std::string shade_colour_of(size_t shade);

} // namespace btml::plot
