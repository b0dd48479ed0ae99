#include "core/gp/additive/sum_members.hpp"

#include "core/base/rng.hpp"
#include "core/base/worker_contexts.hpp"
#include "core/gp/search/greedy_order.hpp"
#include "core/gp/search/order_evaluator.hpp"

#include <cmath>
#include <numeric>

namespace btml::gp {

namespace {

constexpr size_t max_sample_rows = 16384;
constexpr double min_share_of_features = 0.6;
constexpr int evaluations_of_fit = 40;
constexpr double preference = 3; // for members that fit well, in the preconditioner

// Numbers below `all`, in their order, each with the same chance.
std::vector<uint32_t> choose(size_t count, size_t all, RandomStream random) {
    std::vector<uint32_t> chosen;
    for (size_t i = 0; chosen.size() < count; i++)
        if (random.below(all - i) < count - chosen.size()) chosen.push_back(static_cast<uint32_t>(i));
    return chosen;
}

// How many features a member has varies: that makes members differ more than which ones they are.
std::vector<uint16_t> choose_features(const Encoding& encoding, uint64_t seed, size_t member) {
    RandomStream random(seed, stream_of(SumStream::features, member));
    std::vector<uint16_t> usable;
    for (size_t f = 0; f < encoding.features().size(); f++)
        if (encoding.features()[f].bits() > 0) usable.push_back(static_cast<uint16_t>(f));
    if (usable.empty()) return usable;
    const size_t least = std::max<size_t>(
        1, static_cast<size_t>(std::lround(min_share_of_features * static_cast<double>(usable.size()))));
    const size_t count = least + random.below(usable.size() - least + 1);
    std::vector<uint16_t> features;
    for (const uint32_t i : choose(count, usable.size(), random)) features.push_back(usable[i]);
    return features;
}

class MemberSearch {
  public:
    MemberSearch(const Encoding& encoding, std::span<const FeatureView> features, const Observations& observations,
                 uint64_t seed, double min_noise)
        : encoding_(encoding),
          features_(features),
          observations_(observations),
          seed_(seed),
          sample_rows_(std::min(observations.size(), max_sample_rows)),
          min_noise_(std::max(min_noise, mean_weight(observations) / static_cast<double>(sample_rows_))) {}

    // An upper bound of what one search needs.
    uint64_t bytes() const {
        const uint64_t of_a_row = 8 * features_.size() + 16 * ((encoding_.bits() + 63) / 64) + 300;
        return (uint64_t{1} << 20) + of_a_row * std::max<size_t>(sample_rows_, 4096);
    }
    size_t sample_rows() const { return sample_rows_; }

    OrderedKernel search(size_t member, EvaluationBudget& budget, RunContext& context) const;

  private:
    DistinctRows sample(const Encoding& encoding, size_t member, RunContext& context) const;

    const Encoding& encoding_;
    const std::span<const FeatureView> features_;
    const Observations& observations_;
    const uint64_t seed_;
    const size_t sample_rows_;
    const double min_noise_;
};

DistinctRows MemberSearch::sample(const Encoding& encoding, size_t member, RunContext& context) const {
    const std::vector<uint32_t> rows =
        choose(sample_rows_, observations_.size(), RandomStream(seed_, stream_of(SumStream::rows, member)));
    TrainingColumns sample{
        {}, Buffer<double>(context.memory(), "sample of rows"), Buffer<double>(context.memory(), "sample of rows")};
    for (const FeatureView& feature : features_) {
        sample.features.push_back({feature.categorical, Buffer<double>(context.memory(), "sample of rows"),
                                   Buffer<uint32_t>(context.memory(), "sample of rows"), feature.categories});
        for (const uint32_t row : rows)
            if (feature.categorical)
                sample.features.back().codes.push_back(feature.codes[row]);
            else
                sample.features.back().numbers.push_back(feature.numbers[row]);
    }
    for (const uint32_t row : rows) {
        sample.target.push_back(observations_.target[row]);
        if (!observations_.weight.empty()) sample.weight.push_back(observations_.weight[row]);
    }
    return {encoding.encode_rows(sample.views(), context),
            {.target = std::move(sample.target), .weight = std::move(sample.weight)}};
}

OrderedKernel MemberSearch::search(size_t member, EvaluationBudget& budget, RunContext& context) const {
    const Encoding encoding = encoding_of_member(encoding_, seed_, member);
    const DistinctRows rows = sample(encoding, member, context);
    OrderedKernel found =
        choose_order(encoding, rows, choose_features(encoding, seed_, member), min_noise_, budget, context);
    if (budget.left(sample_rows_) == 0) return found;
    OrderEvaluator evaluator(encoding, rows, context);
    evaluator.sort(found.order, context);
    const KernelLimits limits{.noise = {}, .signal = {}, .min_noise = min_noise_};
    KernelFit fit = evaluator.fit(found.kernel, limits, evaluations_of_fit, budget, context);
    found.kernel = std::move(fit.kernel);
    found.negative_log_likelihood = fit.negative_log_likelihood;
    return found;
}

} // namespace

MemberTree make_tree(const Encoding& encoding, std::span<const FeatureView> features, const BitOrder& order,
                     RunContext& context) {
    const BitRows rows = encoding.encode_rows(features, context);
    RowSorter sorter(rows, context);
    sorter.propose(bits_of_levels(encoding, order), context);
    return MemberTree(std::move(sorter).take(), order.size(), context);
}

double mean_weight(const Observations& observations) {
    if (observations.weight.empty()) return 1;
    return std::accumulate(observations.weight.begin(), observations.weight.end(), 0.0) /
           static_cast<double>(observations.size());
}

SumMembers choose_members(const Encoding& encoding, std::span<const FeatureView> features,
                          const Observations& observations, const SumTraining& training, uint64_t evaluations,
                          double min_noise, ThreadTeam& team, RunContext& context) {
    const auto count = static_cast<size_t>(training.members);
    const MemberSearch search(encoding, features, observations, training.seed, min_noise);
    std::vector<OrderedKernel> found(count);
    std::vector<uint64_t> spent(count);
    {
        WorkerContexts workers(context, team.size(), search.bytes(), "samples of rows");
        std::atomic<size_t> done{0};
        team.for_each(
            count,
            [&](size_t m, int worker) {
                workers.run(worker, [&](RunContext& own) {
                    EvaluationBudget budget(std::max<uint64_t>(1, evaluations / count), observations.size());
                    found[m] = search.search(m, budget, own);
                    spent[m] = budget.spent();
                });
                done++;
                if (worker == 0) context.progress("members", done, count);
            },
            [&] { workers.poll(); });
    }
    SumMembers result{{}, {}, 0, std::accumulate(spent.begin(), spent.end(), uint64_t{0})};
    double least = std::numeric_limits<double>::infinity();
    for (const OrderedKernel& member : found) least = std::min(least, member.negative_log_likelihood);
    for (size_t m = 0; m < count; m++) {
        auto& [order, kernel, likelihood] = found[m];
        for (double& weight : kernel.weights) weight /= static_cast<double>(count);
        const double behind = (likelihood - least) / static_cast<double>(search.sample_rows());
        result.members.push_back({make_tree(encoding_of_member(encoding, training.seed, m), features, order, context),
                                  std::move(kernel.weights), std::exp(-std::min(preference * behind, 80.0))});
        result.orders.push_back(std::move(order));
        result.noise += kernel.noise / static_cast<double>(count);
    }
    return result;
}

} // namespace btml::gp
