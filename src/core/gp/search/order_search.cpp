#include "core/gp/search/order_search.hpp"

#include "core/gp/search/order_steps.hpp"

#include <algorithm>

namespace btml::gp {

namespace {

constexpr size_t max_greedy_rows = 65536;
constexpr uint64_t min_evaluations = 16; // of a search worth the name
constexpr uint64_t streams_of_a_search = 4;

OrderedKernel fit_bits_in_turn(const OrderProblem& problem, EvaluationBudget& budget) {
    const auto& [encoding, rows, features, limits, context] = problem;
    BitOrder order;
    for (int bit = 0; bit <= Encoding::max_value_bits; bit++)
        for (const uint16_t feature : features)
            if (bit < encoding.features()[feature].bits()) order.push_back(feature);
    const double signal = limits.signal.value_or(0.9) / static_cast<double>(std::max<size_t>(1, order.size()));
    const Kernel start{std::vector<double>(order.size(), signal), limits.noise.value_or(limits.min_noise + 0.1)};
    OrderEvaluator evaluator(problem, budget);
    evaluator.sort(order);
    OrderedKernel fit = evaluator.fit(start, std::numeric_limits<int>::max());
    fit.order = std::move(order);
    fit.evaluations = budget.spent();
    return fit;
}

// Takes every row with the same chance.
DistinctRows sample(const DistinctRows& rows, size_t count, RandomStream random, RunContext& context) {
    const std::vector<uint32_t> chosen = choose(count, rows.rows.rows, random);
    const size_t words = rows.rows.words;
    DistinctRows result{{count, words, Buffer<uint64_t>(context.memory(), "sample of rows", count * words)},
                        Observations(context.memory())};
    for (size_t i = 0; i < count; i++)
        std::copy_n(rows.rows.row(chosen[i]), words, result.rows.data.data() + i * words);
    gather(rows.observations, chosen, result.observations, context);
    const double share = static_cast<double>(count) / static_cast<double>(rows.observations.size());
    result.observations.merged *= share;
    result.observations.residual *= share;
    result.observations.log_weights = 0;
    return result;
}

OrderedKernel greedy(const OrderProblem& problem, RandomStream random, EvaluationBudget& budget) {
    if (problem.count() <= max_greedy_rows) return choose_order(problem, budget);
    const DistinctRows some = sample(problem.rows, max_greedy_rows, random, problem.context);
    return choose_order({problem.encoding, some, problem.features, problem.limits, problem.context}, budget);
}

// Half of the evaluations are for the changes, and half of those for the greedy order. The rest is for descents by θ,
// which move many levels at once: one from what was found, the others from random starts, which some data prefer by
// far.
OrderedKernel search_locally(const OrderProblem& problem, RandomStream of_sample, RandomStream random,
                             EvaluationBudget& budget) {
    const size_t count = problem.count();
    const auto share_of = [&](const EvaluationBudget& all, uint64_t parts) {
        return EvaluationBudget(std::max<uint64_t>(1, all.left(count) / parts), count);
    };
    constexpr size_t parts = 3; // of about the same time: changes sort fewer rows anew
    OrderedKernel found, other;
    {
        const auto share = Share::of(problem.context, 0, parts);
        EvaluationBudget changes = share_of(budget, 2), of_greedy = share_of(changes, 2);
        OrderedKernel start = greedy(problem, of_sample, of_greedy);
        changes.spend(of_greedy.spent(), count);
        found = improve_order(problem, std::move(start), random, changes);
        budget.spend(changes.spent(), count);
    }
    {
        const auto share = Share::of(problem.context, 1, parts);
        EvaluationBudget descent = share_of(budget, 2);
        found = improve_thetas(problem, found, descent);
        budget.spend(descent.spent(), count);
    }
    {
        const auto share = Share::of(problem.context, 2, parts);
        EvaluationBudget rest = share_of(budget, 1);
        other = search_thetas(problem, random, rest);
        budget.spend(rest.spent(), count);
    }
    OrderedKernel& better = other.negative_log_likelihood < found.negative_log_likelihood ? other : found;
    better.evaluations = budget.spent();
    return std::move(better);
}

} // namespace

std::vector<uint32_t> choose(size_t count, size_t all, RandomStream random) {
    std::vector<uint32_t> chosen;
    for (size_t i = 0; chosen.size() < count; i++)
        if (random.below(all - i) < count - chosen.size()) chosen.push_back(i);
    return chosen;
}

OrderedKernel search_order(const Encoding& encoding, const DistinctRows& rows, const OrderSearch& search,
                           RunContext& context) {
    std::vector<uint16_t> features;
    for (size_t f = 0; f < encoding.features().size(); f++)
        if (encoding.features()[f].bits() > 0) features.push_back(f);
    const OrderProblem problem{encoding, rows, features, search.limits, context};
    EvaluationBudget budget(std::max<uint64_t>(1, search.evaluations), problem.count());
    const auto stream = [&](uint64_t use) {
        return RandomStream(search.seed, streams_of_a_search * search.stream + use);
    };
    if (search.search == Search::none || features.empty() || search.evaluations < min_evaluations)
        return fit_bits_in_turn(problem, budget);
    if (search.search == Search::bfgs) return search_thetas(problem, stream(1), budget);
    return search_locally(problem, stream(0), stream(1), budget);
}

} // namespace btml::gp
