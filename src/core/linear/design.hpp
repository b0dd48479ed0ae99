// The columns that a linear model has coefficients of, read from features row by row: they are never all in memory.
#pragma once

#include "core/linear/columns.hpp"
#include "core/linear/ordered_rows.hpp"

namespace btml::linear {

class Design {
  public:
    // Finds the columns of the features, with their means and scales by the training rows. has_offset: the last feature
    // is added to scores as it is. Error limit_exceeded, as of Columns.
    Design(OrderedRows rows, ThreadTeam& team, RunContext& context, bool has_offset = false);

    uint64_t training() const { return rows_.training; }
    uint64_t rows() const { return rows_.dataset.rows; } // with those that are held out, which are the last
    const Dataset& dataset() const { return rows_.dataset; }
    double target(uint64_t row) const { return dataset().target[dataset().target_ids()[row]]; }
    double weight(uint64_t row) const { return dataset().weight_of(row); }
    bool has_offset() const { return has_offset_; }
    // Returns how far the offset is from its mean; 0 where there is none.
    double offset(uint64_t row) const {
        if (!has_offset_) return 0;
        const FeatureColumn& offset = dataset().features.back();
        return offset.numbers[dataset().ids_of(offset)[row]] - columns_.all().back().mean;
    }
    uint64_t repeats(uint64_t row) const { return rows_.repeats.empty() ? 1 : rows_.repeats[row]; }

    const Columns& columns() const { return columns_; }
    const std::vector<uint32_t>& references() const { return references_; } // as in Model
    const std::vector<uint64_t>& missing() const { return missing_; }       // as in Model
    // Does what Columns::drop does, and reads these columns no more.
    void drop(const std::vector<size_t>& places);

    size_t categoricals() const { return categoricals_.size(); } // features of which a row has one column at most
    // Writes the dense columns of rows, standardised, each `stride` numbers after the one before it; the first is 1.
    void read(uint64_t begin, uint64_t end, double* to, size_t stride) const;
    // Writes, row by row, the place of the category that each of these features has, 0 for that of reference.
    void read_categories(uint64_t begin, uint64_t end, uint32_t* to) const;

  private:
    struct Categorical {
        uint32_t feature;
        std::vector<uint32_t> places; // by category; the last is that of NULL
    };

    Columns find_columns(ThreadTeam& team, RunContext& context);
    void find_number(size_t feature, Column& number, Column& missing, RunContext& context);
    void find_categories(size_t feature, std::vector<Column>& columns, RunContext& context);
    void find_categoricals();

    OrderedRows rows_;
    const bool has_offset_;
    double weight_ = 0;  // of training rows, in sum
    uint64_t count_ = 0; // of training rows with their repeats
    std::vector<uint32_t> references_;
    std::vector<uint64_t> missing_;
    Columns columns_;
    std::vector<Categorical> categoricals_;
};

} // namespace btml::linear
