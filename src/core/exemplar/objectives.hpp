// Declares how each of the objectives is made.
#pragma once

#include "core/exemplar/objective.hpp"

namespace btml::exemplar {

std::unique_ptr<Objective> make_clustering(const ObjectiveInput& input, ThreadTeam& team, RunContext& context);
std::unique_ptr<Objective> make_information(const ObjectiveInput& input, RunContext& context);
std::unique_ptr<Objective> make_variance(const ObjectiveInput& input, RunContext& context);
std::unique_ptr<Objective> make_prediction(const ObjectiveInput& input, RunContext& context);

} // namespace btml::exemplar
