// Points of categories. Those within a point's width of one another stand in a row across the category's axis, by their
// colour; where they have no room, they move together, and of too many every so manieth is drawn.
#include "core/plot/marks/dots.hpp"

namespace btml::plot {

namespace {

struct SwarmPoint {
    double category, cell, colour, place; // of pixels, but for the colour
    uint32_t row;
};

class Swarm {
  public:
    Swarm(LayerRows rows, Canvas& canvas)
        : canvas_(canvas),
          along_x_(canvas.frame.x.domain().kind == ValueKind::category),
          radius_(std::max(1.5, dot_radius(rows.size()))),
          points_(canvas.context.memory(), "points of categories"),
          dots_(canvas) {
        const Domain& domain = (along_x_ ? canvas.frame.x : canvas.frame.y).domain();
        room_ = 0.8 * (along_x_ ? canvas.frame.x : canvas.frame.y).length() / (domain.high - domain.low);
        collect(rows);
    }

    void draw() {
        const SwarmPoint* const points = points_.data();
        for (size_t begin = 0, end; begin < points_.size(); begin = end) {
            end = begin + 1;
            while (end < points_.size() && points[end].category == points[begin].category &&
                   points[end].cell == points[begin].cell)
                end++;
            draw_cell(points_.span().subspan(begin, end - begin));
        }
        if (left_out_ > 0) canvas_.counts["points hidden by others"] += left_out_;
        dots_.draw(radius_);
    }

  private:
    void collect(LayerRows rows) {
        points_.reserve(rows.size());
        for (const uint32_t row : rows) {
            const double x = canvas_.x(row), y = canvas_.y(row), place = along_x_ ? y : x;
            const double value = canvas_.rows.number(row, Part::value);
            const uint32_t series = canvas_.rows.text(row, Part::series);
            const double colour = !canvas_.values ? series : is_null(value) ? HUGE_VAL : value;
            points_.push_back({along_x_ ? x : y, std::floor(place / (1.6 * radius_)), colour, place, row});
            canvas_.context.worked(4);
        }
        std::sort(points_.begin(), points_.end(), [&](const SwarmPoint& a, const SwarmPoint& b) {
            canvas_.context.worked(1);
            return std::tie(a.category, a.cell, a.colour, a.place) < std::tie(b.category, b.cell, b.colour, b.place);
        });
    }

    void draw_cell(std::span<const SwarmPoint> points) {
        const auto most = std::max<size_t>(1, static_cast<size_t>(room_ / 1.5));
        const size_t drawn = std::min(points.size(), most);
        const double spacing = std::min(1.8 * radius_, room_ / static_cast<double>(drawn));
        left_out_ += points.size() - drawn;
        for (size_t i = 0; i < drawn; i++) {
            const SwarmPoint& point = points[(2 * i + 1) * points.size() / (2 * drawn)];
            const double shift = (static_cast<double>(i) - static_cast<double>(drawn - 1) / 2) * spacing;
            const double across = point.category + shift;
            const Point at = canvas_.frame.place(along_x_ ? across : point.place, along_x_ ? point.place : across);
            dots_.add(point.row, at);
            canvas_.add_label(point.row, at, radius_ + 3);
        }
        canvas_.context.worked(drawn * 8);
    }

    Canvas& canvas_;
    const bool along_x_; // x is the category
    const double radius_;
    double room_ = 0;
    Buffer<SwarmPoint> points_;
    ColouredDots dots_;
    uint64_t left_out_ = 0;
};

} // namespace

void draw_swarm(LayerRows rows, Canvas& canvas) {
    Swarm(rows, canvas).draw();
}

} // namespace btml::plot
