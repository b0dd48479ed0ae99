// Training of a sum of binary tree kernels: K = Σ K_m + Λ.
//
// Every member has a random shift of the grid, a random part of the features, and a greedy bit order from a sample of
// the rows. Then all weights and the noise are learned together, by the steps of a minorise–maximise algorithm for
// variance components (Zhou, Hu, Qiao, Cho, Zhou: MM Algorithms for Variance Components Models, 2019) in which traces
// are estimated from samples of the gp. A last solution serves the mean, and samples for the variance.
#pragma once

#include "core/gp/additive/sum_model.hpp"
#include "core/gp/tree/leave_one_out.hpp"

#include <optional>

namespace btml::gp {

struct SumTraining {
    static constexpr int max_members = 40, min_members = 4;
    static constexpr uint64_t evaluations_per_member = 2500;

    int members; // at least 1
    // Of the likelihood of all rows: greedy orders on samples in proportion, a pass of sixteen columns as two. At least
    // evaluations_per_member for each member is advised: fewer leave systems unsolved, and with less than 100 for each
    // somewhat more are made.
    uint64_t evaluations;
    std::optional<double> noise, signal; // as of Options
    uint64_t seed;
};

// Returns the evaluations unless the user says otherwise: about as many as keep a training within minutes, from 2,000
// to 120,000, beyond which searches find nothing better.
uint64_t default_evaluations(size_t rows);
// Members that so many evaluations serve, at most max_members; 0 where they are too few for a sum.
int members_within(uint64_t evaluations);

using TrainedSum = Fitted<SumModel>;

// Returns about what train_sum holds at its peak: 2.2 kB a row, 128 bytes a row for each thread and 24 bytes a row for
// each member, or what the model holds.
uint64_t training_bytes(const SumTraining& training, const Encoding& encoding, size_t rows, int threads);

// `encoding` of the features, without shifts. Errors: limit_exceeded beyond SumModel::max_rows, memory_limit before
// the work starts. Uses context.threads(); the result does not depend on how many there are.
TrainedSum train_sum(const Encoding& encoding, const TrainingColumns& rows, SumTraining training, RunContext& context);

// Makes the model of these rows with the same kernels, noise and calibration: it solves the systems as at the end of a
// training, from nothing, with no limit of evaluations. Takes memory as training does. Error limit_exceeded where a
// system is not solved to ConjugateGradients::max_residual.
SumModel solve_again(SumModel::Parts parts, RunContext& context);

} // namespace btml::gp
