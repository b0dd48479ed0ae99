// Trains members, alone or in a chain: a search finds bit order and kernel, then the trie is built.
#pragma once

#include "core/gp/gp_model.hpp"

namespace btml::gp {

struct Candidate {
    Encoding encoding;
    OrderedKernel found;
};

class MemberTraining {
  public:
    // Keeps references to the rows and the options. encoding: of the rows, without shifts.
    MemberTraining(const TrainingColumns& rows, const Options& options, Encoding encoding, KernelLimits limits)
        : rows_(rows), options_(options), encoding_(std::move(encoding)), limits_(std::move(limits)) {}

    // Finds a member for these targets of the rows. Member 0 has its grid where the data has it, the others at random
    // shifts.
    Candidate find(std::span<const double> target, size_t member, uint64_t evaluations, RunContext& context) const;

  private:
    const TrainingColumns& rows_;
    const Options& options_;
    const Encoding encoding_;
    const KernelLimits limits_;
};

// Holds rows in the order of a member's strings, with these targets.
struct MemberRows : StringRows {
    Observations observations; // sorted

    MemberRows(const Encoding& encoding, const BitOrder& order, const TrainingColumns& columns,
               std::span<const double> target, RunContext& context);

    // Predicts by place in the order, of the rows sorted.rows.
    Normals leave_one_out(const Kernel& kernel, RunContext& context) const;
    Trie trie(const Kernel& kernel, RunContext& context) const;
};

// Holds what is left of targets when members are fitted one after the other, each to what those before it leave out: a
// row's residual is the target less a fraction of every member's mean at the row given all other rows, so that it is
// what the members would leave of a new observation (the boosting of Friedman: Greedy Function Approximation, 2001,
// with leave-one-out residuals).
class ResidualChain {
  public:
    // Keeps a reference to the rows, whose targets are the first residuals.
    ResidualChain(const TrainingColumns& rows, RunContext& context);

    // Makes the next member, with the residuals of those before it.
    Member add(Encoding encoding, BitOrder order, const Kernel& kernel, double fraction, RunContext& context);

    // These go by row; the variances are the sums of the members' latent variances given all other rows, a fraction of
    // each.
    std::span<const double> residuals() const { return residuals_.span(); }
    std::span<const double> variances() const { return variances_.span(); }

  private:
    const TrainingColumns& rows_;
    Buffer<double> residuals_, variances_;
};

} // namespace btml::gp
