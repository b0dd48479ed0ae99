#include "core/exemplar/stream_greedy.hpp"

#include <cmath>
#include <limits>

namespace btml::exemplar {

namespace {

// Sets a weighted mean, and its standard error as an estimate of the mean over the rows sampled from: a row that is
// sampled with probability p adds (1 − p) times its squared deviation (Duffield, Lund, Thorup, section 2). One sampled
// row alone says nothing of its deviation.
void estimate_utility(const Objective& objective, const Reservoir& reservoir, Selection& selection) {
    const PointSet& sample = reservoir.points();
    double sum = 0, weights = 0, count = 0, root = 0;
    bool all = true; // the rows that count are there for sure
    for (size_t i = 0; i < sample.size(); i++) {
        const double utility = objective.utility_of(i);
        if (std::isnan(utility)) continue;
        sum += sample.weight(i) * utility;
        weights += sample.weight(i);
        count++;
        all = all && reservoir.probability(i) == 1;
    }
    if (!(weights > 0)) return;
    selection.utility = sum / weights;
    for (size_t i = 0; i < sample.size(); i++) {
        const double deviation = sample.weight(i) / weights * (objective.utility_of(i) - selection.utility);
        if (!std::isnan(deviation)) root = std::hypot(root, deviation * std::sqrt(1 - reservoir.probability(i)));
    }
    selection.utility_std_error = all         ? 0
                                  : count > 1 ? root * std::sqrt(count / (count - 1))
                                              : std::numeric_limits<double>::quiet_NaN();
}

void count_members(const Objective& objective, const PointSet& sample, double weight, Selection& selection,
                   RunContext& context) {
    const size_t k = selection.exemplars.size();
    std::vector<double> weights(k), sums(k);
    context.for_each(sample.size(), units_of_row, [&](size_t i) {
        const Nearest nearest = objective.nearest(i);
        weights[nearest.slot] += sample.weight(i);
        sums[nearest.slot] += sample.weight(i) * nearest.dissimilarity;
    });
    const double per_sampled = weight / sample.total_weight();
    for (size_t s = 0; s < k; s++) {
        selection.exemplars[s].members = weights[s] * per_sampled;
        if (weights[s] > 0) selection.exemplars[s].mean_dissimilarity = sums[s] / weights[s];
    }
}

} // namespace

Selection evaluate(const ObjectiveInput& input, const PointSet& exemplars, const Reservoir& sample, double weight,
                   ThreadTeam& team, RunContext& context) {
    Selection selection;
    const std::unique_ptr<Objective> objective = make_objective(input, team, context);
    PointSet one(PointSet::Keep::sample, context.memory());
    for (size_t s = 0; s < exemplars.size(); s++) {
        context.poll();
        const Point exemplar = exemplars[s];
        one.put(0, exemplar);
        objective->load(one, team);
        objective->apply(0, s, team);
        const std::span<const double> x = exemplar.x;
        selection.exemplars.push_back(
            {std::string(exemplar.id), exemplar.has_id, {x.begin(), x.end()}, 0, std::nullopt});
    }
    estimate_utility(*objective, sample, selection);
    count_members(*objective, input.validation, weight, selection, context);
    return selection;
}

} // namespace btml::exemplar
