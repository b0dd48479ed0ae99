// Sums over the rows of a join, one after the other.
#pragma once

#include "core/linear/design.hpp"
#include "core/linear/likelihood.hpp"

namespace btml::linear {

class RowLikelihood : public Likelihood {
  public:
    // Keeps references to the design and what comes last. family: not automatic.
    RowLikelihood(Design& design, Family family, ThreadTeam& team, RunContext& context)
        : Likelihood(family, team, context), design_(design) {}

    const Columns& columns() const override { return design_.columns(); }
    void drop(const std::vector<size_t>& places) override { design_.drop(places); }
    TargetSums targets() const override;
    LikelihoodSums at(std::span<const double> coefficients, Curvature curvature) const override;
    double held_out(std::span<const double> coefficients) const override;

    // Returns the column of the clusters, null where there is none.
    const FeatureColumn* divider() const { return design_.dataset().divider ? &*design_.dataset().divider : nullptr; }
    // Returns the lower triangle of Σ slope²·zz' over the training rows. Where the dataset has a divider, it is Σ ss'
    // over clusters, s being Σ slope·z over a cluster's rows, and counts them. Error null_value for a cluster of NULL.
    Buffer<double> squared_slopes(std::span<const double> coefficients, uint64_t& clusters) const;

  private:
    LikelihoodSums sums(std::span<const double> coefficients, Curvature curvature, uint64_t begin, uint64_t end,
                        bool has_squared_slopes = false) const;
    double start(double mean) const;
    Buffer<double> clustered(std::span<const double> coefficients, uint64_t& clusters) const;

    Design& design_;
};

} // namespace btml::linear
