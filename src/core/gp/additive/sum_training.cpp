#include "core/gp/additive/sum_training.hpp"

#include "core/gp/additive/conjugate_gradients.hpp"
#include "core/gp/additive/sum_members.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace btml::gp {

namespace {

// The less noise there is, the longer systems take to solve; data that have less are given this much.
constexpr double min_noise_of_sums = 1e-4;
constexpr int weight_steps = 6;
constexpr double tolerance_of_steps = 0.02;         // A better solution teaches less than the next step does.
constexpr double share_of_weights = 0.55;           // of the time after the members' searches, as measured
constexpr uint64_t passes_of_iterations = 50;       // in a step
constexpr double unsolved = 0.5;                    // residual
constexpr double min_factor = 0.25, max_factor = 2; // of a variance in one step, before its momentum
constexpr double momentum = 0.4;                    // share of the step before that goes on
constexpr uint64_t evaluations_of_a_pass = 2;

// Takes the step of the MM algorithm, √, half as far again, which gets there sooner (twice as far would not), and a
// part of the step before (Polyak: Some Methods of Speeding up the Convergence of Iteration Methods, 1964).
double log_step(double data, double expected, double before) {
    const double root = std::sqrt(data / std::max(expected, 1e-30));
    return std::log(std::clamp(root * std::sqrt(root), min_factor, max_factor)) + momentum * before;
}

double min_noise_of(const SumTraining& training, const Observations& observations) {
    const double share = std::max(min_noise_of_sums, 1 / static_cast<double>(observations.size()));
    return training.noise.value_or(mean_weight(observations) * share);
}

constexpr size_t solutions = 2 * Columns::count - 1; // that are of samples

// Says how well a sum of kernels predicts each row from all the others.
//
// Without row i its residual is α_i/(K⁻¹)_ii, and the variance of that 1/(K⁻¹)_ii (Rasmussen, Williams: Gaussian
// Processes for Machine Learning, Equation 5.12). That holds for α = K⁻¹y. Where α is not quite that, the prediction of
// a row is off by what its equation is off, y_i − (Kα)_i, which the residual of the row then has, too: an error in the
// direction of a large eigenvalue hardly shows in α.
class SumScorer {
  public:
    // Keeps references. Solutions for the targets, α, in the first column of `first`; for samples of observations in
    // all others of both; and y − Kα.
    SumScorer(const Block& first, const Block& second, std::span<const float> errors, RunContext& context)
        : first_(first), second_(second), errors_(errors), context_(context) {}

    // Errors are on the scale of the targets given, and come from estimates of the diagonal of K⁻¹ by 31 samples.
    uncertainty::StandardisedErrors errors(double calibration) const {
        uncertainty::StandardisedErrors errors(context_);
        context_.for_each(first_.size(), 8, [&](size_t i) {
            const double inverse = inverse_diagonal(i).of_reciprocal;
            errors.add(first_[i][0] / inverse + errors_[i], calibration / inverse);
        });
        return errors;
    }

    // Variances take this factor so that 90 % of the left-out rows lie in their central 90 % intervals. Where nearly as
    // many do, it is 1: to tail-heavy data the likelihood loses more by the change than intervals gain. For the same
    // reason variances shrink only as far as the likelihood is near its best: where most rows are met exactly and a few
    // are far off, the intervals of the many would deny the few.
    double calibration() const {
        constexpr size_t min_rows = 100;
        constexpr double min_coverage = 0.88, max_coverage = 0.92, rows_of_half_trust = 500;
        const size_t rows = first_.size();
        const double coverage = *left_out_score(errors(1), context_).coverage_90;
        if (rows < min_rows || (coverage >= min_coverage && coverage <= max_coverage)) return 1;
        Buffer<double> deviations(context_.memory(), "leave-one-out residuals", rows);
        double squares = 0;
        for (size_t i = 0; i < rows; i++) {
            const double inverse = inverse_diagonal(i).mean;
            deviations[i] = std::abs(first_[i][0] / inverse + errors_[i]) * std::sqrt(inverse);
            squares += deviations[i] * deviations[i];
        }
        const size_t place = std::min(rows - 1, static_cast<size_t>(0.9 * static_cast<double>(rows)));
        std::nth_element(deviations.begin(), deviations.begin() + place, deviations.end());
        // The quantile of Student's t distribution: the variances are estimated from few samples.
        const double student =
            half_of_central_90 * (1 + (half_of_central_90 * half_of_central_90 + 1) / (4.0 * solutions));
        const double ratio = deviations[place] / student, n = rows;
        // The mean square is the likeliest factor; two thirds of it cost 0.05 nats a row.
        constexpr double of_likeliest = 2.0 / 3;
        const double least = std::min(1.0, of_likeliest * squares / n);
        const double factor = std::max(ratio * ratio, least);
        if (!(factor > 0 && std::isfinite(factor))) return 1;
        return std::pow(factor, n / (n + rows_of_half_trust));
    }

  private:
    // Holds an estimate of (K⁻¹)_ii, and one whose reciprocal is without bias to the order of 1/solutions: the more the
    // squares scatter, the larger it is. Where noise dominates they do not, being those of random signs.
    struct InverseDiagonal {
        double mean, of_reciprocal;
    };
    // Samples o have the covariance K, so the squares of K⁻¹o have the mean (K⁻¹)_ii.
    InverseDiagonal inverse_diagonal(size_t row) const {
        double sum = 0, fourth = 0;
        const auto add = [&](double value) {
            sum += value * value;
            fourth += value * value * value * value;
        };
        for (size_t column = 1; column < Columns::count; column++) add(first_[row][column]);
        for (size_t column = 0; column < Columns::count; column++) add(second_[row][column]);
        const double mean = std::max(sum / solutions, 1e-30);
        const double relative_variance = std::max(fourth / solutions / mean / mean - 1, 0.0);
        return {mean, mean * (1 + relative_variance / solutions)};
    }

    const Block &first_, &second_;
    const std::span<const float> errors_;
    RunContext& context_;
};

class SumTrainer {
  public:
    SumTrainer(const Observations& observations, const SumTraining& training, SumMembers members, ThreadTeam& team,
               RunContext& context)
        : observations_(observations),
          training_(training),
          context_(context),
          evaluations_(members.evaluations),
          sum_(std::move(members.members), observations.weight.span(),
               training.noise.value_or(std::max(members.noise, min_noise_of(training, observations))), team, context),
          solver_(sum_, context),
          right_(context.memory(), "solutions of a kernel sum", sum_.rows()),
          first_(context.memory(), "solutions of a kernel sum", sum_.rows(), Columns{}),
          second_(context.memory(), "solutions of a kernel sum"),
          errors_(context.memory(), "solutions of a kernel sum"),
          min_noise_(min_noise_of(training, observations)) {
        if (!training_.signal) return;
        std::vector<std::vector<double>> weights;
        for (const AdditiveCovariance::Member& member : sum_.members()) weights.push_back(member.weights);
        limit_signal(weights);
        sum_.set(std::move(weights), sum_.noise());
    }

    // The samples are made of the same random signs in every step: they move with the weights, and so do the solutions,
    // each of which starts from the one before.
    void learn_weights() {
        const uint64_t kept = passes(training_.evaluations) / 4; // for the last solutions
        const Share share(context_, 0, share_of_weights);
        for (const AdditiveCovariance::Member& member : sum_.members())
            last_weight_steps_.emplace_back(member.weights.size(), 0.0);
        for (int i = 0; i < weight_steps && passes_left() >= kept + 2 + passes_of_a_solution(); i++) {
            context_.share_progress("weights", static_cast<uint64_t>(i), weight_steps);
            step();
        }
    }

    // The targets' solution goes on from the last step's; the samples are new ones.
    void solve() {
        const Share share(context_, share_of_weights, 1);
        context_.share_progress("samples", 0, 2);
        for (Columns& row : first_)
            for (size_t column = 1; column < Columns::count; column++) row.values[column] = 0;
        residuals_.targets = solve_samples(SumStream::first_samples, passes_left() / 2, first_)[0];
        for (const Columns& row : solver_.residual()) errors_.push_back(row[0]);
        context_.share_progress("samples", 1, 2);
        second_.resize(sum_.rows());
        std::fill(second_.begin(), second_.end(), Columns{});
        solve_samples(SumStream::second_samples, passes_left(), second_);
    }

    uint64_t evaluations() const { return evaluations_ + evaluations_of_a_pass * sum_.passes(); }
    double noise() const { return sum_.noise(); }
    SumScorer scorer() const { return {first_, second_, errors_.span(), context_}; }
    // Moves the solutions to `parts`, and returns the members as they are now.
    std::vector<AdditiveCovariance::Member> finish(SumModel::Parts& parts) {
        parts.residuals = residuals_;
        parts.first = std::move(first_);
        parts.second = std::move(second_);
        return std::move(sum_).take();
    }

  private:
    // Column 0 of a block belongs to the targets, the others to samples.
    void put_targets(Block& block) const {
        for (size_t i = 0; i < block.size(); i++) block[i].values[0] = observations_.target[i];
    }

    // Takes α = K⁻¹y, and each weight w with its part A of K = ΣwA: w becomes w·(α'Aα / tr K⁻¹A)^¾, but for momentum,
    // and E[β'Aβ] = tr K⁻¹A for solutions β with samples of the gp.
    void step() {
        sum_.draw_samples({training_.seed, stream_of(SumStream::probes)}, right_);
        put_targets(right_);
        const auto outcome = solver_.approach(right_, first_, tolerance_of_steps, passes_of_a_solution(), context_);
        const std::vector<LevelSquares> squares = sum_.squares(first_);
        std::vector<std::vector<double>> weights;
        for (size_t m = 0; m < squares.size(); m++) {
            weights.push_back(sum_.members()[m].weights);
            for (size_t l = 0; l < weights.back().size(); l++) {
                double& last = last_weight_steps_[m][l];
                last = log_step(squares[m].first[l + 1], squares[m].others[l + 1] / (Columns::count - 1), last);
                weights.back()[l] *= std::exp(last);
            }
        }
        limit_signal(weights);
        sum_.set(std::move(weights), training_.noise ? *training_.noise : learned_noise(outcome.worst() < unsolved));
        context_.note(format("weights learned: signal %.4g, noise %.4g, after %d iterations to residual %.2g",
                             sum_.signal(), sum_.noise(), outcome.iterations, outcome.worst()));
    }

    // Solutions that are none would make the noise fall without end; those that are only rough do no harm.
    double learned_noise(bool may_fall) {
        double data = 0, expected = 0;
        for (size_t i = 0; i < first_.size(); i++) {
            const double share = sum_.inverse_weight()[i];
            data += share * first_[i][0] * first_[i][0];
            for (size_t column = 1; column < Columns::count; column++)
                expected += share * first_[i][column] * first_[i][column] / (Columns::count - 1);
        }
        const double next = log_step(data, expected, last_noise_step_);
        const double noise = std::max(min_noise_, sum_.noise() * std::exp(may_fall ? next : std::max(0.0, next)));
        last_noise_step_ = std::log(noise / sum_.noise());
        return noise;
    }

    // Scales the weights to the signal, where the user fixes that.
    void limit_signal(std::vector<std::vector<double>>& weights) const {
        if (!training_.signal) return;
        double signal = 0;
        for (const std::vector<double>& of_member : weights)
            signal = std::accumulate(of_member.begin(), of_member.end(), signal);
        if (!(signal > 0)) return;
        for (std::vector<double>& of_member : weights)
            for (double& weight : of_member) weight *= *training_.signal / signal;
    }

    uint64_t passes_of_a_solution() const { return passes_of_iterations + solver_.passes_to_start(); }
    uint64_t passes(uint64_t evaluations) const {
        return evaluations / (evaluations_of_a_pass * sum_.members().size());
    }
    uint64_t passes_left() const {
        return passes(training_.evaluations - std::min(training_.evaluations, evaluations()));
    }

    // Returns the residuals.
    ColumnValues solve_samples(SumStream stream, uint64_t passes, Block& solution) {
        constexpr uint64_t passes_before = 1; // to draw them
        sum_.draw_samples({training_.seed, stream_of(stream)}, right_);
        if (stream == SumStream::first_samples) put_targets(right_);
        const uint64_t paid = std::min(passes - std::min(passes, passes_before), ConjugateGradients::model_passes);
        const auto outcome = solver_.solve(right_, solution, ConjugateGradients::model_tolerance, paid, context_);
        context_.note(format("samples solved: %d iterations to residual %.2g", outcome.iterations, outcome.worst()));
        const auto samples = std::span(outcome.residuals).subspan(stream == SumStream::first_samples ? 1 : 0);
        residuals_.samples = std::max(residuals_.samples, largest(samples));
        return outcome.residuals;
    }

    const Observations& observations_;
    const SumTraining& training_;
    RunContext& context_;
    uint64_t evaluations_; // of the members' searches
    AdditiveCovariance sum_;
    ConjugateGradients solver_;
    Block right_, first_, second_;
    Buffer<float> errors_;
    SumResiduals residuals_;
    double min_noise_;
    // Logarithms of what the last step multiplied by, before limit_signal: weights, by member and level; and the noise.
    std::vector<std::vector<double>> last_weight_steps_;
    double last_noise_step_ = 0;
};

} // namespace

uint64_t default_evaluations(size_t rows) {
    constexpr uint64_t row_evaluations = 2'600'000'000, min = 2000, max = 120'000;
    return std::clamp(row_evaluations / std::max<size_t>(1, rows), min, max);
}

int members_within(uint64_t evaluations) {
    const int members = std::min<uint64_t>(SumTraining::max_members, evaluations / SumTraining::evaluations_per_member);
    return members < SumTraining::min_members ? 0 : members;
}

uint64_t training_bytes(const SumTraining& training, const Encoding& encoding, size_t rows, int threads) {
    const uint64_t members = training.members, workers = std::max(1, threads);
    const uint64_t block = sizeof(Columns), nodes = 2, blocks_of_trainer = 4;
    const uint64_t learning = block * (AdditiveCovariance::max_groups + ConjugateGradients::blocks(rows) +
                                       blocks_of_trainer + workers * nodes) +
                              members * (4 + nodes * (6 + 4)) + 32;
    const uint64_t key = 8 * ((encoding.bits() + 63) / 64), values = 70;
    const uint64_t model =
        2 * block + 8 * encoding.features().size() + members * (nodes * values + key) + 2 * nodes * block + 100;
    return rows * std::max(learning, model);
}

TrainedSum train_sum(const Encoding& encoding, const TrainingColumns& rows, SumTraining training, RunContext& context) {
    if (rows.rows() >= SumModel::max_rows)
        throw Error(ErrorCode::limit_exceeded,
                    format("a kernel sum has less than %zu rows, this one has %zu", SumModel::max_rows, rows.rows()));
    context.memory().require(training_bytes(training, encoding, rows.rows(), context.threads()), "a sum of kernels");
    ThreadTeam team(context, training.members);
    SumModel::Parts parts(encoding, training.seed, context.memory());
    const double unit = unit_of_weights(rows.weight.span());
    if (training.noise) *training.noise /= unit;
    uncertainty::StandardisedErrors left_out(context);
    uint64_t evaluations = 0;
    {
        Observations observations = make_observations(rows.target.span(), rows.weight.span(), context);
        divide_weights(observations, unit);
        SumMembers members = choose_members(encoding, rows.views(), observations, training, team, context);
        for (BitOrder& order : members.orders) parts.members.push_back({std::move(order), {}});
        SumTrainer trainer(observations, training, std::move(members), team, context);
        trainer.learn_weights();
        trainer.solve();
        const SumScorer scorer = trainer.scorer();
        parts.calibration = scorer.calibration();
        left_out = scorer.errors(parts.calibration);
        evaluations = trainer.evaluations();
        parts.noise = unit * trainer.noise();
        std::vector<AdditiveCovariance::Member> trained = trainer.finish(parts);
        for (size_t m = 0; m < trained.size(); m++) parts.members[m].weights = std::move(trained[m].weights);
    }
    parts.rows = copy(rows, context);
    return {SumModel(std::move(parts), context), left_out_score(left_out, context), std::move(left_out), evaluations};
}

static void require_solved(const SumResiduals& residuals, size_t members) {
    const double residual = residuals.worst();
    if (residual <= ConjugateGradients::max_residual) return;
    throw Error(ErrorCode::limit_exceeded,
                format("the sum of %zu kernels is not solved after the change, with a residual of %.2g where at most "
                       "%g is accepted",
                       members, residual, ConjugateGradients::max_residual),
                "Kernels and noise stay those of the fit, and do not suit these observations.",
                "Fit the model anew to all rows with btml.gp_fit.");
}

SumModel solve_again(SumModel::Parts parts, RunContext& context) {
    const SumTraining training{
        static_cast<int>(parts.members.size()), std::numeric_limits<uint64_t>::max(), parts.noise, {}, parts.seed};
    const Observations observations = make_observations(parts.rows.target.span(), parts.rows.weight.span(), context);
    context.memory().require(training_bytes(training, parts.encoding, observations.size(), context.threads()),
                             "a sum of kernels");
    ThreadTeam team(context, training.members);
    {
        SumMembers members{members_for(parts, parts.rows.views(), context), {}, parts.noise, 0};
        SumTrainer trainer(observations, training, std::move(members), team, context);
        trainer.solve();
        trainer.finish(parts);
        require_solved(parts.residuals, parts.members.size());
    }
    return SumModel(std::move(parts), context);
}

} // namespace btml::gp
