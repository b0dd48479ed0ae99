// Metrics of predictions that are sums over rows, each defined once.
//
// A metric says what a row adds to exact sums and what the sums make, so that its value has the same bits for every
// order of the rows and every way to split them. A new one is a constant of this header, defined in the file of its
// kind, and its place at the end of the table in metric.cpp.
#pragma once

#include "core/numbers/exact_sum.hpp"

#include <optional>
#include <string_view>

namespace btml::metrics {

enum class Better : uint8_t { lower, higher, neither };

struct Metric {
    static constexpr int max_arguments = 4;

    const char* name; // of the SQL aggregate
    int arguments;    // numbers of a row: the target first, or only a probability
    Better better;
    int sums;
    // Adds a row, which has so many numbers as `arguments` says, to the sums. weight is finite and not negative. Error
    // out_of_range, naming the argument, for numbers that the metric does not take, and where a term overflows.
    void (*add)(const double* row, double weight, WideSum* sums);
    // What the sums make, where the weights add up to `weight` > 0; nothing where that is not defined. Error
    // out_of_range where it overflows.
    std::optional<double> (*result)(const WideSum* sums, const WideSum& weight);
    // The argument that must be the same in every row, counted from 0, and its name.
    int parameter = -1;
    const char* parameter_name = nullptr;
};

extern const Metric exact_sum; // x: no metric, but the plain sum

// These judge predicted numbers, from y and prediction.
extern const Metric rmse, mae, r2, poisson_deviance;
extern const Metric pinball; // y, prediction, alpha

// These judge predicted classes.
extern const Metric log_loss, brier; // y, the share of the positive class, 0 and 1 as a rule; p, its probability
extern const Metric accuracy;        // 1 where the predicted class is the true one, else 0

// These judge predicted distributions.
extern const Metric coverage;                // y, lower, upper
extern const Metric nll_normal, crps_normal; // y, mean, sd
extern const Metric nll_student_t;           // y, location, scale, df

// A metric's number in stored states, and the metric of a number or a name; none: -1 or null.
int number_of(const Metric& metric);
const Metric* find_metric(int number);
const Metric* find_metric(std::string_view name);

} // namespace btml::metrics
