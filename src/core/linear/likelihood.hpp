// Sums over rows at some coefficients: the deviance, its derivatives, and what tells how sure coefficients are.
#pragma once

#include "core/base/buffer.hpp"
#include "core/base/threads.hpp"
#include "core/data/dataset.hpp"
#include "core/linear/columns.hpp"
#include "core/linear/family.hpp"

#include <optional>
#include <span>

namespace btml::linear {

// Says which weights rows have in the matrix Σ weight·zz', z being a row of the design.
enum class Curvature { none, observed, expected };

struct LikelihoodSums {
    Buffer<double> slopes; // Σ slope·z, by place
    Buffer<double> matrix; // row by row, its lower triangle; empty where none was asked for
    double deviance = 0, pearson = 0;
    double largest = 0; // magnitude of a score, less its offset

    explicit LikelihoodSums(MemoryBudget& budget)
        : slopes(budget, "sums of a linear model"), matrix(budget, "the matrix of a linear model") {}
};

// Has sums over targets of training rows, which do not change while coefficients do.
struct TargetSums {
    uint64_t rows = 0;
    double weight = 0, targets = 0; // Σ w, Σ w·y
    double terms = 0;               // Σ log_likelihood_term
    bool is_constant = true;        // with the offset
    std::optional<double> start;    // the intercept that alone fits best beside an offset, where there is one

    double mean() const { return targets / weight; }
};

class Likelihood {
  public:
    virtual ~Likelihood() = default;

    virtual const Columns& columns() const = 0;
    // Does what Columns::drop does, and numbers coefficients anew.
    virtual void drop(const std::vector<size_t>& places) = 0;
    // Error out_of_range for a target, also one that is held out, that the family cannot have or is too large.
    virtual TargetSums targets() const = 0;
    // Takes one coefficient a place, of standardised columns. Sums are over the training rows, and their bits depend
    // on what rows there are alone.
    virtual LikelihoodSums at(std::span<const double> coefficients, Curvature curvature) const = 0;
    // Returns the mean deviance of the rows that are held out.
    virtual double held_out(std::span<const double> coefficients) const = 0;

    Family family() const { return family_; }
    ThreadTeam& team() const { return team_; }
    RunContext& context() const { return context_; }

  protected:
    Likelihood(Family family, ThreadTeam& team, RunContext& context)
        : family_(family), team_(team), context_(context) {}

  private:
    const Family family_;
    ThreadTeam& team_;
    RunContext& context_;
};

} // namespace btml::linear
