// Bars from 0 to y: those of several series at one x stand side by side.
#include "core/plot/marks/mark.hpp"

#include "core/plot/canvas/palette.hpp"

namespace btml::plot {

namespace {

// Side by side, as many as there are series, unless each x has one alone.
class Places {
  public:
    Places(LayerRows rows, const Canvas& canvas) : canvas_(canvas) {
        for_each_series(canvas.rows, rows, [&](uint32_t series, LayerRows) { series_.push_back(series); });
        if (series_.size() > 1 && !shares_x(rows)) series_.resize(1);
        const Domain& domain = canvas.frame.x.domain();
        const double room = row_pixels(canvas, rows, Part::x);
        width_ = room * (domain.kind == ValueKind::category ? 0.76 : 0.94) / static_cast<double>(series_.size());
    }

    double width() const { return width_; }
    // Returns how far the middle of a series' bars is from x.
    double shift(uint32_t series) const {
        const auto found = std::find(series_.begin(), series_.end(), series);
        if (series_.size() == 1 || found == series_.end()) return 0;
        const auto place = static_cast<double>(found - series_.begin());
        return (place + 0.5 - static_cast<double>(series_.size()) / 2) * width_;
    }

  private:
    bool shares_x(LayerRows rows) const {
        std::vector<std::pair<double, uint32_t>> places;
        const Reservation held(canvas_.context.memory(), "places of bars", rows.size() * sizeof(places[0]));
        places.reserve(rows.size());
        for (const uint32_t row : rows)
            places.emplace_back(canvas_.rows.number(row, Part::x), canvas_.rows.text(row, Part::series));
        std::sort(places.begin(), places.end(), [&](const auto& a, const auto& b) {
            canvas_.context.worked(1);
            return a < b;
        });
        for (size_t i = 1; i < places.size(); i++)
            if (places[i].first == places[i - 1].first && places[i].second != places[i - 1].second) return true;
        return false;
    }

    const Canvas& canvas_;
    std::vector<uint32_t> series_;
    double width_;
};

// Draws rectangles, of which those at one place become one.
class Bars {
  public:
    Bars(double width, Canvas& canvas) : width_(width), base_(canvas.frame.y.base()), canvas_(canvas) {}

    void add(double middle, double end) {
        double begin = middle - width_ / 2, to = middle + width_ / 2;
        if (width_ < 1) {
            begin = std::floor(middle);
            to = begin + 1;
        }
        if (begin_ == begin && to_ > begin_) {
            low_ = std::min(low_, end);
            high_ = std::max(high_, end);
            canvas_.counts["bars at the place of others"]++;
            return;
        }
        finish();
        begin_ = begin;
        to_ = to;
        low_ = std::min(base_, end);
        high_ = std::max(base_, end);
    }
    void finish() {
        if (begin_ == to_) return;
        canvas_.svg.put_point('M', canvas_.frame.place(begin_, low_));
        canvas_.svg.put_point('L', canvas_.frame.place(to_, low_)).put_point('L', canvas_.frame.place(to_, high_));
        canvas_.svg.put_point('L', canvas_.frame.place(begin_, high_)).put('Z');
    }

  private:
    const double width_, base_;
    Canvas& canvas_;
    double begin_ = 0, to_ = 0; // the same: no rectangle
    double low_ = 0, high_ = 0;
};

// Labels lie beyond the bar and its error bar.
void add_labels(LayerRows rows, double shift, Canvas& canvas) {
    if (!canvas.rows.shape().has(Part::label)) return;
    for (const uint32_t row : rows) {
        canvas.context.worked(1);
        const bool negative = canvas.rows.number(row, Part::y) < 0;
        const Part far = negative ? Part::lower : Part::upper;
        const double end = canvas.y(row, canvas.rows.has(row, far) ? far : Part::y);
        const Side lying = negative ? Side::left : Side::right, standing = negative ? Side::below : Side::any;
        canvas.add_label(row, canvas.frame.place(canvas.x(row) + shift, end), 5,
                         canvas.frame.flipped ? lying : standing);
    }
}

void draw_bars(LayerRows rows, Canvas& canvas) {
    const Places places(rows, canvas);
    for_each_series(canvas.rows, rows, [&](uint32_t series, LayerRows own) {
        const double shift = places.shift(series);
        canvas.begin_group(series, "");
        canvas.svg.put("<path class=\"bar\" d=\"");
        Bars bars(places.width(), canvas);
        for (const uint32_t row : own) {
            canvas.context.worked(4);
            bars.add(canvas.x(row) + shift, canvas.y(row));
        }
        bars.finish();
        canvas.svg.put("\"/>\n</g>\n<g class=\"ink\">\n");
        if (places.width() >= 2) draw_error_bars(own, shift, canvas);
        canvas.svg.put("</g>\n");
        add_labels(own, shift, canvas);
    });
}

} // namespace

const Mark bar_mark = {.columns = parts(Part::x, Part::y),
                       .needs = parts(Part::x, Part::y),
                       .swatch = Swatch::area,
                       .from_zero = true,
                       .has_width = true,
                       .horizontal = true,
                       .padded = false,
                       .draw = draw_bars};

} // namespace btml::plot
