#include "core/boosting/booster.hpp"

#include "core/boosting/binning/shared_categories.hpp"
#include "core/boosting/deviation_training.hpp"
#include "core/boosting/factorised/factorised_set.hpp"
#include "core/boosting/growing/grower.hpp"
#include "core/boosting/growing/training_memory.hpp"
#include "core/boosting/held/distributed_set.hpp"
#include "core/boosting/objectives/holdout_metric.hpp"
#include "core/boosting/rows/row_hash.hpp"
#include "core/boosting/warm_start.hpp"
#include "core/numbers/rng.hpp"

#include <cmath>
#include <numeric>

namespace btml::boosting {

namespace {

// Error invalid_argument where something asks for rows held out, and there are none.
void check_holdout(const Options& options, uint64_t rows) {
    const char* const option = options.early_stopping > 0 ? "early_stopping" : options.metric ? "metric" : nullptr;
    if (option && rows == 0)
        throw Error(ErrorCode::invalid_argument, format("%s needs held-out rows", option), {},
                    "Name a boolean column of the source that is true for some rows as holdout.");
}

void check(const Dataset& dataset, const Options& options, bool factorised) {
    check_options(dataset, options);
    check_holdout(options, dataset.holdout_table < 0 ? 0 : std::max<uint64_t>(1, dataset.rows));
    if (!factorised && dataset.rows > UINT32_MAX - 1)
        throw Error(ErrorCode::limit_exceeded, format("the join has %" PRIu64 " rows, at most %u can be enumerated",
                                                      dataset.rows, UINT32_MAX - 1));
    const auto expect = [](bool good, const char* what) {
        if (!good) throw Error(ErrorCode::internal, format("inconsistent dataset: %s", what));
    };
    for (const DataTable& table : dataset.tables)
        expect(factorised ||
                   (table.row_ids.empty() ? table.rows == dataset.rows : table.row_ids.size() == dataset.rows),
               "row ids");
    for (const FeatureColumn& column : dataset.features) {
        expect(column.table >= 0 && static_cast<size_t>(column.table) < dataset.tables.size(), "table of a feature");
        expect(column.rows() == dataset.tables[column.table].rows, "length of a feature");
    }
    const auto rows_of = [&](int table) { return dataset.tables.at(table).rows; };
    expect(dataset.target.size() == rows_of(dataset.target_table), "length of the target");
    expect(dataset.weight.empty() || dataset.weight.size() == dataset.target.size(), "length of the weight");
    expect(dataset.holdout_table < 0 || dataset.holdout.size() == rows_of(dataset.holdout_table),
           "length of the holdout");
}

// Errors invalid_argument, wrong_type.
void check_what_objective_takes(const Dataset& dataset, const Options& options) {
    const Objective& objective = objective_of(options.objective);
    if (!objective.has_scores_by_label() && !objective.ranks) return;
    const auto refuse = [&](const char* what) {
        throw Error(ErrorCode::invalid_argument,
                    format("%s is not valid with objective => '%s'", what, name_of(options.objective)));
    };
    if (dataset.offset) refuse("offset");
    for (const FeatureColumn& column : dataset.features)
        if (column.direction != 0) refuse(column.direction > 0 ? "increasing" : "decreasing");
}

// The features of one tree: each equally likely, ascending.
std::vector<int> sample_features(size_t count, double fraction, uint64_t seed, uint64_t tree) {
    std::vector<int> features(count);
    std::iota(features.begin(), features.end(), 0);
    const auto wanted = static_cast<size_t>(std::ceil(fraction * count));
    if (wanted >= count) return features;
    static constexpr uint64_t stream = uint64_t{1} << 32; // apart from those that sample rows
    for (size_t i = 0; i < wanted; i++) {
        const uint64_t step = random_bits(seed, stream + tree, i) % (count - i);
        std::swap(features[i], features[i + step]);
    }
    features.resize(wanted);
    std::sort(features.begin(), features.end());
    return features;
}

} // namespace

// One training, whatever holds the rows.
class Booster {
  public:
    Booster(Dataset dataset, const Options& options, ThreadTeam& team, RunContext& context,
            bool may_be_constant = false, std::optional<Model> start = {})
        : options_(completed(options, dataset.labels.size())),
          may_be_constant_(may_be_constant),
          context_(context),
          team_(team),
          dataset_(std::move(dataset)) {
        check_what_objective_takes(dataset_, options_);
        if (team.peers())
            share_categories(dataset_, *team.peers(), context_, max_histogram_bins - 1); // one bin is of NULL
        if (start) start_.emplace(std::move(*start), dataset_, options_, context_);
    }

    FitResult run() {
        try {
            hold_all_rows();
        } catch (const DegenerateTarget& target) {
            if (!may_be_constant_) throw;
            return constant(target);
        }
        {
            const Share share(context_, 0, deviation_ ? DeviationTraining::begin : 1);
            grow_trees(*set_);
        }
        set_.reset();
        calibrate();
        return std::move(result_);
    }

    FitResult run_distributed(Coordinator& peers) {
        hold_all_rows();
        DistributedSet all(*set_, peers, options_, context_);
        grow_trees(all);
        all.finish();
        return std::move(result_);
    }

    void serve(Holder& peers) {
        hold_all_rows();
        boosting::serve(*set_, peers, context_);
    }

    FitResult run_factorised(relational::GroupedJoin join, const factorised::Allowance& allowance) {
        context_.memory().require(FactorisedSet::bytes(dataset_, join, options_),
                                  sketches_squares(options_) ? "sums by row, filters of leaves and sketches"
                                                             : "sums by row and filters of leaves");
        describe();
        subtract_offset();
        std::optional<FactorisedSet> set;
        time("binning", [&] { set.emplace(dataset_, join, options_, team_, context_, given_bases(), allowance); });
        check_holdout(options_, set->holdout_rows());
        context_.memory().require(TreeGrower::histogram_bytes(set->layout().max_bins(), set->rows(0), options_),
                                  "histograms");
        grow_trees(*set);
        result_.model.sketch = set->sketch_report();
        result_.residuals = set->residuals_report();
        return std::move(result_);
    }

    // Starts a training over bins that exist; grow_iteration() continues it.
    void start(const BinnedData& data, const char* phase, int parallel) {
        phase_ = phase;
        describe();
        subtract_offset();
        rows_.emplace(dataset_, team_, context_);
        check_holdout(options_, rows_->holdout_rows());
        hold_rows(data, parallel);
        start_trees(*set_);
    }

    bool is_done() const { return stopped_ || result_.model.iterations() >= static_cast<size_t>(options_.trees); }

    void grow_iteration() {
        Model& model = result_.model;
        const size_t t = model.iterations();
        context_.share_progress(phase_, t, options_.trees);
        bool at_rest = options_.row_fraction >= 1 && options_.feature_fraction >= 1;
        for (size_t score = 0; score < model.scores(); score++) {
            context_.poll();
            const uint64_t tree = t * model.scores() + score;
            model.trees.push_back(grower_->grow(
                t, static_cast<int>(score),
                sample_features(training_->features().size(), options_.feature_fraction, options_.seed, tree)));
            // Trees without effect would be followed by their likes for ever.
            at_rest = at_rest && grower_->is_stump() && grower_->leaves()[0].value == 0;
            const Stopwatch watch(updating_);
            training_->add(grower_->leaves());
        }
        stopped_ = !finish_iteration(*training_);
        if (stopped_ || !at_rest) return;
        if (options_.early_stopping == 0) repeat_last_trees();
        stopped_ = true;
    }

    const std::vector<LogEntry>& log() const { return result_.model.log; }
    const Model& model() const { return result_.model; }

  private:
    template <class Body>
    void time(const char* phase, const Body& body) {
        Timing timing{phase, 0};
        {
            const Stopwatch watch(timing.seconds);
            body();
        }
        result_.timings.push_back(std::move(timing));
    }

    void describe() {
        Model& model = result_.model;
        model.options = options_;
        model.features.assign(dataset_.features.begin(), dataset_.features.end());
        model.labels = dataset_.labels;
        model.label_weights = dataset_.label_weights;
        const auto has_direction = [](const FeatureColumn& column) { return column.direction != 0; };
        if (std::any_of(dataset_.features.begin(), dataset_.features.end(), has_direction))
            for (const FeatureColumn& column : dataset_.features) model.directions.push_back(column.direction);
        if (!dataset_.offset) return;
        model.offset = static_cast<int32_t>(model.features.size());
        model.features.push_back(*dataset_.offset);
        if (!model.directions.empty()) model.directions.push_back(0);
    }

    // Where predictions are scores, a target without its offset is what trees are to predict.
    void subtract_offset() {
        if (!dataset_.offset || objective_of(options_.objective).link != Link::identity) return;
        const Buffer<double>& offset = dataset_.offset->numbers;
        context_.for_each(dataset_.target.size(), 1, [&](uint64_t row) { dataset_.target[row] -= offset[row]; });
        dataset_.offset.reset();
    }

    // Errors name the label that is a binary target's only one.
    std::unique_ptr<RowScores> start_scores(const TrainingRows& training) {
        try {
            const LossOptions options{options_.objective, options_.alpha.value_or(0), options_.power, options_.balanced,
                                      given_bases()};
            auto scores = objective_of(options_.objective).start(training, dataset_, options, team_, context_);
            result_.model.label_weights = dataset_.label_weights; // balanced labels have them now
            return scores;
        } catch (const DegenerateTarget& target) {
            if (options_.objective != ObjectiveNumber::binary || dataset_.labels.empty()) throw;
            throw DegenerateTarget::of_label(dataset_.labels[target.bases()[0] > 0], target.bases());
        }
    }

    FitResult constant(const DegenerateTarget& target) {
        Model& model = result_.model;
        model.bases = target.bases();
        model.rows = rows_->train_rows();
        model.holdout_rows = rows_->holdout_rows();
        result_.constant_reason = target.message();
        return std::move(result_);
    }

    // Features without a histogram would be searched by rows.
    void check_bins(const BinnedData& data) const {
        for (size_t f = 0; f < data.features.size(); f++)
            if (data.features[f].size() > max_histogram_bins)
                throw Error(ErrorCode::not_supported,
                            format("feature \"%s\" has %zu bins, too many for rows on several machines",
                                   dataset_.features[f].name.c_str(), data.features[f].size()),
                            {}, format("At most %zu are possible, that of NULL included.", max_histogram_bins));
    }

    // Where held-out rows choose the number of trees, they say too little of how far off the chosen ones are; half of
    // them stays out of that.
    void take_calibration_rows() {
        if (dataset_.holdout_table < 0 || team_.peers() || !objective_of(options_.objective).has_interval()) return;
        calibration_rows_ = boosting::take_calibration_rows(dataset_, options_.early_stopping > 0,
                                                            static_cast<uint64_t>(options_.seed), team_, context_);
    }

    void calibrate() {
        if (deviation_) {
            time("deviations", [&] {
                deviation_->run(result_.model, options_, calibration_rows_ ? &*calibration_rows_ : nullptr, *data_,
                                team_);
            });
            return;
        }
        if (!calibration_rows_ || calibration_rows_->size() == 0) return;
        time("calibrating", [&] {
            context_.progress("calibrating", 0, 0);
            uncertainty::StandardisedErrors errors(context_);
            for (const double error :
                 calibration_rows_->residuals(result_.model, result_.model.trees, *data_, team_, context_))
                errors.add(error, 1);
            using uncertainty::Method;
            result_.model.calibration =
                uncertainty::calibrate(has_rows_of_start_ ? Method::split_conformal : Method::held_out, errors,
                                       errors.likeliest_variances(), context_);
        });
    }

    // Bins the dataset's features, and makes the scores of all rows.
    void hold_all_rows() {
        const uint64_t score_bytes = objective_of(options_.objective).bytes(dataset_, team_.size(), context_);
        context_.memory().require(peak_bytes(dataset_, options_, score_bytes), "rows and binned features");
        describe();
        subtract_offset();
        if (objective_of(options_.objective).ranks) // while the dataset still has the weights
            dataset_.row_hashes = hash_rows(dataset_, options_.seed, team_, context_);
        take_calibration_rows();
        if (options_.learn_deviation)
            deviation_.emplace(dataset_, static_cast<uint64_t>(options_.seed), team_, context_);
        rows_.emplace(dataset_, team_, context_);
        check_holdout(options_, rows_->holdout_rows());
        time("binning", [&] { data_ = bin_features(dataset_, *rows_, options_.max_bins, team_, context_); });
        if (team_.peers()) check_bins(*data_);
        if (!may_be_constant_ && !team_.peers()) // of many small fits, nobody reads them
            time("findings", [&] { result_.findings = examine(*data_, dataset_, *rows_, context_); });
        hold_rows(*data_, 1);
    }

    // Makes the scores of all rows before the first tree, and what trees are grown over.
    void hold_rows(const BinnedData& data, int parallel) {
        const size_t bins = HistogramLayout(data.features, max_histogram_bins).max_bins();
        const uint64_t needed = metric_row_bytes(options_.metric) * rows_->holdout_rows() +
                                objective_of(options_.objective).bytes(dataset_, team_.size(), context_) +
                                EnumeratedSet::scratch_bytes(data, options_, team_.size()) +
                                TreeGrower::histogram_bytes(bins, rows_->train_rows(), options_);
        context_.memory().require(needed, "residuals, rows of nodes and histograms");
        // The other half is for the model.
        const uint64_t room_for_copies = (context_.memory().left() - needed) / (2 * static_cast<uint64_t>(parallel));
        std::unique_ptr<RowScores> scores;
        time("residuals", [&] { scores = start_scores(*rows_); });
        time("records",
             [&] { set_.emplace(data, *rows_, std::move(scores), options_, room_for_copies, team_, context_); });
    }

    std::vector<double> given_bases() const { return start_ ? start_->bases() : std::vector<double>{}; }

    void start_trees(TrainingSet& training) {
        training_ = &training;
        Model& model = result_.model;
        model.bases = training.scores().bases();
        model.rows = training.train_rows();
        model.holdout_rows = training.holdout_rows();
        if (calibration_rows_ && options_.early_stopping > 0) model.holdout_rows += calibration_rows_->size();
        model.baseline = measure(training.scores());
        grower_.emplace(training, options_, team_, context_);
        if (start_) grow_again();
    }

    // The trees that training continues from change what the others would see, early stopping included.
    void grow_again() {
        Model& model = result_.model;
        while (model.iterations() < start_->iterations()) {
            const size_t t = model.iterations();
            context_.progress("growing trees of start again", t, start_->iterations());
            for (size_t score = 0; score < model.scores(); score++) {
                context_.poll();
                training_->start(t, static_cast<int>(score), {});
                training_->add(start_->grow_again(model.trees.size(), *training_));
                model.trees.push_back(start_->tree(model.trees.size()));
            }
            finish_iteration(*training_);
        }
        has_rows_of_start_ = start_->has_same_rows(model);
        start_.reset();
    }

    void grow_trees(TrainingSet& training) {
        start_trees(training);
        while (!is_done()) grow_iteration();
        Model& model = result_.model;
        if (options_.early_stopping > 0) model.trees.resize(best_iterations_ * model.scores());
        const GrowerClock& clock = grower_->clock();
        result_.timings.push_back({"histograms", clock.histograms});
        result_.timings.push_back({"splits", clock.splits});
        result_.timings.push_back({"partition", clock.partition});
        result_.timings.push_back({"updating residuals", updating_ + clock.starting});
        grower_.reset();
    }

    LogEntry measure(const Scores& scores) {
        LogEntry entry{scores.train_loss(), scores.holdout_loss(), {}};
        if (options_.metric)
            entry.holdout_metric = scores.rows()
                                       ? holdout_metric(*options_.metric, *scores.rows(), rows_->holdout_rows(),
                                                        options_.alpha.value_or(0), context_)
                                       : std::sqrt(*entry.holdout_loss); // rmse is all that tables tell
        return entry;
    }

    // Returns false when it is time to stop.
    bool finish_iteration(const TrainingSet& training) {
        Model& model = result_.model;
        const LogEntry entry = measure(training.scores());
        model.log.push_back(entry);
        report(entry);
        if (options_.early_stopping == 0) return true;
        const double value = entry.value();
        const bool better = best_iterations_ == 0 ||
                            (options_.metric ? is_better(*options_.metric, value, best_value_) : value < best_value_);
        if (better) {
            best_value_ = value;
            best_iterations_ = model.iterations();
        }
        return model.iterations() - best_iterations_ < static_cast<size_t>(options_.early_stopping);
    }

    void repeat_last_trees() {
        Model& model = result_.model;
        const size_t trees = options_.trees * model.scores();
        context_.memory().require((trees - model.trees.size()) * (sizeof(Tree) + sizeof(Node) + sizeof(LogEntry)),
                                  "trees");
        while (model.trees.size() < trees) model.trees.push_back(model.trees[model.trees.size() - model.scores()]);
        model.log.resize(options_.trees, model.log.back());
    }

    void report(const LogEntry& entry) {
        const auto now = std::chrono::steady_clock::now();
        if (now - last_note_ < std::chrono::seconds(1)) return;
        last_note_ = now;
        std::string text =
            format("tree %zu of %d: train loss %g", result_.model.iterations(), options_.trees, entry.train_loss);
        if (entry.holdout_loss) text += format(", holdout loss %g", *entry.holdout_loss);
        if (entry.holdout_metric)
            text += format(", holdout %s %g", holdout_metric_names[static_cast<size_t>(*options_.metric)],
                           *entry.holdout_metric);
        context_.note(text);
    }

    const Options options_;
    const bool may_be_constant_;
    RunContext& context_;
    ThreadTeam& team_;
    Dataset dataset_;
    std::optional<WarmStart> start_; // what training continues from
    bool has_rows_of_start_ = true;  // also where there is no start
    FitResult result_;
    const char* phase_ = "growing trees";
    std::optional<TargetRows> calibration_rows_;
    std::optional<DeviationTraining> deviation_;
    std::optional<TrainingRows> rows_;
    std::optional<BinnedData> data_; // of one training alone
    std::optional<EnumeratedSet> set_;
    TrainingSet* training_ = nullptr; // set_, or one that is not enumerated
    std::optional<TreeGrower> grower_;
    bool stopped_ = false;
    double updating_ = 0;   // seconds
    double best_value_ = 0; // of what early stopping goes by, after best_iterations_
    size_t best_iterations_ = 0;
    std::chrono::steady_clock::time_point last_note_ = std::chrono::steady_clock::now();
};

void check_options(const Dataset& dataset, const Options& options) {
    options.validate();
    if (dataset.features.empty())
        throw Error(ErrorCode::invalid_argument, "there are no features to learn from", {},
                    "The source needs at least one column besides target, holdout and weight.");
    const Options all = completed(options, dataset.labels.size());
    all.validate();
    if (all.metric) check_metric(*all.metric, all.objective);
}

FitResult fit(Dataset dataset, const Options& options, RunContext& context, bool may_be_constant,
              std::optional<Model> start) {
    check(dataset, options, false);
    ThreadTeam team(context);
    return Booster(std::move(dataset), options, team, context, may_be_constant, std::move(start)).run();
}

FitResult fit_factorised(Dataset dataset, relational::GroupedJoin join, const Options& options, RunContext& context,
                         std::optional<Model> start, const factorised::Allowance& allowance) {
    check(dataset, options, true);
    ThreadTeam team(context);
    return Booster(std::move(dataset), options, team, context, false, std::move(start))
        .run_factorised(std::move(join), allowance);
}

void check_distributed(const Options& options) {
    const auto refuse = [](const std::string& what) {
        throw Error(ErrorCode::not_supported, what + " is not supported where several machines hold the rows", {},
                    "Train on one machine: strategy => 'enumerate'.");
    };
    if (objective_of(options.objective).ranks) refuse(format("objective => '%s'", name_of(options.objective)));
    if (options.row_fraction < 1) refuse("row_fraction");
    if (options.metric) refuse("metric");
    if (options.learn_deviation) refuse("deviation => 'learned'");
    if (options.holdout_fraction) refuse("holdout_fraction");
}

FitResult fit_distributed(Dataset dataset, const Options& options, Coordinator& peers, RunContext& context,
                          std::optional<Model> start) {
    check(dataset, options, false);
    check_distributed(options);
    ThreadTeam team(context, 1, &peers);
    return Booster(std::move(dataset), options, team, context, false, std::move(start)).run_distributed(peers);
}

void serve_fit(Dataset dataset, const Options& options, Holder& peers, RunContext& context,
               std::optional<Model> start) {
    check(dataset, options, false);
    check_distributed(options);
    ThreadTeam team(context, std::numeric_limits<int>::max(), &peers);
    Booster(std::move(dataset), options, team, context, false, std::move(start)).serve(peers);
}

Training::Training(Dataset rows, const BinnedData& data, const Options& options, ThreadTeam& team, RunContext& context,
                   const char* phase, int parallel)
    : booster_(std::make_unique<Booster>(std::move(rows), options, team, context)) {
    booster_->start(data, phase, parallel);
}

Training::~Training() = default;

void Training::grow(size_t iterations) {
    while (!booster_->is_done() && log().size() < iterations) booster_->grow_iteration();
}

const std::vector<LogEntry>& Training::log() const {
    return booster_->log();
}

const Model& Training::model() const {
    return booster_->model();
}

} // namespace btml::boosting
