#include "core/linear/linear_options.hpp"

#include "core/data/source_arguments.hpp"

namespace btml::linear {

namespace {

constexpr const char* families[] = {"auto", "gaussian", "binomial", "poisson", "gamma"};
constexpr const char* std_errors[] = {"model", "robust"};

constexpr OtherNames foreign_families[] = {
    {"gaussian", {"normal", "linear", "linear_reg", "ols", "identity"}},
    {"binomial", {"logistic", "logistic_reg", "logit", "bernoulli"}},
};
constexpr OtherNames foreign_std_errors[] = {{"robust", {"hc0", "hc1", "sandwich", "cluster"}},
                                             {"model", {"nonrobust"}}};

constexpr Need<Options> of_penalty[] = {
    {"penalty", [](const Options& o) { return o.penalty > 0; }, "a penalty greater than 0"}};
constexpr Need<Options> of_no_penalty[] = {
    {"penalty", [](const Options& o) { return o.penalty == 0; }, "penalty => 0"}};

constexpr Option<Options> rows[] = {
    features_argument<Options>,
    categorical_argument<Options>,
    option<&Options::family>("family", families,
                             "the target's distribution and its link: identity, logit, log, log; `auto`: `binomial` of "
                             "booleans and of two labels, else `gaussian`")
        .elsewhere_called(foreign_families),
    option<&Options::penalty>("penalty", from(0),
                              "how much large coefficients cost; numbers are standardised for it, and the intercept "
                              "costs nothing"),
    option<&Options::l1_ratio>("l1_ratio", between(0, 1),
                               "0: the penalty is of squares (ridge); 1: of magnitudes (lasso); between: both (elastic "
                               "net)")
        .only_with(of_penalty),
    option<&Options::std_error>("std_error", std_errors,
                                "`model` trusts the variances of the family; `robust` assumes nothing about them (HC1)")
        .elsewhere_called(foreign_std_errors)
        .only_with(of_no_penalty),
    option<&Options::iterations>("iterations", between(1, 100'000), "of reweighted least squares, at most"),
    holdout_argument<Options>,
    holdout_fraction_option<Options>,
    order_by_argument<Options>,
    argument<Options>("group_by", "an output column",
                      "robust errors let rows of equal values depend on each other; `holdout_fraction` takes whole "
                      "groups")
        .null_means(""),
    weight_argument<Options>,
    offset_argument<Options>,
    verbose_argument<Options>,
    options_argument<Options>,
    exclude_argument<Options>,
    option<&Options::seed>("seed", any_number(), "of `holdout_fraction`").not_stored().not_aggregated(),
};

// What scikit-learn, glmnet, statsmodels and BigQuery call them.
constexpr OtherNames foreign_options[] = {
    {"penalty", {"lambda", "alpha", "l2_reg", "ridge"}},
    {"l1_ratio", {"l1_reg", "mixing", "alpha"}},
    {"iterations", {"max_iter", "maxit", "max_iterations"}},
    {"std_error", {"cov_type", "vcov", "covariance"}},
    {"family", {"model_type", "link"}},
    {"weight", {"sample_weight", "weights"}},
    {"offset", {"exposure"}},
    {"holdout_fraction", {"validation_fraction", "test_size", "data_split_eval_fraction"}},
    {"categorical", {"categorical_features"}},
    {"group_by", {"cluster", "groups"}},
    {"seed", {"random_state", "random_seed"}},
};

constexpr Option<CoefficientOptions> coefficient_rows[] = {
    option<&CoefficientOptions::confidence>("confidence", inside(0, 1), "of the intervals"),
};

} // namespace

constinit const OptionsTable<Options> options_table{rows, foreign_options};
constinit const OptionsTable<CoefficientOptions> coefficient_options_table{coefficient_rows};

void Options::validate() const {
    options_table.check(*this);
}

const char* name_of(Family family) {
    return families[static_cast<size_t>(family)];
}

} // namespace btml::linear
