#include "core/plot/axis.hpp"

#include <algorithm>
#include <cmath>

namespace btml::plot {

namespace {

constexpr double line_height = 14, tick_length = 4, between_labels = 10;
constexpr double half_turn = 0.70710678118654752; // the sine and cosine of the angle that labels are turned by

} // namespace

Axis::Axis(const Domain& domain, bool vertical, std::vector<std::string> categories)
    : domain_(domain), vertical_(vertical), categories_(std::move(categories)) {}

double Axis::widest() const {
    double width = 0;
    for (const Tick& tick : ticks_) width = std::max(width, text_width(tick.label, tick_font));
    return width;
}

double Axis::thickness() const {
    const double width = widest();
    if (vertical_) return width + tick_length + 4;
    return tick_length + 3 + (turned_ ? (width + tick_font) * half_turn : line_height);
}

std::vector<Tick> Axis::ticks_for(size_t most) const {
    if (domain_.kind == ValueKind::number)
        return domain_.logarithmic ? log_ticks(domain_.low, domain_.high, most)
                                   : number_ticks(domain_.low, domain_.high, most, domain_.whole);
    return time_ticks(domain_.low, domain_.high, most, domain_.kind == ValueKind::time_of_day);
}

bool Axis::labels_fit(double length) const {
    const Scale scale(domain_, 0, length);
    for (size_t i = 1; i < ticks_.size(); i++) {
        const double distance = scale(ticks_[i].value) - scale(ticks_[i - 1].value);
        const double widths = text_width(ticks_[i].label, tick_font) + text_width(ticks_[i - 1].label, tick_font);
        if (distance < (vertical_ ? line_height : widths / 2 + between_labels)) return false;
    }
    return true;
}

void Axis::fit_numbers(double length) {
    const double apart = vertical_ ? 32 : 55;
    auto most = static_cast<size_t>(std::clamp(length / apart, 4.0, vertical_ ? 9.0 : 12.0));
    for (; most > 1; most--) {
        ticks_ = ticks_for(most);
        if (labels_fit(length)) return;
    }
}

void Axis::fit_categories(double length, double room) {
    const double step = length / static_cast<double>(std::max<size_t>(categories_.size(), 1));
    double widest_label = 0;
    for (const std::string& name : categories_) widest_label = std::max(widest_label, text_width(name, tick_font));
    turned_ = !vertical_ && widest_label > step - 6;
    const auto every = static_cast<size_t>(std::max(1.0, std::ceil((turned_ || vertical_ ? line_height : 0) / step)));
    const double across = turned_     ? room / half_turn - tick_font
                          : vertical_ ? room - tick_length - 4
                                      : widest_label + 1;
    ticks_.clear();
    for (size_t i = 0; i < categories_.size(); i += every)
        ticks_.push_back({static_cast<double>(i), cut_to_width(categories_[i], tick_font, across)});
}

void Axis::fit(double length, double room) {
    if (domain_.kind == ValueKind::category)
        fit_categories(length, room);
    else
        fit_numbers(length);
    measure_overhang(length);
}

void Axis::measure_overhang(double length) {
    before_ = after_ = 0;
    const Scale scale(domain_, 0, length);
    for (const Tick& tick : ticks_) {
        const double at = scale(tick.value), width = text_width(tick.label, tick_font);
        before_ = std::max(before_, (turned_ ? width * half_turn : width / 2) - at);
        after_ = std::max(after_, (turned_ ? 4 : width / 2) - (length - at));
    }
}

void Axis::draw_grid(const Frame& frame, const Scale& scale, Svg& svg) const {
    if (domain_.kind == ValueKind::category || ticks_.empty()) return;
    svg.put("<g class=\"grid\"><path d=\"");
    for (const Tick& tick : ticks_) {
        const double at = scale(tick.value);
        if (vertical_)
            svg.put_point('M', {frame.left, at}).put('H', frame.right);
        else
            svg.put_point('M', {at, frame.top}).put('V', frame.bottom);
    }
    svg.put("\"/></g>\n");
}

void Axis::draw_labels(const Frame& frame, const Scale& scale, Svg& svg) const {
    svg.put("<g class=\"muted\"", vertical_ || turned_ ? " text-anchor=\"end\"" : " text-anchor=\"middle\"",
            ">\n<path d=\"");
    for (const Tick& tick : ticks_) {
        const double at = scale(tick.value);
        if (vertical_)
            svg.put_point('M', {frame.left, at}).put('h', -tick_length);
        else
            svg.put_point('M', {at, frame.bottom}).put('v', tick_length);
    }
    svg.put("\"/>\n");
    for (const Tick& tick : ticks_) {
        const double at = scale(tick.value);
        if (vertical_)
            svg.put("<text x=\"", frame.left - tick_length - 3, "\" y=\"", at + 4, "\">");
        else if (!turned_)
            svg.put("<text x=\"", at, "\" y=\"", frame.bottom + tick_length + 12, "\">");
        else
            svg.put("<text transform=\"translate(", at + 4, ' ', frame.bottom + tick_length + 8, ") rotate(-45)\">");
        svg.put(escaped(tick.label), "</text>\n");
    }
    svg.put("</g>\n");
}

} // namespace btml::plot
