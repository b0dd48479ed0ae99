// Trains a boosted Gaussian process: members one after the other, each fitted to the leave-one-out residuals of those
// before it, of whose mean a fraction is taken.
//
// The variance of an observation at x is noise/w + factor · Σ fraction · s(x), where s is a member's latent variance.
// Noise and factor are those under which the last residuals, which no member's fit to its own row made smaller, are
// most likely.
#pragma once

#include "core/gp/member_training.hpp"

namespace btml::gp {

struct BoostedTraining {
    static constexpr int max_members = 20, min_members = 4; // unless the user says otherwise
    // So much is left of a signal that all members find; it decides the fraction that is taken of each.
    static constexpr double left_of_signal = 1e-3;
    static constexpr int patience = 5; // members without a better score before training stops

    int members;          // at most
    uint64_t evaluations; // of the likelihood, by all members together
    std::optional<double> noise;
    double min_noise;
    double centre, scale; // from the held-out targets to the others' scale
};

// Returns the evaluations unless the user says otherwise: as many as for a sum of as many rows, but up to 200,000.
uint64_t default_boosted_evaluations(size_t rows);
// Members within so many evaluations.
int boosted_members_within(uint64_t evaluations);

struct TrainedBoosted {
    std::vector<Member> members;
    double noise, variance_factor;
    LeaveOneOut
        leave_one_out; // on the scale of the targets given; as if the other rows' residuals stayed without a row
    uncertainty::StandardisedErrors left_out; // likewise
    uint64_t evaluations;
};

// Keeps as many members as have the best mean negative log density: of the held-out rows, or where there are none, of
// the residuals. A function of its arguments alone, on one thread.
TrainedBoosted train_boosted(const MemberTraining& member_training, const TrainingColumns& rows,
                             const TrainingColumns& held_out, const BoostedTraining& training, RunContext& context);

} // namespace btml::gp
