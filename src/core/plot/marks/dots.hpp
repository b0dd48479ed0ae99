// Points of one size, of which thousands are one short path.
#pragma once

#include "core/plot/marks/mark.hpp"

namespace btml::plot {

// More points than these are drawn by their density.
inline constexpr size_t max_points = 10'000;

// Returns the radius in pixels of so many points.
double dot_radius(size_t count);

// Returns the radius in pixels of a circle whose area is in proportion to its size, of such sizes.
double circle_radius(double size, const std::optional<ValueRange>& sizes);
// Says whether so many points are circles by their sizes.
bool draws_circles(const Rows& rows, size_t count);

// Draws points; series other than the first have another shape as well, unless there are too many to see one.
void draw_dots(std::span<const Point> places, double radius, uint32_t series, Canvas& canvas);

// Points in the colours of their series or, by column value, of its shades.
class ColouredDots {
  public:
    explicit ColouredDots(Canvas& canvas) : canvas_(canvas), by_value_(canvas.values.has_value()) {}

    void add(size_t row, Point at);
    // Each group has points of the size for their number, unless all have one.
    void draw(std::optional<double> radius = {});

  private:
    Canvas& canvas_;
    const bool by_value_;
    std::map<uint32_t, std::vector<Point>> groups_; // by shade or series; no_text for neither
};

// Draws how many points are in each cell of a few pixels or, with column value, their mean in it.
void draw_density(LayerRows rows, Canvas& canvas);

// Draws points of which one axis is a category: those at one value of the other side by side.
void draw_swarm(LayerRows rows, Canvas& canvas);

} // namespace btml::plot
