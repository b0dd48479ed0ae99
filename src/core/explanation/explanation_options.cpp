#include "core/explanation/explanation_options.hpp"

#include "core/boosting/objectives/holdout_metric.hpp"

namespace btml::explanation {

static constexpr char rows_meaning[] = "rows of the source, drawn without replacement", seed_meaning[] = "of the draw";

static constexpr Option<SampleOptions> sample_options[] = {
    option<&SampleOptions::rows>("sample_rows", from(1), rows_meaning),
    option<&SampleOptions::seed>("seed", any_number(), seed_meaning),
};
static constexpr Option<DependenceOptions> dependence_options[] = {
    option<&DependenceOptions::points>(
        "points", between(1, 10'000),
        "values of the feature, at most: quantiles of a number, the most frequent categories"),
    argument<DependenceOptions>("by", "an output column", "rows are averaged apart for each of its values")
        .null_means("all rows together"),
    option<&DependenceOptions::sample, &SampleOptions::rows>("sample_rows", from(1), rows_meaning),
    option<&DependenceOptions::sample, &SampleOptions::seed>("seed", any_number(), seed_meaning),
    argument<DependenceOptions>("class", "a label", "its probability is the prediction")
        .null_means("what `btml.predict` gives"),
};
static constexpr Option<PermutationOptions> permutation_options[] = {
    option<&PermutationOptions::metric>("metric", boosting::holdout_metric_names, "what gets worse")
        .elsewhere_called(boosting::foreign_metrics)
        .null_means("the one nearest to the loss"),
    option<&PermutationOptions::repeats>("repeats", between(1, 1000), "permutations of each feature"),
    option<&PermutationOptions::sample, &SampleOptions::seed>("seed", any_number(), "of the draw and the permutations"),
    argument<PermutationOptions>("holdout", "a boolean output column", "rows where it is true are looked at")
        .null_means("all rows"),
    option<&PermutationOptions::sample, &SampleOptions::rows>("sample_rows", from(1), rows_meaning),
};

constinit const OptionsTable<SampleOptions> sample_options_table{sample_options};
constinit const OptionsTable<DependenceOptions> dependence_options_table{dependence_options};
constinit const OptionsTable<PermutationOptions> permutation_options_table{permutation_options};

} // namespace btml::explanation
