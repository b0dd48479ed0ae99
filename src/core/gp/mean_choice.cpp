
#include "core/data/dataset.hpp"
#include "core/gp/encoding_choice.hpp"
#include "core/gp/fit_scores.hpp"
#include "core/gp/search/order_steps.hpp"
#include "core/gp/sparse/sparse_training.hpp"
#include "core/gp/trainer.hpp"
#include "core/numbers/rng.hpp"

#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

namespace btml::gp {

namespace {

// Cuts numbers into so many of them by chance, and the others.
std::pair<std::vector<uint32_t>, std::vector<uint32_t>> split(const std::vector<uint32_t>& numbers, size_t count,
                                                              RandomStream random) {
    std::vector<bool> is_first(numbers.size(), false);
    for (const uint32_t place : choose(count, numbers.size(), random)) is_first[place] = true;
    std::pair<std::vector<uint32_t>, std::vector<uint32_t>> parts;
    for (size_t i = 0; i < numbers.size(); i++) (is_first[i] ? parts.first : parts.second).push_back(numbers[i]);
    return parts;
}

// Says whether trees tell no more than a constant.
bool is_constant(const TreesFit& trees) {
    return trees.mean.trees().trees.empty();
}

// Returns the square of the ratio of mean |z|, of spared rows to all: of magnitudes, which a few rows that are far off
// say less of than of squares. The more of it may be chance, the nearer to 1 it is taken (a normal prior of its
// logarithm, and the error of a mean).
double ratio_of_variances(std::span<const double> z, std::span<const size_t> spared) {
    static constexpr double typical = 0.1; // as the logarithm of a ratio of means
    const auto magnitude = [&](size_t i) { return std::isfinite(z[i]) ? std::fabs(z[i]) : 0; };
    const double count = static_cast<double>(spared.size());
    double of_all = 0, of_spared = 0, squares = 0;
    for (size_t i = 0; i < z.size(); i++) of_all += magnitude(i) / static_cast<double>(z.size());
    for (const size_t i : spared) of_spared += magnitude(i) / count;
    for (const size_t i : spared) squares += (magnitude(i) - of_spared) * (magnitude(i) - of_spared);
    const double ratio = of_spared / of_all, variance = squares / (count - 1) / count / (of_spared * of_spared);
    if (!std::isnormal(ratio) || !std::isfinite(variance)) return 1;
    return std::clamp(std::pow(ratio, 2 * typical * typical / (typical * typical + variance)),
                      TreesMean::min_variance_ratio, TreesMean::max_variance_ratio);
}

std::vector<size_t> all_places(size_t count) {
    std::vector<size_t> places(count);
    std::iota(places.begin(), places.end(), size_t{0});
    return places;
}

class MeanChoice {
  public:
    MeanChoice(const std::vector<Feature>& features, const Options& options, const FitMemory& estimate,
               RunContext& context)
        : features_(features), options_(options), estimate_(estimate), context_(context) {}

    FitResult fit(FitRows rows) {
        FitResult result = std::move(fit_any(std::move(rows)).result);
        result.timings.insert(result.timings.begin(), timings_.begin(), timings_.end());
        return result;
    }

  private:
    // Parts of the time, which takes longer where all kernels are tried: of the trees, and of those with a gp.
    double part_of_trees() const { return options_.kernel == KernelChoice::automatic ? 0.1 : 0.4; }
    static constexpr double part_over_trees = 0.2;
    // Of so many rows, all but the spared ones are a sample, and trees of all compare with it.
    static constexpr size_t few_rows = SampleFit::max_rows + SampleFit::max_rows / 7;

    TreesFit fit_trees(const TrainingColumns& rows) {
        return gp::fit_trees(rows, features_, static_cast<uint64_t>(options_.seed), context_);
    }

    Trained over_zero(FitRows rows, const Options& options) {
        Trained trained = fit_gp(std::move(rows), features_, options, estimate_, context_);
        trained.result.model.options = options_.kept(trained.result.model.features.size());
        return trained;
    }

    Trained over_trees(FitRows rows, TreesFit trees, const Options& options, double until) {
        const Share share(context_, std::exchange(done_, until), until);
        const FitRows held_out = copy_held_out(rows, context_);
        take_errors(rows.training, trees, [](size_t i) { return i; });
        take_trees(rows.choosing, trees.mean);
        take_trees(rows.calibrating, trees.mean);
        Trained trained = over_zero(std::move(rows), options);
        place(trained, held_out, std::move(trees));
        return trained;
    }

    // Where the choice is open, memory may be too little for trees, and a fold may have no row with a weight that
    // counts beside those of others.
    std::optional<TreesFit> fit_trees_if_worth_it(const FitRows& rows) {
        const size_t count = rows.training.rows();
        const bool is_open = is_mean_open(options_, count);
        if (!is_open && options_.mean != Mean::boosted) return std::nullopt;
        const auto fit_all = [&] {
            const Share share(context_, 0, part_of_trees());
            TreesFit trees = timed(timings_, "boosting the mean", [&] { return fit_trees(rows.training); });
            done_ = part_of_trees();
            return trees;
        };
        const auto worth_it = [&](TreesFit* of_all) {
            return timed(timings_, "choosing the mean", [&] { return is_worth_it(rows, of_all); });
        };
        try {
            if (is_open && count > few_rows && !worth_it(nullptr)) return std::nullopt;
            TreesFit trees = fit_all();
            if (is_open && count <= few_rows && (is_constant(trees) || !worth_it(&trees))) return std::nullopt;
            return trees;
        } catch (const NothingToTrainOn&) {
            if (!is_open) throw;
            return std::nullopt;
        } catch (const Error& error) {
            if (!is_open || error.code() != ErrorCode::memory_limit) throw;
            return std::nullopt;
        }
    }

    // With every kernel to choose from, trees are for the tree kernel: a smooth one stays smooth.
    Trained fit_any(FitRows rows) {
        std::optional<TreesFit> trees = fit_trees_if_worth_it(rows);
        const Options options = options_with_places();
        if (!trees) {
            const Share share(context_, done_, 1);
            return over_zero(std::move(rows), options);
        }
        if (options_.mean == Mean::boosted || options_.kernel == KernelChoice::tree)
            return over_trees(std::move(rows), std::move(*trees), options, 1);
        Options of_trees = options;
        of_trees.kernel = KernelChoice::tree;
        const std::vector<bool> spared = trees->is_spared;
        const bool held_out_rows_choose = rows.choosing.rows() > 0;
        Trained with_trees = over_trees(copy(rows, context_), std::move(*trees), of_trees, part_over_trees);
        const Share share(context_, done_, 1);
        Trained without = over_zero(std::move(rows), options);
        const double score_without = held_out_rows_choose ? without.score : score_at(without, spared);
        if (!(with_trees.score < score_without)) return without;
        std::vector<std::string>& told = with_trees.result.warnings;
        std::copy_if(
            without.result.warnings.begin(), without.result.warnings.end(), std::back_inserter(told),
            [&](const std::string& warning) { return std::find(told.begin(), told.end(), warning) == told.end(); });
        return with_trees;
    }

    // Fits a sample of the rows with and without trees, and asks which predicts others better: leaving rows out
    // flatters a kernel that was chosen by all rows. The trees are those of all rows, which know nothing of those that
    // are spared, or where there are none yet, of the sample. Where those alone are better, a gp of what they leave
    // need not be asked. Numbers have the places that the targets gave them.
    bool is_worth_it(const FitRows& rows, TreesFit* of_all) {
        static constexpr uint64_t stream = 0x6d65616e; // apart from the random bits of searches
        const size_t all = rows.training.rows();
        const Share unknown(context_, 0, 0); // next to the training's
        const bool held_out = rows.are_halves && rows.choosing.rows() >= min_rows_to_choose;
        const RandomStream random(static_cast<uint64_t>(options_.seed), stream);
        const auto at_most = [](size_t count) { return std::min(SampleFit::max_rows, count); };
        std::vector<uint32_t> sampled, left;
        if (held_out) {
            sampled = choose(at_most(all), all, random);
        } else if (of_all) {
            for (uint32_t row = 0; row < all; row++) (of_all->is_spared[row] ? left : sampled).push_back(row);
        } else {
            const size_t used = at_most(all - all / 5);
            const std::vector<uint32_t> mixed = choose(used + at_most(all - used), all, random);
            std::tie(sampled, left) =
                split(mixed, used, RandomStream(static_cast<uint64_t>(options_.seed), stream + 1));
        }
        TrainingColumns sample = select(rows.training, sampled, context_);
        TrainingColumns others =
            held_out
                ? select(rows.choosing, choose(at_most(rows.choosing.rows()), rows.choosing.rows(), random), context_)
                : select(rows.training, left, context_);
        const size_t scored = others.rows();
        const CalibratedScore over_zero = score_over_zero(sample, others, all);
        std::optional<TreesFit> of_sample;
        if (!of_all) of_sample.emplace(fit_trees(sample));
        TreesFit& trees = of_all ? *of_all : *of_sample;
        if (is_constant(trees)) return false;
        const auto are_better = [&](const char* what, const CalibratedScore& found) {
            context_.note(format(
                "a sample of %zu rows: negative log density of %zu others %g, normal %g; %s %g, normal %g",
                sampled.size(), scored, over_zero.student_t, over_zero.normal, what, found.student_t, found.normal));
            return found.is_better_than(over_zero, scored);
        };
        if (are_better("of boosted trees alone", score_alone(trees.mean, others))) return true;
        take_errors(sample, trees, [&](size_t i) { return of_all ? sampled[i] : i; });
        Model model = fit_sample(std::move(sample), all);
        model.mean.emplace(std::move(trees.mean));
        const CalibratedScore over_trees = score(model, others);
        trees.mean = std::move(*model.mean);
        return are_better("over boosted trees", over_trees);
    }

    CalibratedScore score_over_zero(const TrainingColumns& sample, const TrainingColumns& others, size_t rows) {
        Model model = fit_sample(copy(sample, context_), rows);
        places_of_zero_ = model.encoding()->places();
        return score(model, others);
    }

    Model fit_sample(TrainingColumns sample, size_t rows) {
        const Options options = options_with_places();
        return Trainer(FitRows(std::move(sample), context_), features_, options, estimate_, context_).fit_sample(rows);
    }

    CalibratedScore score(Model& model, const TrainingColumns& rows) {
        return {score_rows(model, rows, context_).errors, context_};
    }

    // Returns the score of trees without a gp.
    CalibratedScore score_alone(TreesMean& mean, const TrainingColumns& rows) {
        uncertainty::StandardisedErrors errors(context_);
        std::vector<double> values(features_.size());
        context_.for_each(rows.rows(), 16 + 2 * mean.trees().trees.size(), [&](size_t i) {
            rows.read_row(i, values);
            const Placement at = mean.at(values);
            errors.add(rows.target[i] - at.mean, at.deviation * at.deviation);
        });
        return {errors, context_};
    }

    // Returns the options with what a sample of targets told of their encoding.
    Options options_with_places() const {
        Options options = options_;
        if (places_of_zero_ && options.encoding == NumberEncoding::automatic)
            options.encoding = *places_of_zero_ == NumberPlaces::ranks ? NumberEncoding::rank : NumberEncoding::linear;
        return options;
    }

    // Targets of the trees' own rows become what trees that knew nothing of them leave, in units of the deviations.
    template <class RowOf>
    void take_errors(TrainingColumns& rows, const TreesFit& trees, const RowOf& row_of) {
        context_.for_each(rows.rows(), 4,
                          [&](size_t i) { rows.target[i] = trees.errors[row_of(i)] / trees.deviations[row_of(i)]; });
    }

    // Targets of other rows become what the trees leave.
    void take_trees(TrainingColumns& rows, TreesMean& mean) {
        std::vector<double> values(features_.size());
        context_.for_each(rows.rows(), 16 + 2 * mean.trees().trees.size(), [&](size_t i) {
            rows.read_row(i, values);
            rows.target[i] = mean.at(values).inner(rows.target[i]);
        });
    }

    // Returns which of the errors are of some rows, or where these are next to none, all.
    static std::vector<size_t> places_of(const std::vector<bool>& rows, std::span<const uint32_t> row_of) {
        static constexpr size_t min_rows = 25;
        std::vector<size_t> places;
        for (size_t i = 0; i < row_of.size(); i++)
            if (rows[row_of[i]]) places.push_back(i);
        return places.size() < min_rows ? all_places(row_of.size()) : places;
    }

    // Returns errors of rows left out in units of the target; unit_of(place): in those of the model.
    template <class UnitOf>
    uncertainty::StandardisedErrors errors_at(const std::vector<size_t>& places, const Trained& trained,
                                              const UnitOf& unit_of, double variance_ratio) {
        const uncertainty::StandardisedErrors& all = trained.left_out;
        uncertainty::StandardisedErrors errors(context_);
        context_.for_each(places.size(), 4, [&](size_t i) {
            const size_t at = places[i];
            const double unit = trained.result.model.scale * unit_of(at), deviation = unit * all.deviations()[at];
            errors.add(unit * all.errors()[at], variance_ratio * deviation * deviation);
        });
        return errors;
    }

    std::vector<uint32_t> rows_left_out(const Trained& trained, size_t rows) const {
        return rows_of_errors(rows, trained.left_out.size(), static_cast<uint64_t>(options_.seed));
    }

    // The gp's scores become those of the targets, and its variances those at new rows. Rows held out calibrate by
    // what the whole predicts, which beyond the training range is no more than a part of what the trees say. Where
    // there are none, spared rows do, or where quantiles of so few would be left to chance, all rows, which makes them
    // too wide.
    void place(Trained& trained, const FitRows& held_out, TreesFit trees) {
        static constexpr size_t min_rows_to_calibrate = 250;
        Model& model = trained.result.model;
        const std::vector<uint32_t> row_of = rows_left_out(trained, trees.errors.size());
        const std::vector<size_t> all = all_places(row_of.size()), scored = places_of(trees.is_spared, row_of);
        const double ratio = scored.size() < all.size() ? ratio_of_variances(trained.left_out.z().span(), scored) : 1;
        const auto errors_of = [&](const std::vector<size_t>& places) {
            return errors_at(
                places, trained, [&](size_t at) { return trees.deviations[row_of[at]]; }, ratio);
        };
        const uncertainty::StandardisedErrors errors = errors_of(scored);
        trees.mean.set_variance_ratio(ratio);
        model.mean.emplace(std::move(trees.mean));
        model.calibration.reset(); // which is of the gp alone
        const HeldOutScore of_choosing = score_rows(model, held_out.choosing, context_),
                           of_calibrating = score_rows(model, held_out.calibrating, context_);
        if (held_out.choosing.rows() + held_out.calibrating.rows() > 0) {
            calibrate_by_held_out(model, of_choosing, of_calibrating, context_);
        } else {
            const uncertainty::StandardisedErrors by = errors_of(scored.size() < min_rows_to_calibrate ? all : scored);
            model.calibration =
                uncertainty::calibrate(uncertainty::Method::leave_one_out, by, by.likeliest_variances(), context_);
        }
        model.leave_one_out = left_out_score(errors, *model.calibration, context_);
        trained.score = held_out.choosing.rows() > 0 ? of_choosing.nll_by_likeliest_variances()
                                                     : calibrated_nll(*model.leave_one_out);
    }

    // Returns the score of a gp of targets as they are, of these rows.
    double score_at(const Trained& trained, const std::vector<bool>& rows) {
        const std::vector<size_t> places = places_of(rows, rows_left_out(trained, rows.size()));
        const uncertainty::StandardisedErrors errors = errors_at(
            places, trained, [](size_t) { return 1.0; }, 1);
        return calibrated_nll(left_out_score(errors, *trained.result.model.calibration, context_));
    }

    const std::vector<Feature>& features_;
    const Options& options_;
    const FitMemory& estimate_;
    RunContext& context_;
    std::vector<Timing> timings_;
    std::optional<NumberPlaces> places_of_zero_; // where a sample told
    double done_ = 0;                            // of the time
};

} // namespace

bool is_mean_open(const Options& options, size_t rows) {
    static constexpr size_t min_rows = 250;
    return options.mean == Mean::automatic && rows >= min_rows && !options.noise && !options.signal &&
           (options.kernel == KernelChoice::tree || options.kernel == KernelChoice::automatic);
}

FitResult fit_with_mean(FitRows rows, const std::vector<Feature>& features, const Options& options,
                        const FitMemory& estimate, RunContext& context) {
    return MeanChoice(features, options, estimate, context).fit(std::move(rows));
}

} // namespace btml::gp
