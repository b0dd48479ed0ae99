// Reads a design in blocks of rows, and adds what they are worth to sums.
#pragma once

#include "core/algebra/dense.hpp"
#include "core/linear/design.hpp"
#include "core/linear/likelihood.hpp"

#include <algorithm>

namespace btml::linear {

inline constexpr size_t block_rows = algebra::block_side;

// Takes products of columns from the lower triangle of the first rows of a matrix, whose rows are `size` numbers apart.
// Both have so many rows of so many columns, each block_rows numbers after the one before it.
inline void subtract_products(const double* weighted, const double* values, size_t columns, size_t rows, double* matrix,
                              size_t size, RunContext& context) {
    const algebra::Blocks left(weighted, columns, rows, block_rows), right(values, columns, rows, block_rows),
        sums(matrix, columns, columns, size);
    for (size_t j = 0; j < algebra::blocks_of(columns); j++)
        for (size_t k = 0; k <= j; k++) {
            algebra::subtract_product_of_rows(left(j, 0), right(k, 0), sums(j, k));
            context.worked(1 + rows * left(j, 0).rows * right(k, 0).rows / 64);
        }
}

// Holds a block of rows of a design, and what each of them is worth at the coefficients at hand.
class RowBlock {
  public:
    RowBlock(const Design& design, MemoryBudget& budget)
        : design_(design),
          dense_(design.columns().dense()),
          categoricals_(design.categoricals()),
          values_(budget, what, block_rows * dense_),
          weighted_(budget, what, block_rows * dense_),
          places_(budget, what, block_rows * categoricals_),
          scores_(budget, what, block_rows),
          slopes_(budget, what, block_rows),
          weights_(budget, what, block_rows) {}

    void read(uint64_t begin, uint64_t end) {
        begin_ = begin;
        count_ = end - begin;
        design_.read(begin, end, values_.data(), block_rows);
        design_.read_categories(begin, end, places_.data());
    }

    // Returns the score of each row.
    std::span<const double> score(std::span<const double> coefficients) {
        for (size_t i = 0; i < count_; i++) scores_[i] = design_.offset(begin_ + i);
        for (size_t d = 0; d < dense_; d++) {
            const double* const values = column(d);
            for (size_t i = 0; i < count_; i++) scores_[i] += coefficients[d] * values[i];
        }
        for (size_t i = 0; i < count_; i++)
            for (const uint32_t place : categories(i)) scores_[i] += place == 0 ? 0 : coefficients[place];
        return {scores_.data(), count_};
    }

    // Adds the rows' terms to sums, and keeps their slopes and weights for what follows.
    template <Family family>
    void add_terms(std::span<const double> coefficients, Curvature curvature, LikelihoodSums& sums) {
        score(coefficients);
        for (size_t i = 0; i < count_; i++) {
            const double weight = design_.weight(begin_ + i);
            const RowTerms terms = terms_of<family>(design_.target(begin_ + i), scores_[i]);
            sums.deviance += weight * terms.deviance;
            sums.pearson += weight * terms.pearson;
            sums.largest = std::max(sums.largest, std::fabs(scores_[i] - design_.offset(begin_ + i)));
            slopes_[i] = weight * terms.slope;
            weights_[i] = weight * (curvature == Curvature::expected ? terms.expected : terms.curvature);
        }
    }

    // Says what a row is worth: its slope, and its weight in a matrix.
    void set(size_t i, double slope, double weight) {
        slopes_[i] = slope;
        weights_[i] = weight;
    }

    void add_slopes(double* to) const {
        for (size_t d = 0; d < dense_; d++) {
            const double* const values = column(d);
            double parts[8] = {};
            for (size_t i = 0; i < count_; i++) parts[i % 8] += slopes_[i] * values[i];
            to[d] += ((parts[0] + parts[1]) + (parts[2] + parts[3])) + ((parts[4] + parts[5]) + (parts[6] + parts[7]));
        }
        for (size_t i = 0; i < count_; i++)
            for (const uint32_t place : categories(i))
                if (place > 0) to[place] += slopes_[i];
    }
    double slope(size_t i) const { return slopes_[i]; }
    // Makes the weights in a matrix those of squared slopes.
    void square_slopes() {
        for (size_t i = 0; i < count_; i++) weights_[i] = slopes_[i] * slopes_[i];
    }
    // Adds a row of the design, times a weight.
    void add_row(size_t i, double weight, double* to) const {
        for (size_t d = 0; d < dense_; d++) to[d] += weight * column(d)[i];
        for (const uint32_t place : categories(i))
            if (place > 0) to[place] += weight;
    }
    size_t count() const { return count_; }

    // Adds the products of the rows' columns, times their weights, to the lower triangle of a matrix.
    void add_matrix(double* matrix, size_t size, RunContext& context) {
        for (size_t d = 0; d < dense_; d++)
            for (size_t i = 0; i < count_; i++) weighted_[d * block_rows + i] = -weights_[i] * column(d)[i];
        subtract_products(weighted_.data(), values_.data(), dense_, count_, matrix, size, context);
        for (size_t i = 0; i < count_; i++) add_categories(i, matrix, size);
    }

  private:
    static constexpr const char* what = "rows of a linear model";

    const double* column(size_t d) const { return &values_[d * block_rows]; }
    std::span<const uint32_t> categories(size_t i) const {
        return places_.span().subspan(i * categoricals_, categoricals_);
    }
    // Places of later features are greater.
    void add_categories(size_t i, double* matrix, size_t size) const {
        const std::span<const uint32_t> places = categories(i);
        for (size_t k = 0; k < places.size(); k++) {
            if (places[k] == 0) continue;
            double* const row = matrix + places[k] * size;
            for (size_t d = 0; d < dense_; d++) row[d] += weights_[i] * column(d)[i];
            for (size_t h = 0; h <= k; h++)
                if (places[h] > 0) row[places[h]] += weights_[i];
        }
    }

    const Design& design_;
    const size_t dense_, categoricals_;
    Buffer<double> values_, weighted_; // column by column
    Buffer<uint32_t> places_;          // row by row
    Buffer<double> scores_, slopes_, weights_;
    uint64_t begin_ = 0;
    size_t count_ = 0;
};

// Calls body(rows, begin) for blocks of rows from `first` to `last`, one after the other: the block and its first row.
template <class Body>
void for_each_block(const Design& design, uint64_t first, uint64_t last, RunContext& context, const Body& body) {
    RowBlock rows(design, context.memory());
    const uint64_t units = 1 + design.columns().size() / 8; // of work, of a row
    for (uint64_t begin = first; begin < last; begin += block_rows) {
        rows.read(begin, std::min<uint64_t>(last, begin + block_rows));
        body(rows, begin);
        context.worked(rows.count() * units);
    }
}

} // namespace btml::linear
