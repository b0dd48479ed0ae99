// Arguments that every fit over a source has beside its options, as the documentation tells of them.
#pragma once

#include "core/base/options_table.hpp"

namespace btml {

// What weighs the same in a fit over a join: a row of the join, or one of the target's table in sum over its repeats.
enum class Unit : uint8_t { join, target };
inline constexpr const char* unit_names[] = {"join", "target"};

template <class Options>
inline constexpr Option<Options> features_argument = argument<Options>("features", "output columns, as `'{a,b}'`",
                                                                       "ids and keys are features, too: exclude them")
                                                         .null_means("all other columns");
template <class Options>
inline constexpr Option<Options> categorical_argument =
    argument<Options>("categorical", "features", "treats these as categories too").null_means("");
template <class Options>
inline constexpr Option<Options> holdout_argument =
    argument<Options>("holdout", "a boolean output column", "rows that are not trained on; NULL counts as false")
        .null_means("");
template <class Options>
inline constexpr Option<Options> weight_argument =
    argument<Options>("weight", "a column of the target's table", "what a row counts, not negative").null_means("1");
template <class Options>
inline constexpr Option<Options> offset_argument =
    argument<Options>("offset", "a column of the target's table",
                      "what is added to every row's score, as ln(exposure); OFFSET is a keyword of SQL, so "
                      "write `\"offset\" => …`")
        .null_means("0");
template <class Options>
inline constexpr Option<Options>
    options_argument = argument<Options>("options", "JSON, as `{\"seed\": 1}`",
                                         "options by their names; an argument overrides the same name here")
                           .null_means("");
template <class Options>
inline constexpr Option<Options>
    exclude_argument = argument<Options>("exclude", "output columns", "columns that are no features").null_means("");
template <class Options>
inline constexpr Option<Options>
    verbose_argument = argument<Options>("verbose", "", "INFO messages, at most one a second").default_is("false");

// Fits that hold rows out without a column that says which.
template <class Options>
inline constexpr auto holdout_fraction_option =
    option<&Options::holdout_fraction>(
        "holdout_fraction", inside(0, 1),
        "this share of the rows is held out, [without a column](validation.md#holdouts-of-fits)")
        .null_means("")
        .not_stored()
        .not_aggregated();
template <class Options>
inline constexpr Option<Options> order_by_argument = argument<Options>("order_by",
                                                                       "a column of numbers, dates or timestamps",
                                                                       "`holdout_fraction` takes the last rows")
                                                         .null_means("");
template <class Options>
inline constexpr Option<Options> group_by_argument =
    argument<Options>("group_by", "an output column", "`holdout_fraction` takes whole groups of its equal values")
        .null_means("");

} // namespace btml
