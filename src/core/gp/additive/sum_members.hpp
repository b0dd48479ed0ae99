// Chooses the members of a kernel sum, before they learn together.
#pragma once

#include "core/gp/additive/sum_training.hpp"

namespace btml::gp {

struct SumMembers {
    std::vector<AdditiveCovariance::Member> members; // have the weights of a member alone, over the number of members
    std::vector<BitOrder> orders;
    double noise; // is the mean
    uint64_t evaluations;
};

// Returns the members of a model for rows with these features.
std::vector<AdditiveCovariance::Member> members_for(const SumModel::Parts& parts, std::span<const FeatureView> features,
                                                    RunContext& context);

double mean_weight(const Observations& observations);

// Takes at most two fifths of the evaluations.
SumMembers choose_members(const Encoding& encoding, std::span<const FeatureView> features,
                          const Observations& observations, const SumTraining& training, ThreadTeam& team,
                          RunContext& context);

} // namespace btml::gp
