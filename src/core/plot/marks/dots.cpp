#include "core/plot/marks/dots.hpp"

#include "core/plot/canvas/palette.hpp"

namespace btml::plot {

double dot_radius(size_t count) {
    return count <= 150 ? 3.5 : count <= 1000 ? 2.6 : count <= 4000 ? 2 : 1.5;
}

namespace {

constexpr Point triangle[] = {{0, -1.35}, {1.25, 0.9}, {-1.25, 0.9}},
                diamond[] = {{0, -1.4}, {1.4, 0}, {0, 1.4}, {-1.4, 0}};

void draw_outlines(std::span<const Point> places, std::span<const Point> outline, double radius, Canvas& canvas) {
    canvas.svg.put("<path class=\"shapes\" d=\"");
    for (const Point at : places) {
        for (size_t i = 0; i < outline.size(); i++)
            canvas.svg.put_point(i == 0 ? 'M' : 'L', {at.x + radius * outline[i].x, at.y + radius * outline[i].y});
        canvas.svg.put('Z');
    }
    canvas.svg.put("\"/>\n");
}

} // namespace

void draw_dots(std::span<const Point> places, double radius, uint32_t series, Canvas& canvas) {
    static constexpr double too_small = 2;
    const uint32_t shape = series == no_text || radius <= too_small ? 0 : series % 4;
    if (shape >= 2) {
        draw_outlines(places, shape == 2 ? std::span<const Point>(triangle) : diamond, radius, canvas);
        return;
    }
    const double width = shape == 0 ? 2 * radius : 1.75 * radius;
    canvas.svg.put("<path class=\"", shape == 0 ? "dots" : "squares", "\" stroke-width=\"", width, "\" d=\"");
    for (const Point at : places) canvas.svg.put_point('M', at).put("h0");
    canvas.svg.put("\"/>\n");
}

void ColouredDots::add(size_t row, Point at) {
    uint32_t group = canvas_.rows.text(row, Part::series);
    if (by_value_) {
        const double value = canvas_.rows.number(row, Part::value);
        group = is_null(value) ? no_text : static_cast<uint32_t>(shade_of(canvas_.values->share(value)));
    }
    groups_[group].push_back(at);
}

void ColouredDots::draw(std::optional<double> radius) {
    size_t all = 0;
    for (const auto& [group, places] : groups_) all += places.size();
    // Points without a series lie below the others.
    const auto draw_group = [&](uint32_t group, const std::vector<Point>& places) {
        const size_t alike = by_value_ ? all : places.size();
        const char* const faint = alike > 100 ? " opacity=\".85\"" : "";
        if (!by_value_)
            canvas_.begin_group(group, faint);
        else if (group == no_text)
            canvas_.svg.put("<g class=\"other\"", faint, ">\n");
        else
            canvas_.svg.put("<g color=\"", shade_colour_of(group), "\"", faint, ">\n");
        draw_dots(places, radius.value_or(dot_radius(alike)), by_value_ ? no_text : group, canvas_);
        canvas_.svg.put("</g>\n");
    };
    if (const auto none = groups_.find(no_text); none != groups_.end()) draw_group(no_text, none->second);
    for (const auto& [group, places] : groups_)
        if (group != no_text) draw_group(group, places);
}

} // namespace btml::plot
