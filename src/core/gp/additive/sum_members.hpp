// The members of a kernel sum before they learn together.
#pragma once

#include "core/gp/additive/sum_training.hpp"

namespace btml::gp {

struct SumMembers {
    std::vector<AdditiveCovariance::Member> members; // weights as of the member alone, over the number of members
    std::vector<BitOrder> orders;
    double noise; // mean
    uint64_t evaluations;
};

// Of rows with these features, in the order of their strings.
MemberTree make_tree(const Encoding& encoding, std::span<const FeatureView> features, const BitOrder& order,
                     RunContext& context);

double mean_weight(const Observations& observations);

// With at most `evaluations` of all rows; their noise is at least `min_noise`.
SumMembers choose_members(const Encoding& encoding, std::span<const FeatureView> features,
                          const Observations& observations, const SumTraining& training, uint64_t evaluations,
                          double min_noise, ThreadTeam& team, RunContext& context);

} // namespace btml::gp
