#include "core/boosting/trees/boosting_options.hpp"

#include "core/boosting/objectives/holdout_metric.hpp"
#include "core/relational/join/table.hpp"

namespace btml::boosting {

namespace {

constexpr const char* strategies[] = {"auto", "enumerate", "factorize", "sample", "distributed"};
constexpr const char* criteria[] = {"variance", "mse_sum"};
constexpr const char* residuals[] = {"exact", "sketch"};
constexpr const char* deviations[] = {"none", "learned"};

// What LightGBM, XGBoost, CatBoost, scikit-learn and others call them.
constexpr OtherNames foreign_objectives[] = {
    {"squared",
     {"regression", "regression_l2", "l2", "mse", "rmse", "mean_squared_error", "squared_error", "least_squares", "ls",
      "gaussian", "reg:squarederror", "reg:linear"}},
    {"absolute",
     {"regression_l1", "l1", "mae", "mean_absolute_error", "absolute_error", "lad", "median", "laplace",
      "reg:absoluteerror"}},
    {"huber", {"reg:pseudohubererror"}},
    {"quantile", {"reg:quantileerror", "pinball"}},
    {"poisson", {"count:poisson"}},
    {"gamma", {"reg:gamma"}},
    {"tweedie", {"reg:tweedie"}},
    {"binary",
     {"binary:logistic", "classification", "binary:logitraw", "reg:logistic", "logistic", "logloss", "log_loss",
      "cross_entropy", "binary_crossentropy", "xentropy", "bernoulli"}},
    {"multiclass",
     {"softmax", "multi:softmax", "multi:softprob", "multiclassova", "multinomial", "categorical_crossentropy"}},
    {"rank", {"lambdarank", "lambdamart", "rank_xendcg", "rank:ndcg", "rank:pairwise", "rank:map"}},
};

bool has_sketches(const Options& options) {
    return options.sketch_residuals;
}

bool has_sketches_by_error(const Options& options) {
    return options.sketch_residuals && options.sketch_size == 0;
}

bool takes_alpha(const Options& options) {
    return objective_of(options.objective).default_alpha.has_value();
}

bool takes_power(const Options& options) {
    return objective_of(options.objective).takes_power;
}

bool has_hessian(const Options& options) {
    return !objective_of(options.objective).hessian_is_count;
}

constexpr Option<Options> rows[] = {
    option<&Options::trees>("trees", between(1, max_trees), "number of trees"),
    option<&Options::learning_rate>("learning_rate", above_to(0, 1), "what a tree's values are multiplied by"),
    option<&Options::max_leaves>("max_leaves", zero_or("no limit", from(2)), "leaves of a tree, grown best first"),
    option<&Options::max_depth>("max_depth", zero_or("no limit", from(1)), "depth of a tree"),
    option<&Options::min_leaf_rows>("min_leaf_rows", from(0),
                                    "rows of the join, or their weight, on either side of a split"),
    option<&Options::l2>(
        "l2", from(0),
        "ridge penalty of a leaf's value: sum / (rows + l2), where rows are the sum of second derivatives"),
    option<&Options::l1>("l1", from(0), "lasso penalty of a leaf's value: what its sum is brought nearer to 0 by"),
    option<&Options::min_gain>(
        "min_gain", from(0),
        "[gain](#one-tree) that a split must exceed: of `squared` the decrease of the squared error"),
    option<&Options::min_category_rows>("min_category_rows", from(0),
                                        "a split tells a category from the others only if it has so many rows, or "
                                        "weight, in the node")
        .not_aggregated(),
    option<&Options::max_split_categories>("max_split_categories", zero_or("no limit", from(1)),
                                           "categories that a split may tell from the others")
        .not_aggregated(),
    option<&Options::max_bins>("max_bins", zero_or("no limit", between(2, 65535)),
                               "bins of a numeric feature; 0: every distinct value is a candidate"),
    features_argument<Options>,
    categorical_argument<Options>,
    holdout_argument<Options>,
    option<&Options::early_stopping>("early_stopping", zero_or("never", from(1)),
                                     "stop when so many trees brought no better holdout loss, and keep the best")
        .not_aggregated(),
    option<&Options::metric>("metric", holdout_metric_names,
                             "[what](#metrics) `early_stopping` goes by, and `btml.training_log` has beside the loss")
        .elsewhere_called(foreign_metrics)
        .null_means("the loss")
        .not_aggregated(),
    option<&Options::row_fraction>("row_fraction", above_to(0, 1),
                                   "part of the target table's rows that each tree sees"),
    option<&Options::feature_fraction>("feature_fraction", above_to(0, 1), "part of the features that each tree sees"),
    option<&Options::strategy>(
        "strategy", strategies,
        "whether the join's rows are held as row ids: all, none or a sample; or by [other servers]"
        "(distributed.md#training-where-the-rows-are)")
        .not_stored()
        .not_aggregated(),
    option<&Options::criterion>("criterion", criteria,
                                "what a split minimises: the squared error, or the sum of both sides' mean squared "
                                "errors"),
    option<&Options::sketch_residuals>("residuals", residuals,
                                       "how `factorize` gets the sums of squares that `mse_sum` needs")
        .not_aggregated(),
    option<&Options::sketch_size>("sketch_size", from(1), "numbers of a sketch, with `residuals => 'sketch'`")
        .null_is(0, "by `epsilon` and `delta`")
        .not_aggregated()
        .matters_if(has_sketches),
    option<&Options::epsilon>("epsilon", inside(0, 1), "relative error of the sketches' sums of squares")
        .not_aggregated()
        .matters_if(has_sketches_by_error),
    option<&Options::delta>("delta", inside(0, 1), "probability of a larger one")
        .not_aggregated()
        .matters_if(has_sketches_by_error),
    option<&Options::verify>("verify", "measure the sketches' error, with `residuals => 'sketch'`")
        .not_stored()
        .not_aggregated(),
    option<&Options::sample_rows>("sample_rows", between(1, relational::max_rows),
                                  "rows of the join to train on, with `strategy => 'sample'`")
        .null_is(0, "10 million, or what fits into memory")
        .not_stored()
        .not_aggregated(),
    option<&Options::seed>("seed", any_number(), "of the two fractions, of samples and of sketches"),
    weight_argument<Options>,
    option<&Options::objective>("objective", objective_names, "[the loss](#objectives) that trees minimise")
        .elsewhere_called(foreign_objectives),
    option<&Options::alpha>("alpha", inside(0, 1),
                            "of `quantile` the quantile, of `huber` the part of the residuals that count squared")
        .null_means("0.5 for `quantile`, 0.9 for `huber`")
        .matters_if(takes_alpha),
    option<&Options::power>("power", inside(1, 2), "of `tweedie`: the variance is the mean to this power")
        .matters_if(takes_power),
    argument<Options>("positive", "a label", "the one whose probability `binary` predicts")
        .null_means("the second in the order of labels")
        .also_aggregated(),
    offset_argument<Options>,
    argument<Options>("query", "a column of the target's table", "rows that `rank` compares with each other")
        .null_means(""),
    argument<Options>("class_weights", "JSON, as `{\"yes\": 5}`",
                      "what a row of a label counts in the loss: 0, or from 1e-9 to 1e9")
        .null_means("1")
        .also_aggregated(),
    option<&Options::balanced>("balanced", "weighs labels so that all count the same in the loss")
        .matters_if(takes_labels),
    argument<Options>("increasing", "numeric features", "predictions never fall where these grow").null_means(""),
    argument<Options>("decreasing", "numeric features", "predictions never grow where these grow").null_means(""),
    option<&Options::max_step>("max_step", above(0), "the largest value of a leaf, before `learning_rate`")
        .null_means("0.7 for `poisson`; 1.5 for `gamma`, `tweedie`; 4 for `binary`; 8 for `multiclass`; else no limit"),
    option<&Options::min_leaf_hessian>("min_leaf_hessian", from(0),
                                       "sum of second derivatives on either side of a split, where they are not 1")
        .matters_if(has_hessian),
    verbose_argument<Options>,
    options_argument<Options>,
    exclude_argument<Options>,
    argument<Options>("start", "a model of `boost_fit`", "[what training continues from](#more-trees-for-a-model)")
        .null_means(""),
    option<&Options::learn_deviation>("deviation", deviations,
                                      "whether trees learn as well [how far off](uncertainty.md) predictions are")
        .not_aggregated(),
    option<&Options::unit>("unit", unit_names,
                           "[what counts as one](#what-is-a-row): a row of the join, or a row of the target's table "
                           "in sum over its repeats")
        .not_aggregated(),
    holdout_fraction_option<Options>,
    order_by_argument<Options>,
    group_by_argument<Options>,
};

// What LightGBM, XGBoost, CatBoost, scikit-learn and others call them.
constexpr OtherNames foreign_options[] = {
    {"trees",
     {"n_estimators", "num_iterations", "num_boost_round", "num_trees", "iterations", "nrounds", "rounds", "max_iter"}},
    {"learning_rate", {"eta", "lr", "shrinkage", "shrinkage_rate", "learn_rate"}},
    {"max_leaves", {"num_leaves", "max_leaf_nodes"}},
    {"max_depth", {"depth"}},
    {"min_leaf_rows", {"min_data_in_leaf", "min_child_samples", "min_samples_leaf"}},
    {"min_leaf_hessian", {"min_child_weight", "min_sum_hessian_in_leaf"}},
    {"l2", {"lambda", "lambda_l2", "reg_lambda", "l2_leaf_reg", "l2_regularization"}},
    {"l1", {"lambda_l1", "reg_alpha"}},
    {"min_gain", {"gamma", "min_split_gain", "min_gain_to_split", "min_impurity_decrease"}},
    {"max_bins", {"max_bin", "border_count"}},
    {"min_category_rows", {"min_data_per_group"}},
    {"max_split_categories", {"max_cat_threshold"}},
    {"categorical", {"categorical_feature", "categorical_features", "cat_features"}},
    {"early_stopping", {"early_stopping_rounds", "early_stopping_round", "n_iter_no_change"}},
    {"metric", {"eval_metric", "scoring"}},
    {"holdout", {"eval_set", "valid_sets"}},
    {"row_fraction", {"subsample", "bagging_fraction"}},
    {"feature_fraction", {"colsample_bytree", "max_features"}},
    {"seed", {"random_state", "random_seed"}},
    {"holdout_fraction", {"validation_fraction", "test_size"}},
    {"weight", {"sample_weight"}},
    {"objective", {"loss", "loss_function", "application"}},
    {"alpha", {"quantile", "quantile_alpha"}},
    {"power", {"tweedie_variance_power"}},
    {"positive", {"pos_label"}},
    {"offset", {"init_score", "base_margin", "baseline", "exposure"}},
    {"query", {"group", "group_id", "qid"}},
    {"class_weights", {"class_weight", "scale_pos_weight"}},
    {"balanced", {"is_unbalance", "auto_class_weights"}},
    {"increasing", {"monotone_constraints", "monotonic_cst"}},
    {"max_step", {"max_delta_step"}},
    {"verbose", {"verbosity"}},
    {"exclude", {"ignored_features", "ignore_column"}},
};

} // namespace

constinit const OptionsTable<Options> options_table{rows, foreign_options};

const char* name_of(Strategy strategy) {
    return strategies[static_cast<size_t>(strategy)];
}

static void check_deviation(const Options& options) {
    if (!options.learn_deviation) return;
    if (!objective_of(options.objective).has_interval())
        throw Error(ErrorCode::invalid_argument,
                    format("deviation => 'learned' is not valid with objective => '%s'", name_of(options.objective)),
                    {}, "It is for targets that are numbers.");
    if (options.strategy == Strategy::factorize || options.strategy == Strategy::distributed)
        throw Error(ErrorCode::invalid_argument,
                    format("deviation => 'learned' is not valid with strategy => '%s'", name_of(options.strategy)), {},
                    "Valid are \"enumerate\" and \"sample\".");
}

void Options::validate() const {
    options_table.check(*this);
    if (metric && strategy == Strategy::factorize && *metric != HoldoutMetric::rmse)
        throw Error(ErrorCode::invalid_argument,
                    format("metric '%s' is not valid with strategy => 'factorize'",
                           holdout_metric_names[static_cast<size_t>(*metric)]),
                    {}, "Valid is \"rmse\".");
    if (sample_rows > 0 && strategy != Strategy::sample)
        throw Error(ErrorCode::invalid_argument, "sample_rows needs strategy => 'sample'",
                    "The other strategies train on every row of the join.");
    check_deviation(*this);
    if (objective_of(objective).factorises) return;
    const char* const refused = criterion == Criterion::mse_sum   ? "criterion => 'mse_sum'"
                                : sketch_residuals                ? "residuals => 'sketch'"
                                : strategy == Strategy::factorize ? "strategy => 'factorize'"
                                                                  : nullptr;
    if (refused)
        throw Error(ErrorCode::invalid_argument,
                    format("%s is not valid with objective => '%s'", refused, name_of(objective)), {},
                    "Valid is objective => 'squared'.");
}

Options completed(Options options, size_t labels) {
    if (options.objective == ObjectiveNumber::automatic)
        options.objective = labels == 0   ? ObjectiveNumber::squared
                            : labels == 2 ? ObjectiveNumber::binary
                                          : ObjectiveNumber::multiclass;
    const Objective& objective = objective_of(options.objective);
    if (options.alpha && !objective.default_alpha)
        throw Error(ErrorCode::invalid_argument,
                    format("alpha is not valid with objective => '%s'", name_of(options.objective)), {},
                    "It is for objective => 'quantile' and objective => 'huber'.");
    if (options.power != Options().power && !objective.takes_power)
        throw Error(ErrorCode::invalid_argument,
                    format("power is not valid with objective => '%s'", name_of(options.objective)), {},
                    "It is for objective => 'tweedie'.");
    if (!options.alpha) options.alpha = objective.default_alpha;
    if (!options.max_step) options.max_step = objective.default_max_step;
    return options;
}

Options boost_fit_defaults() {
    return {.min_category_rows = 10, .max_split_categories = 32};
}

Options tree_fit_defaults() {
    return {.trees = 1, .learning_rate = 1, .max_bins = 0};
}

} // namespace btml::boosting
