#include "pg/fit_options.hpp"

#include "pg/option_values.hpp"

namespace btml::pg {

using boosting::Criterion;
using boosting::Options;
using boosting::Strategy;

namespace {

[[noreturn]] void only_with_sketch(const char* option) {
    throw Error(ErrorCode::invalid_argument, format("%s needs residuals => 'sketch'", option),
                "With exact residuals there is no sketch.");
}

int sketch_size(const Arguments& arguments, int i, const Options& options) {
    const int size = arguments.integer(i, "sketch_size");
    if (size < 1)
        throw Error(ErrorCode::invalid_argument, format("invalid value for option \"sketch_size\": %d", size), "",
                    "Valid values are NULL and integers from 1.");
    if (!options.sketch_residuals) only_with_sketch("sketch_size");
    return size;
}

// Options from max_leaves on, which stand in the same order in both functions; `i` is the position of the first.
void read_common(const Arguments& arguments, int i, FitRequest& request) {
    Options& options = request.options;
    options.max_leaves = arguments.integer(i++, "max_leaves");
    options.max_depth = arguments.integer(i++, "max_depth");
    options.min_leaf_rows = arguments.number(i++, "min_leaf_rows");
    options.l2 = arguments.number(i++, "l2");
    options.min_gain = arguments.number(i++, "min_gain");
    options.max_bins = arguments.integer(i++, "max_bins");
    if (!arguments.is_null(i)) request.features = arguments.columns(i, "features");
    i++;
    if (!arguments.is_null(i)) request.categorical = arguments.columns(i, "categorical");
    i++;
    if (!arguments.is_null(i)) request.holdout = arguments.column(i, "holdout");
    i++;
    options.early_stopping = arguments.integer(i++, "early_stopping");
    options.row_fraction = arguments.number(i++, "row_fraction");
    options.feature_fraction = arguments.number(i++, "feature_fraction");
    request.strategy = static_cast<Strategy>(
        choice(arguments.string(i++, "strategy"), "strategy", {"auto", "enumerate", "factorize"}));
    const size_t criterion = choice(arguments.string(i++, "criterion"), "criterion", {"variance", "mse_sum"});
    options.criterion = criterion == 0 ? Criterion::variance : Criterion::mse_sum;
    options.sketch_residuals = choice(arguments.string(i++, "residuals"), "residuals", {"exact", "sketch"}) == 1;
    if (!arguments.is_null(i)) options.sketch_size = sketch_size(arguments, i, options);
    i++;
    options.epsilon = arguments.number(i++, "epsilon");
    options.delta = arguments.number(i++, "delta");
    options.seed = arguments.bigint(i++, "seed");
    request.verbose = arguments.boolean(i++, "verbose");
    if (!arguments.is_null(i)) request.weight = arguments.column(i, "weight");
    i++;
    options.verify = arguments.boolean(i++, "verify");
    if (options.verify && !options.sketch_residuals) only_with_sketch("verify");
    options.min_category_rows = arguments.number(i++, "min_category_rows");
    options.max_split_categories = arguments.integer(i, "max_split_categories");
    options.validate();
    if (options.early_stopping > 0 && !request.holdout)
        throw Error(ErrorCode::invalid_argument, "early_stopping needs a holdout", "",
                    "Name a boolean column in holdout.");
}

} // namespace

FitRequest read_boost_request(const Arguments& arguments) {
    FitRequest request;
    request.source = arguments.string(0, "source");
    request.target = arguments.column(1, "target");
    request.options.trees = arguments.integer(2, "trees");
    request.options.learning_rate = arguments.number(3, "learning_rate");
    read_common(arguments, 4, request);
    return request;
}

FitRequest read_tree_request(const Arguments& arguments) {
    FitRequest request;
    request.source = arguments.string(0, "source");
    request.target = arguments.column(1, "target");
    request.options.trees = 1;
    request.options.learning_rate = 1;
    read_common(arguments, 2, request);
    return request;
}

Options parse_fit_options(const std::string& json) {
    static const std::vector<std::string> names = {
        "trees",    "learning_rate", "max_leaves",   "max_depth",        "min_leaf_rows", "l2",
        "min_gain", "max_bins",      "row_fraction", "feature_fraction", "criterion",     "seed"};
    Options options;
    for (const JsonOption& option : json_options(json)) {
        if (option.name == "trees")
            options.trees = integer_of<int>(option);
        else if (option.name == "learning_rate")
            options.learning_rate = number_of(option);
        else if (option.name == "max_leaves")
            options.max_leaves = integer_of<int>(option);
        else if (option.name == "max_depth")
            options.max_depth = integer_of<int>(option);
        else if (option.name == "min_leaf_rows")
            options.min_leaf_rows = number_of(option);
        else if (option.name == "l2")
            options.l2 = number_of(option);
        else if (option.name == "min_gain")
            options.min_gain = number_of(option);
        else if (option.name == "max_bins")
            options.max_bins = integer_of<int>(option);
        else if (option.name == "row_fraction")
            options.row_fraction = number_of(option);
        else if (option.name == "feature_fraction")
            options.feature_fraction = number_of(option);
        else if (option.name == "criterion")
            options.criterion = choice(option.text, "criterion", {"variance", "mse_sum"}) == 0 ? Criterion::variance
                                                                                               : Criterion::mse_sum;
        else if (option.name == "seed")
            options.seed = integer_of<int64_t>(option);
        else
            unknown_option(option, names);
    }
    options.validate();
    return options;
}

} // namespace btml::pg
