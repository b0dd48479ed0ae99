#include "core/exemplar/objectives.hpp"

namespace btml::exemplar {

std::unique_ptr<Objective> make_objective(const ObjectiveInput& input, ThreadTeam& team, RunContext& context) {
    switch (input.options.objective) {
    case ObjectiveKind::information:
        return make_information(input, context);
    case ObjectiveKind::variance:
        return make_variance(input, context);
    case ObjectiveKind::prediction:
        return make_prediction(input, context);
    default:
        return make_clustering(input, team, context);
    }
}

} // namespace btml::exemplar
