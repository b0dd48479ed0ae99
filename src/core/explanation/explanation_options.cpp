#include "core/explanation/explanation_options.hpp"

#include "core/boosting/objectives/holdout_metric.hpp"

namespace btml::explanation {

static constexpr char rows_meaning[] = "rows of the source, drawn without replacement", seed_meaning[] = "of the draw",
                      elements_meaning[] = "each element of a column of arrays has a row, not the column";

static constexpr Option<ElementsOptions> elements_options[] = {
    option<&ElementsOptions::elements>("elements", elements_meaning),
};
static constexpr Option<ImportanceOptions> importance_options[] = {
    option<&ImportanceOptions::sample, &SampleOptions::rows>("sample_rows", from(1), rows_meaning),
    option<&ImportanceOptions::sample, &SampleOptions::seed>("seed", any_number(), seed_meaning),
    option<&ImportanceOptions::elements>("elements", elements_meaning),
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
    option<&PermutationOptions::elements>("elements", elements_meaning),
};

constinit const OptionsTable<ElementsOptions> elements_options_table{elements_options};
constinit const OptionsTable<ImportanceOptions> importance_options_table{importance_options};
constinit const OptionsTable<DependenceOptions> dependence_options_table{dependence_options};
constinit const OptionsTable<PermutationOptions> permutation_options_table{permutation_options};

} // namespace btml::explanation
