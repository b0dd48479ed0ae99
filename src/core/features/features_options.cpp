#include "core/features/features_options.hpp"

namespace btml::features {

namespace {

constexpr Need<Options> a_target[] = {
    {"a plan without a target", [](const Options& o) { return o.has_target; }, "a target"}};
constexpr Need<Options> an_as_of[] = {{"a plan without as_of", [](const Options& o) { return o.has_as_of; }, "as_of"}};

constexpr Option<Options> plan_options[] = {
    argument<Options>("target", "an output column", "what the features are to predict; they are chosen by their gain")
        .null_means("all features are kept"),
    argument<Options>("as_of", "an output column of type `date`, `timestamp` or `timestamptz`",
                      "the time of the prediction; only rows before it count")
        .null_means("all rows count"),
    argument<Options>("relations", "a JSON object by name of relation", "which tables are read, by which keys")
        .null_means("those that foreign keys lead to"),
    argument<Options>("windows", "positive intervals of at most 1000 years, NULL for all rows",
                      "how long before `as_of` rows count")
        .null_means("30 days, 90 days, 1 year, 3 years, all rows")
        .given_if([](const Options& o) { return o.has_windows; })
        .only_with(an_as_of),
    option<&Options::max_depth>("max_depth", between(0, 5),
                                "the most steps down on a path, and the most steps up that follow each other"),
    option<&Options::max_features>("max_features", between(1, 1600),
                                   "how many features are kept where there is a target")
        .only_with(a_target),
    option<&Options::inclusive>("inclusive", "rows of the time `as_of` itself count as well").only_with(an_as_of),
    argument<Options>("holdout", "a boolean output column", "rows that do not choose features")
        .null_means("the last fifth by `as_of`, else one row in five")
        .given_if([](const Options& o) { return o.has_holdout; })
        .only_with(a_target),
    option<&Options::seed>("seed", any_number(), "of the sample that features are chosen by").only_with(a_target),
};

} // namespace

constinit const OptionsTable<Options> options_table{plan_options};

} // namespace btml::features
