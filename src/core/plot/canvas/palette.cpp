#include "core/plot/canvas/palette.hpp"

#include "core/base/error.hpp"

#include <algorithm>
#include <cmath>

namespace btml::plot {

namespace {

// Hues near those of Okabe and Ito (Color Universal Design, 2008), with a lightness for each background that keeps them
// apart for protanopes, deuteranopes and tritanopes, too, as Machado, Oliveira and Fernandes simulate them (2009).
constexpr const char* light_colours[series_colours] = {"#0853c3", "#b5391a", "#0a9c5a", "#9369ae",
                                                       "#d07c00", "#5289ee", "#6e3249", "#737d78"};
constexpr const char* dark_colours[series_colours] = {"#728eff", "#dc7240", "#3fdca6", "#c47ab4",
                                                      "#e3d04a", "#94d2ff", "#b79d6e", "#aecbce"};

std::string colour_rules(const char* const* colours) {
    std::string rules;
    for (size_t i = 0; i < series_colours; i++) rules += format(".btml-plot .c%zu{color:%s}", i, colours[i]);
    return rules;
}

struct Theme {
    const char *background, *ink, *muted, *grid, *other;
};
constexpr Theme light = {"#ffffff", "#1f2328", "#5b636d", "#e4e7eb", "#a4abb3"};
constexpr Theme dark = {"#14171c", "#e8ebef", "#a2aab4", "#2e343c", "#69717b"};

std::string theme_rules(const Theme& theme) {
    return format(".btml-plot .paper{fill:%s}.btml-plot .label{stroke:%s}.btml-plot .ink{color:%s}"
                  ".btml-plot .muted{color:%s}.btml-plot .grid{color:%s}.btml-plot .other{color:%s}",
                  theme.background, theme.background, theme.ink, theme.muted, theme.grid, theme.other);
}

constexpr char shape_rules[] =
    ".btml-plot text{fill:currentColor;font:11px Helvetica,Arial,\"Liberation Sans\",sans-serif}"
    ".btml-plot .title{font-size:15px;font-weight:bold}.btml-plot .name{font-size:12px}"
    ".btml-plot .label{paint-order:stroke;stroke-width:3px;stroke-linejoin:round}"
    ".btml-plot path{stroke:currentColor;fill:none}"
    ".btml-plot .curve{stroke-width:2;stroke-linejoin:round;stroke-linecap:round}"
    ".btml-plot .band{fill:currentColor;fill-opacity:.22;stroke:none}"
    ".btml-plot .bar,.btml-plot .shapes{fill:currentColor;stroke:none}"
    ".btml-plot .box{fill:currentColor;fill-opacity:.25;stroke-width:1.3;stroke-dasharray:none}"
    ".btml-plot .bars{stroke-width:1.4;stroke-dasharray:none}.btml-plot .median{stroke-width:2.5;stroke-dasharray:none}"
    ".btml-plot .dots{stroke-linecap:round;stroke-dasharray:none}"
    ".btml-plot .squares{stroke-linecap:square;stroke-dasharray:none}"
    ".btml-plot .cell{fill:currentColor;stroke:none;shape-rendering:crispEdges}"
    ".btml-plot .cells{shape-rendering:crispEdges;stroke-dasharray:none}";

// Red, green and blue.
constexpr double shades[][3] = {{78, 94, 212},   {120, 80, 206}, {164, 72, 184}, {208, 84, 150},
                                {236, 112, 110}, {247, 152, 72}, {250, 205, 72}};

} // namespace

std::string style_sheet() {
    return std::string(shape_rules) + theme_rules(light) + colour_rules(light_colours) +
           "@media (prefers-color-scheme:dark){" + theme_rules(dark) + colour_rules(dark_colours) + "}";
}

std::string series_class(size_t series) {
    return format("c%zu", series % series_colours);
}

std::string shade_colour(double share) {
    constexpr size_t parts = std::size(shades) - 1;
    const double place = std::clamp(share, 0.0, 1.0) * parts;
    const size_t part = std::min(static_cast<size_t>(place), parts - 1);
    const double rest = place - static_cast<double>(part);
    const auto mix = [&](double a, double b) { return static_cast<int>(std::lround(a + rest * (b - a))); };
    const auto &a = shades[part], &b = shades[part + 1];
    return format("#%02x%02x%02x", mix(a[0], b[0]), mix(a[1], b[1]), mix(a[2], b[2]));
}

size_t shade_of(double share) {
    return std::min(static_cast<size_t>(std::clamp(share, 0.0, 1.0) * shade_count), shade_count - 1);
}

std::string shade_colour_of(size_t shade) {
    return shade_colour(static_cast<double>(shade) / (shade_count - 1));
}

} // namespace btml::plot
