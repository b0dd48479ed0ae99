#include "core/gp/trainer.hpp"

#include "core/gp/fit_scores.hpp"
#include "core/gp/gp_predictor.hpp"
#include "core/gp/sparse/sparse_training.hpp"
#include "core/uncertainty/log_squares.hpp"

#include <algorithm>
#include <cmath>

namespace btml::gp {

namespace {

KernelChoice kernel_of(const Model& model) {
    const auto* const sparse = std::get_if<SparseModel>(&model.posterior);
    return sparse ? sparse->kernel().kind : KernelChoice::tree;
}

class VaryingNoiseTraining {
  public:
    VaryingNoiseTraining(const std::vector<Feature>& features, const Options& options, const FitMemory& estimate,
                         RunContext& context)
        : features_(features), options_(options), estimate_(estimate), context_(context) {}

    Trained fit(const FitRows& rows) {
        double seconds = 0;
        std::optional<Stopwatch> watch(seconds);
        Trained best = [&] {
            const Share share(context_, 0, first_is_trained);
            return train(copy(rows, context_), options_);
        }();
        evaluations_ = best.result.model.evaluations;
        const char* why = best.left_out.size() < min_rows ? "there are too few rows for it" : nullptr;
        Logarithms logarithms(context_.memory(), "noise of rows", rows.training.rows(), 0.0);
        const Share rounds(context_, first_is_trained, 1);
        for (size_t round = 0; round < max_rounds && !why; round++) {
            const auto share = Share::of(context_, round, max_rounds);
            std::optional<Trained> better = improved(rows, best, logarithms);
            if (better)
                best = std::move(*better);
            else
                why = "rows left out are predicted no better with it";
        }
        if (!best.result.model.varying_noise)
            best.result.warnings.push_back(format("the noise does not vary: %s", why));
        watch.reset();
        for (const Timing& phase : best.result.timings) seconds -= phase.seconds;
        best.result.timings.push_back({"other fits for a noise that varies", seconds});
        return best;
    }

  private:
    static constexpr size_t min_rows = 50; // of fewer, squares say next to nothing
    // The logarithm of a square is anything down to −∞ by chance alone, which a floor next to what is typical hides. It
    // hides a part of what differs as well, which the mean slope makes good, but for what a next round finds.
    static constexpr double part_of_median = 1;
    static constexpr size_t max_rounds = 3;
    static constexpr double first_is_trained = 0.3, part_of_noise = 0.4; // of the work, and of a round's

    using Logarithms = Buffer<double>; // of the factors of rows

    Trained train(FitRows rows, const Options& options) {
        return Trainer(std::move(rows), features_, options, estimate_, context_).fit();
    }

    // Returns nothing where the noise that the gp leaves says nothing new.
    std::optional<Trained> improved(const FitRows& rows, const Trained& before, Logarithms& logarithms) {
        VaryingNoise noise = [&] {
            const Share share(context_, 0, part_of_noise);
            return learn(rows.training, before, logarithms);
        }();
        const Share share(context_, part_of_noise, 1);
        FitRows weighed = copy(rows, context_);
        weigh(weighed.training, noise, logarithms);
        weigh(weighed.choosing, noise, predictions(noise, rows.choosing));
        weigh(weighed.calibrating, noise, predictions(noise, rows.calibrating));
        Options options = options_;
        options.kernel = kernel_of(before.result.model);
        Trained after = train(std::move(weighed), options);
        context_.note(format("negative log density %g, with noise of %g to %g times as much %g", before.score,
                             noise.least, noise.greatest, after.score));
        const size_t scored = rows.choosing.rows() > 0 ? rows.choosing.rows() : before.left_out.size();
        after.result.model.evaluations += noise.gp.evaluations;
        for (const std::string& warning : before.result.warnings)
            if (std::find(after.result.warnings.begin(), after.result.warnings.end(), warning) ==
                after.result.warnings.end())
                after.result.warnings.push_back(warning);
        if (!uncertainty::is_clearly_better(after.score, before.score, scored)) return std::nullopt;
        after.result.model.varying_noise = std::make_unique<VaryingNoise>(std::move(noise));
        return after;
    }

    // Noise varies less than what it hides, so that fewer evaluations do.
    Options options_of_noise(const Model& before) const {
        static constexpr uint64_t part_of_evaluations = 4;
        Options options = options_;
        options.varying_noise = std::nullopt;
        options.kernel = kernel_of(before);
        options.combine = before.combine() == Combine::mixture ? Combine::mixture : Combine::automatic;
        options.evaluations = static_cast<int>(std::max<uint64_t>(1, evaluations_ / part_of_evaluations));
        return options;
    }

    // Takes what the noise of rows was thought to be, and fills in what the second gp says: of a row that it knows,
    // given the others.
    VaryingNoise learn(const TrainingColumns& rows, const Trained& before, Logarithms& logarithms) {
        const std::vector<uint32_t> known =
            rows_of_errors(rows.rows(), before.left_out.size(), static_cast<uint64_t>(options_.seed));
        Buffer<double> z = before.left_out.z();
        for (double& of_row : z) of_row = std::isfinite(of_row) ? of_row : 0;
        TrainingColumns training = select(rows, known, context_);
        training.weight = Buffer<double>(context_.memory(), "weights");
        Buffer<double> magnitudes(context_.memory(), "noise of rows"), targets(context_.memory(), "noise of rows");
        context_.for_each(known.size(), 1, [&](size_t i) { magnitudes.push_back(std::fabs(z[i])); });
        const uncertainty::LogSquares squares(std::move(magnitudes), part_of_median, context_);
        static constexpr double min_slope = 0.1; // less comes of errors most of which are 0
        double slope = 0;
        context_.for_each(known.size(), 2,
                          [&](size_t i) { slope += squares.slope(z[i]) / static_cast<double>(known.size()); });
        context_.for_each(known.size(), 4, [&](size_t i) {
            targets.push_back(squares.of(z[i]) / std::max(slope, min_slope) + logarithms[known[i]]);
            training.target[i] = targets[i];
        });
        Trained second = train(FitRows(std::move(training), context_), options_of_noise(before.result.model));
        VaryingNoise noise{std::move(second.result.model), 0, 1, 1};
        noise.gp.evaluations += before.result.model.evaluations;
        if (known.size() < rows.rows()) logarithms = predictions(noise, rows);
        const std::span<const double> errors = second.left_out.errors();
        context_.for_each(errors.size(), 1,
                          [&](size_t i) { logarithms[known[i]] = targets[i] - noise.gp.scale * errors[i]; });
        double least = logarithms[0], greatest = logarithms[0];
        context_.for_each(rows.rows(), 2, [&](size_t i) {
            noise.level += logarithms[i] / static_cast<double>(rows.rows());
            least = std::min(least, logarithms[i]);
            greatest = std::max(greatest, logarithms[i]);
        });
        noise.least = noise.factor(least);
        noise.greatest = noise.factor(greatest);
        return noise;
    }

    void weigh(TrainingColumns& rows, const VaryingNoise& noise, const Logarithms& logarithms) const {
        Buffer<double> weights(context_.memory(), "weights");
        context_.for_each(rows.rows(), 4, [&](size_t i) {
            weights.push_back(
                std::clamp(rows.weight_of(i) / noise.factor(logarithms[i]), min_row_weight, max_row_weight));
        });
        rows.weight = std::move(weights);
    }

    Logarithms predictions(VaryingNoise& noise, const TrainingColumns& rows) const {
        Logarithms logarithms(context_.memory(), "noise of rows", rows.rows(), 0.0);
        Predictor::for_each_point(
            noise.gp, rows.rows(), [&](size_t i, std::span<double> features) { rows.read_row(i, features); },
            [&](size_t i, Predictor& predictor, std::span<const double> features) {
                logarithms[i] = predictor.latent(features).mean;
            },
            context_);
        return logarithms;
    }

    const std::vector<Feature>& features_;
    const Options& options_;
    const FitMemory& estimate_;
    RunContext& context_;
    uint64_t evaluations_ = 0; // of the first gp
};

} // namespace

Trained fit_gp(FitRows rows, const std::vector<Feature>& features, const Options& options, const FitMemory& estimate,
               RunContext& context) {
    if (options.varying_noise.value_or(false))
        return VaryingNoiseTraining(features, options, estimate, context).fit(rows);
    return Trainer(std::move(rows), features, options, estimate, context).fit();
}

} // namespace btml::gp
