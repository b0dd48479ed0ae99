#include "core/boosting/deviation_training.hpp"

#include "core/base/elementary.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace btml::boosting {

namespace {

constexpr const char* what = "residuals out of fold";

uint32_t look_up(const uint32_t* ids, uint32_t row) {
    return ids ? ids[row] : row;
}

Buffer<double> copy_of(const Buffer<double>& from, RunContext& context) {
    Buffer<double> copy(context.memory(), what, from.size());
    context.in_blocks(from.size(), 1, [&](uint64_t begin, uint64_t end) {
        std::copy(from.begin() + begin, from.begin() + end, copy.begin() + begin);
    });
    return copy;
}

FeatureColumn without_rows(const FeatureColumn& column, RunContext& context) {
    return {column.name,
            column.type,
            column.kind,
            column.table,
            Buffer<double>(context.memory(), what),
            Buffer<uint32_t>(context.memory(), what),
            {},
            column.direction};
}

// Returns a dataset of the same tables, whose row ids the other keeps, and the same features, of which bins tell.
Dataset same_tables(const Dataset& dataset, RunContext& context) {
    Dataset view{.rows = dataset.rows,
                 .tables = {},
                 .features = {},
                 .target_table = dataset.target_table,
                 .target = Buffer<double>(context.memory(), what),
                 .weight = Buffer<double>(context.memory(), what),
                 .holdout_table = -1,
                 .holdout = Buffer<uint8_t>(context.memory(), what)};
    for (const DataTable& table : dataset.tables)
        view.tables.push_back({table.rows, Buffer<uint32_t>(context.memory(), what), table.ids()});
    for (const FeatureColumn& column : dataset.features) view.features.push_back(without_rows(column, context));
    return view;
}

// Adds a table whose rows are those of the join, and returns its place.
int add_join_rows(Dataset& dataset, RunContext& context) {
    dataset.tables.push_back({dataset.rows, Buffer<uint32_t>(context.memory(), what)});
    return static_cast<int>(dataset.tables.size()) - 1;
}

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

// Returns what is added to residuals' squares, so that ties, whose residuals are next to 0, do not drown all the
// others: a small part of the median magnitude, or of the largest where the median is 0.
double little(const std::vector<Buffer<double>>& halves, RunContext& context) {
    static constexpr double part = 1e-3, least = 1e-120;
    Buffer<double> magnitudes(context.memory(), what);
    double largest = 0;
    for (const Buffer<double>& half : halves)
        context.for_each(half.size(), 1, [&](size_t i) {
            const double magnitude = std::fabs(half[i]);
            magnitudes.push_back(magnitude);
            largest = std::max(largest, magnitude);
        });
    double* const middle = magnitudes.begin() + magnitudes.size() / 2;
    std::nth_element(magnitudes.begin(), middle, magnitudes.end(), [&](double a, double b) {
        context.worked(1);
        return a < b;
    });
    return std::max(*middle > 0 ? part * *middle : part * part * largest, least);
}

// The trees of both halves' trainings that have the least loss of the rows of the other half, by their numbers of rows.
size_t best_iterations(Training& first, Training& second, const std::vector<TargetRows>& rows, size_t most,
                       int patience) {
    const double weights[] = {static_cast<double>(rows[1].rows().size()), static_cast<double>(rows[0].rows().size())};
    size_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    const auto compare = [&](const LogEntry& a, const LogEntry& b, size_t iterations) {
        const double loss = weights[0] * *a.holdout_loss + weights[1] * *b.holdout_loss;
        if (!(loss < least)) return;
        least = loss;
        best = iterations;
    };
    compare(*first.model().baseline, *second.model().baseline, 0);
    for (size_t t = 1; t <= most && t <= best + static_cast<size_t>(patience); t++) {
        first.grow(t);
        second.grow(t);
        if (first.log().size() < t || second.log().size() < t) break; // nothing is left to learn
        compare(first.log()[t - 1], second.log()[t - 1], t);
    }
    return best;
}

} // namespace

DeviationTraining::DeviationTraining(const Dataset& dataset, uint64_t seed, ThreadTeam& team, RunContext& context)
    : context_(context), kept_(same_tables(dataset, context)), logarithms_(context.memory(), what) {
    kept_.target = copy_of(dataset.target, context);
    kept_.weight = copy_of(dataset.weight, context);
    if (dataset.offset) {
        kept_.offset = without_rows(*dataset.offset, context);
        kept_.offset->numbers = copy_of(dataset.offset->numbers, context);
    }
    const uint32_t* const ids = dataset.tables[dataset.target_table].ids();
    const uint32_t* const holdout_ids =
        dataset.holdout_table < 0 ? nullptr : dataset.tables[dataset.holdout_table].ids();
    const auto is_trained = [&](uint32_t row) {
        return (dataset.weight.empty() || dataset.weight[look_up(ids, row)] > 0) &&
               (dataset.holdout_table < 0 || dataset.holdout[look_up(holdout_ids, row)] == 0);
    };
    const Buffer<uint32_t> shuffled = shuffled_target_rows(dataset, is_trained, seed, team, context);
    if (shuffled.size() < 2)
        throw Error(ErrorCode::invalid_argument,
                    "deviation => 'learned' needs two rows of the target's table to train on");
    Buffer<uint8_t> half(context.memory(), what, dataset.tables[dataset.target_table].rows, 0);
    for (size_t i = 1; i < shuffled.size(); i += 2) half[shuffled[i]] = 1;
    for (int h = 0; h < 2; h++) rows_.emplace_back(context);
    context.for_each(dataset.rows, 3, [&](uint64_t i) {
        const auto row = static_cast<uint32_t>(i);
        if (is_trained(row)) rows_[half[look_up(ids, row)]].add(dataset, row);
    });
}

// Rows of the half are trained on, those of the other one are held out.
Buffer<uint8_t> DeviationTraining::roles_of_half(size_t half) const {
    Buffer<uint8_t> roles(context_.memory(), what, kept_.rows, static_cast<uint8_t>(Role::ignored));
    for (size_t h = 0; h < 2; h++)
        context_.for_each(rows_[h].rows().size(), 1, [&](size_t i) {
            roles[rows_[h].rows()[i]] = static_cast<uint8_t>(h == half ? Role::train : Role::holdout);
        });
    return roles;
}

Buffer<uint8_t> DeviationTraining::roles_of_all() const {
    Buffer<uint8_t> roles = roles_of_half(0);
    context_.for_each(rows_[1].rows().size(), 1,
                      [&](size_t i) { roles[rows_[1].rows()[i]] = static_cast<uint8_t>(Role::train); });
    return roles;
}

Dataset DeviationTraining::view(Buffer<uint8_t> roles) const {
    Dataset dataset = same_tables(kept_, context_);
    dataset.target = copy_of(kept_.target, context_);
    dataset.weight = copy_of(kept_.weight, context_);
    if (kept_.offset) {
        dataset.offset = without_rows(*kept_.offset, context_);
        dataset.offset->numbers = copy_of(kept_.offset->numbers, context_);
    }
    dataset.holdout_table = add_join_rows(dataset, context_);
    dataset.holdout = std::move(roles);
    return dataset;
}

// Its target, and with it the weight, are of rows of the join.
Dataset DeviationTraining::view_of_logarithms(Buffer<uint8_t> roles) const {
    Dataset dataset = same_tables(kept_, context_);
    for (FeatureColumn& feature : dataset.features) feature.direction = 0;
    dataset.target_table = dataset.holdout_table = add_join_rows(dataset, context_);
    dataset.target = copy_of(logarithms_, context_);
    dataset.holdout = std::move(roles);
    if (kept_.weight.empty()) return dataset;
    const uint32_t* const ids = kept_.tables[kept_.target_table].ids();
    dataset.weight.resize(kept_.rows);
    context_.for_each(kept_.rows, 1, [&](uint64_t row) {
        dataset.weight[row] = kept_.weight[look_up(ids, static_cast<uint32_t>(row))];
    });
    return dataset;
}

void DeviationTraining::find_errors(const Model& model, Options options, const BinnedData& data, ThreadTeam& team) {
    options.trees = static_cast<int>(model.iterations());
    for (size_t half = 0; half < 2; half++) { // of which the training knows nothing
        Training training(view(roles_of_half(1 - half)), data, options, team, context_,
                          half == 0 ? "trees without the first half" : "trees without the second half");
        training.grow(model.iterations());
        errors_.push_back(rows_[half].residuals(training.model(), data, team, context_));
    }
}

void DeviationTraining::take_logarithms() {
    const double added = little(errors_, context_);
    logarithms_ = Buffer<double>(context_.memory(), what, kept_.rows, 0.0);
    for (size_t half = 0; half < 2; half++)
        context_.for_each(errors_[half].size(), 4, [&](size_t i) {
            const double ratio = errors_[half][i] / added;
            logarithms_[rows_[half].rows()[i]] = logarithm(1 + std::min(ratio * ratio, 1e300)) + 2 * logarithm(added);
        });
}

// Gives z the mean square 1. They are added up in their order, so that the order of rows does not matter.
void DeviationTraining::calibrate(Model& model, uncertainty::Method method, Buffer<double> errors,
                                  const Buffer<double>& scores) {
    context_.for_each(errors.size(), 4, [&](size_t i) { errors[i] /= model.deviation->before_factor(scores[i]); });
    std::sort(errors.begin(), errors.end(), [&](double a, double b) {
        context_.worked(1);
        return a < b;
    });
    double squares = 0;
    for (const double error : errors) squares += error * error;
    const double factor = std::sqrt(squares / static_cast<double>(errors.size()));
    model.deviation->factor = std::isnormal(factor) ? factor : 1;
    for (double& error : errors) error /= model.deviation->factor;
    model.calibration = uncertainty::calibrate(method, {errors.data(), errors.size()}, context_);
}

// Takes errors and deviations of either half from trainings over the other one.
void DeviationTraining::calibrate_by_halves(Model& model, std::array<const Model*, 2> of_halves, size_t iterations,
                                            const BinnedData& data, ThreadTeam& team) {
    Buffer<double> errors(context_.memory(), what), scores(context_.memory(), what);
    for (size_t half = 0; half < 2; half++) {
        const Model& other = *of_halves[1 - half];
        const auto trees = std::span(other.trees).first(std::min(iterations, other.trees.size()));
        for (const double error : errors_[half]) errors.push_back(error);
        for (const double score : rows_[half].scores(trees, other.bases[0], data, team, context_))
            scores.push_back(score);
    }
    calibrate(model, uncertainty::Method::out_of_fold, std::move(errors), scores);
}

void DeviationTraining::run(Model& model, const Options& options, const CalibrationRows* held_out, BinnedData& data,
                            ThreadTeam& team, RunContext& context) {
    const auto in_share = [&](int part, const auto& body) {
        const Share share(context, begin + (1 - begin) * part / 3, begin + (1 - begin) * (part + 1) / 3);
        return body();
    };
    static constexpr char phase[] = "trees for deviations";
    const Options of_trees = without_choices(options);
    in_share(0, [&] { find_errors(model, of_trees, data, team); });
    take_logarithms();
    for (FeatureBins& feature : data.features) feature.direction = 0;
    Options of_logarithms = options_of_logarithms(of_trees);
    Training first(view_of_logarithms(roles_of_half(0)), data, of_logarithms, team, context, phase, 2);
    Training second(view_of_logarithms(roles_of_half(1)), data, of_logarithms, team, context, phase, 2);
    const auto most = static_cast<size_t>(of_logarithms.trees);
    const size_t iterations = in_share(1, [&] { return best_iterations(first, second, rows_, most, patience); });
    of_logarithms.trees = std::max(1, static_cast<int>(iterations));
    Training all(view_of_logarithms(roles_of_all()), data, of_logarithms, team, context, phase);
    in_share(2, [&] { all.grow(iterations); });
    model.deviation = Deviation{.base = all.model().bases[0], .trees = all.model().trees};
    if (!held_out || held_out->size() == 0)
        return calibrate_by_halves(model, {&first.model(), &second.model()}, iterations, data, team);
    calibrate(model, uncertainty::Method::split_conformal, held_out->residuals(model, data, team, context),
              held_out->scores(model.deviation->trees, model.deviation->base, data, team, context));
}

} // namespace btml::boosting
