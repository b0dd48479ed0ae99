#include "core/plot/picture.hpp"

#include "core/plot/axis.hpp"
#include "core/plot/canvas/palette.hpp"
#include "core/plot/canvas/ticks.hpp"
#include "core/plot/domains.hpp"
#include "core/plot/legend.hpp"

#include <cstring>

namespace btml::plot {

namespace {

// The functions up to describe() put a picture in words: for those who do not see it, and for what it leaves out.
std::string counted(uint64_t count, const char* one, const char* many) {
    return format("%" PRIu64 " %s", count, count == 1 ? one : many);
}

const char* reason(Flaw flaw) {
    switch (flaw) {
    case Flaw::null:
        return "NULL";
    case Flaw::not_finite:
        return "NaN or infinite";
    case Flaw::not_positive:
        return "not positive on a logarithmic axis";
    case Flaw::negative:
        return "negative";
    }
    return "";
}

std::string value_text(double x, ValueKind kind) {
    return is_time(kind) ? described_time(x, kind == ValueKind::time_of_day) : described_number(x);
}

// Describes the values of an axis as "x from 1 to 100".
std::string range_text(Part part, const Rows& rows, std::span<const Layer> layers, RunContext& context) {
    const bool on_axis = part == Part::x || part == Part::y;
    const ValueKind kind = on_axis ? rows.shape().axis(part).kind : ValueKind::number;
    const char* const name = name_of(part);
    if (kind == ValueKind::category)
        return format("%s: %s", name, counted(rows.categories(part), "category", "categories").c_str());
    const ValueRange range = range_of([=](const Mark&) { return bit(part); }, rows, layers, context);
    if (range.is_empty()) return "";
    return format("%s from %s to %s", name, value_text(range.low, kind).c_str(), value_text(range.high, kind).c_str());
}

std::string series_text(const Rows& rows) {
    static constexpr size_t most = 10;
    std::string text;
    for (uint32_t i = 0; i < rows.series_count(); i++) {
        if (i == most) return text + ", " + counted(rows.series_count() - most, "more", "more");
        text += (i > 0 ? ", " : "") + cut_to_width(clean_text(rows.category_text(Part::series, i)), 10, 400);
    }
    return text;
}

void add_sentence(std::string& text, const std::string& sentence) {
    if (sentence.empty()) return;
    text += (text.empty() ? "" : " ") + sentence + ".";
}

// Returns how many rows are not drawn, and why; empty where all are.
std::string describe_omissions(const Rows& rows) {
    uint64_t omitted = 0;
    std::string reasons;
    for (const auto& [what, count] : rows.flawed_rows()) {
        omitted += count;
        reasons += format("%s%s is %s", reasons.empty() ? "" : ", ", name_of(what.first), reason(what.second));
        if (rows.flawed_rows().size() > 1) reasons += format(" (%" PRIu64 ")", count);
    }
    if (omitted == 0) return "";
    return format("%" PRIu64 " of %s not drawn: ", omitted, counted(rows.seen(), "row", "rows").c_str()) + reasons;
}

// Returns a few sentences: marks and series, the ranges of the axes, what is left out.
std::string describe(const Canvas& canvas, std::span<const Layer> layers) {
    std::string text, drawn;
    for (const Layer& layer : layers)
        drawn += format("%s%s of %s", drawn.empty() ? "" : ", ", mark_names[layer.number],
                        counted(layer.rows.size(), "row", "rows").c_str());
    add_sentence(text, layers.empty() ? "no rows" : drawn);
    if (canvas.rows.series_count() > 0) add_sentence(text, "series: " + series_text(canvas.rows));
    for (const Part part : {Part::x, Part::y, Part::value, Part::size})
        if (canvas.rows.shape().has(part) && !layers.empty())
            add_sentence(text, range_text(part, canvas.rows, layers, canvas.context));
    add_sentence(text, describe_omissions(canvas.rows));
    for (const auto& [what, count] : canvas.rows.flawed_values())
        add_sentence(text, format("%s without %s, which is %s", counted(count, "row", "rows").c_str(),
                                  name_of(what.first), reason(what.second)));
    for (const auto& [what, count] : canvas.counts) add_sentence(text, format("%s: %" PRIu64, what.c_str(), count));
    if (canvas.unplaced_labels > 0) add_sentence(text, format("labels without room: %" PRIu64, canvas.unplaced_labels));
    return text;
}

constexpr double margin = 14, title_line = 20, name_line = 18, footnote_line = 15;
constexpr double bold = 1.06; // is so much wider

// Says whether a row comes before another: by mark, series, numbers and label.
bool is_before(const Rows& rows, uint32_t a, uint32_t b) {
    if (rows.mark(a) != rows.mark(b)) return rows.mark(a) < rows.mark(b);
    const uint32_t series_a = rows.text(a, Part::series), series_b = rows.text(b, Part::series);
    if (series_a != series_b) return series_a + 1 < series_b + 1; // those without one first
    for (size_t i = 0; i < number_parts; i++) {
        const auto part = static_cast<Part>(i);
        const double x = rows.number(a, part), y = rows.number(b, part);
        if (sql_less(x, y)) return true;
        if (sql_less(y, x)) return false;
    }
    const uint32_t label_a = rows.text(a, Part::label), label_b = rows.text(b, Part::label);
    if (label_a == no_text || label_b == no_text) return label_b == no_text && label_a != no_text;
    return rows.category_text(Part::label, label_a) < rows.category_text(Part::label, label_b);
}

// Orders the rows, so that nothing depends on the order in which they came.
Buffer<uint32_t> in_order(const Rows& rows, RunContext& context) {
    Buffer<uint32_t> order(context.memory(), "rows of a picture in order", rows.size());
    context.progress("sorting rows", 0, 0);
    context.for_each(order.size(), 1, [&](uint64_t i) { order[i] = static_cast<uint32_t>(i); });
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
        context.worked(3);
        return is_before(rows, a, b);
    });
    return order;
}

// Cuts the ordered rows into those of each mark.
std::vector<Layer> layers_of(const Rows& rows, const Buffer<uint32_t>& order, RunContext& context) {
    std::vector<Layer> layers;
    for (size_t begin = 0, end; begin < order.size(); begin = end) {
        const uint8_t mark = rows.mark(order[begin]);
        for (end = begin; end < order.size() && rows.mark(order[end]) == mark; end++) context.worked(1);
        layers.push_back({mark, order.span().subspan(begin, end - begin)});
    }
    return layers;
}

std::vector<std::string> category_names(Part part, const Rows& rows) {
    std::vector<std::string> names;
    if (rows.shape().axis(part).kind != ValueKind::category) return names;
    for (uint32_t i = 0; i < rows.categories(part); i++) names.push_back(clean_text(rows.category_text(part, i)));
    return names;
}

bool is_flipped(const Rows& rows, std::span<const Layer> layers) {
    if (rows.shape().x.kind != ValueKind::category) return false;
    return std::any_of(layers.begin(), layers.end(), [](const Layer& layer) { return layer.mark().horizontal; });
}

// Returns the range of a column over the rows of marks that look at it; nothing where there is none.
std::optional<ValueRange> values_of(Part part, bool Mark::*looks, const Rows& rows, std::span<const Layer> layers,
                                    RunContext& context) {
    const ValueRange range =
        range_of([=](const Mark& mark) { return mark.*looks ? bit(part) : 0; }, rows, layers, context);
    return range.is_empty() ? std::nullopt : std::optional(range);
}

std::string digest(std::string_view text) {
    uint64_t hash = text.size();
    while (!text.empty()) {
        uint64_t word = 0;
        const size_t length = std::min(text.size(), sizeof(word));
        std::memcpy(&word, text.data(), length);
        hash = mix64(hash ^ word);
        text.remove_prefix(length);
    }
    return format("%08x", static_cast<unsigned>(hash >> 32));
}

class Picture {
  public:
    Picture(const Rows& rows, const Options& options, RunContext& context)
        : rows_(rows),
          options_(options),
          context_(context),
          order_(in_order(rows, context)),
          layers_(layers_of(rows, order_, context)),
          flipped_(is_flipped(rows, layers_)),
          values_(values_of(Part::value, &Mark::coloured, rows, layers_, context)),
          x_(domain_of(Part::x, rows, layers_, context), flipped_, category_names(Part::x, rows)),
          y_(domain_of(Part::y, rows, layers_, context), !flipped_, category_names(Part::y, rows)),
          title_(wrapped(clean_text(options.title), title_font * bold, options.width - 2 * margin, 2)),
          sizes_(values_of(Part::size, &Mark::sized, rows, layers_, context)),
          legend_(rows, layers_, values_.has_value(), sizes_, options.width - 2 * margin, context),
          omissions_(describe_omissions(rows)) {}

    std::string draw() {
        Frame frame = lay_out();
        Canvas canvas{rows_, frame, values_, sizes_, context_, Svg(context_), {}, {}, 0};
        context_.progress("drawing", 0, layers_.size());
        draw_paper(canvas);
        x_.draw_grid(frame, frame.x, canvas.svg);
        y_.draw_grid(frame, frame.y, canvas.svg);
        for (const Layer& layer : layers_)
            if (layer.mark().draw_below) layer.mark().draw_below(layer.rows, canvas);
        for (size_t i = 0; i < layers_.size(); i++) {
            layers_[i].mark().draw(layers_[i].rows, canvas);
            context_.progress("drawing", i + 1, layers_.size());
        }
        draw_axes(canvas);
        draw_text_labels(canvas);
        if (layers_.empty())
            canvas.svg.put("<g class=\"muted\" text-anchor=\"middle\"><text class=\"name\" x=\"",
                           (frame.left + frame.right) / 2, "\" y=\"", (frame.top + frame.bottom) / 2,
                           "\">no rows</text></g>\n");
        return assemble(canvas);
    }

  private:
    Axis& horizontal() { return flipped_ ? y_ : x_; }
    Axis& vertical() { return flipped_ ? x_ : y_; }
    const std::string& horizontal_name() const { return flipped_ ? name_of_y_ : name_of_x_; }
    const std::string& vertical_name() const { return flipped_ ? name_of_x_ : name_of_y_; }

    // The axes' labels take room from each other: the vertical axis is laid out for a height that may still shrink a
    // little.
    Frame lay_out() {
        const double width = options_.width, height = options_.height;
        title_height_ = title_[0].empty() ? 0 : title_line * static_cast<double>(title_.size()) + 4;
        const double top = margin + title_height_ + legend_.height();
        const double below = margin - 4 + (omissions_.empty() ? 0 : footnote_line);
        name_of_x_ = options_.x_label;
        name_of_y_ = options_.y_label;
        double bottom = height - below - 24 - name_line, left = margin, right = width - margin;
        for (int round = 0; round < 3; round++) {
            vertical().fit(std::max(bottom - top, 20.0), 0.4 * width);
            const double names = margin + (vertical_name().empty() ? 0 : name_line);
            left = std::max(names + vertical().thickness(), margin + horizontal().overhang_before());
            const double beside = colour_bar_width(values_, bottom - top);
            right = width - margin - std::max(beside, horizontal().overhang_after());
            horizontal().fit(std::max(right - left, 20.0), 0.35 * height);
            name_of_x_ = with_date(options_.x_label, x_);
            name_of_y_ = with_date(options_.y_label, y_);
            bottom = height - below - horizontal().thickness() - (horizontal_name().empty() ? 0 : name_line);
        }
        const Domain none;
        Frame frame{
            left,    top, std::max(right, left + 20), std::max(bottom, top + 20), Scale(none, 0, 1), Scale(none, 0, 1),
            flipped_};
        frame.x = scale_of(x_, flipped_, frame);
        frame.y = scale_of(y_, !flipped_, frame);
        return frame;
    }

    // Returns an axis' label with the date that the labels of its ticks leave out.
    std::string with_date(const std::string& label, const Axis& axis) const {
        if (axis.domain().kind != ValueKind::time || layers_.empty()) return label;
        const std::string date = date_context(axis.domain().low, axis.domain().high, axis.ticks());
        return label + (label.empty() || date.empty() ? "" : ", ") + date;
    }

    // Numbers grow upwards, categories are read from the top.
    Scale scale_of(const Axis& axis, bool is_vertical, const Frame& frame) const {
        if (!is_vertical) return {axis.domain(), frame.left, frame.right};
        if (axis.domain().kind == ValueKind::category) return {axis.domain(), frame.top, frame.bottom};
        return {axis.domain(), frame.bottom, frame.top};
    }

    void draw_paper(Canvas& canvas) const {
        canvas.svg.put("<rect class=\"paper\" width=\"", options_.width, "\" height=\"", options_.height, "\"/>\n");
        canvas.svg.put("<g class=\"ink\">\n");
        for (size_t i = 0; i < title_.size() && title_height_ > 0; i++)
            canvas.svg.put("<text class=\"title\" x=\"", margin, "\" y=\"",
                           margin + 13 + title_line * static_cast<double>(i), "\">", escaped(title_[i]), "</text>\n");
        canvas.svg.put("</g>\n");
        legend_.draw(margin, margin + title_height_ - 2, canvas);
    }

    void draw_axes(Canvas& canvas) {
        const Frame& frame = canvas.frame;
        canvas.svg.put("<g class=\"muted\"><path d=\"");
        const bool base_inside = !layers_.empty() && y_.domain().kind == ValueKind::number &&
                                 !y_.domain().logarithmic && y_.domain().low < 0 && y_.domain().high > 0;
        const bool category_y = y_.domain().kind == ValueKind::category;
        const double base = base_inside ? frame.y.base() : category_y ? frame.y.end() : frame.y.begin();
        const double x_begin = frame.x.begin(), x_end = frame.x.end();
        canvas.svg.put_point('M', frame.place(x_begin, base)).put_point('L', frame.place(x_end, base));
        canvas.svg.put("\"/></g>\n");
        if (!layers_.empty()) {
            x_.draw_labels(frame, frame.x, canvas.svg);
            y_.draw_labels(frame, frame.y, canvas.svg);
        }
        draw_colour_bar(values_, frame.right, frame.top, frame.bottom - frame.top, canvas.svg);
        draw_names(canvas);
    }

    void draw_names(Canvas& canvas) const {
        const Frame& frame = canvas.frame;
        const double middle = (frame.left + frame.right) / 2, centre = (frame.top + frame.bottom) / 2;
        const double footnote = omissions_.empty() ? 0 : footnote_line;
        canvas.svg.put("<g class=\"ink\" text-anchor=\"middle\">\n");
        if (!horizontal_name().empty()) {
            const std::string name = cut_to_width(clean_text(horizontal_name()), name_font, frame.right - frame.left);
            canvas.svg.put("<text class=\"name\" x=\"", middle, "\" y=\"", options_.height - footnote - margin + 2,
                           "\">", escaped(name), "</text>\n");
        }
        if (!vertical_name().empty()) {
            const std::string name = cut_to_width(clean_text(vertical_name()), name_font, frame.bottom - frame.top);
            canvas.svg.put("<text class=\"name\" transform=\"translate(", margin + 10, ' ', centre, ") rotate(-90)\">",
                           escaped(name), "</text>\n");
        }
        canvas.svg.put("</g>\n");
        if (omissions_.empty()) return;
        canvas.svg.put("<g class=\"muted\"><text x=\"", margin, "\" y=\"", options_.height - 9, "\">",
                       escaped(cut_to_width(omissions_, tick_font, options_.width - 2 * margin)), "</text></g>\n");
    }

    std::string assemble(const Canvas& canvas) const {
        const std::string title = escaped(options_.title.empty() ? "y by x" : clean_text(options_.title));
        const std::string description = escaped(describe(canvas, layers_));
        const std::string id =
            digest(format("%s|%s|%d|%d|", title.c_str(), description.c_str(), options_.width, options_.height) +
                   digest(canvas.svg.text()));
        const Reservation held(context_.memory(), "a picture", canvas.svg.text().size() + 8192);
        std::string svg =
            format("<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"btml-plot\" width=\"%d\" height=\"%d\" "
                   "viewBox=\"0 0 %d %d\" role=\"img\" aria-labelledby=\"title-%s desc-%s\">\n",
                   options_.width, options_.height, options_.width, options_.height, id.c_str(), id.c_str());
        svg += "<title id=\"title-" + id + "\">" + title + "</title>\n<desc id=\"desc-" + id + "\">" + description +
               "</desc>\n<style>" + style_sheet() + "</style>\n";
        svg += canvas.svg.text();
        return svg + "</svg>";
    }

    const Rows& rows_;
    const Options& options_;
    RunContext& context_;
    const Buffer<uint32_t> order_;
    const std::vector<Layer> layers_;
    const bool flipped_;
    const std::optional<ValueRange> values_;
    Axis x_, y_;
    const std::vector<std::string> title_;
    const std::optional<ValueRange> sizes_;
    const Legend legend_;
    const std::string omissions_;
    std::string name_of_x_, name_of_y_;
    double title_height_ = 0;
};

} // namespace

std::string draw_picture(const Rows& rows, const Options& options, RunContext& context) {
    return Picture(rows, options, context).draw();
}

} // namespace btml::plot
