// How boosted trees are trained.
#pragma once

#include "core/base/options_table.hpp"
#include "core/boosting/objectives/objective.hpp"
#include "core/data/source_arguments.hpp"

namespace btml::boosting {

inline constexpr int max_trees = 1'000'000; // iterations, where each has several trees

enum class Criterion { variance, mse_sum };

enum class Strategy { automatic, enumerate, factorize, sample, distributed };
const char* name_of(Strategy strategy);

// Cromp, Samadian, Pruhs: Relational Boosted Regression Trees, §2 (Algorithms 1 and 2) with shrinkage.
struct Options {
    ObjectiveNumber objective = ObjectiveNumber::automatic;
    std::optional<double> alpha = {};         // of huber and quantile; none: the objective's own
    double power = 1.5;                       // of tweedie: the variance is the mean to this power
    std::optional<double> max_step = {};      // of a leaf's value, before the learning rate; none: the objective's own
    double min_leaf_hessian = 1e-3;           // on either side of a split, where the hessian is not the count
    std::optional<HoldoutMetric> metric = {}; // of held-out rows
    bool balanced = false;                    // labels weigh rows / (labels · rows of the label)
    int trees = 100;
    double learning_rate = 0.1;
    int max_leaves = 31;       // 0: no limit
    int max_depth = 0;         // 0: no limit
    double min_leaf_rows = 20; // rows of the join, or their total weight, on either side of a split
    double l1 = 0, l2 = 0;
    double min_gain = 0;
    // A split tells a category from the others only if it has so many rows (or weight) in the node, and at most so many
    // categories (0: no limit). The others, and those not seen in training, stay together on the right.
    double min_category_rows = 0;
    int max_split_categories = 0;
    int max_bins = 255;     // 0: every distinct value is a candidate
    int early_stopping = 0; // trees without a better holdout loss before training stops; 0: never
    double row_fraction = 1;
    double feature_fraction = 1;
    Strategy strategy = Strategy::automatic; // over a join
    Criterion criterion = Criterion::variance;
    // Says whether a factorised join's sums of squared residuals, which criterion mse_sum needs, are estimated: by one
    // sketch of sketch_size numbers, or (0) by as many as keep the sums of a node within 1 ± epsilon with probability 1
    // − delta.
    bool sketch_residuals = false;
    int sketch_size = 0;
    double epsilon = 0.1, delta = 0.1;
    bool verify = false;     // compare the estimates of the trees' roots with the exact sums
    int64_t sample_rows = 0; // of the join, with strategy sample; 0: 10 million, or what of them fits into memory
    int64_t seed = 0;
    bool learn_deviation = false;                // of targets from predictions, by the features
    std::optional<double> holdout_fraction = {}; // of a source's rows, where no column says which are held out
    Unit unit = Unit::join;                      // those who make the dataset weigh its rows by it

    // Error invalid_argument naming the option, its value and the valid ones.
    void validate() const;
};

// Says whether nodes have tallies beside their sums.
inline bool needs_tallies(const Options& options) {
    return options.criterion == Criterion::mse_sum || !objective_of(options.objective).hessian_is_count;
}

// Says whether the objective is for targets that are labels.
inline bool takes_labels(const Options& options) {
    return objective_of(options.objective).takes_labels;
}

// Says whether training must hold the join's rows one by one.
inline bool needs_rows(const Options& options) {
    return !objective_of(options.objective).factorises || options.learn_deviation ||
           (options.metric && options.metric != HoldoutMetric::rmse);
}

extern const OptionsTable<Options> options_table;

// Returns the options with nothing left to be chosen, for a target of so many labels (0: a number).
Options completed(Options options, size_t labels);

// Return what SQL functions start from where that is not what Options do.
Options boost_fit_defaults();
Options tree_fit_defaults(); // one tree without shrinkage

} // namespace btml::boosting
