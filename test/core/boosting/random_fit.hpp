// Random data and options for each objective.
#pragma once

#include "boosting_data.hpp"

namespace btml::boosting::test {

inline constexpr ObjectiveNumber newton_or_renewed[] = {
    ObjectiveNumber::absolute, ObjectiveNumber::huber,   ObjectiveNumber::quantile, ObjectiveNumber::poisson,
    ObjectiveNumber::gamma,    ObjectiveNumber::tweedie, ObjectiveNumber::binary,   ObjectiveNumber::multiclass};

// Makes targets that the objective is for out of those of squared loss.
inline void set_targets(PlainData& data, ObjectiveNumber objective, uint64_t seed) {
    Random random(seed + 1000);
    for (double& y : data.target) {
        const double x = std::clamp((y - 102) / 2, -3.0, 3.0);
        switch (objective) {
        case ObjectiveNumber::poisson:
            y = std::floor(std::exp(x) * 2 * random.unit());
            break;
        case ObjectiveNumber::gamma:
            y = std::exp(x) * (0.1 + random.unit());
            break;
        case ObjectiveNumber::tweedie:
            y = random.chance(0.4) ? 0 : std::exp(x) * (0.1 + random.unit());
            break;
        case ObjectiveNumber::binary:
            y = seed % 4 == 3 ? random.unit() : random.chance(1 / (1 + std::exp(-x)));
            break;
        case ObjectiveNumber::multiclass:
            y = std::clamp(std::floor(x + 2 * random.unit()) + 1, 0.0, 2.0 + static_cast<double>(seed % 3));
            break;
        default:
            break;
        }
    }
    if (objective == ObjectiveNumber::multiclass) data.labels = 3 + seed % 3;
    if (objective == ObjectiveNumber::binary && seed % 4 != 3) data.labels = 2;
    // Every label, and something beside 0, has rows that are trained on.
    const size_t values = std::max<size_t>(data.labels, objective == ObjectiveNumber::poisson ? 2 : 0);
    std::vector<bool> is_set(data.target.size(), false);
    for (size_t row = 0, label = 0; row < data.rows && label < values; row++) {
        const uint32_t id = data.row_of(data.target_table, row);
        if (is_set[id] || data.held_out(row) || data.weight_of(row) == 0) continue;
        is_set[id] = true;
        data.target[id] = static_cast<double>(values - 1 - label++);
    }
}

inline DataShape shape_of(uint64_t seed) {
    DataShape shape;
    shape.rows = 60 + 15 * (seed % 9);
    shape.dimensions = static_cast<int>(seed % 4);
    shape.features = 1 + static_cast<int>(seed % 6);
    shape.distinct = seed % 5 == 0 ? 0 : 3 + seed % 11;
    shape.nulls = seed % 3 == 0 ? 0 : 0.15;
    shape.weights = seed % 7 == 2;
    shape.holdout = seed % 3 == 1;
    shape.fact_ids = seed % 8 == 3;
    return shape;
}

inline Options options_of(uint64_t seed, ObjectiveNumber objective) {
    Options options;
    options.objective = objective;
    options.trees = 1 + static_cast<int>(seed % 5);
    options.learning_rate = seed % 2 ? 0.3 : 1;
    options.max_leaves = static_cast<int>(seed % 6) == 1 ? 2 : static_cast<int>(seed % 6) * 3;
    options.max_depth = 4;
    options.min_leaf_rows = static_cast<double>(3 + seed % 7);
    options.l2 = seed % 5 == 4 ? 1.5 : 0;
    options.l1 = seed % 5 == 3 ? 0.7 : 0;
    options.min_gain = 1e-4;
    options.min_category_rows = seed % 4 == 1 ? 4 : 0;
    options.max_bins = seed % 2 ? 0 : 255;
    if (seed % 6 == 5 && !objective_of(objective).hessian_is_count) options.max_step = 0.3;
    options.min_leaf_hessian = seed % 4 == 2 ? 1.5 : 1e-3;
    const bool has_alpha =
        options.objective == ObjectiveNumber::quantile || options.objective == ObjectiveNumber::huber;
    if (has_alpha && seed % 2) options.alpha = 0.1 + 0.08 * static_cast<double>(seed % 10);
    if (objective == ObjectiveNumber::tweedie) options.power = 1.1 + 0.08 * static_cast<double>(seed % 10);
    return options;
}

struct Fit {
    PlainData data;
    Options options;

    Fit(uint64_t seed, ObjectiveNumber objective)
        : data(random_data(shape_of(seed), seed)), options(options_of(seed, objective)) {
        set_targets(data, objective, seed);
        if (data.labels > 0 && seed % 5 == 1)
            for (size_t label = 0; label < data.labels; label++)
                data.label_weights.push_back(0.5 + static_cast<double>(label));
        options.balanced = data.labels > 0 && seed % 5 == 2;
    }
};

} // namespace btml::boosting::test
