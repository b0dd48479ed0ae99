// Points, with error bars from lower to upper, of an area in proportion to size, coloured by value or series.
#include "core/plot/marks/dots.hpp"

#include "core/plot/canvas/palette.hpp"

namespace btml::plot {

namespace {

void draw_circles(LayerRows rows, Canvas& canvas) {
    for_each_series(canvas.rows, rows, [&](uint32_t series, LayerRows own) {
        canvas.begin_group(series, " fill=\"currentColor\" fill-opacity=\".55\" stroke=\"currentColor\"");
        for (const uint32_t row : own) {
            const bool has_size = canvas.rows.has(row, Part::size);
            const double radius = circle_radius(has_size ? canvas.rows.number(row, Part::size) : 0, canvas.sizes);
            const Point at = canvas.frame.place(canvas.x(row), canvas.y(row));
            canvas.svg.put("<circle cx=\"", at.x, "\" cy=\"", at.y, "\" r=\"", radius, '"');
            if (canvas.values && canvas.rows.has(row, Part::value)) {
                const double value = canvas.rows.number(row, Part::value);
                canvas.svg.put(" color=\"", shade_colour_of(shade_of(canvas.values->share(value))), '"');
            }
            canvas.svg.put("/>\n");
            canvas.add_label(row, at, radius + 2);
        }
        canvas.svg.put("</g>\n");
    });
}

void draw_each(LayerRows rows, Canvas& canvas) {
    for_each_series(canvas.rows, rows, [&](uint32_t series, LayerRows own) {
        if (!canvas.rows.shape().has(Part::lower)) return;
        canvas.begin_group(series, "");
        draw_error_bars(own, 0, canvas);
        canvas.svg.put("</g>\n");
    });
    const double radius = dot_radius(rows.size());
    ColouredDots dots(canvas);
    for (const uint32_t row : rows) {
        const Point at = canvas.frame.place(canvas.x(row), canvas.y(row));
        dots.add(row, at);
        canvas.add_label(row, at, radius + 3);
        canvas.context.worked(4);
    }
    dots.draw();
}

bool is_category(const Scale& scale) {
    return scale.domain().kind == ValueKind::category;
}

void draw_points(LayerRows rows, Canvas& canvas) {
    const bool category_x = is_category(canvas.frame.x), category_y = is_category(canvas.frame.y);
    const bool extras = canvas.rows.shape().has(Part::lower) || canvas.rows.shape().has(Part::size);
    if (category_x != category_y && !(extras && rows.size() <= max_points))
        draw_swarm(rows, canvas);
    else if (rows.size() > max_points)
        draw_density(rows, canvas);
    else if (draws_circles(canvas.rows, rows.size()))
        draw_circles(rows, canvas);
    else
        draw_each(rows, canvas);
}

} // namespace

double circle_radius(double size, const std::optional<ValueRange>& sizes) {
    static constexpr double min_radius = 1, max_radius = 12;
    const double largest = sizes && sizes->high > 0 ? sizes->high : 1;
    return std::max(min_radius, max_radius * std::sqrt(size / largest));
}

bool draws_circles(const Rows& rows, size_t count) {
    return rows.shape().has(Part::size) && count <= max_points;
}

const Mark point_mark = {.columns = parts(Part::x, Part::y),
                         .needs = parts(Part::x, Part::y),
                         .swatch = Swatch::point,
                         .category_y = true,
                         .coloured = true,
                         .sized = true,
                         .draw = draw_points};

} // namespace btml::plot
