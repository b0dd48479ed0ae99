#include "core/plot/marks/mark.hpp"

#include "core/plot/canvas/palette.hpp"

namespace btml::plot {

void Canvas::add_label(size_t row, Point at, double gap, Side side) {
    static constexpr size_t max_labels = 1000;
    const uint32_t code = rows.text(row, Part::label);
    if (code == no_text) return;
    if (labels.size() == max_labels) {
        unplaced_labels++;
        return;
    }
    labels.push_back({at, gap, clean_text(rows.category_text(Part::label, code)), side});
}

void Canvas::begin_group(uint32_t series, std::string_view attributes) {
    const bool other = series == no_text && rows.series_count() > 0;
    const std::string name = other ? "other" : series_class(series == no_text ? 0 : series);
    svg.put("<g class=\"", name, '"', attributes);
    if (series != no_text && series >= series_colours)
        svg.put(" stroke-dasharray=\"", series < 2 * series_colours ? "7 3" : "2 3", '"');
    svg.put(">\n");
}

std::optional<double> smallest_gap(const Rows& rows, LayerRows layer, Part part, const Domain& domain,
                                   RunContext& context) {
    const Scale share(domain, 0, 1);
    Buffer<double> places(context.memory(), "places of a picture's rows");
    places.reserve(layer.size());
    for (const uint32_t row : layer) {
        if (rows.has(row, part)) places.push_back(share(rows.number(row, part)));
        context.worked(1);
    }
    std::sort(places.begin(), places.end(), [&](double a, double b) {
        context.worked(1);
        return a < b;
    });
    std::optional<double> gap;
    for (size_t i = 1; i < places.size(); i++) {
        const double distance = places[i] - places[i - 1];
        if (distance > 1e-9 && (!gap || distance < *gap)) gap = distance;
        context.worked(1);
    }
    return gap;
}

double row_pixels(const Canvas& canvas, LayerRows layer, Part part) {
    const Scale& scale = part == Part::x ? canvas.frame.x : canvas.frame.y;
    const Domain& domain = scale.domain();
    if (domain.kind == ValueKind::category) return scale.length() / (domain.high - domain.low);
    return scale.length() * smallest_gap(canvas.rows, layer, part, domain, canvas.context).value_or(1.0 / 3);
}

void draw_error_bars(LayerRows rows, double shift, Canvas& canvas) {
    bool begun = false;
    for (const uint32_t row : rows) {
        canvas.context.worked(1);
        if (!canvas.rows.has(row, Part::lower) || !canvas.rows.has(row, Part::upper)) continue;
        if (!std::exchange(begun, true)) canvas.svg.put("<path class=\"bars\" fill=\"none\" d=\"");
        const double along = canvas.x(row) + shift, cap = 3;
        const double low = canvas.y(row, Part::lower), high = canvas.y(row, Part::upper);
        const auto line_to = [&](double a, double from, double to_along, double to) {
            canvas.svg.put_point('M', canvas.frame.place(a, from)).put_point('L', canvas.frame.place(to_along, to));
        };
        line_to(along, low, along, high);
        line_to(along - cap, low, along + cap, low);
        line_to(along - cap, high, along + cap, high);
    }
    if (begun) canvas.svg.put("\"/>\n");
}

} // namespace btml::plot
