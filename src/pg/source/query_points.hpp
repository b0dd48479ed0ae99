// Points to predict at, read from a source: features by name, and an optional column `id`.
#pragma once

#include "core/data/dictionary.hpp"
#include "core/data/feature.hpp"
#include "core/explanation/explanation_options.hpp"
#include "core/numbers/number.hpp"
#include "pg/source/source.hpp"
#include "pg/values/values.hpp"

namespace btml::pg {

// Says what of a source's rows is asked for beside the features.
struct PointRequest {
    std::string name = "source";                           // of the source, in errors about its columns
    std::optional<explanation::SampleOptions> sample = {}; // of the join, without replacement; nothing for all rows
    bool ids = false;                                      // the column id, as text
    std::vector<std::string> texts = {};                   // columns, as categories
    std::optional<size_t> printed = {};                    // a feature, whose values are asked for as text
    std::optional<std::string> number = {};                // a column that is a number
    std::optional<std::string> holdout = {};               // a boolean column: rows where it is true
    bool is_given = false; // only rows where the number, or else the first text, is not NULL
};

// Holds a column of the rows as text, each text once.
class PointTexts {
  public:
    // ids: where the rows are in the column; null where they are the column's rows.
    PointTexts(const relational::DataColumn& column, const relational::RowId* ids, uint64_t rows, RunContext& context);

    // Nothing for NULL.
    std::optional<std::string_view> operator[](uint64_t row) const {
        return codes_[row] == null_code ? std::nullopt : std::optional(texts_.text(codes_[row]));
    }
    // Returns the same number for the same text, in the order of the column's categories; for NULL the last.
    uint32_t code(uint64_t row) const { return codes_[row]; }

    static constexpr uint32_t null_code = UINT32_MAX;

  private:
    Buffer<uint32_t> codes_;
    TextDictionary texts_;
};

class QueryPoints {
  public:
    // `source` as of Source. Errors: those of Source; wrong_type naming a column that is no number where the feature is
    // one. Categories that the features do not have are categories never seen.
    QueryPoints(const GivenSource& source, const std::vector<Feature>& features, RunContext& context,
                std::string name = "source");
    // For a sample the join is not built. Errors also: wrong_type for another number or holdout.
    QueryPoints(const GivenSource& source, const std::vector<Feature>& features, const PointRequest& request,
                RunContext& context);

    uint64_t rows() const { return rows_; }
    WideCount source_rows() const { return source_rows_; } // of which rows() are here
    // Point by point, as the predictors take them.
    std::span<const double> values() const { return values_.span(); }
    std::span<const double> values(uint64_t row) const { return values_.span().subspan(row * width_, width_); }
    // The columns that were asked for.
    const PointTexts& texts(size_t column) const { return texts_[column]; }
    double number(uint64_t row) const { return numbers_[row]; }
    // Returns the value of the feature that was asked for as text; of a category a number that no other has, whether
    // the feature knows it or not.
    double printed_value(uint64_t row) const;
    // Returns the text of the feature that was asked for, nothing where it is NULL; takes memory of the server's
    // current context.
    std::optional<std::string> printed(uint64_t row) const;
    // The value of the column id as text, nothing where it is NULL; without such a column, the number of the row
    // from 1.
    std::optional<std::string> id(uint64_t row) const;

  private:
    void read(const Source& source, const std::vector<Feature>& features, const PointRequest& request,
              RunContext& context);

    size_t width_;
    uint64_t rows_ = 0;
    WideCount source_rows_ = 0;
    Buffer<double> values_;
    Buffer<double> numbers_;
    std::vector<PointTexts> texts_;
    // Say how the feature that is asked for is printed: from its values, or none, where the last texts are its own.
    size_t printed_ = 0;
    bool printed_is_category_ = false;
    NumberKind printed_kind_ = NumberKind::none;
    bool has_ids_ = false; // which are the only texts then
};

} // namespace btml::pg
