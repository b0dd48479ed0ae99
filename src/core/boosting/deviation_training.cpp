#include "core/boosting/deviation_training.hpp"

#include "core/boosting/fold_trainings.hpp"
#include "core/boosting/growing/training_memory.hpp"
#include "core/numbers/usual_range.hpp"
#include "core/uncertainty/log_squares.hpp"

#include <algorithm>
#include <cmath>
#include <deque>

namespace btml::boosting {

namespace {

constexpr const char* what_residuals = "residuals out of fold";

Options without_choices(const Options& options) {
    Options other = options;
    other.early_stopping = 0;
    other.metric.reset();
    other.learn_deviation = false;
    return other;
}

// What does not depend on the loss stays as it is.
Options options_of_logarithms(const Options& options) {
    Options other = options;
    other.objective = ObjectiveNumber::squared;
    other.alpha.reset();
    other.max_step.reset();
    other.power = Options().power;
    other.criterion = Criterion::variance;
    other.l1 = other.min_gain = 0;
    return other;
}

// All rows could be trained on, which some of them cannot.
[[noreturn]] void refuse_fold(const Error& error) {
    throw Error(error.code(), "the deviation cannot be learned: of half of the rows, " + error.message(),
                error.detail(), "Use deviation => 'none', or more rows.");
}

// Returns the median distance of targets that follow each other, where one of them is so frequent that rows that are
// alike may all have it; else 0.
double step_of(const Buffer<double>& targets, RunContext& context) {
    static constexpr double min_part = 0.2;
    Buffer<double> sorted = targets.copy(context), steps(context.memory(), what_residuals);
    std::sort(sorted.begin(), sorted.end(), [&](double a, double b) {
        context.worked(1);
        return a < b;
    });
    size_t run = 1, longest = 1;
    for (size_t i = 1; i < sorted.size(); i++) {
        run = sorted[i] > sorted[i - 1] ? 1 : run + 1;
        longest = std::max(longest, run);
        if (run == 1) steps.push_back(sorted[i] - sorted[i - 1]);
    }
    if (steps.size() == 0 || static_cast<double>(longest) < min_part * static_cast<double>(sorted.size())) return 0;
    double* const middle = steps.begin() + steps.size() / 2;
    std::nth_element(steps.begin(), middle, steps.end());
    return *middle;
}

// Returns what takes these errors to logarithms. Where a few rows that are alike agree, another may be off by a step
// none the less.
uncertainty::LogSquares log_squares(const std::vector<Buffer<double>>& errors, double step, RunContext& context) {
    static constexpr double part = 1e-3; // hides ties
    static constexpr double rows = 20;   // so many may agree by chance
    Buffer<double> magnitudes(context.memory(), what_residuals);
    for (const Buffer<double>& fold : errors)
        context.for_each(fold.size(), 1, [&](size_t i) { magnitudes.push_back(std::fabs(fold[i])); });
    return {std::move(magnitudes), part, context, step / std::sqrt(rows)};
}

} // namespace

DeviationTraining::DeviationTraining(const Dataset& dataset, size_t folds, size_t spared, uint64_t seed,
                                     ThreadTeam& team, RunContext& context)
    : context_(context),
      rows_(dataset.rows),
      step_(step_of(dataset.target, context)),
      fitting_(dataset, folds, spared, seed, team, context),
      logarithms_(context.memory(), what_residuals) {}

void DeviationTraining::find_errors(const Model& model, Options options, const BinnedData& data, ThreadTeam& team) {
    options.trees = static_cast<int>(model.iterations());
    try {
        FoldTrainings trainings(
            fitting_.folds(), [&](size_t fold) { return fitting_.without(fold); }, options, data, "trees out of fold",
            team, context_);
        trainings.grow_all();
        for (size_t fold = 0; fold < fitting_.folds(); fold++)
            errors_.push_back(fitting_.rows(fold).residuals(trainings.model(fold), trainings.model(fold).trees, data,
                                                            team, context_));
    } catch (const Error& error) {
        if (error.code() != ErrorCode::invalid_argument && error.code() != ErrorCode::out_of_range) throw;
        refuse_fold(error);
    }
}

// Folds count by their rows.
std::vector<double> DeviationTraining::fold_weights() const {
    std::vector<double> weights;
    for (size_t fold = 0; fold < fitting_.folds(); fold++)
        weights.push_back(static_cast<double>(fitting_.rows(fold).rows().size()));
    return weights;
}

Model DeviationTraining::find_best_errors(const Options& options, const BinnedData& data, ThreadTeam& team) {
    FoldTrainings trainings(
        fitting_.folds(), [&](size_t fold) { return fitting_.without(fold); }, without_choices(options), data,
        "trees out of fold", team, context_);
    const size_t iterations = trainings.best_iterations({.patience = static_cast<size_t>(options.early_stopping),
                                                         .min_progress = min_progress,
                                                         .weights = fold_weights()});
    for (size_t fold = 0; fold < fitting_.folds(); fold++) {
        const Model& model = trainings.model(fold);
        errors_.push_back(fitting_.rows(fold).residuals(model, first_trees(model, iterations), data, team, context_));
    }
    Model mean = trainings.mean(iterations, fitting_.all_rows());
    errors_.push_back(fitting_.spared().residuals(mean, mean.trees, data, team, context_));
    return mean;
}

// Returns a number for each row of the join: value(number) of the numbers that parts have, else 0.
template <class Value>
Buffer<double> DeviationTraining::by_row(const std::vector<Buffer<double>>& of_parts, const Value& value) const {
    Buffer<double> numbers(context_.memory(), what_residuals, rows_, 0.0);
    for (size_t part = 0; part < of_parts.size(); part++)
        context_.for_each(of_parts[part].size(), 4,
                          [&](size_t i) { numbers[fitting_.parts()[part].rows()[i]] = value(of_parts[part][i]); });
    return numbers;
}

void DeviationTraining::take_logarithms() {
    const uncertainty::LogSquares squares = log_squares(errors_, step_, context_);
    logarithms_ = by_row(errors_, [&](double error) { return squares.of(error); });
}

// Returns the root of the mean square of z, those apart that are far from all others: they say nothing of other rows.
static double usual_deviation(const Buffer<double>& sorted_z, RunContext& context) {
    const auto for_each_z = [&](const auto& body) {
        context.for_each(sorted_z.size(), 1, [&](size_t i) { body(sorted_z[i]); });
    };
    const UsualRange usual = usual_range(for_each_z);
    double squares = 0, count = 0;
    for_each_z([&](double z) {
        if (!usual.contains(z)) return;
        squares += z * z;
        count++;
    });
    return std::sqrt(squares / count);
}

// Gives usual z the mean square 1. What is found of z does not depend on the order of the rows.
void DeviationTraining::calibrate(Model& model, uncertainty::Method method, const Buffer<double>& errors,
                                  const Buffer<double>& scores) {
    const auto standardised_by = [&](double factor) {
        uncertainty::StandardisedErrors standardised(context_);
        context_.for_each(errors.size(), 4, [&](size_t row) {
            const double deviation = factor * model.deviation->before_factor(scores[row]);
            standardised.add(errors[row], deviation * deviation);
        });
        return standardised;
    };
    const double factor = usual_deviation(standardised_by(1).sorted_z(), context_);
    model.deviation->factor = std::isnormal(factor) ? factor : 1;
    const uncertainty::StandardisedErrors standardised = standardised_by(model.deviation->factor);
    model.calibration = uncertainty::calibrate(method, standardised, standardised.likeliest_variances(), context_);
}

// Each fold's errors and deviations are those of trainings without it. The model's trees for the deviation are the mean
// of those, or of a training of all rows.
void DeviationTraining::learn(Model& model, const Options& options, const TargetRows* held_out, bool of_folds,
                              BinnedData& data, ThreadTeam& team) {
    static constexpr char phase[] = "trees for deviations";
    take_logarithms();
    for (FeatureBins& feature : data.features) feature.direction = 0;
    Options of_logarithms = options_of_logarithms(options);
    FoldTrainings trainings(
        fitting_.folds(), [&](size_t fold) { return fitting_.without(fold, &logarithms_); }, of_logarithms, data, phase,
        team, context_);
    const size_t iterations = [&] {
        const Share share(context_, 0, 0.5);
        return trainings.best_iterations({.patience = patience, .weights = fold_weights()});
    }();
    if (of_folds) {
        Model mean = trainings.mean(iterations, fitting_.all_rows());
        model.deviation = Deviation{.base = mean.bases[0], .trees = std::move(mean.trees)};
    } else {
        of_logarithms.trees = std::max(1, static_cast<int>(iterations));
        Training all(fitting_.without({}, &logarithms_), data, of_logarithms, team, context_, phase);
        const Share share(context_, 0.5, 1);
        all.grow(iterations);
        model.deviation = Deviation{.base = all.model().bases[0], .trees = all.model().trees};
    }
    if (held_out && held_out->size() > 0)
        return calibrate(model, uncertainty::Method::split_conformal,
                         held_out->residuals(model, model.trees, data, team, context_),
                         held_out->scores(model.deviation->trees, model.deviation->base, data, team, context_));
    Buffer<double> errors(context_.memory(), what_residuals), scores(context_.memory(), what_residuals);
    for (size_t fold = 0; fold < fitting_.folds(); fold++) {
        const Model& other = trainings.model(fold);
        scores_.push_back(
            fitting_.rows(fold).scores(first_trees(other, iterations), other.bases[0], data, team, context_));
    }
    if (of_folds)
        scores_.push_back(
            fitting_.spared().scores(model.deviation->trees, model.deviation->base, data, team, context_));
    for (size_t part = 0; part < errors_.size(); part++) {
        for (const double error : errors_[part]) errors.push_back(error);
        for (const double score : scores_[part]) scores.push_back(score);
    }
    calibrate(model, uncertainty::Method::out_of_fold, std::move(errors), scores);
}

void DeviationTraining::run(Model& model, const Options& options, const TargetRows* held_out, BinnedData& data,
                            ThreadTeam& team) {
    static constexpr double errors_are_known = begin + (1 - begin) / 3;
    const Options of_trees = without_choices(options);
    {
        const Share share(context_, begin, errors_are_known);
        find_errors(model, of_trees, data, team);
    }
    const Share share(context_, errors_are_known, 1);
    learn(model, of_trees, held_out, false, data, team);
}

Model DeviationTraining::fit(const Options& options, BinnedData& data, ThreadTeam& team) {
    Model model = [&] {
        const Share share(context_, 0, 0.75);
        return find_best_errors(options, data, team);
    }();
    const Share share(context_, 0.75, 1);
    learn(model, without_choices(options), nullptr, true, data, team);
    return model;
}

Buffer<double> DeviationTraining::errors_by_row() const {
    return by_row(errors_, [](double error) { return error; });
}

Buffer<double> DeviationTraining::deviations_by_row(const Model& model) const {
    return by_row(scores_,
                  [&](double score) { return model.deviation->factor * model.deviation->before_factor(score); });
}

CrossFit cross_fit(Dataset dataset, const Options& options, size_t folds, size_t spared, RunContext& context) {
    check_options(dataset, options);
    context.memory().require(cross_fit_bytes(dataset, options, folds, context), "boosted trees out of fold");
    ThreadTeam team(context);
    DeviationTraining training(dataset, folds, spared, static_cast<uint64_t>(options.seed), team, context);
    BinnedData data = [&] {
        const TrainingRows rows(dataset, team, context);
        return bin_features(dataset, rows, options.max_bins, team, context);
    }();
    Model model = training.fit(completed(options, 0), data, team);
    for (size_t f = 0; f < dataset.features.size(); f++) // which trainings over bins do without
        model.features[f].categories = dataset.features[f].categories;
    Buffer<uint32_t> of_spared(context.memory(), what_residuals);
    for (const uint32_t row : training.spared().rows()) of_spared.push_back(row);
    Buffer<double> errors = training.errors_by_row(), deviations = training.deviations_by_row(model);
    return {std::move(model), std::move(errors), std::move(deviations), std::move(of_spared)};
}

uint64_t cross_fit_bytes(const Dataset& dataset, const Options& options, size_t folds, RunContext& context) {
    constexpr uint64_t kept = 10 * sizeof(double); // of a row: targets, weights, errors, logarithms, folds
    return kept * dataset.rows + training_bytes(dataset, options, folds, context.threads(), context);
}

} // namespace btml::boosting
