// How models are validated and tuned.
#pragma once

#include "core/data/source_arguments.hpp"

namespace btml::validation {

enum class Method { boost, gp, linear };

inline constexpr int max_folds = 1000;

// What a column says of the rows that are scored together, by the names of the arguments: that they have one value;
// that they come after others; that rows of one value stay together.
enum class Division : uint8_t { fold, order_by, group_by };
inline constexpr const char* division_names[] = {"fold", "order_by", "group_by"};

// What of held-out rows a Gaussian process is scored by.
enum class GpMetric : uint8_t { rmse, mae, mean_nll };
inline constexpr const char* gp_metric_names[] = {"rmse", "mae", "mean_nll"};

struct Options {
    int folds = 5; // where no column has them
    Method method = Method::boost;
    int trials = 50; // of tuning
    int64_t seed = 0;
    GpMetric gp_metric = GpMetric::rmse; // of Method::gp
    Unit unit = Unit::join;              // of Method::boost
};

extern const OptionsTable<Options> cross_validate_options_table, tune_options_table;
extern const OptionsTable<Options> gp_metric_table; // what `metric` is where the method is gp

} // namespace btml::validation
