#include "core/gp/trainer.hpp"

#include "core/base/threads.hpp"
#include "core/base/worker_contexts.hpp"
#include "core/gp/additive/conjugate_gradients.hpp"
#include "core/gp/encoding_choice.hpp"
#include "core/gp/sparse/sparse_training.hpp"

#include <algorithm>
#include <array>

namespace btml::gp {

namespace {

constexpr int default_member_evaluations = 2000;

// Returns the evaluations of a member that may take the place of a sum.
uint64_t evaluations_alone(uint64_t evaluations) {
    return std::clamp<uint64_t>(evaluations / 10, 1, default_member_evaluations);
}

size_t member_count(const Options& options) {
    return options.members > 0 ? static_cast<size_t>(options.members) : 1;
}

} // namespace

FitRows copy(const FitRows& rows, RunContext& context) {
    FitRows copied = copy_held_out(rows, context);
    copied.training = copy(rows.training, context);
    return copied;
}

FitRows copy_held_out(const FitRows& rows, RunContext& context) {
    FitRows copied(TrainingColumns(context.memory()), context);
    copied.choosing = copy(rows.choosing, context);
    copied.calibrating = copy(rows.calibrating, context);
    copied.are_halves = rows.are_halves;
    return copied;
}

Trainer::Trainer(FitRows rows, const std::vector<Feature>& features, const Options& options, const FitMemory& estimate,
                 RunContext& context)
    : options_(options),
      context_(context),
      estimate_(estimate),
      features_(features),
      training_(std::move(rows.training)),
      choosing_(std::move(rows.choosing)),
      calibrating_(std::move(rows.calibrating)),
      held_out_rows_choose_(rows.are_halves) {
    standardise();
}

Trainer::Spread Trainer::spread_of(const TrainingColumns& columns) {
    // Sums of what is not valid would hide which number it was.
    for (size_t i = 0; i < columns.rows(); i++) validate_observation(columns.target[i], columns.weight_of(i));
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

void Trainer::standardise() {
    TrainingColumns& training = training_;
    spread_ = spread_of(training);
    double weights = 0;
    for (size_t i = 0; i < training.rows(); i++) {
        training.target[i] = (training.target[i] - spread_.centre) / spread_.scale;
        weights += training.weight_of(i);
    }
    const double rows = training.rows();
    limits_ = {options_.noise, options_.signal, weights / rows / rows};
    if (!is_smooth(options_.kernel) && options_.noise && *options_.noise < limits_.min_noise)
        warnings_.push_back(format("noise %s is below %s, the least that would be learned: rows with the same bits but "
                                   "different targets may make the model overconfident",
                                   shortest(*options_.noise).c_str(), shortest(limits_.min_noise).c_str()));
}

void Trainer::find_candidates(size_t count, int evaluations) {
    const int each = evaluations > 0 ? std::max(1, evaluations / static_cast<int>(count)) : default_member_evaluations;
    const auto find = [&](size_t member, RunContext& context) {
        return find_member(training_, options_, *encoding_, limits_, member, each, context);
    };
    candidates_.resize(count);
    context_.share_progress("searching bit orders and kernels", 0, count);
    if (count == 1) {
        candidates_[0] = find(0, context_);
    } else {
        ThreadTeam team(context_, static_cast<int>(count));
        WorkerContexts contexts(context_, team.size(), estimate_.search(), "a search of kernels");
        team.for_each(
            count,
            [&](size_t member, int worker) {
                contexts.run(worker, [&](RunContext& own) { candidates_[member] = find(member, own); });
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
        const double excess = (candidate->found.negative_log_likelihood - least) / training_.rows();
        const double weight = std::exp(-sharpness * excess);
        weights.push_back(weight < min_weight ? 0 : weight);
        total += weights.back();
    }
    for (double& weight : weights) weight /= total;
    return weights;
}

MemberRows Trainer::scored_rows(const Candidate& candidate, double weight, LeaveOneOutScore& score) {
    const auto& [encoding, found] = candidate;
    MemberRows rows(encoding, found.order, training_, context_);
    score.add(weight, rows.leave_one_out(found.kernel, context_), rows.observations, found.kernel.noise,
              rows.sorted.rows.span(), context_);
    return rows;
}

Trained Trainer::empty_model() const {
    Trained trained(context_);
    Model& model = trained.result.model;
    model.features = features_;
    model.options = options_.kept(features_.size());
    model.centre = spread_.centre;
    model.scale = spread_.scale;
    model.rows = training_.rows();
    model.holdout_rows = choosing_.rows() + calibrating_.rows();
    return trained;
}

// Makes a mixture of the candidates that have a weight.
Trained Trainer::assemble(std::span<const double> weights, Features afterwards) {
    Trained trained = empty_model();
    Model& model = trained.result.model;
    Mixture mixture;
    LeaveOneOutScore score(training_.rows(), context_);
    while (weights.back() == 0) weights = weights.first(weights.size() - 1);
    for (size_t m = 0; m < weights.size(); m++) {
        context_.progress("building tries", m, weights.size());
        if (weights[m] == 0) continue;
        const auto& [encoding, found] = *candidates_[m];
        const MemberRows rows = scored_rows(*candidates_[m], weights[m], score);
        if (afterwards == Features::free && m + 1 == weights.size()) training_.free_features();
        mixture.members.push_back({encoding, found.order, rows.trie(found.kernel, context_), weights[m]});
        model.noise += weights[m] * found.kernel.noise;
        model.evaluations += found.evaluations;
    }
    mixture.log_likelihood = log_likelihood(mixture.members, model.scale);
    model.posterior = std::move(mixture);
    model.leave_one_out = spread_.in_units(score.total(training_.target.span(), context_));
    trained.left_out = score.errors(training_.target.span(), context_);
    score_model(trained);
    return trained;
}

Trained Trainer::fit_mixture(size_t members, int evaluations) {
    timed(timings_, "searching", [&] { find_candidates(members, evaluations); });
    Trained trained = timed(timings_, "building tries", [&] { return assemble(mixture_weights(), Features::free); });
    Model& model = trained.result.model;
    model.evaluations = 0;
    for (const auto& candidate : candidates_) model.evaluations += candidate->found.evaluations;
    return trained;
}

SumTraining Trainer::sum_training(int members, uint64_t evaluations) const {
    return {members, evaluations, options_.noise, options_.signal, static_cast<uint64_t>(options_.seed)};
}

// Says whether it can be trained, and within the memory that is left.
bool Trainer::sum_fits(const SumTraining& training) const {
    const size_t rows = training_.rows();
    if (training.members < SumTraining::min_members || options_.search != Search::local || rows >= SumModel::max_rows)
        return false;
    return training_bytes(training, *encoding_, rows, context_.threads()) <= context_.memory().left();
}

// Makes the candidate of a posterior with its scores on the scale.
template <class Posterior>
Trained Trainer::trained_as(Fitted<Posterior> fitted, double noise) {
    Trained trained = empty_model();
    Model& model = trained.result.model;
    model.leave_one_out = spread_.in_units(fitted.leave_one_out);
    model.evaluations = fitted.evaluations;
    model.noise = noise;
    model.posterior = std::move(fitted.model);
    trained.left_out = std::move(fitted.left_out);
    score_model(trained);
    return trained;
}

Trained Trainer::fit_sum(int members, uint64_t evaluations) {
    return timed(timings_, "training the sum", [&] {
        TrainedSum sum = train_sum(*encoding_, training_, sum_training(members, evaluations), context_);
        const double noise = sum.model.noise();
        return trained_as(std::move(sum), noise);
    });
}

Trained Trainer::fit_sparse(KernelChoice kernel) {
    const TrainingColumns& training = training_;
    const size_t exemplars = options_.max_exemplars(training.rows(), features_.size());
    const auto given = options_.given_exemplars ? std::span(*options_.given_exemplars) : std::span<const double>();
    context_.memory().require(sparse_training_bytes(training.rows(), features_.size(), exemplars),
                              "a smooth Gaussian process");
    return timed(timings_, "training the sparse gp", [&] {
        TrainedSparse sparse =
            train_sparse(training, features_,
                         {kernel, exemplars, options_.noise, options_.signal, static_cast<uint64_t>(options_.seed),
                          options_.exemplar_objective == ExemplarObjective::likelihood, given},
                         context_);
        const double noise = sparse.model.kernel().noise;
        return trained_as(std::move(sparse), noise);
    });
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
    if (choosing_.rows() > 0) return assemble(std::array{1.0}, Features::keep).score;
    LeaveOneOutScore score(training_.rows(), context_);
    scored_rows(*candidates_[0], 1, score);
    const std::span<const double> target = training_.target.span();
    return nll_once_calibrated(score.total(target, context_).mean_nll, score.errors(target, context_)) +
           std::log(spread_.scale);
}

// Takes a sum, or a single member where the sum is not solved or, if they are compared, scores no better. The member's
// trie does not stand beside the sum, which needs the memory.
Trained Trainer::fit_sum_or_member(int members, uint64_t evaluations, bool compare) {
    const uint64_t alone = evaluations_alone(evaluations);
    const auto find_member = [&] {
        timed(timings_, "searching", [&] { find_candidates(1, alone); });
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
        Trained sum = fit_sum(members, evaluations - alone);
        spent = sum.result.model.evaluations += spent;
        if (is_solved(sum.result.model) && (!compare || sum.score < nll_alone)) return sum;
    }
    if (!compare) spent += find_member();
    Trained member = timed(timings_, "building tries", [&] { return assemble(std::array{1.0}, Features::free); });
    member.result.model.evaluations = spent;
    return member;
}

// Rows left out in training chose the kernels and know their noise; held-out rows may show that the model is surer than
// it should be.
void Trainer::compare_scores(const Trained& trained) {
    constexpr double max_difference = 0.5; // in nats
    constexpr size_t min_rows = 100;
    const std::optional<LeaveOneOut>& score = trained.result.model.leave_one_out;
    if (!score || choosing_.rows() < min_rows) return;
    const double held_out = trained.of_choosing.mean_nll({}), left_out = score->mean_nll;
    if (held_out - left_out <= max_difference) return;
    warnings_.push_back(format("the mean negative log density of held-out rows is %.2f, that of training rows left out "
                               "in turn %.2f: the model is surer of some rows than it should be",
                               held_out, left_out));
}

void Trainer::choose_encoding() {
    timed(timings_, "choosing the encoding", [&] {
        const TrainingColumns& training = training_;
        const NumberPlaces places = choose_places(training, options_, limits_, context_);
        encoding_.emplace(training.views(), training.target.span(), training.weight.span(),
                          value_bits_of(options_, features_.size()), std::span<const double>(), context_, places);
    });
}

Trained Trainer::fit_tree() {
    choose_encoding();
    const size_t rows = training_.rows();
    const uint64_t evaluations = evaluations_of(options_, rows);
    const int members = options_.members > 0 ? options_.members : members_within(evaluations);
    if (options_.combine == Combine::kernel_sum) {
        if (options_.members > 0 && members < SumTraining::min_members)
            warnings_.push_back(format("a sum has %d members at least, not %d: %d are trained",
                                       SumTraining::min_members, members, SumTraining::min_members));
        return fit_sum_or_member(std::max(members, SumTraining::min_members), evaluations, false);
    }
    if (options_.combine == Combine::automatic && sum_fits(sum_training(members, evaluations)))
        return fit_sum_or_member(members, evaluations, true);
    return fit_mixture(member_count(options_), options_.evaluations);
}

// The trees come last, since they free the rows. They take features that a smooth kernel does not, and less memory.
Trained Trainer::fit_best_kernel() {
    static constexpr size_t kernels = 3;
    std::optional<Trained> best;
    size_t tried = 0;
    const auto consider = [&](const auto& fit_one) {
        const Share share = Share::of(context_, tried++, kernels);
        std::vector<std::string> before = warnings_;
        Trained other = fit_one();
        if (best && !(other.score < best->score))
            warnings_ = std::move(before);
        else
            best = std::move(other);
    };
    try {
        for (const KernelChoice kernel : {KernelChoice::squared_exponential, KernelChoice::matern52})
            consider([&] { return fit_sparse(kernel); });
    } catch (const Error& error) {
        const ErrorCode code = error.code();
        if (code != ErrorCode::invalid_argument && code != ErrorCode::out_of_range && code != ErrorCode::memory_limit)
            throw;
        warnings_.push_back(format("kernel => 'auto' has trees alone to choose from: %s", error.message().c_str()));
    }
    tried = kernels - 1;
    consider([&] { return fit_tree(); });
    return std::move(*best);
}

// Held-out rows know nothing of the training. Where there are none, rows left out score the model.
void Trainer::score_model(Trained& trained) {
    Model& model = trained.result.model;
    trained.of_choosing = score_rows(model, choosing_, context_);
    const double unit = std::log(spread_.scale);
    trained.score = choosing_.rows() > 0
                        ? trained.of_choosing.nll_by_likeliest_variances()
                        : nll_once_calibrated(model.leave_one_out->mean_nll - unit, trained.left_out) + unit;
}

// Takes held-out rows where there are any, or else training rows left out in turn, whose scores become those of the
// distributions that the model predicts.
void Trainer::calibrate(Trained& trained) {
    Model& model = trained.result.model;
    const uncertainty::StandardisedErrors& left_out = trained.left_out;
    const HeldOutScore of_calibrating = score_rows(model, calibrating_, context_);
    const double unit = spread_.scale;
    uncertainty::VarianceCalibration on_scale;
    if (choosing_.rows() + calibrating_.rows() > 0) {
        calibrate_by_held_out(model, trained.of_choosing, of_calibrating, context_);
        on_scale = model.calibration->variance;
        on_scale.floor /= unit * unit;
    } else {
        on_scale = left_out.likeliest_variances();
        model.calibration = uncertainty::calibrate(uncertainty::Method::leave_one_out, left_out, on_scale, context_);
        model.calibration->variance.floor *= unit * unit;
    }
    if (!on_scale.is_identity()) model.leave_one_out = spread_.in_units(left_out_score(left_out, context_, on_scale));
    const uncertainty::StudentT& student = model.calibration->student;
    if (student.scale > 0) model.leave_one_out->mean_nll_student_t = left_out.mean_nll(student) + std::log(unit);
}

Model Trainer::fit_sample(size_t rows) {
    SampleFit found = gp::fit_sample(training_, rows, options_, limits_, context_);
    Model model = std::move(empty_model().result.model);
    model.noise = found.noise;
    std::visit([&](auto& posterior) { model.posterior = std::move(posterior); }, found.posterior);
    model.evaluations = found.evaluations;
    return model;
}

Trained Trainer::fit() {
    Trained trained = options_.kernel == KernelChoice::tree        ? fit_tree()
                      : options_.kernel == KernelChoice::automatic ? fit_best_kernel()
                                                                   : fit_sparse(options_.kernel);
    compare_scores(trained); // by the variances that the gp tells
    calibrate(trained);
    trained.result.timings = std::move(timings_);
    trained.result.warnings = std::move(warnings_);
    if (choosing_.rows() == 0) trained.score = calibrated_nll(*trained.result.model.leave_one_out);
    return trained;
}

std::vector<FitResult> Trainer::fit_members() {
    choose_encoding();
    find_candidates(member_count(options_), options_.evaluations);
    std::vector<FitResult> results;
    for (size_t member = 0; member < candidates_.size(); member++) {
        std::vector<double> weights(candidates_.size());
        weights[member] = 1;
        Trained trained = assemble(weights, Features::keep);
        calibrate(trained);
        results.push_back(std::move(trained.result));
    }
    results.front().warnings = std::move(warnings_);
    return results;
}

} // namespace btml::gp
