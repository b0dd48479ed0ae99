// Which rows of a factorised join are trained on, are held out, and are in the bag of a tree, and how often.
#pragma once

#include "core/base/dataset.hpp"
#include "core/boosting/equal_rows.hpp"
#include "core/boosting/factorised_weights.hpp"
#include "core/boosting/options.hpp"

#include <functional>

namespace btml::boosting::factorised {

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
