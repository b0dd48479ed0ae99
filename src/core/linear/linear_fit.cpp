#include "core/linear/linear_fit.hpp"

#include "core/linear/coefficient_errors.hpp"
#include "core/linear/join_likelihood.hpp"
#include "core/linear/newton_step.hpp"
#include "core/linear/row_likelihood.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

namespace btml::linear {

namespace {

Family family_of(const std::vector<std::string>& labels, const Options& options) {
    const Family family = options.family;
    if (labels.empty()) return family == Family::automatic ? Family::gaussian : family;
    const std::string setting = format("family => '%s'", name_of(family));
    if (family != Family::automatic && family != Family::binomial)
        throw Error(ErrorCode::wrong_type, format("the target has labels, %s needs numbers", setting.c_str()),
                    "The family for booleans and labels is \"binomial\".", "Leave out the family.");
    if (labels.size() > 2)
        throw Error(ErrorCode::invalid_argument,
                    format("the target has %zu labels, a linear model takes two", labels.size()), "",
                    "btml.boost_fit predicts any number of labels.");
    return Family::binomial;
}

void refuse_one_value(const std::vector<std::string>& labels, Family family, double mean) {
    const bool is_alone = family == Family::binomial ? mean == 0 || mean == 1 : family == Family::poisson && mean == 0;
    if (!is_alone) return;
    const std::string value = labels.empty() ? shortest(mean) : '"' + labels[static_cast<size_t>(mean)] + '"';
    throw NoCoefficients(format("family => '%s' has no finite coefficients: the target is %s in all training rows",
                                name_of(family), value.c_str()),
                         family == Family::binomial ? "Both values must occur."
                                                    : "Some target must be greater than 0.");
}

// Finds the coefficients of the least objective.
class Fitter {
  public:
    // model: has features, labels and options. Keeps references to both.
    Fitter(Likelihood& likelihood, const Model& model)
        : likelihood_(likelihood),
          model_(model),
          options_(model.options),
          context_(likelihood.context()),
          targets_(likelihood.targets()),
          step_(options_, targets_.weight, likelihood.team(), context_),
          sums_(context_.memory()) {
        refuse_one_value(model.labels, family(), targets_.mean());
    }

    void run() {
        coefficients_.assign(columns().size(), 0);
        coefficients_[0] = targets_.start.value_or(score_of_mean(family(), targets_.mean()));
        sums_ = likelihood_.at(coefficients_, Curvature::expected);
        null_deviance_ = sums_.deviance;
        if (options_.penalty == 0)
            drop_dependent();
        else if (options_.l1_ratio == 0)
            check_penalty();
        while (!iterate())
            if (iterations_ >= static_cast<uint32_t>(options_.iterations)) {
                check_separation();
                refuse_iterations();
            }
        check_separation();
        // The last step is far smaller than what convergence asked for, and changes nothing but coefficients.
        const std::vector<double> step = next_step();
        for (size_t i = 0; i < step.size(); i++) coefficients_[i] += step[i];
        if (options_.penalty == 0 && family() == Family::gamma)
            sums_ = likelihood_.at(coefficients_, Curvature::expected);
    }

    const std::vector<double>& coefficients() const { return coefficients_; }
    // Returns the sums at the coefficients, with the expected curvature where there is no penalty.
    LikelihoodSums& sums() { return sums_; }

    Statistics statistics() const;

  private:
    Family family() const { return likelihood_.family(); }
    // Says whether coefficients may run away.
    bool is_unbounded() const {
        return options_.penalty == 0 && (family() == Family::binomial || family() == Family::poisson);
    }
    double objective(const LikelihoodSums& sums, std::span<const double> coefficients) const {
        return sums.deviance / (2 * targets_.weight) + step_.penalty_of(coefficients);
    }
    std::vector<double> next_step() const;
    void drop_dependent();
    void check_penalty();
    bool iterate();
    bool is_rounding(std::span<const double> step) const;
    double first_order_gain(std::span<const double> step) const;
    void check_separation();
    [[noreturn]] void refuse_singular() const;
    [[noreturn]] void refuse_separation(std::span<const double> step) const;
    [[noreturn]] void refuse_iterations() const;

    const Columns& columns() const { return likelihood_.columns(); }

    Likelihood& likelihood_;
    const Model& model_;
    const Options& options_;
    RunContext& context_;
    const TargetSums targets_;
    const NewtonStep step_;
    std::vector<double> coefficients_;
    LikelihoodSums sums_; // at the coefficients
    double null_deviance_ = 0;
    uint32_t iterations_ = 0;
};

std::vector<double> Fitter::next_step() const {
    try {
        return step_(sums_, coefficients_);
    } catch (const Error& error) {
        if (error.code() == ErrorCode::out_of_range) refuse_singular();
        throw;
    }
}

// Rows whose scores run away soon weigh nothing, and the matrix is singular.
void Fitter::refuse_singular() const {
    if (is_unbounded()) refuse_separation({});
    refuse_iterations();
}

// At the first coefficients all rows have the same mean but for their offsets, and the matrix is that of the features.
void Fitter::drop_dependent() {
    const std::vector<size_t> order = columns().in_order();
    const std::vector<size_t> dependent = dependent_places(sums_.matrix, columns().size(), order, context_);
    if (dependent.empty()) return;
    std::vector<size_t> kept;
    for (size_t place = 0; place < columns().size(); place++)
        if (std::find(dependent.begin(), dependent.end(), place) == dependent.end()) kept.push_back(place);
    likelihood_.drop(dependent);
    keep_places(sums_, kept, context_);
    coefficients_.resize(kept.size());
}

// A ridge penalty must not be rounding to what columns have beside those that they nearly follow from.
void Fitter::check_penalty() {
    const size_t size = columns().size();
    Buffer<double> matrix = sums_.matrix.copy(context_);
    for (size_t i = 1; i < size; i++) matrix[i * size + i] += options_.penalty * targets_.weight;
    if (dependent_places(matrix, size, columns().in_order(), context_).empty()) return;
    throw NoCoefficients(format("features follow from each other, which penalty => %s does not make up for",
                                shortest(options_.penalty).c_str()),
                         "", "Give a larger penalty, or none: such features are dropped then.");
}

// Takes a step, which is halved until the objective does not grow. Returns whether the objective has converged.
bool Fitter::iterate() {
    static constexpr int halvings = 40;
    static constexpr double converged = 1e-10, rounding = 1e-12, rounding_of_step = 1e-8;
    const std::vector<double> step = next_step();
    const double before = objective(sums_, coefficients_), size = std::fabs(before) + 1e-3;
    const bool is_gaussian = family() == Family::gaussian;
    if (iterations_ > 0 && is_rounding(step)) return true;
    iterations_++;
    double length = 1;
    for (int halving = 0; halving < halvings; halving++, length /= 2) {
        std::vector<double> tried = coefficients_;
        for (size_t i = 0; i < tried.size(); i++) tried[i] += length * step[i];
        LikelihoodSums sums = likelihood_.at(tried, is_gaussian ? Curvature::none : Curvature::observed);
        const double after = objective(sums, tried);
        if (!is_gaussian && !(after <= before + rounding * size)) continue;
        if (is_gaussian) sums.matrix = std::move(sums_.matrix); // is the same everywhere
        sums_ = std::move(sums);
        coefficients_ = std::move(tried);
        context_.progress("fitting", iterations_, 0);
        return is_gaussian || (length == 1 && std::fabs(before - after) <= converged * size);
    }
    if (first_order_gain(step) > rounding_of_step * size) refuse_iterations();
    return true; // What the step would gain is rounding.
}

// Where targets are large and are met, the deviance is of rounding alone and never comes to rest, but coefficients do.
bool Fitter::is_rounding(std::span<const double> step) const {
    static constexpr double rounding = 1e-13;
    const auto largest_of = [](std::span<const double> numbers) {
        double largest = 0;
        for (const double number : numbers) largest = std::max(largest, std::fabs(number));
        return largest;
    };
    return largest_of(step) <= rounding * largest_of(coefficients_);
}

// Returns what the objective would fall by if it went on as it begins.
double Fitter::first_order_gain(std::span<const double> step) const {
    double gain = step_.penalty_of(coefficients_);
    std::vector<double> reached = coefficients_;
    for (size_t i = 0; i < step.size(); i++) {
        gain += sums_.slopes[i] * step[i] / targets_.weight;
        reached[i] += step[i];
    }
    return gain - step_.penalty_of(reached);
}

// Where the target's values are separated, scores run away by about 1 an iteration while the deviance hardly changes.
// Where they are only large, another iteration or two leave nothing to move.
void Fitter::check_separation() {
    static constexpr double large = 10, moves = 0.1;
    static constexpr int turns = 5;
    if (!is_unbounded()) return;
    for (int turn = 0; turn < turns; turn++) {
        if (sums_.largest < large) return;
        if (likelihood_.at(next_step(), Curvature::none).largest <= moves) return;
        iterate();
    }
    refuse_separation(next_step());
}

void Fitter::refuse_separation(std::span<const double> step) const {
    std::string of;
    double largest = 0;
    for (size_t place = 1; place < columns().size(); place++) {
        const double moved = std::fabs(step.empty() ? coefficients_[place] : step[place]);
        if (!(moved > largest)) continue;
        largest = moved;
        of = " of feature \"" + model_.features[columns().at(place).feature].name + '"';
    }
    throw NoCoefficients(format("family => '%s' has no finite coefficient%s", name_of(family()), of.c_str()),
                         family() == Family::binomial
                             ? "The features separate the target's values in some rows, or one value is "
                               "too far from the others to tell."
                             : "The target is 0 in all rows that the features set apart.",
                         "Give a penalty, as penalty => 0.01, or leave out the feature.");
}

void Fitter::refuse_iterations() const {
    const bool is_at_limit = iterations_ >= static_cast<uint32_t>(options_.iterations);
    throw NoCoefficients(format("family => '%s' did not converge in %u iterations", name_of(family()), iterations_), "",
                         is_at_limit ? "Give more iterations, or a penalty." : "Give a penalty.");
}

Statistics Fitter::statistics() const {
    Statistics found;
    const auto rows = static_cast<double>(targets_.rows);
    const auto count = static_cast<double>(
        1 + std::count_if(coefficients_.begin() + 1, coefficients_.end(), [](double x) { return x != 0; }));
    const auto coefficients = options_.penalty == 0 ? static_cast<double>(columns().size()) : count;
    found.weight = targets_.weight;
    found.deviance = sums_.deviance;
    found.null_deviance = null_deviance_;
    found.iterations = iterations_;
    found.degrees_of_freedom = std::max(0.0, rows - coefficients);
    const bool is_estimated = family() == Family::gaussian || family() == Family::gamma;
    const double dispersion = is_estimated ? sums_.pearson / found.degrees_of_freedom : 1;
    if (std::isfinite(dispersion)) found.dispersion = dispersion;
    if (null_deviance_ > 0 && !targets_.is_constant) // of a constant it is rounding
        found.r_squared = std::max(0.0, 1 - sums_.deviance / null_deviance_);
    if (found.r_squared && family() == Family::gaussian && options_.penalty == 0 && found.degrees_of_freedom > 0)
        found.adjusted_r_squared = 1 - (1 - *found.r_squared) * (rows - 1) / found.degrees_of_freedom;
    const double log_likelihood =
        linear::log_likelihood(family(), rows, targets_.weight, sums_.deviance, targets_.terms);
    if (!std::isfinite(log_likelihood)) return found;
    found.log_likelihood = log_likelihood;
    if (options_.penalty == 0) found.aic = -2 * log_likelihood + 2 * (coefficients + is_estimated);
    return found;
}

// Puts coefficients of standardised columns into units of the features.
void fill_columns(Model& model, const Columns& columns, std::span<const double> coefficients) {
    model.columns = columns.all();
    model.intercept = model.centre = coefficients[0];
    for (size_t place = 1; place < columns.size(); place++) {
        Column& column = model.columns[columns.number_at(place)];
        column.estimate = coefficients[place] / column.scale;
        if (place < columns.dense())
            model.intercept -= column.estimate * column.mean;
        else
            model.centre += column.estimate * column.mean;
    }
    if (model.has_offset()) model.intercept -= model.columns.back().mean;
}

// Numbers that are stored are finite.
void check_finite_model(const Model& model) {
    for (const Column& column : model.columns)
        if (!std::isfinite(column.estimate) || !std::isfinite(column.mean))
            throw Error(ErrorCode::out_of_range, format("the coefficient of \"%s\" is no finite number",
                                                        model.features[column.feature].name.c_str()));
}

// Says where nothing is left to estimate errors from.
void warn_of_no_errors(const Model& model, std::vector<std::string>& warnings) {
    if (model.options.penalty == 0 && model.statistics.degrees_of_freedom == 0)
        warnings.push_back("the model has as many coefficients as rows: it has no standard errors");
}

// Says which columns have no coefficient.
void warn_of_dropped(const Model& model, std::vector<std::string>& warnings) {
    static constexpr size_t max_names = 10;
    for (const ColumnState state : {ColumnState::constant, ColumnState::dependent}) {
        std::string names;
        size_t count = 0;
        for (const Column& column : model.columns)
            if (column.state == state && ++count <= max_names)
                names += (names.empty() ? "" : ", ") + model.name_of(column);
        if (count > max_names) names += format(", and %zu more", count - max_names);
        if (count > 0)
            warnings.push_back((state == ColumnState::constant
                                    ? "constant in all training rows, and without a coefficient: "
                                    : "without a coefficient, because they follow from features before them: ") +
                               names);
    }
}

// Returns what robust errors need beside the curvature, at the coefficients; nothing for others.
using SquaresOf = std::function<std::optional<Buffer<double>>(std::span<const double> coefficients)>;

// Fills in what follows from the likelihood.
void fit_to(Likelihood& likelihood, const SquaresOf& squares_of, Model& model) {
    Fitter fitter(likelihood, model);
    fitter.run();
    model.statistics = fitter.statistics();
    fill_columns(model, likelihood.columns(), fitter.coefficients());
    check_finite_model(model);
    if (model.has_errors())
        fill_errors(model, likelihood, std::move(fitter.sums().matrix), squares_of(fitter.coefficients()));
    if (model.holdout_rows > 0) model.statistics.holdout_deviance = likelihood.held_out(fitter.coefficients());
}

std::optional<Buffer<double>> squared_slopes(const RowLikelihood& likelihood, std::span<const double> coefficients,
                                             Model& model) {
    if (model.options.std_error == StdError::model) return {};
    Buffer<double> squares = likelihood.squared_slopes(coefficients, model.statistics.clusters);
    if (const FeatureColumn* const divider = likelihood.divider(); divider && model.statistics.clusters < 2)
        throw Error(ErrorCode::invalid_argument,
                    format("group_by \"%s\" has one value in the training rows", divider->name.c_str()),
                    "Robust errors by group need two groups at least.");
    return squares;
}

double& begin_phase(const char* name, FitResult& result, RunContext& context) {
    context.progress(name, 0, 0);
    return result.timings.emplace_back(Timing{name, 0}).seconds;
}

// Makes the offset the last feature. Error out_of_range where exp does not take it.
bool append_offset(Dataset& dataset, Family family, RunContext& context) {
    if (!dataset.offset) return false;
    context.for_each(dataset.offset->numbers.size(), 1, [&](uint64_t row) {
        const double number = dataset.offset->numbers[row];
        check_given(number, "offset");
        if (family != Family::gaussian && std::fabs(number) > max_score)
            throw Error(ErrorCode::out_of_range,
                        format("offset is %s in magnitude in a row, family => '%s' takes at most %g",
                               shortest(std::fabs(number)).c_str(), name_of(family), max_score),
                        "", "It is added to the score before exp: of an exposure, give the logarithm.");
        check_size(number, "offset");
    });
    dataset.features.push_back(std::move(*dataset.offset));
    dataset.offset.reset();
    return true;
}

// Begins a model of what options and labels say, of so many features.
FitResult begin_model(const Options& options, const std::vector<std::string>& labels, size_t features) {
    if (features == 0) throw Error(ErrorCode::invalid_argument, "there are no features to fit");
    options.validate();
    FitResult result;
    result.model.options = options;
    result.model.options.family = family_of(labels, options);
    result.model.labels = labels;
    return result;
}

} // namespace

FitResult fit(Dataset dataset, const Options& options, RunContext& context) {
    FitResult result = begin_model(options, dataset.labels, dataset.features.size());
    Model& model = result.model;
    const bool has_offset = append_offset(dataset, model.options.family, context);
    ThreadTeam team(context);
    OrderedRows rows = [&] {
        const Stopwatch watch(begin_phase("sorting rows", result, context));
        return order_rows(std::move(dataset), team, context);
    }();
    model.features = {rows.dataset.features.begin(), rows.dataset.features.end()};
    model.rows = rows.training;
    model.holdout_rows = rows.dataset.rows - rows.training;
    const Stopwatch watch(begin_phase("fitting", result, context));
    Design design(std::move(rows), team, context, has_offset);
    model.references = design.references();
    model.missing = design.missing();
    RowLikelihood likelihood(design, model.options.family, team, context);
    const auto squares_of = [&](std::span<const double> at) { return squared_slopes(likelihood, at, model); };
    fit_to(likelihood, squares_of, model);
    warn_of_dropped(model, result.warnings);
    warn_of_no_errors(model, result.warnings);
    return result;
}

FitResult fit_factorised(relational::Join join, const relational::DatasetPlan& plan, const Options& options,
                         RunContext& context) {
    FitResult result = begin_model(options, plan.labels, plan.features.size());
    Model& model = result.model;
    ThreadTeam team(context);
    const auto likelihood = [&] {
        const Stopwatch watch(begin_phase("grouping rows", result, context));
        return std::make_unique<JoinLikelihood>(std::move(join), plan, team, context);
    }();
    const Stopwatch watch(begin_phase("fitting", result, context));
    model.features = likelihood->features();
    model.references = likelihood->references();
    model.missing = likelihood->missing();
    model.holdout_rows = likelihood->held_rows();
    model.rows = likelihood->targets().rows;
    fit_to(
        *likelihood, [](std::span<const double>) { return std::nullopt; }, model);
    warn_of_dropped(model, result.warnings);
    warn_of_no_errors(model, result.warnings);
    return result;
}

} // namespace btml::linear
