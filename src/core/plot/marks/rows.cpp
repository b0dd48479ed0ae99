#include "core/plot/marks/rows.hpp"

namespace btml::plot {

static constexpr char rows_what[] = "rows of a picture";

Rows::Rows(const RowShape& shape, MemoryBudget& budget) : shape_(shape), marks_(budget, rows_what) {
    for (size_t i = 0; i < number_parts; i++) numbers_.emplace_back(budget, rows_what);
    for (size_t i = number_parts; i < part_count; i++) texts_.emplace_back(budget, rows_what);
    for (int i = 0; i < 4; i++) dictionaries_.push_back(std::make_unique<TextDictionary>(budget));
}

size_t Rows::dictionary_number(Part part) {
    return part == Part::x ? 0 : part == Part::y ? 1 : part == Part::series ? 2 : 3;
}

double Rows::category(Part part, std::string_view text) {
    const uint32_t code = dictionary(part).number(text);
    if (code >= max_categories)
        throw Error(ErrorCode::limit_exceeded,
                    format("column \"%s\" has more than %zu categories", name_of(part), max_categories), "",
                    "Cast it to a number or a time, or GROUP BY fewer categories.");
    return code;
}

uint32_t Rows::text_code(Part part, std::string_view text) {
    const uint32_t code = dictionary(part).number(text);
    if (part == Part::series && code >= max_series)
        throw Error(ErrorCode::limit_exceeded, format("column \"series\" has more than %zu values", max_series), "",
                    "Each is a colour of its own. A number is the colour of points as column \"value\".");
    return code;
}

std::optional<Flaw> Rows::flaw(double x, Part part) const {
    if (is_null(x)) return Flaw::null;
    if (!std::isfinite(x)) return Flaw::not_finite;
    const bool on_axis = part == Part::x || part == Part::y;
    if (on_axis && shape_.axis(part).logarithmic && x <= 0) return Flaw::not_positive;
    return part == Part::size && x < 0 ? std::optional(Flaw::negative) : std::nullopt;
}

void Rows::add(const Row& row, Parts needs, bool uses_y) {
    if (++seen_ == no_text) throw Error(ErrorCode::limit_exceeded, "source has too many rows for a picture");
    Row kept = row;
    for (size_t i = 0; i < number_parts; i++) {
        const auto part = static_cast<Part>(i);
        const std::optional<Flaw> found = flaw(row[part], part);
        if (!found) continue;
        kept.numbers[i] = null_number;
        if (!shape_.has(part)) continue;
        const bool needed = (needs & bit(part)) != 0;
        // An infinite y of a curve is as little to be seen as that of a point, but its row still cuts the curve.
        const bool of_y = uses_y && part == Part::y && *found != Flaw::null;
        if (needed || of_y) {
            flawed_rows_[{part, *found}]++;
            if (needed) return;
        } else if (*found != Flaw::null) {
            flawed_values_[{part, *found}]++;
        }
    }
    for (size_t i = 0; i < number_parts; i++)
        if (shape_.has(static_cast<Part>(i))) numbers_[i].push_back(kept.numbers[i]);
    for (size_t i = number_parts; i < part_count; i++)
        if (shape_.has(static_cast<Part>(i))) texts_[i - number_parts].push_back(kept.texts[i - number_parts]);
    marks_.push_back(kept.mark);
}

} // namespace btml::plot
