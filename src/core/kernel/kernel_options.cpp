#include "core/kernel/kernel_options.hpp"

namespace btml::kernel {

namespace {

constexpr const char* scales[] = {"none", "sd"};
constexpr const char* methods[] = {"auto", "exact", "sampled"};

constexpr Option<Options> rows[] = {
    option<&Options::bandwidth>("bandwidth", above(0), "h of the kernel; `btml.attention` has none")
        .null_is(0, "[chosen](#bandwidths) for a density and a regression; others need one"),
    option<&Options::kernel>("kernel", pairwise::kernel_names,
                             "k, one of the [table above](#points); `btml.attention` has none")
        .also_called(pairwise::kernel_synonyms),
    option<&Options::scale>("scale", scales, "`sd` leaves a coordinate as it is that is the same in all keys"),
    option<&Options::method>("method", methods, "see [below](#exact-or-sampled), as for the next two"),
    option<&Options::epsilon>("epsilon", above_to(0, 1), "the error that sampled values may have"),
    option<&Options::confidence>("confidence", inside(0, 1), "the probability that they keep to it"),
    option<&Options::seed>("seed", any_number(), "of the samples"),
    argument<Options>("prefixes", "an array of numbers from 1",
                      "rows of keys and queries that `btml.kernel_tail_profile` takes")
        .null_means("50, 100, 200 and so on"),
    argument<Options>("verbose", "", "an INFO message that says which method was taken, and why").default_is("false"),
};

} // namespace

constinit const OptionsTable<Options> options_table{rows};

void Options::check() const {
    options_table.check(*this);
    if (bandwidth == 0)
        throw Error(
            ErrorCode::null_value, "bandwidth must be given", {},
            "It is in the units of the columns. btml.density and btml.kernel_regression choose one by themselves, "
            "btml.select_bandwidth shows the scores of many.");
}

} // namespace btml::kernel
