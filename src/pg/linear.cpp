// SQL functions of linear models: btml.linear_fit, btml.linear_fit_agg and btml.coefficients.
#include "pg/linear.hpp"
#include "core/linear/coefficients.hpp"
#include "core/linear/linear_fit.hpp"
#include "core/linear/linear_strategy.hpp"
#include "core/relational/join/join_rows.hpp"
#include "pg/bridge/backend_context.hpp"
#include "pg/bridge/call_site.hpp"
#include "pg/model/model_value.hpp"
#include "pg/source/aggregated_rows.hpp"
#include "pg/source/boosting_source.hpp"
#include "pg/values/result.hpp"

namespace btml::pg {

using linear::Family;
using linear::FitResult;

namespace {

// Group_by is of folds in other functions.
void check_groups(const LinearRequest& request) {
    const bool is_robust = request.options.std_error == linear::StdError::robust;
    if (request.group_by && !is_robust && !request.options.holdout_fraction)
        throw Error(ErrorCode::invalid_argument, "group_by needs std_error => 'robust' or a holdout_fraction",
                    "It says whose rows depend on each other, or are held out together.");
}

// Says which family fits numbers with more than two values.
[[noreturn]] void refuse_more_numbers(const Buffer<double>& values, const std::string& target) {
    const auto is_count = [](double value) { return is_null(value) || (value >= 0 && value == std::floor(value)); };
    const bool are_counts = std::all_of(values.begin(), values.end(), is_count);
    throw Error(ErrorCode::wrong_type,
                format("target \"%s\" has more than two values, family => 'binomial' needs two", target.c_str()), "",
                are_counts ? "family => 'poisson' is for counts."
                           : "For shares, make a row of each outcome, with its count as weight.");
}

// Makes codes of a target of two numbers; returns the labels.
std::vector<std::string> take_two_numbers(Buffer<double>& values, const std::string& target, RunContext& context) {
    std::vector<double> found;
    context.for_each(values.size(), 1, [&](uint64_t row) {
        if (is_null(values[row]) || std::find(found.begin(), found.end(), values[row]) != found.end()) return;
        found.push_back(values[row]);
        if (found.size() > 2) refuse_more_numbers(values, target);
    });
    std::sort(found.begin(), found.end());
    std::vector<std::string> labels;
    for (const double value : found) labels.push_back(shortest(value));
    context.for_each(values.size(), 1, [&](uint64_t row) {
        if (!is_null(values[row])) values[row] = values[row] == found.front() ? 0 : 1;
    });
    return labels;
}

// Least squares of 0 and 1 may not be what was meant.
void notice_two_numbers(const Buffer<double>& values, const std::string& target, RunContext& context) {
    bool has_zero = false, has_one = false, has_other = false;
    context.for_each(values.size(), 1, [&](uint64_t row) {
        const double value = values[row];
        has_zero |= value == 0;
        has_one |= value == 1;
        has_other |= value != 0 && value != 1 && !is_null(value);
    });
    if (has_zero && has_one && !has_other)
        notice("target \"" + target + "\" has only the values 0 and 1: least squares fits them as numbers", "",
               "family => 'binomial' is logistic regression.");
}

Dataset take_rows(TrainingJoin& training, RunContext& context) {
    const Stopwatch joining(training.timings.back().seconds);
    relational::JoinRows rows = relational::enumerate(training.join, context);
    return make_dataset(std::move(training.join), std::move(rows), training.plan, context);
}

Datum complete(FitResult& result, const std::string& target, uint64_t rows_skipped,
               const linear::StrategyChoice& strategy, RunContext& context) {
    result.model.target = target;
    result.model.rows_skipped = rows_skipped;
    result.model.strategy = strategy.factorises ? "factorize" : "enumerate";
    result.model.strategy_reason = strategy.reason;
    return model_datum(result, context);
}

FitResult fit_over_rows(const RowCollection& rows, RunContext& context) {
    linear::Options options;
    if (!rows.options().empty()) options = parse_options(rows.options(), linear::options_table);
    Dataset dataset = rows.dataset(context);
    if (rows.target() == TargetKind::boolean)
        dataset.labels = {"false", "true"};
    else if (options.family == Family::binomial)
        dataset.labels = take_two_numbers(dataset.target, "y", context);
    return linear::fit(std::move(dataset), options, context);
}

// What a call has said already, whatever the number of its groups.
struct Told {
    bool no_model = false, warnings = false;
};

} // namespace

LinearRequest read_linear_request(const FitArguments& arguments) {
    LinearRequest request{read_training_request(arguments), {}};
    request.takes_labels = true;
    arguments.read(linear::options_table, request.options);
    request.options.validate();
    return request;
}

void read_linear_target(TrainingJoin& training, const LinearRequest& request, linear::Options& options,
                        RunContext& context) {
    relational::DataColumn& column = column_at(training.join, training.plan.target);
    std::vector<std::string>& labels = training.plan.labels;
    if (column.kind == relational::DataColumn::Kind::category)
        labels = take_labels(column, training.target_type, context);
    else if (training.target_type == BOOLOID)
        labels = {"false", "true"};
    else if (options.family == Family::binomial)
        labels = take_two_numbers(column.numbers, request.target, context);
    if (options.family != Family::automatic) return;
    if (labels.empty()) notice_two_numbers(column.numbers, request.target, context);
    options.family = labels.empty() ? Family::gaussian : Family::binomial;
}

// btml.linear_fit(source, target, features, …) → model
BTML_FUNCTION(btml_linear_fit) {
    const NamedArguments call(fcinfo);
    const FitArguments arguments(call);
    arguments.check_names(linear::options_table);
    LinearRequest request = read_linear_request(arguments);
    check_groups(request);
    if (!request.group_by || request.options.holdout_fraction)
        set_holdout_fraction(request, request.options.holdout_fraction, request.options.seed);
    BackendContext context("linear_fit", request.verbose);
    context.tell_minutes();
    TrainingJoin training = read_training_join(request, context);
    linear::Options options = request.options;
    read_linear_target(training, request, options, context);
    hold_out(training, request, context);
    const uint64_t skipped = training.rows_skipped;
    notice_repeats(training.repeats, one_row_each);
    const linear::StrategyChoice strategy = choose_strategy(training.join, training.plan, options, context);
    FitResult result = strategy.factorises ? fit_factorised(std::move(training.join), training.plan, options, context)
                                           : linear::fit(take_rows(training, context), options, context);
    result.timings.insert(result.timings.begin(), training.timings.begin(), training.timings.end());
    if (request.holdout && result.model.holdout_rows == 0)
        notice("holdout \"" + *request.holdout + "\" is true for no row", "", "Every row is trained on.");
    for (const std::string& warning : result.warnings) notice(warning);
    return complete(result, request.target, skipped, strategy, context);
}

static void check_options(const std::string& options) {
    parse_options(options, linear::options_table);
}

// btml_internal.linear_fit_accumulate(state, y float8, x float8[], options btml.json [, weight float8]) → state
BTML_FUNCTION(btml_linear_fit_accumulate) {
    return accumulate_with_options(fcinfo, check_options);
}

// The same of y boolean
BTML_FUNCTION(btml_linear_fit_accumulate_boolean) {
    return accumulate_with_options(fcinfo, check_options, TargetKind::boolean);
}

// The same of y text
BTML_FUNCTION(btml_linear_fit_accumulate_label) {
    return accumulate_with_options(fcinfo, check_options, TargetKind::label);
}

// btml_internal.linear_fit_final(state) → model; NULL when there was no row to train on, or no coefficients exist
BTML_FUNCTION(btml_linear_fit_final) {
    if (PG_ARGISNULL(0)) PG_RETURN_NULL();
    BackendContext context("linear_fit_agg");
    context.tell_minutes();
    Told& told = kept_at_call_site<Told>(fcinfo, [] { return std::make_unique<Told>(); });
    return train_on_rows(fcinfo, context, [&](const RowCollection& rows) {
        try {
            FitResult result = fit_over_rows(rows, context);
            if (!result.warnings.empty() && !std::exchange(told.warnings, true))
                for (const std::string& warning : result.warnings) notice(warning, first_in_call);
            return complete(result, "y", rows.rows_skipped(), {false, "the rows were aggregated"}, context);
        } catch (const NothingToTrainOn& reason) {
            notice_no_model(reason, told.no_model);
        } catch (const linear::NoCoefficients& reason) {
            notice_no_model(reason, told.no_model);
        }
        fcinfo->isnull = true;
        return Datum{};
    });
}

// btml.coefficients(model, confidence float8) → table(feature text, category text, missing boolean, estimate float8,
// std_error float8, statistic float8, p_value float8, lower float8, upper float8)
BTML_FUNCTION(btml_coefficients) {
    const NamedArguments arguments(fcinfo);
    ResultRows rows(fcinfo);
    if (arguments.is_null("model")) return rows.done();
    linear::CoefficientOptions options;
    read_options(arguments, linear::coefficient_options_table, options);
    BackendContext context("coefficients");
    StoredModel stored = read_model(arguments.datum("model"), context);
    const linear::Model& model = linear_model(stored, "coefficients", "btml.permutation_importance is for any model.");
    for (const linear::Coefficient& found : linear::coefficients(model, options))
        rows.add_row(found.feature, found.category, found.missing, found.estimate, found.std_error, found.statistic,
                     found.p_value, found.lower, found.upper);
    return rows.done();
}

} // namespace btml::pg
