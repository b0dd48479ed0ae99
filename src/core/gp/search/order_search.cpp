#include "core/gp/search/order_search.hpp"

#include "core/gp/search/local_search.hpp"
#include "core/gp/search/order_evaluator.hpp"
#include "core/gp/search/theta_search.hpp"

#include <algorithm>

namespace btml::gp {

namespace {

constexpr size_t max_greedy_rows = 65536;
constexpr uint64_t min_evaluations = 16; // of a search worth the name
constexpr uint64_t streams_of_a_search = 4;

std::vector<uint16_t> features_with_bits(const Encoding& encoding, const std::vector<uint16_t>& allowed) {
    std::vector<uint16_t> features;
    for (size_t f = 0; f < encoding.features().size(); f++)
        if (encoding.features()[f].bits() > 0 &&
            (allowed.empty() || std::find(allowed.begin(), allowed.end(), f) != allowed.end()))
            features.push_back(static_cast<uint16_t>(f));
    return features;
}

FoundOrder fit_bits_in_turn(const Encoding& encoding, const DistinctRows& rows, const std::vector<uint16_t>& features,
                            const KernelLimits& limits, EvaluationBudget& budget, RunContext& context) {
    BitOrder order;
    for (int bit = 0; bit <= Encoding::max_value_bits; bit++)
        for (const uint16_t feature : features)
            if (bit < encoding.features()[feature].bits()) order.push_back(feature);
    const double signal = limits.signal.value_or(0.9) / static_cast<double>(std::max<size_t>(1, order.size()));
    Kernel start{std::vector<double>(order.size(), signal), limits.noise.value_or(limits.min_noise + 0.1)};
    OrderEvaluator evaluator(encoding, rows, context);
    evaluator.sort(order, context);
    KernelFit fit = evaluator.fit(start, limits, std::numeric_limits<int>::max(), budget, context);
    return {std::move(order), std::move(fit.kernel), fit.negative_log_likelihood, budget.spent()};
}

// Every row with the same chance.
DistinctRows sample(const DistinctRows& rows, size_t count, RandomStream random, RunContext& context) {
    const Observations& from = rows.observations;
    DistinctRows chosen{{count, rows.rows.words, Buffer<uint64_t>(context.memory(), "sample of rows")},
                        {.target = Buffer<double>(context.memory(), "sample of rows"),
                         .weight = Buffer<double>(context.memory(), "sample of rows")}};
    for (size_t i = 0, taken = 0; taken < count; i++) {
        if (random.below(rows.rows.rows - i) >= count - taken) continue;
        taken++;
        for (size_t word = 0; word < rows.rows.words; word++) chosen.rows.data.push_back(rows.rows.row(i)[word]);
        chosen.observations.target.push_back(from.target[i]);
        chosen.observations.weight.push_back(from.weight_of(i));
    }
    const double share = static_cast<double>(count) / static_cast<double>(from.size());
    chosen.observations.merged = share * from.merged;
    chosen.observations.residual = share * from.residual;
    return chosen;
}

OrderedKernel greedy(const Encoding& encoding, const DistinctRows& rows, const std::vector<uint16_t>& features,
                     const OrderSearch& search, EvaluationBudget& budget, RunContext& context) {
    const double min_noise = search.limits.noise.value_or(search.limits.min_noise);
    if (rows.rows.rows <= max_greedy_rows) return choose_order(encoding, rows, features, min_noise, budget, context);
    const RandomStream random(search.seed, streams_of_a_search * search.stream);
    return choose_order(encoding, sample(rows, max_greedy_rows, random, context), features, min_noise, budget, context);
}

// A part of the evaluations that are left.
EvaluationBudget share_of(const EvaluationBudget& budget, uint64_t parts, size_t rows) {
    return {std::max<uint64_t>(1, budget.left(rows) / parts), rows};
}

// Half of the evaluations are for the changes, and half of those for the greedy order. The rest is for descents by θ,
// which move many levels at once: one from what was found, the others from random starts, which some data prefer by
// far.
FoundOrder search_locally(const Encoding& encoding, const DistinctRows& rows, const std::vector<uint16_t>& features,
                          const OrderSearch& search, RandomStream random, EvaluationBudget& budget,
                          RunContext& context) {
    const size_t count = rows.rows.rows;
    EvaluationBudget changes = share_of(budget, 2, count), of_greedy = share_of(changes, 2, count);
    OrderedKernel start = greedy(encoding, rows, features, search, of_greedy, context);
    changes.spend(of_greedy.spent(), count);
    FoundOrder found =
        improve_order(encoding, rows, features, std::move(start), search.limits, random, changes, context);
    budget.spend(changes.spent(), count);
    EvaluationBudget descent = share_of(budget, 2, count);
    found = improve_thetas(encoding, rows, features, found, search.limits, descent, context);
    budget.spend(descent.spent(), count);
    FoundOrder other = search_thetas(encoding, rows, features, search.limits, random, budget, context);
    FoundOrder& better = other.negative_log_likelihood < found.negative_log_likelihood ? other : found;
    better.evaluations = budget.spent();
    return std::move(better);
}

} // namespace

FoundOrder search_order(const Encoding& encoding, const DistinctRows& rows, const OrderSearch& search,
                        RunContext& context) {
    const std::vector<uint16_t> features = features_with_bits(encoding, search.features);
    const size_t count = rows.rows.rows;
    EvaluationBudget budget(std::max<uint64_t>(1, search.evaluations), count);
    const RandomStream random(search.seed, streams_of_a_search * search.stream + 1);
    if (search.search == Search::none || features.empty() || search.evaluations < min_evaluations)
        return fit_bits_in_turn(encoding, rows, features, search.limits, budget, context);
    if (search.search == Search::bfgs)
        return search_thetas(encoding, rows, features, search.limits, random, budget, context);
    return search_locally(encoding, rows, features, search, random, budget, context);
}

} // namespace btml::gp
