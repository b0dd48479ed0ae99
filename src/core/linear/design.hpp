// The columns that a linear model has coefficients of, read from features row by row: they are never all in memory.
#pragma once

#include "core/linear/linear_model.hpp"
#include "core/linear/ordered_rows.hpp"

namespace btml::linear {

// Columns that are kept have places: 0 is the intercept, then come dense columns (numbers, and whether they are
// missing), then the categories, of which a row has at most one for each feature.
class Design {
  public:
    // Finds the columns of the features, with their means and scales by the training rows. Errors: invalid_argument
    // (no features), limit_exceeded (more than max_columns).
    Design(OrderedRows rows, ThreadTeam& team, RunContext& context);

    uint64_t training() const { return rows_.training; }
    uint64_t rows() const { return rows_.dataset.rows; } // with those that are held out, which are the last
    const Dataset& dataset() const { return rows_.dataset; }
    double target(uint64_t row) const { return dataset().target[dataset().target_ids()[row]]; }
    double weight(uint64_t row) const { return dataset().weight_of(row); }

    const std::vector<Column>& columns() const { return columns_; }
    const std::vector<uint32_t>& references() const { return references_; } // as in Model
    const std::vector<uint64_t>& missing() const { return missing_; }       // as in Model
    // Marks the columns at these places as dependent, and numbers the places of the others anew, in their order.
    void drop(const std::vector<size_t>& places);

    size_t size() const { return places_.size() + 1; } // of places
    size_t dense() const { return dense_.size() + 1; } // of these, the first ones
    size_t groups() const { return sparse_.size(); }   // of categories
    // Return the column at a place but that of the intercept, and its number among the columns.
    const Column& column_at(size_t place) const { return columns_[number_at(place)]; }
    size_t number_at(size_t place) const { return places_[place - 1]; }
    // Returns the places in the order of the features.
    std::vector<size_t> in_order() const;

    // Writes the dense columns of rows, standardised, each `stride` numbers after the one before it; the first is 1.
    void read(uint64_t begin, uint64_t end, double* to, size_t stride) const;
    // Writes, row by row, the place of the category that each group has in each row, 0 for that of reference.
    void read_categories(uint64_t begin, uint64_t end, uint32_t* to) const;

  private:
    struct Group {
        uint32_t feature;
        std::vector<uint32_t> places; // by category; the last is that of NULL
    };

    void find_number(size_t feature, Column& number, Column& missing, RunContext& context);
    void find_categories(size_t feature, std::vector<Column>& columns, RunContext& context);
    void find_places();

    OrderedRows rows_;
    double weight_ = 0; // of training rows, in sum
    std::vector<Column> columns_;
    std::vector<uint32_t> references_;
    std::vector<uint64_t> missing_;
    std::vector<uint32_t> places_; // the columns by their places, from 1 on
    std::vector<uint32_t> dense_;  // the columns that are dense
    std::vector<Group> sparse_;
};

} // namespace btml::linear
