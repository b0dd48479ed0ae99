// Tells which rows of a factorised join are trained on, are held out, and are in the bag of a tree, and how often; and
// which rows of a table no query over the join tells apart.
#pragma once

#include "core/boosting/binning/binning.hpp"
#include "core/boosting/rows/number_grid.hpp"
#include "core/boosting/trees/boosting_options.hpp"
#include "core/data/dataset.hpp"
#include "core/relational/join/grouped_join.hpp"

#include <functional>

namespace btml::boosting::factorised {

// Holds weights by table and row. They say which join rows there are and how often, a population; an empty buffer means
// 1 each.
using RowWeights = std::vector<Buffer<double>>;

// Weights are held as multiples of the power of two below the largest, so that no product of them overflows.
struct WeightUnits {
    bool weighted = false;
    int exponent = 0;         // a weight: number · 2^exponent
    int shift = 0, scale = 0; // as in TrainingRows

    // weight · 2^shift
    double shifted(double weight) const { return std::ldexp(weight, exponent + shift); }
    // Returns a weight in units of 2^-scale.
    int64_t to_count(double weight) const {
        return rounded_sum(weighted ? std::ldexp(weight, exponent + scale) : weight);
    }
};

struct EqualRows {
    Buffer<relational::RowId> first; // by row: the first row that equals it, itself where none does before it
    Buffer<relational::RowId> kept;  // the rows that are their own first, ascending
};

// Rows are equal that are of one group (see GroupedTable), with the same bins and, where there are any, the same value.
EqualRows find_equal_rows(const BinnedData& data, size_t table, const relational::GroupedTable& grouped,
                          const Buffer<double>* values, ThreadTeam& team, RunContext& context);

// Leaves the rows that are kept in an array with `width` elements a row.
template <class T>
void keep(Buffer<T>& array, size_t width, const Buffer<relational::RowId>& kept, RunContext& context) {
    context.for_each(kept.size(), width, [&](uint64_t i) {
        if (kept[i] != i) std::copy_n(array.data() + kept[i] * width, width, array.data() + i * width);
    });
    array.resize(kept.size() * width);
    array.shrink_to_fit();
}

class Populations {
  public:
    // The number of the join rows that a population has, rows of weight 0 aside.
    using Count = std::function<double(const RowWeights&)>;

    // Scales the dataset's weights. Errors: invalid_argument when no row is left to train on; out_of_range for a weight
    // that is negative or not finite.
    Populations(Dataset& dataset, const relational::GroupedJoin& join, const Options& options, const Count& count,
                RunContext& context);

    const RowWeights& train() const { return train_; }
    const RowWeights& held_out() const { return held_out_; }
    const RowWeights& bag() const { return is_sampled() ? in_bag_ : train_; }
    bool is_sampled() const { return options_.row_fraction < 1; }
    uint64_t train_rows() const { return train_rows_; }
    uint64_t holdout_rows() const { return holdout_rows_; }

    // Counts are fine enough for all the weight.
    void set_total(double weight);
    const WeightUnits& units() const { return units_; }

    // Equal rows of a table become one that weighs as much as they do together.
    void merge(size_t table, const EqualRows& rows);
    // Puts the rows of tree number `tree` into the bag.
    void sample(uint64_t tree);

  private:
    RowWeights population(const Dataset& dataset, bool held_out) const;
    uint64_t count_rows(const Dataset& dataset, bool held_out, const Count& count) const;

    const relational::GroupedJoin& join_;
    const Options& options_;
    const size_t target_table_;
    RunContext& context_;
    WeightUnits units_;
    RowWeights train_, held_out_, in_bag_;
    uint64_t train_rows_ = 0, holdout_rows_ = 0;
};

} // namespace btml::boosting::factorised
