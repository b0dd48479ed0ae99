#include "core/gp/gp_options.hpp"

#include "core/data/source_arguments.hpp"
#include "core/gp/sparse/sparse_model.hpp"

namespace btml::gp {

namespace {

constexpr double least_variance = 1e-18; // that a stored kernel has

constexpr const char* combinations[] = {"auto", "mixture", "kernel_sum"};
constexpr const char* searches[] = {"local", "bfgs", "none"};
constexpr const char* treatments[] = {"clamp", "prior"};

constexpr const char* encodings[] = {"auto", "linear", "rank"};
constexpr const char* means[] = {"auto", "zero", "boosted"};
constexpr const char* exemplar_objectives[] = {"likelihood", "variance"};
constexpr OtherNames kernel_synonyms[] = {{"squared_exponential", {"gaussian"}}}; // as kernel sums say

constexpr Need<Options> tree_kernel = {"kernel", [](const Options& o) { return !is_smooth(o.kernel); },
                                       "kernel => 'tree'"};
constexpr Need<Options> smooth_kernel = {"kernel", [](const Options& o) { return o.kernel != KernelChoice::tree; },
                                         "kernel => 'matern52'"};
constexpr Need<Options> chosen_exemplars = {"exemplar_source", [](const Options& o) { return !o.given_exemplars; },
                                            "no exemplar_source"};
constexpr Need<Options> of_trees[] = {tree_kernel}, of_smooth[] = {smooth_kernel},
                        of_chosen[] = {smooth_kernel, chosen_exemplars};
constexpr Need<Options> of_search[] = {
    tree_kernel,
    // The members of a sum are found by a search of their own.
    {"combine", [](const Options& o) { return o.combine != Combine::kernel_sum; }, "combine => 'mixture'"}};
// Variances are in units of the target's, of which trees leave another, and in which rows count the less the noisier
// they turn out to be.
constexpr Need<Options> of_variances[] = {
    {"mean", [](const Options& o) { return o.mean != Mean::boosted; }, "mean => 'zero'"},
    {"varying_noise", [](const Options& o) { return !o.varying_noise.value_or(false); }, "varying_noise => false"}};

constexpr Option<Options> rows[] = {
    features_argument<Options>,
    categorical_argument<Options>,
    option<&Options::bits>("bits", between(1, Encoding::max_value_bits), "of each feature")
        .null_is(0, "by the number of features, at most 8")
        .only_with(of_trees),
    option<&Options::members>("members", between(1, 1000), "a sum has four at least")
        .null_is(0, "chosen within `evaluations`")
        .only_with(of_trees),
    option<&Options::combine>("combine", combinations, "how members make a model").only_with(of_trees),
    option<&Options::search>("search", searches,
                             "for the order of a member's bits: greedy, then changes here and there and the paper's "
                             "descent; the paper's alone, from random starts; the features' bits in turn; `kernel_sum` "
                             "takes `local` alone")
        .only_with(of_search),
    option<&Options::evaluations>("evaluations", from(1),
                                  "of the likelihood of all rows: the budget of the search. Never a time: the same "
                                  "seed gives the same bytes")
        .null_is(0, "by the rows, at most 120,000; 2,000 for a member of a mixture")
        .only_with(of_trees),
    option<&Options::noise>("noise", between(least_variance, 1e6),
                            "variance of an observation, in units of the target's; a sum learns none below 0.0001")
        .null_means("learned")
        .only_with(of_variances),
    option<&Options::signal>("signal", between(least_variance, 1e6),
                             "variance of the latent function, in the same units")
        .null_means("learned")
        .only_with(of_variances),
    option<&Options::outside>(
        "outside", treatments,
        "a point outside of the training range counts as one at its end, or has the less to do with it "
        "the farther out it is")
        .only_with(of_trees),
    holdout_argument<Options>,
    option<&Options::seed>("seed", any_number(), "of the search and of a sum's samples"),
    weight_argument<Options>,
    verbose_argument<Options>,
    options_argument<Options>,
    exclude_argument<Options>,
    option<&Options::kernel>(
        "kernel", kernel_choice_names,
        "the binary tree kernel; a smooth one, with a length scale for each feature; `auto`: which "
        "scores better")
        .also_called(kernel_synonyms),
    option<&Options::exemplars>("exemplars", between(1, SparseModel::max_inducing_points),
                                "points that a smooth kernel goes by, at most")
        .only_with(of_chosen),
    option<&Options::encoding>("encoding", encodings,
                               "a number's bits are those of its place between the least and the greatest training "
                               "value, or of its rank among them; `auto`: which scores better leaving rows out")
        .only_with(of_trees),
    option<&Options::mean>("mean", means,
                           "the Gaussian process is of the targets themselves, or of what boosted trees leave; `auto`: "
                           "which scores better, with the tree kernel"),
    option<&Options::exemplar_objective>("exemplar_objective", exemplar_objectives,
                                         "exemplars are moved to where the likelihood is greatest, which takes most of "
                                         "the fit's time, or stay rows, each of which varies most given those before")
        .only_with(of_chosen),
    option<&Options::varying_noise>("varying_noise",
                                    "a second Gaussian process says by how much the noise differs from point to "
                                    "point; kept only where it makes the scores better")
        .null_means("no"),
    argument<Options>("exemplar_source", "a table, view or SELECT",
                      "its rows are the exemplars of a smooth kernel and stay where they are, so that `exemplars` and "
                      "`exemplar_objective` are not given; it has the features by name")
        .null_means("")
        .given_if([](const Options& o) { return o.given_exemplars != nullptr; })
        .only_with(of_smooth),
    holdout_fraction_option<Options>,
    order_by_argument<Options>,
    group_by_argument<Options>,
};

// What scikit-learn, GPy and others call them.
constexpr OtherNames foreign_options[] = {
    {"noise", {"alpha", "nugget", "noise_variance", "noise_level", "likelihood_variance"}},
    {"signal", {"sigma_f", "kernel_variance", "constant_value"}},
    {"members", {"n_restarts_optimizer", "num_restarts", "n_estimators"}},
    {"search", {"optimizer"}},
    {"evaluations", {"max_iter", "max_iters"}},
    {"seed", {"random_state"}},
    {"holdout_fraction", {"validation_fraction", "test_size"}},
    {"weight", {"sample_weight"}},
    {"categorical", {"categorical_features"}},
    {"kernel", {"kernel_type"}},
    {"exemplars", {"inducing_points", "num_inducing"}},
};

constexpr Option<SampleOptions> sample_rows[] = {
    option<&SampleOptions::draws>("draws", between(1, 1'000'000), "joint draws of the latent function"),
    option<&SampleOptions::seed>("seed", any_number(), "of the draws"),
};

} // namespace

constinit const OptionsTable<Options> options_table{rows, foreign_options};
constinit const OptionsTable<SampleOptions> sample_options_table{sample_rows};

void Options::validate() const {
    options_table.check(*this);
}

Options gp_fit_members_defaults() {
    Options options;
    options.combine = Combine::mixture;
    options.mean = Mean::zero;
    return options;
}

void put(const std::optional<double>& value, Writer& writer) {
    writer.put(value.has_value());
    if (value) writer.put_finite(*value);
}

std::optional<double> get_optional(Reader& reader) {
    return reader.get_bool() ? std::optional(reader.get_finite()) : std::nullopt;
}

const char* name_of(Combine combine) {
    return combinations[static_cast<size_t>(combine)];
}

const char* name_of(NumberEncoding encoding) {
    return encodings[static_cast<size_t>(encoding)];
}

const char* name_of(Mean mean) {
    return means[static_cast<size_t>(mean)];
}

const char* name_of(ExemplarObjective objective) {
    return exemplar_objectives[static_cast<size_t>(objective)];
}

const char* name_of(Search search) {
    return searches[static_cast<size_t>(search)];
}

} // namespace btml::gp
