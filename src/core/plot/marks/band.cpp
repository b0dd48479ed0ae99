// Bands from lower to upper, and areas from 0 to y.
#include "core/plot/marks/curve.hpp"

namespace btml::plot {

static void draw_areas(LayerRows rows, Canvas& canvas) {
    for_each_series(canvas.rows, rows, [&](uint32_t series, LayerRows own) {
        const std::vector<Run> curve = curve_runs(own, canvas);
        std::vector<Run> filled = curve;
        for (Run& run : filled)
            for (Vertex& vertex : run) vertex.low = canvas.frame.y.base();
        canvas.begin_group(series, "");
        draw_band(filled, false, canvas);
        draw_curve(curve, false, canvas);
        canvas.svg.put("</g>\n");
        label_curve(own, canvas);
    });
}

const Mark band_mark = {.columns = parts(Part::x, Part::lower, Part::upper),
                        .needs = parts(Part::x),
                        .swatch = Swatch::area,
                        .along_y = parts(Part::lower, Part::upper),
                        .padded = false,
                        .draw = [](LayerRows rows, Canvas& canvas) { draw_bands(rows, false, canvas); }};

const Mark area_mark = {.columns = parts(Part::x, Part::y),
                        .needs = parts(Part::x),
                        .swatch = Swatch::area,
                        .from_zero = true,
                        .padded = false,
                        .draw = draw_areas};

} // namespace btml::plot
