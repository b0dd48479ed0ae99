// Boxes of the quartiles of y at each x (Tukey, Exploratory Data Analysis, 1977): whiskers reach to the farthest rows
// within 1.5 times the box, and rows beyond are points.
#include "core/plot/marks/mark.hpp"

namespace btml::plot {

namespace {

constexpr size_t max_boxes = 1000;

struct Quartiles {
    double lower, median, upper, low_whisker, high_whisker;
};

// Returns a quantile of sorted rows, between two of them as percentile_cont does.
double quantile(LayerRows rows, double share, const Rows& values) {
    const double place = share * static_cast<double>(rows.size() - 1);
    const auto below = static_cast<size_t>(place);
    const double a = values.number(rows[below], Part::y);
    const double b = values.number(rows[std::min(below + 1, rows.size() - 1)], Part::y);
    const double rest = place - static_cast<double>(below);
    return a * (1 - rest) + b * rest;
}

Quartiles quartiles_of(LayerRows rows, const Rows& values, RunContext& context) {
    Quartiles q{quantile(rows, 0.25, values), quantile(rows, 0.5, values), quantile(rows, 0.75, values), 0, 0};
    const double reach = 1.5 * (q.upper - q.lower);
    q.low_whisker = q.lower;
    q.high_whisker = q.upper;
    for (const uint32_t row : rows) {
        context.worked(1);
        const double y = values.number(row, Part::y);
        if (y >= q.lower - reach) q.low_whisker = std::min(q.low_whisker, y);
        if (y <= q.upper + reach) q.high_whisker = std::max(q.high_whisker, y);
    }
    return q;
}

void draw_box(const Quartiles& q, double middle, double half, Canvas& canvas) {
    const Frame& frame = canvas.frame;
    const auto at = [&](double along, double y) { return frame.place(along, frame.y(y)); };
    canvas.svg.put("<path class=\"box\" d=\"").put_point('M', at(middle - half, q.lower));
    canvas.svg.put_point('L', at(middle + half, q.lower)).put_point('L', at(middle + half, q.upper));
    canvas.svg.put_point('L', at(middle - half, q.upper)).put("Z\"/>\n<path class=\"bars\" fill=\"none\" d=\"");
    const auto line_of = [&](double a, double from, double b, double to) {
        canvas.svg.put_point('M', at(a, from)).put_point('L', at(b, to));
    };
    line_of(middle, q.lower, middle, q.low_whisker);
    line_of(middle, q.upper, middle, q.high_whisker);
    line_of(middle - half / 2, q.low_whisker, middle + half / 2, q.low_whisker);
    line_of(middle - half / 2, q.high_whisker, middle + half / 2, q.high_whisker);
    canvas.svg.put("\"/>\n<path class=\"median\" d=\"");
    line_of(middle - half, q.median, middle + half, q.median);
    canvas.svg.put("\"/>\n");
}

// Points at the same tenth of a pixel are one.
void draw_outliers(LayerRows rows, const Quartiles& q, double middle, Canvas& canvas) {
    std::optional<double> last;
    bool begun = false;
    for (const uint32_t row : rows) {
        canvas.context.worked(1);
        const double y = canvas.rows.number(row, Part::y), height = canvas.frame.y(y);
        if (y >= q.low_whisker && y <= q.high_whisker) continue;
        if (last && std::fabs(height - *last) < 0.5) continue;
        last = height;
        if (!std::exchange(begun, true)) canvas.svg.put("<path class=\"dots\" stroke-width=\"4\" d=\"");
        canvas.svg.put_point('M', canvas.frame.place(middle, height)).put("h0");
    }
    if (begun) canvas.svg.put("\"/>\n");
}

// Calls draw(rows) for each x of one series.
template <class Draw>
void for_each_x(LayerRows rows, const Rows& values, RunContext& context, Draw&& draw) {
    for (size_t end; !rows.empty(); rows = rows.subspan(end)) {
        const double x = values.number(rows[0], Part::x);
        for (end = 1; end < rows.size() && values.number(rows[end], Part::x) == x; end++) context.worked(1);
        draw(rows.first(end));
    }
}

void draw_boxes(LayerRows rows, Canvas& canvas) {
    size_t series_count = 0, boxes = 0;
    for_each_series(canvas.rows, rows, [&](uint32_t, LayerRows own) {
        series_count++;
        for_each_x(own, canvas.rows, canvas.context, [&](LayerRows) { boxes++; });
    });
    if (boxes > max_boxes)
        throw Error(ErrorCode::limit_exceeded, format("column \"x\" has %zu values, which is too many boxes", boxes),
                    format("There may be %zu.", max_boxes), "Group them by width_bucket, date_trunc or round.");
    const double room = row_pixels(canvas, rows, Part::x) * 0.7;
    const double width = room / static_cast<double>(std::max<size_t>(series_count, 1));
    double shift = (width - room) / 2;
    for_each_series(canvas.rows, rows, [&](uint32_t series, LayerRows own) {
        canvas.begin_group(series, "");
        for_each_x(own, canvas.rows, canvas.context, [&](LayerRows at_x) {
            const Quartiles q = quartiles_of(at_x, canvas.rows, canvas.context);
            const double middle = canvas.x(at_x[0]) + shift;
            draw_box(q, middle, std::min(width * 0.45, 40.0), canvas);
            draw_outliers(at_x, q, middle, canvas);
        });
        canvas.svg.put("</g>\n");
        shift += width;
    });
}

} // namespace

const Mark box_mark = {.columns = parts(Part::x, Part::y),
                       .needs = parts(Part::x, Part::y),
                       .swatch = Swatch::area,
                       .along_y = bit(Part::y),
                       .has_width = true,
                       .draw = draw_boxes};

} // namespace btml::plot
