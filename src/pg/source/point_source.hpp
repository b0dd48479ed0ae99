// Points read from a source, row by row. Their coordinates are the elements of a numeric array column `x`, or else
// every numeric column that has no other part to play.
#pragma once

#include "pg/source/source.hpp"
#include "pg/values/number_array.hpp"

namespace btml::pg {

// Columns of a source with another part than that of coordinates. A column of values named `weight` is no weight.
// Whether wanted or not, the columns `id` and `weight` are no coordinates.
struct PointParts {
    bool ids = false;
    bool weights = false;
    std::optional<std::string> values; // a column of numbers or, with `arrays`, of arrays of them
    bool arrays = false;
    Oid plain_x = InvalidOid; // a type: the column x must have it, and its values are given as they are
};

struct PointRow {
    uint64_t number; // of the row, from 0
    std::span<const double> x;
    Datum plain_x;                  // where asked for; x is empty then
    std::span<const double> values; // of the column so named; empty where it is NULL
    double weight;                  // 1 without a column `weight`
    std::string_view id;            // the column `id` as text, or the number of the row from 1
    bool has_id;                    // false where the column `id` is NULL
};

class PointSource {
  public:
    // what: "keys", "queries", "points": names them in errors; a string literal. Errors: those of Source;
    // invalid_argument for a source without coordinates; wrong_type naming a column that is no number.
    PointSource(const GivenSource& source, const char* what, PointParts parts);
    // Points with the coordinates of others, by name; further columns are not looked at.
    PointSource(const GivenSource& source, const char* what, PointParts parts, const PointSource& like);

    // Names of columns; of an array, "x" alone.
    const std::vector<std::string>& coordinates() const { return names_; }
    bool has_weights() const { return weight_.position >= 0; }
    // Number of coordinates; nothing for arrays, whose first row says it, and for plain_x.
    std::optional<size_t> dimensions() const;

    // Says whether it wants more rows.
    using Take = std::function<bool(const PointRow&)>;

    // Gives each row to `take`; returns their number. Can be called again, to read anew. Errors: null_value and
    // out_of_range for a NULL, NaN or infinite number, wrong_type for arrays of more than one dimension,
    // invalid_argument for an empty array and for arrays of different lengths, naming row and column.
    // block_seed: in a random order of the table's blocks; errors as block_queries.
    uint64_t read(const Take& take, RunContext& context, std::optional<uint64_t> block_seed = {}) const;

  private:
    class PointSink;

    // A column of numbers, or of arrays of them.
    struct Column {
        std::string name;
        int position = -1; // −1: there is none
        NumberKind number = NumberKind::none;
        ArrayRule array;
    };

    void find_parts();
    void find_coordinates();
    void tell_of_left_out(const std::string& array, const std::vector<std::string>& others) const;
    void find_plain_x();
    Column column(int position, bool arrays) const;

    Source source_;
    const char* what_;
    PointParts parts_;
    std::vector<std::string> names_;
    std::vector<Column> coordinates_; // one, where it is an array
    Column values_, weight_;
    int id_ = -1;
    LabelRule id_rule_;
    mutable bool has_told_of_rounded_ = false;
};

} // namespace btml::pg
