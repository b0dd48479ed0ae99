// Points to predict at, read from a source: features by name, and an optional column `id`.
#pragma once

#include "core/base/buffer.hpp"
#include "core/base/feature.hpp"
#include "core/base/number.hpp"
#include "pg/bridge/guard.hpp"

namespace btml::pg {

// So many rows of a join, drawn uniformly without replacement; all where it has no more.
struct PointSample {
    uint64_t rows, seed;
};

class QueryPoints {
  public:
    // `source` as of Source. Errors: those of Source; wrong_type naming a column that is no number where the feature is
    // one. Categories that the features do not have are categories never seen. With a sample the join is not built.
    QueryPoints(const std::string& source, const std::vector<Feature>& features, RunContext& context,
                std::optional<PointSample> sample = {});

    uint64_t rows() const { return rows_; }
    WideCount source_rows() const { return source_rows_; } // of which rows() are here
    // Point by point, as the predictors take them.
    std::span<const double> values() const { return values_.span(); }
    std::span<const double> values(uint64_t row) const { return values_.span().subspan(row * width_, width_); }
    // The value of the column id as text, nothing where it is NULL; without such a column, the number of the row
    // from 1.
    std::optional<std::string> id(uint64_t row) const;

  private:
    size_t width_;
    uint64_t rows_ = 0;
    WideCount source_rows_ = 0;
    Buffer<double> values_;
    bool has_ids_ = false;
    Buffer<uint32_t> id_codes_;
    std::vector<std::string> ids_; // by code
};

} // namespace btml::pg
