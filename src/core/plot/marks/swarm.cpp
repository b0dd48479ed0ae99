// Points of categories. Those within a point's width of one another stand in a row across the category's axis, by their
// colour; where they have no room, they move together, and of too many every so manieth is drawn.
#include "core/plot/marks/dots.hpp"

namespace btml::plot {

namespace {

struct SwarmPoint {
    double category, cell, colour, place; // of pixels, but for the colour
    uint32_t row;
};

// Returns the points by category, then by the cells along the other axis, then by colour.
Buffer<SwarmPoint> points_in_order(LayerRows rows, bool along_x, double radius, Canvas& canvas) {
    Buffer<SwarmPoint> points(canvas.context.memory(), "points of categories");
    points.reserve(rows.size());
    for (const uint32_t row : rows) {
        const double x = canvas.x(row), y = canvas.y(row), place = along_x ? y : x;
        const double value = canvas.rows.number(row, Part::value);
        const uint32_t series = canvas.rows.text(row, Part::series);
        const double colour = !canvas.values ? series : is_null(value) ? HUGE_VAL : value;
        points.push_back({along_x ? x : y, std::floor(place / (1.6 * radius)), colour, place, row});
        canvas.context.worked(4);
    }
    std::sort(points.begin(), points.end(), [&](const SwarmPoint& a, const SwarmPoint& b) {
        canvas.context.worked(1);
        return std::tie(a.category, a.cell, a.colour, a.place) < std::tie(b.category, b.cell, b.colour, b.place);
    });
    return points;
}

} // namespace

void draw_swarm(LayerRows rows, Canvas& canvas) {
    const bool along_x = canvas.frame.x.domain().kind == ValueKind::category; // x is the category
    const Scale& categories = along_x ? canvas.frame.x : canvas.frame.y;
    const double radius = std::max(1.5, dot_radius(rows.size()));
    const double room = 0.8 * categories.length() / (categories.domain().high - categories.domain().low);
    const auto most = std::max<size_t>(1, static_cast<size_t>(room / 1.5));
    const Buffer<SwarmPoint> points = points_in_order(rows, along_x, radius, canvas);
    ColouredDots dots(canvas);
    uint64_t left_out = 0;
    for (size_t begin = 0, end; begin < points.size(); begin = end) {
        end = begin + 1;
        while (end < points.size() && points[end].category == points[begin].category &&
               points[end].cell == points[begin].cell)
            end++;
        const size_t count = end - begin, drawn = std::min(count, most);
        const double spacing = std::min(1.8 * radius, room / static_cast<double>(drawn));
        left_out += count - drawn;
        for (size_t i = 0; i < drawn; i++) {
            const SwarmPoint& point = points[begin + (2 * i + 1) * count / (2 * drawn)];
            const double shift = (static_cast<double>(i) - static_cast<double>(drawn - 1) / 2) * spacing;
            const double across = point.category + shift;
            const Point at = canvas.frame.place(along_x ? across : point.place, along_x ? point.place : across);
            dots.add(point.row, at);
            canvas.add_label(point.row, at, radius + 3);
        }
        canvas.context.worked(drawn * 8);
    }
    if (left_out > 0) canvas.counts["points hidden by others"] += left_out;
    dots.draw(radius);
}

} // namespace btml::plot
