#include "core/plot/description.hpp"

#include "core/plot/canvas/ticks.hpp"

namespace btml::plot {

namespace {

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

} // namespace

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

} // namespace btml::plot
