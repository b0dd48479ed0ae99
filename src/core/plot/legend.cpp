#include "core/plot/legend.hpp"

#include "core/plot/canvas/palette.hpp"
#include "core/plot/marks/dots.hpp"

namespace btml::plot {

namespace {

constexpr double swatch_width = 20, entry_height = 18, max_name = 220;
constexpr size_t max_lines = 3;
constexpr double bar_width = 12, bar_label_gap = 5;

void draw_swatch(uint32_t series, Swatch swatch, Point at, Canvas& canvas) {
    canvas.begin_group(series, "");
    if (swatch == Swatch::line)
        canvas.svg.put("<path class=\"curve\" d=\"").put_point('M', at).put("h16\"/>\n");
    else if (swatch == Swatch::area)
        canvas.svg.put("<path class=\"bar\" d=\"").put_point('M', {at.x + 2, at.y - 5}).put("h12v10h-12Z\"/>\n");
    else {
        const Point middle[] = {{at.x + 8, at.y}};
        draw_dots(middle, 4, series, canvas);
    }
    canvas.svg.put("</g>\n");
}

void put_name(const char* group, double x, double y, const std::string& text, Svg& svg) {
    svg.put("<g class=\"", group, "\"><text class=\"name\" x=\"", x, "\" y=\"", y + 4, "\">", text, "</text></g>\n");
}

// Returns the largest of 1, 2 and 5 times a power of ten that is not above x.
double round_below(double x) {
    const double power = std::pow(10, std::floor(std::log10(x)));
    for (const double digit : {5.0, 2.0})
        if (digit * power <= x) return digit * power;
    return power <= x ? power : power / 2; // logarithms are rounded
}

} // namespace

Legend::Legend(const Rows& rows, std::span<const Layer> layers, bool coloured, const std::optional<ValueRange>& sizes,
               double width, RunContext& context) {
    std::vector<const Mark*> shown(rows.series_count(), nullptr);
    for (const Layer& layer : layers) {
        if (coloured && layer.mark().coloured) continue;
        for (const uint32_t row : layer.rows) {
            context.worked(1);
            const uint32_t series = rows.text(row, Part::series);
            if (series != no_text) shown[series] = &layer.mark();
        }
    }
    for (uint32_t i = 0; i < shown.size(); i++) {
        if (!shown[i]) continue;
        const std::string name = clean_text(rows.category_text(Part::series, i));
        entries_.push_back({i, shown[i]->swatch, cut_to_width(name, name_font, std::min(max_name, width - 40)), 0, 0});
    }
    place(width);
    const auto has_circles = [&](const Layer& layer) {
        return layer.mark().sized && draws_circles(rows, layer.rows.size());
    };
    if (sizes && std::any_of(layers.begin(), layers.end(), has_circles)) add_circles(*sizes, width);
}

void Legend::place(double width) {
    double x = 0;
    size_t lines = 0;
    for (size_t i = 0; i < entries_.size(); i++) {
        const double own = swatch_width + text_width(entries_[i].name, name_font);
        const bool is_last_line = lines + 1 == max_lines, more = i + 1 < entries_.size();
        if (x > 0 && x + own + (is_last_line && more ? 70 : 0) > width) {
            if (is_last_line) {
                left_out_ = entries_.size() - i;
                entries_.resize(i);
                break;
            }
            lines++;
            x = 0;
        }
        entries_[i].x = x;
        entries_[i].line = static_cast<double>(lines);
        end_ = x + own + 14;
        x = end_;
    }
}

void Legend::add_circles(const ValueRange& sizes, double width) {
    constexpr double gap = 4, between = 14;
    constexpr size_t most = 3;
    if (sizes.low >= sizes.high || sizes.high <= 0) return;
    double size = sizes.high, room = width;
    for (size_t i = 0; i < most && std::isnormal(size); i++, size /= 4) { // half as wide
        size = round_below(size);
        if (size < sizes.low) break;
        const double radius = circle_radius(size, sizes);
        const std::string name = described_number(size);
        const double own = 2 * radius + gap + text_width(name, name_font) + between;
        if (own > room) break;
        room -= own;
        circles_.push_back({radius, own, name});
    }
}

double Legend::height_of_series() const {
    return entries_.empty() ? 0 : (entries_.back().line + 1) * entry_height + 6;
}

double Legend::height_of_circles() const {
    return circles_.empty() ? 0 : std::max(entry_height, 2 * circles_[0].radius + 4) + 4;
}

void Legend::draw(double left, double top, Canvas& canvas) const {
    for (const Entry& entry : entries_) {
        const double y = top + entry.line * entry_height + entry_height / 2;
        draw_swatch(entry.series, entry.swatch, {left + entry.x, y}, canvas);
        put_name("ink", left + entry.x + swatch_width, y, escaped(entry.name), canvas.svg);
    }
    if (left_out_ > 0)
        put_name("muted", left + end_, top + entries_.back().line * entry_height + entry_height / 2,
                 format("and %zu more", left_out_), canvas.svg);
    const double y = top + height_of_series() + (height_of_circles() - 4) / 2;
    double x = left;
    for (const Circle& circle : circles_) {
        canvas.svg.put("<g class=\"other\" fill=\"none\" stroke=\"currentColor\"><circle cx=\"", x + circle.radius,
                       "\" cy=\"", y, "\" r=\"", circle.radius, "\"/></g>\n");
        put_name("ink", x + 2 * circle.radius + 4, y, escaped(circle.name), canvas.svg);
        x += circle.width;
    }
}

// Returns none where all values are one.
static std::vector<Tick> ticks_of_bar(const std::optional<ValueRange>& range, double height) {
    if (!range || range->low >= range->high) return {};
    return number_ticks(range->low, range->high, static_cast<size_t>(std::clamp(height / 40, 3.0, 7.0)));
}

double colour_bar_width(const std::optional<ValueRange>& range, double height) {
    const std::vector<Tick> ticks = ticks_of_bar(range, height);
    if (ticks.empty()) return 0;
    double widest = 0;
    for (const Tick& tick : ticks) widest = std::max(widest, text_width(tick.label, tick_font));
    return 14 + bar_width + bar_label_gap + widest;
}

void draw_colour_bar(const std::optional<ValueRange>& range, double left, double top, double height, Svg& svg) {
    const std::vector<Tick> ticks = ticks_of_bar(range, height);
    if (ticks.empty()) return;
    const double x = left + 14, part = height / shade_count;
    for (size_t shade = 0; shade < shade_count; shade++) {
        const double y = top + height - part * static_cast<double>(shade + 1);
        svg.put("<path class=\"cell\" color=\"", shade_colour_of(shade), "\" d=\"").put_point('M', {x, y});
        svg.put('h', bar_width, 'v', part + 0.4, 'h', -bar_width, "Z\"/>\n");
    }
    svg.put("<g class=\"muted\">\n");
    for (const Tick& tick : ticks) {
        const double y = top + height * (1 - range->share(tick.value));
        svg.put("<text x=\"", x + bar_width + bar_label_gap, "\" y=\"", y + 4, "\">", escaped(tick.label), "</text>\n");
    }
    svg.put("</g>\n");
}

} // namespace btml::plot
