#include "core/gp/additive/sum_members.hpp"

#include "core/base/worker_contexts.hpp"
#include "core/gp/search/order_steps.hpp"
#include "core/numbers/rng.hpp"

#include <cmath>
#include <numeric>

namespace btml::gp {

namespace {

constexpr size_t max_sample_rows = 8192;
constexpr double min_share_of_features = 0.6;
constexpr double preference = 3; // for members that fit well, in the preconditioner

// How many features a member has varies: that makes members differ more than which ones they are.
std::vector<uint16_t> choose_features(const Encoding& encoding, uint64_t seed, size_t member) {
    RandomStream random(seed, stream_of(SumStream::features, member));
    std::vector<uint16_t> usable;
    for (size_t f = 0; f < encoding.features().size(); f++)
        if (encoding.features()[f].bits() > 0) usable.push_back(f);
    if (usable.empty()) return usable;
    const size_t least = std::max<size_t>(1, std::lround(min_share_of_features * usable.size()));
    const size_t count = least + random.below(usable.size() - least + 1);
    std::vector<uint16_t> features;
    for (const uint32_t i : choose(count, usable.size(), random)) features.push_back(usable[i]);
    return features;
}

class MemberSearch {
  public:
    MemberSearch(const Encoding& encoding, std::span<const FeatureView> features, const Observations& observations,
                 const SumTraining& training)
        : encoding_(encoding),
          features_(features),
          observations_(observations),
          seed_(training.seed),
          sample_rows_(std::min(observations.size(), max_sample_rows)),
          min_noise_(std::max(training.noise.value_or(0), mean_weight(observations) / sample_rows_)) {}

    // Returns an upper bound of what one search needs.
    uint64_t bytes() const {
        const uint64_t of_a_row = 8 * features_.size() + 16 * ((encoding_.bits() + 63) / 64) + 300;
        return (uint64_t{1} << 20) + of_a_row * std::max<size_t>(sample_rows_, 4096);
    }
    size_t sample_rows() const { return sample_rows_; }

    OrderedKernel search(size_t member, EvaluationBudget& budget, RunContext& context) const {
        const Encoding encoding = encoding_of_member(encoding_, seed_, member);
        const std::vector<uint32_t> chosen =
            choose(sample_rows_, observations_.size(), RandomStream(seed_, stream_of(SumStream::rows, member)));
        DistinctRows rows{encoding.encode_rows(features_, context, chosen), Observations(context.memory())};
        gather(observations_, chosen, rows.observations, context);
        const std::vector<uint16_t> features = choose_features(encoding, seed_, member);
        const OrderProblem problem{
            encoding, rows, features, {.noise = {}, .signal = {}, .min_noise = min_noise_}, context};
        return choose_order(problem, budget);
    }

  private:
    const Encoding& encoding_;
    const std::span<const FeatureView> features_;
    const Observations& observations_;
    const uint64_t seed_;
    const size_t sample_rows_;
    const double min_noise_;
};

MemberTree make_tree(const Encoding& encoding, std::span<const FeatureView> features, const BitOrder& order,
                     RunContext& context) {
    return MemberTree(StringRows(encoding, order, features, context).sorted, order.size(), context);
}

} // namespace

std::vector<AdditiveCovariance::Member> members_for(const SumModel::Parts& parts, std::span<const FeatureView> features,
                                                    RunContext& context) {
    std::vector<AdditiveCovariance::Member> members;
    for (const auto& [order, weights] : parts.members) {
        const Encoding encoding = encoding_of_member(parts.encoding, parts.seed, members.size());
        members.push_back({make_tree(encoding, features, order, context), weights, 1});
    }
    return members;
}

double mean_weight(const Observations& observations) {
    if (observations.weight.empty()) return 1;
    return std::accumulate(observations.weight.begin(), observations.weight.end(), 0.0) /
           static_cast<double>(observations.size());
}

SumMembers choose_members(const Encoding& encoding, std::span<const FeatureView> features,
                          const Observations& observations, const SumTraining& training, ThreadTeam& team,
                          RunContext& context) {
    const size_t count = training.members;
    const uint64_t evaluations = training.evaluations * 2 / 5 / count;
    const MemberSearch search(encoding, features, observations, training);
    std::vector<OrderedKernel> found(count);
    {
        WorkerContexts workers(context, team.size(), search.bytes(), "samples of rows");
        std::atomic<size_t> done{0};
        team.for_each(
            count,
            [&](size_t m, int worker) {
                workers.run(worker, [&](RunContext& own) {
                    EvaluationBudget budget(std::max<uint64_t>(1, evaluations), observations.size());
                    found[m] = search.search(m, budget, own);
                    found[m].evaluations = budget.spent();
                });
                done++;
                if (worker == 0) context.progress("members", done, count);
            },
            [&] { workers.poll(); });
    }
    SumMembers result{{}, {}, 0, 0};
    double least = std::numeric_limits<double>::infinity();
    for (const OrderedKernel& member : found) least = std::min(least, member.negative_log_likelihood);
    for (size_t m = 0; m < count; m++) {
        auto& [order, kernel, likelihood, spent] = found[m];
        for (double& weight : kernel.weights) weight /= count;
        const double behind = (likelihood - least) / search.sample_rows();
        result.members.push_back({make_tree(encoding_of_member(encoding, training.seed, m), features, order, context),
                                  std::move(kernel.weights), std::exp(-std::min(preference * behind, 80.0))});
        result.orders.push_back(std::move(order));
        result.noise += kernel.noise / count;
        result.evaluations += spent;
    }
    return result;
}

} // namespace btml::gp
