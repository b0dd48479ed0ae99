// Cells of a grid, coloured by the mean of column value in each.
#include "core/plot/canvas/palette.hpp"
#include "core/plot/marks/mark.hpp"

namespace btml::plot {

namespace {

// Cells along one axis: one for each distinct value, or pixels where those are too narrow.
struct CellSide {
    double width; // in pixels
    bool exact;   // cells are centred on values

    CellSide(LayerRows rows, Part part, const Canvas& canvas) {
        const double smallest = std::max(2.0, std::sqrt(canvas.frame.area() / max_cells));
        width = row_pixels(canvas, rows, part);
        exact = width >= smallest;
        if (!exact) width = smallest;
    }
    // Returns where the cell of a value begins, `from` being where the axis does.
    double begin(double at, double from) const {
        if (exact) return at - width / 2;
        return from + std::floor((at - from) / width) * width;
    }
};

struct Cell {
    double left, top, value;
};

double mean_of(std::span<const Cell> cells) {
    double sum = 0;
    for (const Cell& cell : cells) sum += cell.value / static_cast<double>(cells.size());
    return sum;
}

// Calls draw(cell) for each place, with the mean of the values there.
template <class Draw>
void for_each_cell(std::span<const Cell> cells, Canvas& canvas, Draw&& draw) {
    for (size_t begin = 0, end; begin < cells.size(); begin = end) {
        const Cell& first = cells[begin];
        for (end = begin + 1; end < cells.size() && cells[end].left == first.left && cells[end].top == first.top; end++)
            canvas.context.worked(1);
        draw(Cell{first.left, first.top, mean_of(cells.subspan(begin, end - begin))});
    }
}

void draw_cell(Cell cell, double width, double height, Canvas& canvas) {
    const Frame& frame = canvas.frame;
    const double left = std::max(cell.left, frame.left), right = std::min(cell.left + width, frame.right);
    const double top = std::max(cell.top, frame.top), bottom = std::min(cell.top + height, frame.bottom);
    canvas.svg.put_point('M', {left, top}).put_point('L', {right, top});
    canvas.svg.put_point('L', {right, bottom}).put_point('L', {left, bottom}).put('Z');
}

void draw_cells(LayerRows rows, Canvas& canvas) {
    const CellSide across(rows, Part::x, canvas), down(rows, Part::y, canvas);
    const Frame& frame = canvas.frame;
    Buffer<Cell> cells(canvas.context.memory(), "cells of a heatmap");
    cells.reserve(rows.size());
    for (const uint32_t row : rows) {
        canvas.context.worked(4);
        const Point at = frame.place(canvas.x(row), canvas.y(row));
        const CellSide &horizontal = frame.flipped ? down : across, &vertical = frame.flipped ? across : down;
        cells.push_back({horizontal.begin(at.x, frame.left), vertical.begin(at.y, frame.top),
                         canvas.rows.number(row, Part::value)});
        if (across.exact && down.exact) canvas.add_label(row, at, 0, Side::centre);
    }
    std::sort(cells.begin(), cells.end(), [&](const Cell& a, const Cell& b) {
        canvas.context.worked(2);
        return std::tie(a.top, a.left, a.value) < std::tie(b.top, b.left, b.value);
    });
    const double width = frame.flipped ? down.width : across.width, height = frame.flipped ? across.width : down.width;
    std::array<std::vector<Cell>, shade_count> by_shade;
    for_each_cell(cells.span(), canvas,
                  [&](const Cell& cell) { by_shade[shade_of(canvas.values->share(cell.value))].push_back(cell); });
    for (size_t shade = 0; shade < shade_count; shade++) {
        if (by_shade[shade].empty()) continue;
        canvas.svg.put("<path class=\"cell\" color=\"", shade_colour_of(shade), "\" d=\"");
        // Cells of one row that touch are one rectangle.
        for (size_t i = 0, next; i < by_shade[shade].size(); i = next) {
            const Cell& cell = by_shade[shade][i];
            double right = cell.left + width;
            for (next = i + 1; next < by_shade[shade].size(); next++) {
                const Cell& other = by_shade[shade][next];
                if (other.top != cell.top || std::fabs(other.left - right) > 0.05) break;
                right = other.left + width;
            }
            draw_cell(cell, right - cell.left, height, canvas);
        }
        canvas.svg.put("\"/>\n");
    }
}

} // namespace

const Mark heatmap_mark = {.columns = parts(Part::x, Part::y, Part::value),
                           .needs = parts(Part::x, Part::y, Part::value),
                           .swatch = Swatch::area,
                           .along_y = bit(Part::y),
                           .has_width = true,
                           .has_height = true,
                           .category_y = true,
                           .coloured = true,
                           .padded = false,
                           .draw = draw_cells};

} // namespace btml::plot
