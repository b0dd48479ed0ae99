#include "core/validation/validation_options.hpp"

namespace btml::validation {

namespace {

constexpr const char* methods[] = {"boost", "gp", "linear"};

constexpr auto space_option =
    argument<Options>("space", "JSON, as `{\"l2\": [0, 1]}`", "[values](#the-space) of the options to try")
        .is_required();
constexpr auto folds_option =
    option<&Options::folds>("folds", between(2, max_folds), "parts that the rows are cut into");
constexpr auto fold_option =
    argument<Options>("fold", "an output column",
                      "its values are the folds instead; rows where it is NULL are trained on and never scored")
        .null_means("");
constexpr auto order_by_option = argument<Options>("order_by", "a column of numbers, dates or timestamps",
                                                   "[trains on what is before](#time) and scores what comes next")
                                     .null_means("");
constexpr auto gap_option = argument<Options>("gap", "an interval; of numbers its seconds, as `'12'`",
                                              "leaves out of training what is so close before the rows to be scored")
                                .null_means("");
constexpr auto group_by_option =
    argument<Options>("group_by", "an output column", "deals [whole groups](#groups) of its equal values to the folds")
        .null_means("");
constexpr auto method_option =
    option<&Options::method>("method", methods, "boosted trees, a Gaussian process or a linear model");
constexpr auto options_option =
    argument<Options>("options", "JSON, as `{\"trees\": 300}`",
                      "options of [the fit](boosting.md#options), its columns among them: `features`, `weight`, …")
        .default_is("{}");
constexpr auto metric_option =
    argument<Options>("metric", "a [metric](boosting.md#metrics); of `gp` `rmse`, `mae` or `mean_nll`",
                      "what the rows of a fold are scored by")
        .null_means("by the objective");
constexpr auto seed_option =
    option<&Options::seed>("seed", any_number(), "of the folds and of the space; the fit's own is one of `options`");
constexpr Need<Options> of_boosted_trees[] = {
    {"method", [](const Options& options) { return options.method == Method::boost; }, "method => 'boost'"},
};
constexpr auto unit_option =
    option<&Options::unit>("unit", unit_names,
                           "[what counts as one](boosting.md#what-is-a-row): a row of the join, or a row of the "
                           "target's table in sum over its repeats")
        .only_with(of_boosted_trees);

constexpr Option<Options> gp_metric_rows[] = {
    option<&Options::gp_metric>("metric", gp_metric_names, ""),
};

constexpr Option<Options> cross_validate_rows[] = {
    folds_option, fold_option, method_option,   options_option, metric_option,
    seed_option,  unit_option, order_by_option, gap_option,     group_by_option,
};

constexpr Option<Options> tune_rows[] = {
    space_option,
    option<&Options::trials>("trials", between(1, 1000), "values of the space to try"),
    folds_option,
    fold_option,
    method_option,
    options_option,
    metric_option,
    seed_option,
    argument<Options>("holdout", "a boolean output column",
                      "rows that no trial sees, and that the best is scored on in the end")
        .null_means(""),
    unit_option,
    order_by_option,
    gap_option,
    group_by_option,
};

} // namespace

constinit const OptionsTable<Options> cross_validate_options_table{cross_validate_rows};
constinit const OptionsTable<Options> tune_options_table{tune_rows};
constinit const OptionsTable<Options> gp_metric_table{gp_metric_rows};

} // namespace btml::validation
