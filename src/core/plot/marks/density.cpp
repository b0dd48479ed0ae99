// Points that are too many to draw, counted in cells.
#include "core/plot/canvas/palette.hpp"
#include "core/plot/marks/dots.hpp"

namespace btml::plot {

namespace {

constexpr size_t levels = 8;

struct CellCounts {
    const Frame& frame;
    const double pixels; // of a side
    const size_t columns;
    std::vector<uint64_t> counts;
    std::vector<double> sums; // of column value, where it is drawn

    explicit CellCounts(const Canvas& canvas)
        : frame(canvas.frame),
          pixels(std::max(4.0, std::ceil(std::sqrt(frame.area() / max_cells)))),
          columns(static_cast<size_t>((frame.right - frame.left) / pixels) + 1),
          counts(columns * (static_cast<size_t>((frame.bottom - frame.top) / pixels) + 1)),
          sums(canvas.values ? counts.size() : 0) {}

    void add(Point at, double value) {
        const auto column = static_cast<size_t>((at.x - frame.left) / pixels);
        const auto line = static_cast<size_t>((at.y - frame.top) / pixels);
        const size_t cell = std::min(line * columns + column, counts.size() - 1);
        if (!sums.empty() && is_null(value)) return;
        if (!sums.empty()) sums[cell] += value;
        counts[cell]++;
    }
    // Returns the middle of a cell's left side.
    Point at(size_t cell) const {
        return {frame.left + pixels * static_cast<double>(cell % columns),
                frame.top + pixels * (static_cast<double>(cell / columns) + 0.5)};
    }
};

// Draws the cells of one class, 0 being none: neighbours in one line together.
void draw_class(const CellCounts& cells, const std::vector<uint8_t>& classes, uint8_t wanted, Canvas& canvas) {
    for (size_t i = 0, end; i < cells.counts.size(); i = end) {
        end = i + 1;
        if (classes[i] != wanted) continue;
        while (end % cells.columns != 0 && end < cells.counts.size() && classes[end] == wanted) end++;
        canvas.svg.put_point('M', cells.at(i)).put('h', cells.pixels * static_cast<double>(end - i));
    }
}

void draw_cells(const CellCounts& cells, uint64_t largest, Canvas& canvas) {
    const size_t classes = canvas.values ? shade_count : levels;
    const double full = logarithm10(1 + static_cast<double>(largest));
    std::vector<uint8_t> of_cell(cells.counts.size());
    for (size_t i = 0; i < cells.counts.size(); i++) {
        if (cells.counts[i] == 0) continue;
        const double share = logarithm10(1 + static_cast<double>(cells.counts[i])) / full;
        const size_t number = canvas.values
                                  ? shade_of(canvas.values->share(cells.sums[i] / static_cast<double>(cells.counts[i])))
                                  : std::min(static_cast<size_t>(share * levels), levels - 1);
        of_cell[i] = static_cast<uint8_t>(1 + number);
    }
    for (size_t i = 0; i < classes; i++) {
        if (std::find(of_cell.begin(), of_cell.end(), i + 1) == of_cell.end()) continue;
        canvas.svg.put("<path class=\"cells\" stroke-width=\"", cells.pixels, '"');
        if (canvas.values)
            canvas.svg.put(" color=\"", shade_colour_of(i), '"');
        else
            canvas.svg.put(format(" opacity=\"%.2f\"", 0.12 + 0.88 * static_cast<double>(i) / (levels - 1)));
        canvas.svg.put(" d=\"");
        draw_class(cells, of_cell, static_cast<uint8_t>(i + 1), canvas);
        canvas.svg.put("\"/>\n");
    }
}

CellCounts count_rows(LayerRows rows, Canvas& canvas) {
    CellCounts cells(canvas);
    for (const uint32_t row : rows) {
        canvas.context.worked(5);
        const Point at = canvas.frame.place(canvas.x(row), canvas.y(row));
        cells.add(at, canvas.rows.number(row, Part::value));
        canvas.add_label(row, at, 4);
    }
    return cells;
}

} // namespace

void draw_density(LayerRows rows, Canvas& canvas) {
    canvas.counts["points drawn as their density"] += rows.size();
    uint64_t largest = 1;
    const auto with_all = [&](auto&& draw) {
        if (canvas.values)
            draw(no_text, rows);
        else
            for_each_series(canvas.rows, rows, draw);
    };
    std::map<uint32_t, CellCounts> counts;
    with_all([&](uint32_t series, LayerRows own) {
        const CellCounts& cells = counts.emplace(series, count_rows(own, canvas)).first->second;
        largest = std::max(largest, *std::max_element(cells.counts.begin(), cells.counts.end()));
    });
    with_all([&](uint32_t series, LayerRows) {
        canvas.begin_group(series, "");
        draw_cells(counts.at(series), largest, canvas);
        canvas.svg.put("</g>\n");
    });
}

} // namespace btml::plot
