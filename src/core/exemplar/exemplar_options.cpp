#include "core/exemplar/exemplar_options.hpp"

#include "core/base/error.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace btml::exemplar {

namespace {

// A caller's function is called for every pair of a validation row and a candidate.
constexpr uint64_t max_function_calls = 10'000'000;

constexpr const char* objectives[] = {"clustering", "information", "variance", "prediction"};
constexpr const char* scan_orders[] = {"physical", "random_blocks"};

constexpr Need<Options> of_clustering[] = {
    {"objective", [](const Options& o) { return !o.is_gp(); }, "objective => 'clustering'"}};
constexpr Need<Options> of_gp[] = {{"objective", [](const Options& o) { return o.is_gp(); },
                                    "objective => 'information', 'variance' or 'prediction'"}};

constexpr Option<Options> rows[] = {
    option<&Options::exemplars>("k", between(1, Options::max_exemplars), "exemplars at most").is_required(),
    option<&Options::objective>("objective", objectives, "see below"),
    argument<Options>("target", "a column", "the number to predict; not for clustering").null_means(""),
    argument<Options>("dissimilarity",
                      "`squared_euclidean`, `euclidean`, `cosine`, `manhattan`, a function as in "
                      "`'distance(float8[],float8[])'`",
                      "of a row and its exemplar; for clustering")
        .default_is("squared_euclidean")
        .given_if([](const Options& o) { return o.metric != Metric::squared_euclidean; })
        .only_with(of_clustering),
    option<&Options::validation>("validation", between(2, 1e8),
                                 "rows that candidates are scored on; for Gaussian processes the more of 2,000 and "
                                 "10 k, for a function of 1,000 and 10 k")
        .null_means("the more of 5,000 and 100 k"),
    option<&Options::passes>("passes", between(1, 1e6),
                             "scans for candidates; they end once as many candidates as there are rows have changed "
                             "nothing"),
    option<&Options::max_candidates>("max_candidates", from(1),
                                     "rows tried in all, spread evenly; with a function, so many that it is called 10 "
                                     "million times")
        .null_means("all rows"),
    option<&Options::eta>("eta", from(0), "a swap must gain more than this in `utility`"),
    argument<Options>("phantom", "`none`, `origin`, `mean`, `random`, a point as in `'{0,1}'`",
                      "an exemplar that is always there: no row is charged more than its dissimilarity to it")
        .default_is("none")
        .given_if([](const Options& o) { return o.phantom != PhantomKind::none; })
        .only_with(of_clustering),
    option<&Options::batch>("batch", between(1, 100'000),
                            "the first exemplars are those of the first so many rows that gain most; all of them, "
                            "where k is as large"),
    option<&Options::racing>("racing", "decide by a part of the validation rows, see below; for clustering")
        .only_with(of_clustering),
    option<&Options::confidence>("confidence", inside(0, 1), "that all decisions of races are those of all rows"),
    option<&Options::scan_order>("scan_order", scan_orders, "of the source's rows, or of its table's blocks"),
    argument<Options>("length_scales", "an array of finite numbers above 0", "of the kernel of a Gaussian process")
        .null_means("learned")
        .given_if([](const Options& o) { return o.length_scales.has_value(); })
        .only_with(of_gp),
    option<&Options::signal>("signal", above(0), "variance of that kernel").null_means("learned").only_with(of_gp),
    option<&Options::noise>("noise", above(0), "variance of an observation").null_means("learned").only_with(of_gp),
    option<&Options::seed>("seed", any_number(), "of the samples"),
    argument<Options>("verbose", "",
                      "INFO messages, at most one a second: the kernel learned, as options that give it again; swaps "
                      "and utility")
        .default_is("false"),
};

[[noreturn]] void invalid(const char* option, const std::string& value, const char* valid) {
    throw Error(ErrorCode::invalid_argument, format("invalid value for option \"%s\": %s", option, value.c_str()), "",
                format("Valid values are %s.", valid));
}

void check_elements(const char* option, const std::vector<double>& numbers, Range valid) {
    for (const double x : numbers)
        if (!valid.holds(x))
            invalid(option, "an array with " + shortest(x),
                    valid.above ? "arrays of finite numbers above 0" : "arrays of finite numbers");
}

} // namespace

constinit const OptionsTable<Options> options_table{rows};

size_t Options::sample_size() const {
    if (validation) return *validation;
    const size_t k = exemplars;
    if (metric == Metric::function) return std::max<size_t>(1000, 10 * k);
    // Each candidate for an active set costs time in proportion to validation rows and exemplars.
    return is_gp() ? std::max<size_t>(2000, 10 * k) : std::max<size_t>(5000, 100 * k);
}

uint64_t Options::candidates(uint64_t rows) const {
    uint64_t most = rows * passes;
    if (max_candidates) most = std::min(most, static_cast<uint64_t>(*max_candidates));
    if (metric == Metric::function && !max_candidates) {
        const uint64_t calls = std::min<uint64_t>(sample_size(), rows);
        most = std::min(most, std::max<uint64_t>(max_function_calls / std::max<uint64_t>(calls, 1),
                                                 2 * static_cast<uint64_t>(exemplars)));
    }
    return most;
}

void Options::validate() const {
    options_table.check(*this);
    if (length_scales && length_scales->empty())
        invalid("length_scales", "{}", "arrays of one finite number above 0 for each coordinate");
    if (length_scales) check_elements("length_scales", *length_scales, above(0));
    if (phantom == PhantomKind::point) check_elements("phantom", phantom_point, any_number());
    if (metric == Metric::function && phantom != PhantomKind::none && phantom != PhantomKind::random)
        throw Error(ErrorCode::invalid_argument, "this phantom does not go with a function as dissimilarity", "",
                    "Valid values are \"none\" and \"random\".");
}

std::optional<Metric> metric_named(std::string_view name) {
    const auto found = std::find(metric_names.begin(), metric_names.end(), name);
    if (found == metric_names.end()) return std::nullopt;
    return static_cast<Metric>(found - metric_names.begin());
}

} // namespace btml::exemplar
