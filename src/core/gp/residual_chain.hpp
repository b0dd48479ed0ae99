// What is left of targets when members are fitted one after the other, each to what those before it leave out: a row's
// residual is the target less a fraction of every member's mean at the row given all other rows, so that it is what the
// members would leave of a new observation (the boosting of Friedman: Greedy Function Approximation, 2001, with
// leave-one-out residuals).
#pragma once

#include "core/gp/member_training.hpp"

namespace btml::gp {

class ResidualChain {
  public:
    // Keeps a reference to the rows, whose targets are the first residuals.
    ResidualChain(const TrainingColumns& rows, RunContext& context);

    // The next member, with the residuals of those before it.
    Member add(Encoding encoding, BitOrder order, const Kernel& kernel, double fraction, RunContext& context);

    // By row; and the sums of the members' latent variances given all other rows, a fraction of each.
    std::span<const double> residuals() const { return residuals_.span(); }
    std::span<const double> variances() const { return variances_.span(); }

  private:
    const TrainingColumns& rows_;
    Buffer<double> residuals_, variances_;
};

} // namespace btml::gp
