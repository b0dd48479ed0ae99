#include "core/monte_carlo/bandwidth_selection.hpp"

namespace btml::monte_carlo {

namespace {

constexpr const char* methods[] = {"auto", "exact", "sampled"};
constexpr const char* scales[] = {"none", "sd"};
constexpr auto selection = &ScoreRequest::selection;
constexpr auto score = &SelectionOptions::score;
constexpr auto sampling = &ScoreOptions::sampling;
constexpr Range bandwidths = between(min_bandwidth, max_bandwidth);

constexpr Option<ScoreRequest> rows[] = {
    option<&ScoreRequest::bandwidths, &Bandwidths::x>("bandwidth", bandwidths, "of the points, for a score")
        .is_required(),
    option<&ScoreRequest::bandwidths, &Bandwidths::target>("target_bandwidth", bandwidths,
                                                           "of the target, for `btml.kcde_score`")
        .is_required(),
    option<&ScoreRequest::kind>("score", score_kinds, "what `btml.select_bandwidth` makes least").is_required(),
    argument<ScoreRequest>("target", "a column of numbers", "for `kr` and `kcde`").null_means(""),
    option<selection, &SelectionOptions::lower>("lower", bandwidths, "the range that `btml.select_bandwidth` searches")
        .null_means("from the data"),
    option<selection, &SelectionOptions::upper>("upper", bandwidths, "its other end").null_means("from the data"),
    option<selection, &SelectionOptions::steps>("steps", between(2, 1000),
                                                "bandwidths that `btml.select_bandwidth` scores"),
    option<selection, score, &ScoreOptions::method>("method", methods, "see below, as for all that follow"),
    option<selection, score, sampling, &SamplingOptions::epsilon>("epsilon", inside(0, 1),
                                                                  "the relative error that a sampled score may have"),
    option<selection, score, sampling, &SamplingOptions::tolerance>("tolerance", from(0),
                                                                    "an absolute error that also suffices")
        .null_is(0, "0"),
    option<selection, score, sampling, &SamplingOptions::confidence>("confidence", inside(0, 1),
                                                                     "the probability that `lower` and `upper` hold"),
    option<selection, score, sampling, &SamplingOptions::min_samples>("min_samples", between(2, 1e9),
                                                                      "rows drawn at least")
        .null_is(1000, "1,000"),
    option<selection, score, sampling, &SamplingOptions::strata>("strata", between(1, 10'000), "strata of the rows")
        .null_is(64, "64"),
    option<&ScoreRequest::scaled>("scale", scales,
                                  "`sd` divides each coordinate by its standard deviation, unless that is 0"),
    option<selection, score, sampling, &SamplingOptions::seed>("seed", any_number(), "of the samples"),
    option<selection, score, &ScoreOptions::kernel>("kernel", pairwise::kernel_names,
                                                    "of the points, one of those [below](#kernels)")
        .also_called(pairwise::kernel_synonyms),
};

} // namespace

constinit const OptionsTable<ScoreRequest> score_options_table{rows};

} // namespace btml::monte_carlo
