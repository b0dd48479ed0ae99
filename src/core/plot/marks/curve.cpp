#include "core/plot/marks/curve.hpp"

namespace btml::plot {

namespace {

constexpr size_t max_rows_per_pixel = 4;

bool is_dense(LayerRows rows, const Canvas& canvas) {
    return static_cast<double>(rows.size()) > max_rows_per_pixel * canvas.frame.x.length();
}

// Cuts rows into runs of those that have their numbers; calls add(row, run). Of many rows, a gap within one pixel is
// none.
template <class Has, class Add>
std::vector<Run> cut(LayerRows rows, Canvas& canvas, const Has& has, const Add& add) {
    const bool dense = is_dense(rows, canvas);
    std::vector<Run> runs;
    bool gap = true;
    double gap_began = 0;
    for (const uint32_t row : rows) {
        canvas.context.worked(4);
        const double along = canvas.x(row);
        if (!has(row)) {
            if (!gap) gap_began = along;
            gap = true;
            continue;
        }
        const bool cuts = gap && (runs.empty() || !dense || along - gap_began > 1);
        if (cuts) runs.emplace_back();
        gap = false;
        add(row, along, dense, runs.back());
    }
    return runs;
}

bool is_same_pixel(double a, double b) {
    return std::floor(a) == std::floor(b);
}

// Adds a vertex to a run, the last `count` vertices of which are those of its last pixel: of these, what makes their
// outline is kept in the order in which it came.
void add_outline(Vertex vertex, Run& run, size_t& count) {
    if (count > 0 && !is_same_pixel(run.back().along, vertex.along)) count = 0;
    run.push_back(vertex);
    if (++count < 5) return;
    const auto begin = run.end() - 5;
    auto lowest = begin, highest = begin;
    for (auto v = begin; v != run.end(); ++v) {
        if (v->low < lowest->low) lowest = v;
        if (v->low > highest->low) highest = v;
    }
    for (auto v = begin + 1; v != run.end() - 1; ++v) {
        if (v == lowest || v == highest) continue;
        run.erase(v);
        count--;
        return;
    }
}

void draw_steps_to(Vertex from, Vertex to, bool steps, double Vertex::*side, Canvas& canvas) {
    if (steps) canvas.svg.put_point('L', canvas.frame.place(to.along, from.*side));
    canvas.svg.put_point('L', canvas.frame.place(to.along, to.*side));
}

} // namespace

std::vector<Run> curve_runs(LayerRows rows, Canvas& canvas) {
    size_t count = 0; // of vertices in the pixel at hand
    return cut(
        rows, canvas, [&](uint32_t row) { return canvas.rows.has(row, Part::y); },
        [&](uint32_t row, double along, bool dense, Run& run) {
            const double y = canvas.y(row);
            if (!dense) {
                run.push_back({along, y, y});
                return;
            }
            if (run.empty()) count = 0;
            add_outline({along, y, y}, run, count);
        });
}

std::vector<Run> band_runs(LayerRows rows, Canvas& canvas) {
    return cut(
        rows, canvas,
        [&](uint32_t row) { return canvas.rows.has(row, Part::lower) && canvas.rows.has(row, Part::upper); },
        [&](uint32_t row, double along, bool dense, Run& run) {
            const double low = canvas.y(row, Part::lower), high = canvas.y(row, Part::upper);
            if (!dense || run.empty() || !is_same_pixel(run.back().along, along)) {
                run.push_back({along, low, high});
                return;
            }
            // Pixels are counted from the top, unless x is the vertical axis: either may be the greater one.
            const bool down = canvas.frame.y.begin() > canvas.frame.y.end();
            Vertex& hull = run.back();
            hull.low = down ? std::max(hull.low, low) : std::min(hull.low, low);
            hull.high = down ? std::min(hull.high, high) : std::max(hull.high, high);
        });
}

void draw_band(const std::vector<Run>& runs, bool steps, Canvas& canvas) {
    if (runs.empty()) return;
    canvas.svg.put("<path class=\"band\" d=\"");
    for (const Run& run : runs) {
        canvas.svg.put_point('M', canvas.frame.place(run[0].along, run[0].high));
        for (size_t i = 1; i < run.size(); i++) draw_steps_to(run[i - 1], run[i], steps, &Vertex::high, canvas);
        for (size_t i = run.size(); i-- > 0;) {
            canvas.svg.put_point('L', canvas.frame.place(run[i].along, run[i].low));
            if (steps && i > 0) canvas.svg.put_point('L', canvas.frame.place(run[i].along, run[i - 1].low));
        }
        canvas.svg.put('Z');
    }
    canvas.svg.put("\"/>\n");
}

void draw_curve(const std::vector<Run>& runs, bool steps, Canvas& canvas) {
    if (runs.empty()) return;
    canvas.svg.put("<path class=\"curve\" d=\"");
    for (const Run& run : runs) {
        canvas.svg.put_point('M', canvas.frame.place(run[0].along, run[0].low));
        for (size_t i = 1; i < run.size(); i++) draw_steps_to(run[i - 1], run[i], steps, &Vertex::low, canvas);
        // A row between two gaps is a point, which the round ends of a line of no length make.
        if (run.size() == 1) canvas.svg.put("h0");
    }
    canvas.svg.put("\"/>\n");
}

void draw_bands(LayerRows rows, bool steps, Canvas& canvas) {
    if (!canvas.rows.shape().has(Part::lower) || !canvas.rows.shape().has(Part::upper)) return;
    for_each_series(canvas.rows, rows, [&](uint32_t series, LayerRows own) {
        canvas.begin_group(series, "");
        draw_band(band_runs(own, canvas), steps, canvas);
        canvas.svg.put("</g>\n");
    });
}

void label_curve(LayerRows rows, Canvas& canvas) {
    if (!canvas.rows.shape().has(Part::label)) return;
    for (const uint32_t row : rows) {
        canvas.context.worked(1);
        if (canvas.rows.has(row, Part::y)) canvas.add_label(row, canvas.frame.place(canvas.x(row), canvas.y(row)), 5);
    }
}

} // namespace btml::plot
