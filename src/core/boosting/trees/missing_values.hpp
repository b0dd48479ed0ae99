// Values that imported models take for missing.
#pragma once

#include "core/boosting/trees/boosting_model.hpp"

#include <cmath>

namespace btml::boosting {

// LightGBM's: numbers of at most this magnitude are zeros.
inline constexpr double max_zero = 1e-35F;

// Makes NULL of what a model takes for missing: of an imported one NaN, and zeros of the features where they are.
class MissingValues {
  public:
    explicit MissingValues(const Model& model) : is_imported_(model.imported.has_value()) {
        if (is_imported_) zeros_ = model.imported->zero_is_missing;
    }

    // Returns the row itself, or a copy that lasts until the next call.
    std::span<const double> operator()(std::span<const double> row) {
        if (!is_imported_) return row;
        values_.assign(row.begin(), row.end());
        for (size_t f = 0; f < values_.size(); f++)
            if (std::isnan(values_[f]) || (is_zero_missing(f) && std::fabs(values_[f]) <= max_zero))
                values_[f] = null_number;
        return values_;
    }

  private:
    bool is_zero_missing(size_t feature) const { return !zeros_.empty() && zeros_[feature]; }

    bool is_imported_;
    std::vector<uint8_t> zeros_; // by feature; empty: nowhere
    std::vector<double> values_;
};

} // namespace btml::boosting
