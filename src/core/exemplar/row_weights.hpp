// Says what each validation row counts for: its weight, but nothing while it is an exemplar, where exemplars do not
// count.
#pragma once

#include "core/exemplar/exemplar_points.hpp"

#include <compare>
#include <cstdint>

namespace btml::exemplar {

class RowWeights {
  public:
    static constexpr size_t no_row = SIZE_MAX;

    // Says which rows count while they are exemplars: all, those that stand for no others, or none.
    enum class Exemplars { count, count_alone, left_out };

    static Exemplars of_sample(bool has_all) { return has_all ? Exemplars::count : Exemplars::count_alone; }

    // The validation rows outlive it.
    RowWeights(const PointSet& validation, Exemplars exemplars, MemoryBudget& budget);

    double operator[](size_t row) const { return weights_[row]; }
    // Finds where the row of this number is; no_row if it is no validation row, or counts as any other.
    size_t own_row(uint64_t number) const;
    // The row of this number becomes an exemplar, or is one no more.
    void enter(uint64_t number);
    void leave(uint64_t number);
    // Returns the mean over the rows that count of value(row), by their weights; 0 without any.
    template <class Value>
    double mean(Value&& value) const {
        double sum = 0, weights = 0;
        for (size_t row = 0; row < weights_.size(); row++)
            if (weights_[row] > 0) sum += weights_[row] * value(row), weights += weights_[row];
        return weights > 0 ? sum / weights : 0;
    }

  private:
    // Says where the row of a number is.
    struct OwnRow {
        uint64_t number;
        size_t row;
        auto operator<=>(const OwnRow&) const = default;
    };

    const PointSet& validation_;
    Buffer<double> weights_;
    Buffer<OwnRow> own_rows_; // goes by number; it is empty if exemplars count
};

} // namespace btml::exemplar
