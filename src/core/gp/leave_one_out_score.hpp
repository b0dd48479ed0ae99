// Scores of leave-one-out predictions by a mixture, collected member by member.
#pragma once

#include "core/gp/model.hpp"
#include "core/gp/tree/leave_one_out.hpp"

namespace btml::gp {

class LeaveOneOutScore {
  public:
    LeaveOneOutScore(size_t rows, RunContext& context);

    // Latent predictions of a member and observations, both in an order of its own; row[i] is the row that they are of.
    void add(double member_weight, const Normals& latent, const Observations& sorted, double noise,
             std::span<const uint32_t> row, RunContext& context);
    // Of standardised targets by row, in units in which they are `scale` times as large.
    LeaveOneOut total(double scale, std::span<const double> target, RunContext& context) const;

  private:
    Buffer<double> mean_, log_density_;
    Buffer<double> below_; // probability of a smaller target
};

} // namespace btml::gp
