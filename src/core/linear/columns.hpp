// The columns of a linear model, and the places that those which are kept have among its coefficients.
#pragma once

#include "core/linear/linear_model.hpp"

namespace btml::linear {

// A model has at most so many columns.
inline constexpr size_t max_columns = 10'000;

// Place 0 is that of the intercept, then come dense columns (numbers, and whether they are missing), then the
// categories, of which a row has at most one for each feature.
class Columns {
  public:
    // Takes columns in the order of their features. categorical: by feature. Error limit_exceeded for more than
    // max_columns.
    Columns(std::vector<Column> columns, std::vector<bool> categorical);

    const std::vector<Column>& all() const { return columns_; }
    // Marks the columns at these places as dependent, and numbers the places of the others anew, in their order.
    void drop(const std::vector<size_t>& places);

    size_t size() const { return by_place_.size() + 1; } // of places
    size_t dense() const { return dense_ + 1; }          // of these, the first ones
    // Return the column at a place but that of the intercept, and its number among the columns.
    const Column& at(size_t place) const { return columns_[number_at(place)]; }
    size_t number_at(size_t place) const { return by_place_[place - 1]; }
    // Returns the place of a column, 0 of one that was dropped.
    size_t place_of(size_t number) const { return places_[number]; }
    // Returns the places in the order of the features.
    std::vector<size_t> in_order() const;

  private:
    [[noreturn]] void refuse_columns() const;
    void find_places();

    std::vector<Column> columns_;
    const std::vector<bool> categorical_;
    std::vector<uint32_t> by_place_; // the columns by their places, from 1 on
    std::vector<uint32_t> places_;   // by column
    size_t dense_ = 0;
};

} // namespace btml::linear
