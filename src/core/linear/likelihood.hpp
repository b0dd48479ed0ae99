// Sums over rows at some coefficients: the deviance, its derivatives, and what tells how sure coefficients are.
#pragma once

#include "core/linear/design.hpp"
#include "core/linear/family.hpp"

#include <span>

namespace btml::linear {

// Says which weights rows have in the matrix Σ weight·zz', z being a row of the design.
enum class Curvature { none, observed, expected, squared_slopes };

struct LikelihoodSums {
    Buffer<double> slopes; // Σ slope·z, by place
    Buffer<double> matrix; // row by row, its lower triangle; empty where none was asked for
    double deviance = 0, pearson = 0;
    double largest = 0; // magnitude of a score

    explicit LikelihoodSums(MemoryBudget& budget)
        : slopes(budget, "sums of a linear model"), matrix(budget, "the matrix of a linear model") {}
};

class Likelihood {
  public:
    // Keeps references to all of them. family: not automatic.
    Likelihood(const Design& design, Family family, ThreadTeam& team, RunContext& context)
        : design_(design), family_(family), team_(team), context_(context) {}

    // Takes one coefficient a place, of standardised columns. Sums are over the training rows, and their bits depend
    // on the number of rows and places alone.
    LikelihoodSums at(std::span<const double> coefficients, Curvature curvature) const;
    // Returns the mean deviance of the rows that are held out.
    double held_out(std::span<const double> coefficients) const;
    // Returns Σ over groups of ss', s being Σ slope·z over a group's rows, and counts groups; its lower triangle.
    Buffer<double> clustered(std::span<const double> coefficients, uint64_t& groups) const;

    Family family() const { return family_; }
    const Design& design() const { return design_; }
    ThreadTeam& team() const { return team_; }
    RunContext& context() const { return context_; }

  private:
    LikelihoodSums sums(std::span<const double> coefficients, Curvature curvature, uint64_t begin, uint64_t end) const;

    const Design& design_;
    const Family family_;
    ThreadTeam& team_;
    RunContext& context_;
};

} // namespace btml::linear
