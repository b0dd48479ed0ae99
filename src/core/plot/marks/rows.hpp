// The rows of a picture, by the parts that columns play.
#pragma once

#include "core/data/dictionary.hpp"
#include "core/numbers/number.hpp"
#include "core/plot/canvas/scale.hpp"

#include <array>
#include <map>
#include <memory>
#include <optional>

namespace btml::plot {

// Numbers first, then texts.
enum class Part : uint8_t { x, y, lower, upper, value, size, series, label };
inline constexpr size_t number_parts = 6, part_count = 8;
inline constexpr const char* part_names[part_count] = {"x", "y", "lower", "upper", "value", "size", "series", "label"};
constexpr const char* name_of(Part part) {
    return part_names[static_cast<size_t>(part)];
}

using Parts = uint32_t; // a bit for each Part
constexpr Parts bit(Part part) {
    return 1U << static_cast<int>(part);
}
template <class... Rest>
constexpr Parts parts(Rest... rest) {
    return (bit(rest) | ... | 0U);
}

inline constexpr uint32_t no_text = UINT32_MAX;
inline constexpr size_t max_series = 50, max_categories = 1000;

// A row: null_number and no_text for NULL.
struct Row {
    std::array<double, number_parts> numbers = {null_number, null_number, null_number,
                                                null_number, null_number, null_number};
    std::array<uint32_t, 2> texts = {no_text, no_text};
    uint8_t mark = 0;

    double operator[](Part part) const { return numbers[static_cast<size_t>(part)]; }
};

// Where the values of a row come from.
struct RowShape {
    Parts present = 0;     // the columns of the source
    Domain x = {}, y = {}; // without their ends

    bool has(Part part) const { return (present & bit(part)) != 0; }
    const Domain& axis(Part part) const { return part == Part::x ? x : y; }
};

enum class Flaw : uint8_t { null, not_finite, not_positive, negative };

class Rows {
  public:
    Rows(const RowShape& shape, MemoryBudget& budget);

    // Returns the code of a category of x or y; that of a series or label. Codes count in the order in which texts come
    // first. Error limit_exceeded for too many categories or series, naming the column.
    double category(Part part, std::string_view text);
    uint32_t text_code(Part part, std::string_view text);

    // Takes a row that has what its mark needs: a flawed one is counted, and kept apart from those drawn. needs: the
    // parts that may not be NULL; y, lower and upper of curves may, and cut them. uses_y: whether the mark draws y.
    // Error limit_exceeded for more than 2^32 − 2 rows.
    void add(const Row& row, Parts needs, bool uses_y);

    const RowShape& shape() const { return shape_; }
    size_t size() const { return marks_.size(); }
    uint64_t seen() const { return seen_; } // with those that are not drawn
    double number(size_t row, Part part) const {
        const auto i = static_cast<size_t>(part);
        return numbers_[i].empty() ? null_number : numbers_[i][row];
    }
    // Says whether the row has a number there that can be drawn.
    bool has(size_t row, Part part) const { return std::isfinite(number(row, part)); }
    uint32_t text(size_t row, Part part) const {
        const auto i = static_cast<size_t>(part) - number_parts;
        return texts_[i].empty() ? no_text : texts_[i][row];
    }
    uint8_t mark(size_t row) const { return marks_[row]; }

    size_t categories(Part part) const { return dictionary(part).size(); }
    std::string_view category_text(Part part, uint32_t code) const { return dictionary(part).text(code); }
    size_t series_count() const { return dictionary(Part::series).size(); }

    // Counts of rows that are not drawn, and of values of other parts that are left out of theirs.
    using Flaws = std::map<std::pair<Part, Flaw>, uint64_t>;
    const Flaws& flawed_rows() const { return flawed_rows_; }
    const Flaws& flawed_values() const { return flawed_values_; }

  private:
    TextDictionary& dictionary(Part part) { return *dictionaries_[dictionary_number(part)]; }
    const TextDictionary& dictionary(Part part) const { return *dictionaries_[dictionary_number(part)]; }
    static size_t dictionary_number(Part part);
    std::optional<Flaw> flaw(double x, Part part) const;

    RowShape shape_;
    uint64_t seen_ = 0;
    std::vector<Buffer<double>> numbers_;
    std::vector<Buffer<uint32_t>> texts_;
    Buffer<uint8_t> marks_;
    std::vector<std::unique_ptr<TextDictionary>> dictionaries_; // x, y, series, label
    Flaws flawed_rows_, flawed_values_;
};

} // namespace btml::plot
