// What coefficients to try next, by a quadratic that is like the objective at those at hand.
#pragma once

#include "core/linear/likelihood.hpp"

namespace btml::linear {

// Returns the places whose columns follow from those of places before them in this order.
std::vector<size_t> dependent_places(const Buffer<double>& matrix, size_t size, std::span<const size_t> order,
                                     RunContext& context);

// Keeps these places alone of sums.
void keep_places(LikelihoodSums& sums, std::span<const size_t> places, RunContext& context);

class NewtonStep {
  public:
    // weight: of the training rows, in sum. Keeps references to the others.
    NewtonStep(const Options& options, double weight, ThreadTeam& team, RunContext& context)
        : options_(options), weight_(weight), team_(team), context_(context) {}

    // Returns what to add to the coefficients, one a place, at which the sums were formed: exactly what the least of a
    // gaussian's objective needs. Errors: out_of_range where the matrix is singular, NoCoefficients for a penalty of
    // magnitudes with which coordinates do not converge.
    std::vector<double> operator()(const LikelihoodSums& sums, std::span<const double> coefficients) const;
    // Returns what the coefficients cost.
    double penalty_of(std::span<const double> coefficients) const;

  private:
    std::vector<double> solve(const LikelihoodSums& sums, std::span<const double> coefficients) const;
    std::vector<double> descend(const LikelihoodSums& sums, std::span<const double> coefficients) const;
    double of_squares() const { return options_.penalty * (1 - options_.l1_ratio); }
    double of_magnitudes() const { return options_.penalty * options_.l1_ratio; }

    const Options& options_;
    const double weight_;
    ThreadTeam& team_;
    RunContext& context_;
};

} // namespace btml::linear
