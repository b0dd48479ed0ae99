#include "core/gp/encoding_choice.hpp"

#include "core/base/rng.hpp"
#include "core/gp/additive/sum_training.hpp"
#include "core/gp/fit_memory.hpp"
#include "core/gp/mixture.hpp"
#include "core/gp/search/order_steps.hpp"

#include <algorithm>

namespace btml::gp {

namespace {

constexpr size_t max_rows = 4096;
constexpr uint64_t evaluations_per_member = 1500;
// In nats. A sum of fewer rows flatters ranks, whose cells are evenly filled.
constexpr double margin_of_sums = 0.2;
constexpr uint64_t max_evaluations = 200, part_of_evaluations = 20; // of one member

class EncodingChoice {
  public:
    // Keeps references.
    EncodingChoice(const TrainingColumns& sample, const Options& options, int value_bits, const KernelLimits& limits,
                   uint64_t evaluations)
        : rows_(sample), options_(options), value_bits_(value_bits), limits_(limits), evaluations_(evaluations) {}

    bool takes_sums() const {
        return options_.combine != Combine::mixture && options_.search == Search::local &&
               members_within(evaluations_) > 0;
    }
    template <class Score>
    NumberPlaces better(Score score, double margin, RunContext& context) const {
        const double by_value = (this->*score)(NumberPlaces::values, context);
        return (this->*score)(NumberPlaces::ranks, context) < by_value - margin ? NumberPlaces::ranks
                                                                                : NumberPlaces::values;
    }
    double nll_of_sum(NumberPlaces places, RunContext& context) const;
    double nll_of_member(NumberPlaces places, RunContext& context) const;

  private:
    Encoding encoding(NumberPlaces places, RunContext& context) const {
        return Encoding(rows_.views(), rows_.target.span(), rows_.weight.span(), value_bits_, {}, context, places);
    }
    SumTraining sum_training() const {
        const int members =
            options_.members > 0 ? std::max(options_.members, SumTraining::min_members) : members_within(evaluations_);
        return {members, static_cast<uint64_t>(members) * evaluations_per_member, options_.noise, options_.signal,
                static_cast<uint64_t>(options_.seed)};
    }

    const TrainingColumns& rows_;
    const Options& options_;
    const int value_bits_;
    const KernelLimits& limits_;
    const uint64_t evaluations_; // of the fit
};

double EncodingChoice::nll_of_sum(NumberPlaces places, RunContext& context) const {
    return train_sum(encoding(places, context), rows_, sum_training(), context).leave_one_out.mean_nll;
}

double EncodingChoice::nll_of_member(NumberPlaces places, RunContext& context) const {
    const MemberTraining training(rows_, options_, this->encoding(places, context), limits_);
    const uint64_t evaluations = std::clamp<uint64_t>(evaluations_ / part_of_evaluations, 1, max_evaluations);
    const auto [encoding, found] = training.find(rows_.target.span(), 0, evaluations, context);
    const MemberRows sorted(encoding, found.order, rows_, rows_.target.span(), context);
    LeaveOneOutScore score(rows_.rows(), context);
    score.add(1, sorted.leave_one_out(found.kernel, context), sorted.observations, found.kernel.noise,
              sorted.sorted.rows.span(), context);
    return score.total(rows_.target.span(), context).mean_nll;
}

} // namespace

NumberPlaces choose_places(const TrainingColumns& rows, const Options& options, int value_bits,
                           const KernelLimits& limits, RunContext& context) {
    static constexpr uint64_t stream = 0x656e636f64696e67; // apart from the random bits of searches
    const bool has_numbers = std::any_of(rows.features.begin(), rows.features.end(),
                                         [](const TrainingColumn& column) { return !column.categorical; });
    if (options.encoding == NumberEncoding::rank) return NumberPlaces::ranks;
    if (options.encoding == NumberEncoding::linear || !has_numbers) return NumberPlaces::values;
    const Share unknown(context, 0, 0); // next to the training's
    const std::vector<uint32_t> chosen =
        choose(std::min(rows.rows(), max_rows), rows.rows(), RandomStream(static_cast<uint64_t>(options.seed), stream));
    const TrainingColumns sample = select(rows, chosen, context);
    const EncodingChoice choice(sample, options, value_bits, limits, evaluations_of(options, rows.rows()));
    if (choice.takes_sums()) {
        try {
            return choice.better(&EncodingChoice::nll_of_sum, margin_of_sums, context);
        } catch (const Error& error) {
            if (error.code() != ErrorCode::memory_limit) throw;
        }
    }
    return choice.better(&EncodingChoice::nll_of_member, 0, context);
}

} // namespace btml::gp
