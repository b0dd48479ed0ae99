// Lines through rows in the order of x, and steps, whose values hold until the next; with a band from lower to upper.
#include "core/plot/marks/curve.hpp"

namespace btml::plot {

static void draw_curves(LayerRows rows, bool steps, Canvas& canvas) {
    for_each_series(canvas.rows, rows, [&](uint32_t series, LayerRows own) {
        canvas.begin_group(series, "");
        draw_curve(curve_runs(own, canvas), steps, canvas);
        canvas.svg.put("</g>\n");
        label_curve(own, canvas);
    });
}

const Mark line_mark = {.columns = parts(Part::x, Part::y),
                        .needs = parts(Part::x),
                        .swatch = Swatch::line,
                        .padded = false,
                        .draw = [](LayerRows rows, Canvas& canvas) { draw_curves(rows, false, canvas); },
                        .draw_below = [](LayerRows rows, Canvas& canvas) { draw_bands(rows, false, canvas); }};

const Mark step_mark = {.columns = parts(Part::x, Part::y),
                        .needs = parts(Part::x),
                        .swatch = Swatch::line,
                        .padded = false,
                        .draw = [](LayerRows rows, Canvas& canvas) { draw_curves(rows, true, canvas); },
                        .draw_below = [](LayerRows rows, Canvas& canvas) { draw_bands(rows, true, canvas); }};

} // namespace btml::plot
