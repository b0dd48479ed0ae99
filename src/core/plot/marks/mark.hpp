// What rows are drawn as. A new mark is a file that defines its Mark, and a name in the list below.
#pragma once

#include "core/plot/marks/rows.hpp"

#include <span>

namespace btml::plot {

// Where a label is put first, and then where else.
enum class Side : uint8_t { any, centre, right, left, below };

// Texts beside what they name, placed when all else is drawn.
struct TextLabel {
    Point at;
    double gap; // to what it names
    std::string text;
    Side side = Side::any;
};

struct ValueRange {
    double low = std::numeric_limits<double>::infinity(), high = -low; // low > high: it is empty

    void add(double value) {
        low = std::min(low, value);
        high = std::max(high, value);
    }
    bool is_empty() const { return low > high; }
    double share(double value) const { return low < high ? (value / 2 - low / 2) / (high / 2 - low / 2) : 0.5; }
};

// Where marks draw, and what they may look at.
struct Canvas {
    const Rows& rows;
    const Frame& frame;
    std::optional<ValueRange> values; // of column value, where it is drawn
    std::optional<ValueRange> sizes;
    RunContext& context;
    Svg svg;
    std::vector<TextLabel> labels;
    std::map<std::string, uint64_t> counts; // what the description says, and of how many
    uint64_t unplaced_labels = 0;

    double x(size_t row) const { return frame.x(rows.number(row, Part::x)); }
    double y(size_t row, Part part = Part::y) const { return frame.y(rows.number(row, part)); }
    void add_label(size_t row, Point at, double gap, Side side = Side::any);
    // Begins a group of a series' colour; `attributes` follow, with a space in front.
    void begin_group(uint32_t series, std::string_view attributes);
};

// Rows of one mark, ordered by series, then by their numbers and texts, so that pictures do not depend on the order in
// which they came.
using LayerRows = std::span<const uint32_t>;

enum class Swatch : uint8_t { line, area, point };

struct Mark {
    Parts columns; // that the source must have
    Parts needs;   // of these, what a row without is not drawn
    Swatch swatch;
    Parts along_y = parts(Part::y, Part::lower, Part::upper); // what y's axis must have room for
    bool from_zero = false;                                   // y's axis has 0
    bool has_width = false;                                   // a row takes a share of x's axis
    bool has_height = false;                                  // a row takes a share of y's axis
    bool category_y = false;                                  // y may be a category
    bool horizontal = false;                                  // x is the vertical axis where it is a category
    bool coloured = false;                                    // by column value
    bool sized = false;                                       // by column size
    bool padded = true;                                       // points at the ends of an axis have room around them
    void (*draw)(LayerRows rows, Canvas& canvas) = nullptr;
    // Draws what lies below the marks of all layers, where there is such a thing.
    void (*draw_below)(LayerRows rows, Canvas& canvas) = nullptr;
};

// The marks in the order in which they are drawn, each over those before it.
#define BTML_MARKS(mark) mark(heatmap) mark(area) mark(bar) mark(box) mark(band) mark(point) mark(step) mark(line)
#define BTML_MARK_DECLARATION(name) extern const Mark name##_mark;
#define BTML_MARK_PLACE(name) &name##_mark,
#define BTML_MARK_NAME(name) #name,

BTML_MARKS(BTML_MARK_DECLARATION)
inline constexpr const Mark* marks[] = {BTML_MARKS(BTML_MARK_PLACE)};
inline constexpr const char* mark_names[] = {BTML_MARKS(BTML_MARK_NAME)};

// Returns the place of a mark in both, or behind the last.
constexpr uint8_t mark_number(std::string_view name) {
    uint8_t number = 0;
    while (number < std::size(marks) && mark_names[number] != name) number++;
    return number;
}

// The rows of one mark.
struct Layer {
    uint8_t number;
    LayerRows rows;

    const Mark& mark() const { return *marks[number]; }
};

// Cells of a grid over a picture's data: more are not drawn.
inline constexpr double max_cells = 20'000;

// Calls draw(series, rows) for each series of the rows.
template <class Draw>
void for_each_series(const Rows& rows, LayerRows layer, Draw&& draw) {
    while (!layer.empty()) {
        const uint32_t series = rows.text(layer[0], Part::series);
        size_t end = 1;
        while (end < layer.size() && rows.text(layer[end], Part::series) == series) end++;
        draw(series, layer.first(end));
        layer = layer.subspan(end);
    }
}

// Returns the smallest distance of two values of x that differ, as a share of the axis; nothing for one value.
std::optional<double> smallest_gap(const Rows& rows, LayerRows layer, Part part, const Domain& domain,
                                   RunContext& context);

// Returns the pixels that a row takes along an axis: a share of a category's, or of the smallest gap.
double row_pixels(const Canvas& canvas, LayerRows layer, Part part);

// Draws lines from lower to upper with a bar at each end, where rows have both.
void draw_error_bars(LayerRows rows, double shift, Canvas& canvas);

} // namespace btml::plot
