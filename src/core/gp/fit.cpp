#include "core/gp/fit.hpp"

#include "core/base/rng.hpp"
#include "core/base/threads.hpp"
#include "core/base/worker_contexts.hpp"
#include "core/gp/additive/conjugate_gradients.hpp"
#include "core/gp/additive/sum_training.hpp"
#include "core/gp/boosted_training.hpp"
#include "core/gp/encoding_choice.hpp"
#include "core/gp/fit_memory.hpp"
#include "core/gp/mixture.hpp"
#include "core/gp/predictor.hpp"
#include "core/gp/sparse/sparse_training.hpp"

#include <algorithm>
#include <array>

namespace btml::gp {

namespace {

// Says where, and how widely, targets are spread.
struct Spread {
    double centre = 0, scale = 1;

    // Returns the score of standardised targets as that of the targets.
    LeaveOneOut in_units(const LeaveOneOut& score) const {
        return {score.rows, score.mean_nll + std::log(scale), score.rmse * scale, score.coverage_90};
    }
};

Spread spread_of(const TrainingColumns& columns) {
    const auto [least, greatest] = std::minmax_element(columns.target.begin(), columns.target.end());
    if (*least == *greatest) return {*least, 1};
    double weights = 0, sum = 0, squares = 0;
    for (size_t i = 0; i < columns.rows(); i++) {
        weights += columns.weight_of(i);
        sum += columns.weight_of(i) * columns.target[i];
    }
    const double mean = sum / weights;
    for (size_t i = 0; i < columns.rows(); i++)
        squares += columns.weight_of(i) * (columns.target[i] - mean) * (columns.target[i] - mean);
    const double rows = columns.rows();
    const double scale = std::sqrt(squares / weights * (rows / (rows - 1)));
    return {mean, std::isnormal(scale) ? scale : 1};
}

// Sums over held-out rows, in the target's units.
struct HeldOutScore {
    explicit HeldOutScore(RunContext& context) : errors(context) {}

    double nll = 0, squares = 0;
    uncertainty::StandardisedErrors errors;
};

class Trainer {
  public:
    Trainer(Dataset dataset, const Options& options, RunContext& context);

    FitResult fit();
    std::vector<FitResult> fit_members();

  private:
    static constexpr int default_member_evaluations = 2000;
    // Returns the evaluations of a member that may take the place of a sum.
    static uint64_t evaluations_alone(uint64_t evaluations) {
        return std::clamp<uint64_t>(evaluations / 10, 1, default_member_evaluations);
    }
    enum class Features { keep, free };

    template <class Body>
    void time(const char* phase, const Body& body);
    void standardise();
    void find_candidates(size_t count, int evaluations);
    MemberTraining member_training() const { return {data_.training, options_, *encoding_, limits_}; }
    void choose_encoding();
    std::vector<double> mixture_weights() const;
    FitResult empty_model() const;
    FitResult assemble(std::span<const double> weights, Features afterwards);
    FitResult fit_mixture(size_t members, int evaluations);
    FitResult fit_sum(int members, uint64_t evaluations);
    FitResult fit_boosted(uint64_t evaluations);
    FitResult fit_sparse(SmoothKind kind);
    FitResult fit_tree();
    FitResult fit_best_kernel();
    FitResult fit_sum_or_member(int members, uint64_t evaluations, bool compare);
    bool is_solved(const Model& model);
    SumTraining sum_training(int members, uint64_t evaluations) const;
    bool sum_fits(const SumTraining& training) const;
    MemberRows scored_rows(const Candidate& candidate, double weight, LeaveOneOutScore& score);
    void withhold_half();
    HeldOutScore score(Model& model, const TrainingColumns& rows);
    void score_held_out(Model& model);
    void calibrate(Model& model);
    void add_to_scores(Model& model, const HeldOutScore& sums) const;
    void compare_scores(const Model& model);
    double nll_of_member();

    const Options& options_;
    RunContext& context_;
    const int value_bits_;
    FitMemory estimate_;
    std::vector<Feature> features_;
    std::vector<Timing> timings_;
    TrainingData data_;
    TrainingColumns calibrating_; // held-out rows that choose nothing
    Spread spread_;
    KernelLimits limits_;
    std::optional<Encoding> encoding_; // without shifts, once it was chosen
    std::vector<std::optional<Candidate>> candidates_;
    uncertainty::StandardisedErrors left_out_; // of the last model, on the scale
    std::vector<std::string> warnings_;
};

SmoothKind smooth_kind(KernelChoice kernel) {
    return kernel == KernelChoice::matern32   ? SmoothKind::matern32
           : kernel == KernelChoice::matern52 ? SmoothKind::matern52
                                              : SmoothKind::squared_exponential;
}

// Says whether a model is chosen, or a chain ended, by held-out rows.
bool held_out_rows_choose(const Options& options) {
    if (options.kernel == KernelChoice::automatic) return true;
    return options.kernel == KernelChoice::tree &&
           (options.combine == Combine::automatic || options.combine == Combine::boosted);
}

size_t member_count(const Options& options) {
    return options.members > 0 ? static_cast<size_t>(options.members) : 1;
}

TrainingData read(Dataset dataset, uint64_t bytes, std::vector<Timing>& timings, RunContext& context) {
    context.memory().require(bytes, "a Gaussian process");
    context.progress("sorting rows", 0, 0);
    timings.push_back({"sorting rows", 0});
    const Stopwatch watch(timings.back().seconds);
    return expand(std::move(dataset), context);
}

int checked_value_bits(const Dataset& dataset, const Options& options) {
    options.validate();
    return options.bits > 0 ? options.bits : Encoding::default_value_bits(dataset.features.size());
}

Trainer::Trainer(Dataset dataset, const Options& options, RunContext& context)
    : options_(options),
      context_(context),
      value_bits_(checked_value_bits(dataset, options)),
      estimate_(dataset, options, value_bits_),
      features_(features_of(dataset)),
      data_(read(std::move(dataset),
                 estimate_.peak(static_cast<int>(
                     std::min(member_count(options), static_cast<size_t>(std::max(1, context.threads()))))),
                 timings_, context)),
      calibrating_(context.memory()),
      left_out_(context) {
    standardise();
    if (held_out_rows_choose(options)) withhold_half();
}

// Held-out rows come in the order of their targets, of which their numbers must tell nothing.
static uint64_t content_hash(const TrainingColumns& columns, size_t row, uint64_t seed) {
    constexpr uint64_t stream = 0x63616c69627261; // apart from the random bits of searches
    std::vector<double> values(columns.features.size());
    columns.read_row(row, values);
    values.push_back(columns.target[row]);
    values.push_back(columns.weight_of(row));
    uint64_t hash = seed;
    for (const double value : values) hash = random_bits(hash, stream, std::bit_cast<uint64_t>(value));
    return hash;
}

// Where held-out rows choose a model, they say too little of how far off it is; half of them stays out of that.
void Trainer::withhold_half() {
    const size_t rows = data_.held_out.rows();
    std::vector<uint64_t> keys;
    std::vector<uint32_t> order;
    for (uint32_t row = 0; row < rows; row++) {
        context_.worked(2 + features_.size());
        keys.push_back(content_hash(data_.held_out, row, static_cast<uint64_t>(options_.seed)));
        order.push_back(row);
    }
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
        context_.worked(2);
        return keys[a] != keys[b] ? keys[a] < keys[b] : a < b;
    });
    const size_t choosing = (rows + 1) / 2;
    std::sort(order.begin(), order.begin() + choosing);
    const std::span<const uint32_t> all(order);
    calibrating_ = select(data_.held_out, all.subspan(choosing), context_);
    data_.held_out = select(data_.held_out, all.first(choosing), context_);
}

template <class Body>
void Trainer::time(const char* phase, const Body& body) {
    Timing timing{phase, 0};
    {
        const Stopwatch watch(timing.seconds);
        body();
    }
    timings_.push_back(std::move(timing));
}

void Trainer::standardise() {
    TrainingColumns& training = data_.training;
    spread_ = spread_of(training);
    double weights = 0;
    for (size_t i = 0; i < training.rows(); i++) {
        training.target[i] = (training.target[i] - spread_.centre) / spread_.scale;
        weights += training.weight_of(i);
    }
    const double rows = training.rows();
    limits_ = {options_.noise, options_.signal, weights / rows / rows};
    if (options_.noise && *options_.noise < limits_.min_noise)
        warnings_.push_back(format("noise %s is below %s, the least that would be learned: rows with the same bits but "
                                   "different targets may make the model overconfident",
                                   shortest(*options_.noise).c_str(), shortest(limits_.min_noise).c_str()));
}

void Trainer::find_candidates(size_t count, int evaluations) {
    const int each = evaluations > 0 ? std::max(1, evaluations / static_cast<int>(count)) : default_member_evaluations;
    const MemberTraining training = member_training();
    const std::span<const double> target = data_.training.target.span();
    candidates_.resize(count);
    context_.share_progress("searching bit orders and kernels", 0, count);
    if (count == 1) {
        candidates_[0] = training.find(target, 0, each, context_);
    } else {
        ThreadTeam team(context_, static_cast<int>(count));
        WorkerContexts contexts(context_, team.size(), estimate_.search(), "a search of kernels");
        team.for_each(
            count,
            [&](size_t member, int worker) {
                contexts.run(worker,
                             [&](RunContext& own) { candidates_[member] = training.find(target, member, each, own); });
                if (worker == 0) context_.share_progress("searching bit orders and kernels", member, count);
            },
            [&] { contexts.poll(); });
    }
    for (size_t member = 0; member < count; member++) {
        const OrderedKernel& found = candidates_[member]->found;
        context_.note(format("member %zu of %zu: negative log likelihood %g of standardised targets, noise %g, signal "
                             "%g, after %" PRIu64 " evaluations",
                             member + 1, count, found.negative_log_likelihood, found.kernel.noise,
                             found.kernel.signal(), found.evaluations));
    }
}

// Leaves out those whose weight would not show.
std::vector<double> Trainer::mixture_weights() const {
    static constexpr double sharpness = 100, min_weight = 1e-6;
    double least = std::numeric_limits<double>::infinity(), total = 0;
    for (const auto& candidate : candidates_) least = std::min(least, candidate->found.negative_log_likelihood);
    std::vector<double> weights;
    for (const auto& candidate : candidates_) {
        const double excess = (candidate->found.negative_log_likelihood - least) / data_.training.rows();
        const double weight = std::exp(-sharpness * excess);
        weights.push_back(weight < min_weight ? 0 : weight);
        total += weights.back();
    }
    for (double& weight : weights) weight /= total;
    return weights;
}

MemberRows Trainer::scored_rows(const Candidate& candidate, double weight, LeaveOneOutScore& score) {
    const auto& [encoding, found] = candidate;
    MemberRows rows(encoding, found.order, data_.training, data_.training.target.span(), context_);
    score.add(weight, rows.leave_one_out(found.kernel, context_), rows.observations, found.kernel.noise,
              rows.sorted.rows.span(), context_);
    return rows;
}

FitResult Trainer::empty_model() const {
    FitResult result;
    Model& model = result.model;
    model.features = features_;
    model.options = options_;
    model.centre = spread_.centre;
    model.scale = spread_.scale;
    model.rows = data_.training.rows();
    model.holdout_rows = data_.held_out.rows() + calibrating_.rows();
    return result;
}

// Makes a mixture of the candidates that have a weight.
FitResult Trainer::assemble(std::span<const double> weights, Features afterwards) {
    FitResult result = empty_model();
    Model& model = result.model;
    Mixture mixture;
    LeaveOneOutScore score(data_.training.rows(), context_);
    while (weights.back() == 0) weights = weights.first(weights.size() - 1);
    for (size_t m = 0; m < weights.size(); m++) {
        context_.progress("building tries", m, weights.size());
        if (weights[m] == 0) continue;
        const auto& [encoding, found] = *candidates_[m];
        const MemberRows rows = scored_rows(*candidates_[m], weights[m], score);
        if (afterwards == Features::free && m + 1 == weights.size()) data_.training.free_features();
        mixture.members.push_back({encoding, found.order, rows.trie(found.kernel, context_), weights[m]});
        model.noise += weights[m] * found.kernel.noise;
        model.evaluations += found.evaluations;
    }
    mixture.log_likelihood = log_likelihood(mixture.members, model.scale);
    model.posterior = std::move(mixture);
    model.leave_one_out = spread_.in_units(score.total(data_.training.target.span(), context_));
    left_out_ = score.errors(data_.training.target.span(), context_);
    score_held_out(model);
    return result;
}

HeldOutScore Trainer::score(Model& model, const TrainingColumns& rows) {
    HeldOutScore sums(context_);
    Predictor predictor(model);
    std::vector<double> values(model.features.size());
    const auto* const sparse = std::get_if<SparseModel>(&model.posterior);
    const uint64_t k = sparse ? sparse->inducing_points() : 0, units = 64 + 8 * k + k * k / 8; // of work a row
    context_.for_each(rows.rows(), units, [&](size_t i) {
        rows.read_row(i, values);
        const Predictor::Score score = predictor.score(values, rows.target[i], rows.weight_of(i));
        const double error = rows.target[i] - score.mean;
        sums.nll -= score.log_density;
        sums.squares += error * error;
        sums.errors.add(error, score.variance);
    });
    return sums;
}

void Trainer::score_held_out(Model& model) {
    if (data_.held_out.rows() == 0) return;
    const HeldOutScore sums = score(model, data_.held_out);
    const double count = data_.held_out.rows();
    model.holdout_nll = sums.nll / count;
    model.holdout_rmse = std::sqrt(sums.squares / count);
}

// Takes held-out rows that chose nothing where there are any, or else training rows left out in turn.
void Trainer::calibrate(Model& model) {
    using uncertainty::Method;
    const bool all_choose = held_out_rows_choose(options_);
    const TrainingColumns& rows = all_choose ? calibrating_ : data_.held_out;
    if (rows.rows() > 0) {
        HeldOutScore sums = score(model, rows);
        if (all_choose) add_to_scores(model, sums);
        model.calibration = uncertainty::calibrate(Method::split_conformal, sums.errors.z(), context_);
    } else {
        model.calibration = uncertainty::calibrate(Method::leave_one_out, left_out_.z(), context_);
    }
    const uncertainty::StudentT& student = model.calibration->student;
    if (student.scale > 0)
        model.leave_one_out->mean_nll_student_t = left_out_.mean_nll(student) + std::log(spread_.scale);
}

// The scores of held-out rows become those of all.
void Trainer::add_to_scores(Model& model, const HeldOutScore& sums) const {
    const double before = data_.held_out.rows(), all = model.holdout_rows;
    const double squares = *model.holdout_rmse * *model.holdout_rmse * before;
    model.holdout_nll = (*model.holdout_nll * before + sums.nll) / all;
    model.holdout_rmse = std::sqrt((squares + sums.squares) / all);
}

FitResult Trainer::fit_mixture(size_t members, int evaluations) {
    time("searching", [&] { find_candidates(members, evaluations); });
    FitResult result;
    time("building tries", [&] { result = assemble(mixture_weights(), Features::free); });
    result.model.evaluations = 0;
    for (const auto& candidate : candidates_) result.model.evaluations += candidate->found.evaluations;
    return result;
}

SumTraining Trainer::sum_training(int members, uint64_t evaluations) const {
    return {members, evaluations, options_.noise, options_.signal, static_cast<uint64_t>(options_.seed)};
}

// Says whether it can be trained, and within the memory that is left.
bool Trainer::sum_fits(const SumTraining& training) const {
    const size_t rows = data_.training.rows();
    if (training.members < SumTraining::min_members || options_.search != Search::local || rows >= SumModel::max_rows)
        return false;
    return training_bytes(training, *encoding_, rows, context_.threads()) <= context_.memory().left();
}

FitResult Trainer::fit_sum(int members, uint64_t evaluations) {
    const TrainingColumns& training = data_.training;
    FitResult result = empty_model();
    time("training the sum", [&] {
        TrainedSum trained = train_sum(*encoding_, training, sum_training(members, evaluations), context_);
        result.model.leave_one_out = spread_.in_units(trained.leave_one_out);
        left_out_ = std::move(trained.left_out);
        result.model.evaluations = trained.evaluations;
        result.model.noise = trained.model.noise();
        result.model.posterior = std::move(trained.model);
    });
    score_held_out(result.model);
    return result;
}

FitResult Trainer::fit_boosted(uint64_t evaluations) {
    FitResult result = empty_model();
    Model& model = result.model;
    time("training members", [&] {
        TrainedBoosted trained = train_boosted(member_training(), data_.training, data_.held_out,
                                               {boosted_members(options_, data_.training.rows()), evaluations,
                                                options_.noise, limits_.min_noise, spread_.centre, spread_.scale},
                                               context_);
        model.posterior = Boosted{std::move(trained.members), trained.variance_factor, std::move(data_.training)};
        model.noise = trained.noise;
        model.leave_one_out = spread_.in_units(trained.leave_one_out);
        left_out_ = std::move(trained.left_out);
        model.evaluations = trained.evaluations;
    });
    score_held_out(model);
    return result;
}

FitResult Trainer::fit_sparse(SmoothKind kind) {
    const TrainingColumns& training = data_.training;
    context_.memory().require(
        sparse_training_bytes(training.rows(), features_.size(), static_cast<size_t>(options_.exemplars)),
        "a smooth Gaussian process");
    FitResult result = empty_model();
    Model& model = result.model;
    time("training the sparse process", [&] {
        TrainedSparse trained = train_sparse(training, features_,
                                             {kind, static_cast<size_t>(options_.exemplars), options_.noise,
                                              options_.signal, limits_.min_noise, static_cast<uint64_t>(options_.seed),
                                              options_.exemplar_objective == ExemplarObjective::likelihood},
                                             context_);
        model.leave_one_out = spread_.in_units(trained.leave_one_out);
        left_out_ = std::move(trained.left_out);
        model.evaluations = trained.evaluations;
        model.noise = trained.model.kernel().noise;
        model.posterior = std::move(trained.model);
    });
    score_held_out(model);
    return result;
}

// Returns that of held-out rows where there are any, which know nothing of the training.
double mean_nll(const Model& model) {
    return model.holdout_nll ? *model.holdout_nll : model.leave_one_out->mean_nll;
}

bool Trainer::is_solved(const Model& model) {
    const auto& sum = std::get<SumModel>(model.posterior);
    const double residual = sum.residuals().worst();
    if (residual <= ConjugateGradients::max_residual) return true;
    warnings_.push_back(format("the sum of %zu kernels is not solved, with a residual of %.2g where at most %g is "
                               "accepted: the model is one member alone",
                               sum.members().size(), residual, ConjugateGradients::max_residual));
    return false;
}

// Scores the member; its trie is built for held-out rows alone.
double Trainer::nll_of_member() {
    if (data_.held_out.rows() > 0) return mean_nll(assemble(std::array{1.0}, Features::keep).model);
    LeaveOneOutScore score(data_.training.rows(), context_);
    scored_rows(*candidates_[0], 1, score);
    return spread_.in_units(score.total(data_.training.target.span(), context_)).mean_nll;
}

// Takes a sum, or a single member where the sum is not solved or, if they are compared, scores no better. The member's
// trie does not stand beside the sum, which needs the memory.
FitResult Trainer::fit_sum_or_member(int members, uint64_t evaluations, bool compare) {
    const uint64_t alone = evaluations_alone(evaluations);
    const auto find_member = [&] {
        time("searching", [&] { find_candidates(1, alone); });
        return candidates_[0]->found.evaluations;
    };
    uint64_t spent = 0;
    double nll_alone = 0;
    if (compare) {
        const Share unknown(context_, 0, 0); // next to the sum's
        spent = find_member();
        nll_alone = nll_of_member();
    }
    {
        FitResult sum = fit_sum(members, evaluations - alone);
        spent = sum.model.evaluations += spent;
        if (is_solved(sum.model) && (!compare || mean_nll(sum.model) < nll_alone)) return sum;
    }
    if (!compare) spent += find_member();
    FitResult result;
    time("building tries", [&] { result = assemble(std::array{1.0}, Features::free); });
    result.model.evaluations = spent;
    return result;
}

// Rows left out in training chose the kernels and know their noise; held-out rows may show that the model is surer than
// it should be.
void Trainer::compare_scores(const Model& model) {
    constexpr double max_difference = 0.5; // in nats
    constexpr size_t min_rows = 100;
    if (!model.holdout_nll || !model.leave_one_out || data_.held_out.rows() < min_rows) return;
    const double held_out = *model.holdout_nll, left_out = model.leave_one_out->mean_nll;
    if (held_out - left_out <= max_difference) return;
    warnings_.push_back(format("the mean negative log density of held-out rows is %.2f, that of training rows left out "
                               "in turn %.2f: the model is surer of some rows than it should be",
                               held_out, left_out));
}

void Trainer::choose_encoding() {
    time("choosing the encoding", [&] {
        const TrainingColumns& training = data_.training;
        const NumberPlaces places = choose_places(training, options_, value_bits_, limits_, context_);
        encoding_.emplace(training.views(), training.target.span(), training.weight.span(), value_bits_,
                          std::span<const double>(), context_, places);
    });
}

FitResult Trainer::fit_tree() {
    choose_encoding();
    const size_t rows = data_.training.rows();
    const uint64_t evaluations = evaluations_of(options_, rows);
    const int members = options_.members > 0 ? options_.members : members_within(evaluations);
    FitResult result;
    if (options_.combine == Combine::boosted)
        result = fit_boosted(evaluations);
    else if (options_.combine == Combine::kernel_sum) {
        if (options_.members > 0 && members < SumTraining::min_members)
            warnings_.push_back(format("a sum has %d members at least, not %d: %d are trained",
                                       SumTraining::min_members, members, SumTraining::min_members));
        result = fit_sum_or_member(std::max(members, SumTraining::min_members), evaluations, false);
    } else if (options_.combine == Combine::automatic && sum_fits(sum_training(members, evaluations)))
        result = fit_sum_or_member(members, evaluations, true);
    else
        result = fit_mixture(member_count(options_), options_.evaluations);
    return result;
}

// The trees come last, since they free the rows. They take features that a smooth kernel does not, and less memory.
FitResult Trainer::fit_best_kernel() {
    std::optional<FitResult> best;
    uncertainty::StandardisedErrors left_out(context_);
    const auto consider = [&](const auto& fit_one) {
        std::vector<std::string> before = warnings_;
        FitResult other = fit_one();
        if (best && mean_nll(other.model) >= mean_nll(best->model)) {
            warnings_ = std::move(before);
            return;
        }
        best = std::move(other);
        left_out = std::move(left_out_);
    };
    try {
        for (const SmoothKind kind : {SmoothKind::squared_exponential, SmoothKind::matern52})
            consider([&] { return fit_sparse(kind); });
    } catch (const Error& error) {
        const ErrorCode code = error.code();
        if (code != ErrorCode::invalid_argument && code != ErrorCode::out_of_range && code != ErrorCode::memory_limit)
            throw;
        warnings_.push_back(format("kernel => 'auto' has trees alone to choose from: %s", error.message().c_str()));
    }
    consider([&] { return fit_tree(); });
    left_out_ = std::move(left_out);
    return std::move(*best);
}

FitResult Trainer::fit() {
    FitResult result = options_.kernel == KernelChoice::tree        ? fit_tree()
                       : options_.kernel == KernelChoice::automatic ? fit_best_kernel()
                                                                    : fit_sparse(smooth_kind(options_.kernel));
    compare_scores(result.model);
    calibrate(result.model);
    result.timings = std::move(timings_);
    result.warnings = std::move(warnings_);
    return result;
}

std::vector<FitResult> Trainer::fit_members() {
    choose_encoding();
    find_candidates(member_count(options_), options_.evaluations);
    std::vector<FitResult> results;
    for (size_t member = 0; member < candidates_.size(); member++) {
        std::vector<double> weights(candidates_.size());
        weights[member] = 1;
        results.push_back(assemble(weights, Features::keep));
        calibrate(results.back().model);
    }
    results.front().warnings = std::move(warnings_);
    return results;
}

} // namespace

std::vector<Feature> features_of(const Dataset& dataset) {
    std::vector<Feature> features;
    for (const FeatureColumn& column : dataset.features)
        features.push_back({column.name, column.type, column.kind == FeatureKind::category, column.categories});
    return features;
}

FitResult fit(Dataset dataset, const Options& options, RunContext& context) {
    if (options.per_shard)
        throw Error(ErrorCode::not_supported, "per_shard is not supported by cross_validate and tune", "",
                    "Use it with btml.gp_fit.");
    return Trainer(std::move(dataset), options, context).fit();
}

std::vector<FitResult> fit_members(Dataset dataset, const Options& options, RunContext& context) {
    return Trainer(std::move(dataset), options, context).fit_members();
}

} // namespace btml::gp
