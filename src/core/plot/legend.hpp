// What colours and sizes mean: lines of series and circles above the data, a bar of values beside them.
#pragma once

#include "core/plot/canvas/ticks.hpp"
#include "core/plot/domains.hpp"

namespace btml::plot {

class Legend {
  public:
    // Places the series in lines of that width, and below them circles of a few round sizes.
    Legend(const Rows& rows, std::span<const Layer> layers, bool coloured, const std::optional<ValueRange>& sizes,
           double width, RunContext& context);

    double height() const { return height_of_series() + height_of_circles(); }
    void draw(double left, double top, Canvas& canvas) const;

  private:
    struct Entry {
        uint32_t series;
        Swatch swatch;
        std::string name;
        double x, line;
    };
    struct Circle {
        double radius, width;
        std::string name;
    };
    void place(double width);
    void add_circles(const ValueRange& sizes, double width);
    double height_of_series() const;
    double height_of_circles() const; // 0 where no circle differs from another

    std::vector<Entry> entries_;
    size_t left_out_ = 0;
    double end_ = 0;              // of the last entry
    std::vector<Circle> circles_; // the largest first
};

// Returns how wide a bar of so many pixels is that shows the colours of values; 0 where there is none.
double colour_bar_width(const std::optional<ValueRange>& range, double height);
void draw_colour_bar(const std::optional<ValueRange>& range, double left, double top, double height, Svg& svg);

// Writes the labels that have room among the others, beside their points; counts the rest.
void draw_text_labels(Canvas& canvas);

} // namespace btml::plot
