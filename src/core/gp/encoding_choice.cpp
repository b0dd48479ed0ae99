#include "core/gp/encoding_choice.hpp"

#include "core/gp/additive/sum_training.hpp"
#include "core/gp/fit_memory.hpp"
#include "core/gp/mixture.hpp"
#include "core/gp/search/order_steps.hpp"
#include "core/numbers/rng.hpp"

#include <algorithm>

namespace btml::gp {

namespace {

constexpr uint64_t evaluations_per_member_of_sample = 1500; // fewer than of a fit: a sample has few rows
// In nats. A sum of fewer rows flatters ranks, whose cells are evenly filled.
constexpr double margin_of_sums = 0.2;
constexpr uint64_t max_evaluations = 200, part_of_evaluations = 20; // of one member

// Returns what the options say; nothing where they leave the choice open, and there are numbers.
std::optional<NumberPlaces> given_places(const TrainingColumns& rows, const Options& options) {
    const bool has_numbers = std::any_of(rows.features.begin(), rows.features.end(),
                                         [](const TrainingColumn& column) { return !column.categorical; });
    if (options.encoding == NumberEncoding::rank) return NumberPlaces::ranks;
    if (options.encoding == NumberEncoding::linear || !has_numbers) return NumberPlaces::values;
    return std::nullopt;
}

class SampleFits {
  public:
    // Keeps references. evaluations: of the fit of all rows.
    SampleFits(const TrainingColumns& sample, const Options& options, const KernelLimits& limits, uint64_t evaluations)
        : rows_(sample), options_(options), limits_(limits), evaluations_(evaluations) {}

    bool can_fit_sums() const {
        return options_.combine != Combine::mixture && options_.search == Search::local &&
               members_within(evaluations_) > 0;
    }
    // Returns the one with the places that the options say, or the better of two.
    template <class Fit>
    SampleFit best(Fit fit, double margin, RunContext& context) const {
        if (const auto places = given_places(rows_, options_)) return (this->*fit)(*places, context);
        SampleFit by_value = (this->*fit)(NumberPlaces::values, context);
        SampleFit by_rank = (this->*fit)(NumberPlaces::ranks, context);
        by_value.evaluations = by_rank.evaluations += by_value.evaluations;
        return by_rank.left_out < by_value.left_out - margin ? std::move(by_rank) : std::move(by_value);
    }

    SampleFit sum(NumberPlaces places, RunContext& context) const {
        TrainedSum trained = train_sum(encoding(places, context), rows_, sum_training(), context);
        const double noise = trained.model.noise();
        return {places, std::move(trained.model), noise, trained.leave_one_out.mean_nll, trained.evaluations};
    }

    SampleFit member(NumberPlaces places, RunContext& context) const {
        const uint64_t evaluations = std::clamp<uint64_t>(evaluations_ / part_of_evaluations, 1, max_evaluations);
        auto [encoding, found] =
            find_member(rows_, options_, this->encoding(places, context), limits_, 0, evaluations, context);
        const MemberRows sorted(encoding, found.order, rows_, context);
        LeaveOneOutScore score(rows_.rows(), context);
        score.add(1, sorted.leave_one_out(found.kernel, context), sorted.observations, found.kernel.noise,
                  sorted.sorted.rows.span(), context);
        Trie trie = sorted.trie(found.kernel, context);
        Mixture mixture;
        mixture.members.push_back({std::move(encoding), std::move(found.order), std::move(trie), 1});
        return {places, std::move(mixture), found.kernel.noise, score.total(rows_.target.span(), context).mean_nll,
                found.evaluations};
    }

  private:
    Encoding encoding(NumberPlaces places, RunContext& context) const {
        return Encoding(rows_.views(), rows_.target.span(), rows_.weight.span(),
                        value_bits_of(options_, rows_.features.size()), {}, context, places);
    }
    SumTraining sum_training() const {
        const int members =
            options_.members > 0 ? std::max(options_.members, SumTraining::min_members) : members_within(evaluations_);
        return {members, static_cast<uint64_t>(members) * evaluations_per_member_of_sample, options_.noise,
                options_.signal, static_cast<uint64_t>(options_.seed)};
    }

    const TrainingColumns& rows_;
    const Options& options_;
    const KernelLimits& limits_;
    const uint64_t evaluations_;
};

} // namespace

SampleFit fit_sample(const TrainingColumns& sample, size_t rows, const Options& options, const KernelLimits& limits,
                     RunContext& context) {
    const SampleFits fits(sample, options, limits, evaluations_of(options, rows));
    if (fits.can_fit_sums()) {
        try {
            return fits.best(&SampleFits::sum, margin_of_sums, context);
        } catch (const Error& error) {
            if (error.code() != ErrorCode::memory_limit) throw;
        }
    }
    return fits.best(&SampleFits::member, 0, context);
}

NumberPlaces choose_places(const TrainingColumns& rows, const Options& options, const KernelLimits& limits,
                           RunContext& context) {
    static constexpr uint64_t stream = 0x656e636f64696e67; // apart from the random bits of searches
    if (const auto places = given_places(rows, options)) return *places;
    const Share unknown(context, 0, 0); // next to the training's
    const std::vector<uint32_t> chosen = choose(std::min(rows.rows(), SampleFit::max_rows), rows.rows(),
                                                RandomStream(static_cast<uint64_t>(options.seed), stream));
    return fit_sample(select(rows, chosen, context), rows.rows(), options, limits, context).places;
}

} // namespace btml::gp
