// Points to predict at, read from a source: features by name, and an optional column `id`.
#pragma once

#include "core/base/buffer.hpp"
#include "core/base/feature.hpp"
#include "core/base/number.hpp"
#include "pg/bridge/source.hpp"

namespace btml::pg {

// So many rows of a join, drawn uniformly without replacement; all where it has no more.
struct PointSample {
    uint64_t rows, seed;
};

// What of a source's rows is asked for beside the features.
struct PointRequest {
    std::optional<PointSample> sample = {};  // all rows
    std::vector<std::string> texts = {};     // columns, as text
    std::optional<std::string> number = {};  // a column that is a number
    std::optional<std::string> holdout = {}; // a boolean column: rows where it is true
    bool is_given = false;                   // only rows where the number, or else the first text, is not NULL
};

// A column of a source as text.
class PointTexts {
  public:
    explicit PointTexts(RunContext& context) : codes_(context.memory(), "texts of points") {}

    // Nothing for NULL.
    std::optional<std::string_view> operator[](uint64_t row) const {
        if (codes_[row] == null_code) return {};
        return texts_[codes_[row]];
    }
    // The same number for the same text, in bytewise order; of NULL the last.
    uint32_t code(uint64_t row) const { return codes_[row]; }

    static constexpr uint32_t null_code = UINT32_MAX;

  private:
    friend class QueryPoints;

    Buffer<uint32_t> codes_;
    std::vector<std::string> texts_; // by code
};

class QueryPoints {
  public:
    // `source` as of Source. Errors: those of Source; wrong_type naming a column that is no number where the feature is
    // one. Categories that the features do not have are categories never seen.
    QueryPoints(const std::string& source, const std::vector<Feature>& features, RunContext& context);
    // For a sample the join is not built. Errors also: wrong_type for another number or holdout.
    QueryPoints(const std::string& source, const std::vector<Feature>& features, const PointRequest& request,
                RunContext& context);

    uint64_t rows() const { return rows_; }
    WideCount source_rows() const { return source_rows_; } // of which rows() are here
    // Point by point, as the predictors take them.
    std::span<const double> values() const { return values_.span(); }
    std::span<const double> values(uint64_t row) const { return values_.span().subspan(row * width_, width_); }
    // The columns that were asked for.
    const PointTexts& texts(size_t column) const { return texts_[column]; }
    double number(uint64_t row) const { return numbers_[row]; }
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
    bool has_ids_ = false; // which are the only texts then
};

} // namespace btml::pg
