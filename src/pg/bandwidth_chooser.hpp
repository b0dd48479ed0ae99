// The bandwidth of btml.density and btml.kernel_regression where none is given.
#pragma once

#include "core/kernel/kernel_options.hpp"
#include "core/monte_carlo/bandwidth_selection.hpp"
#include "pg/source/point_source.hpp"

namespace btml::pg {

// Tells by a NOTICE that a better bandwidth may lie beyond what was searched, where the best is at an end of it, unless
// all are the same.
void report_ends_of_search(const std::vector<monte_carlo::ScoredBandwidth>& curve, monte_carlo::ScoreKind kind);

// Collects keys while they are read, and chooses by all of them whose weight is not 0.
class BandwidthChooser {
  public:
    BandwidthChooser(bool has_target, MemoryBudget& budget) : rows_(1, has_target, budget) {}

    void add(const PointRow& row);
    // Tells by a NOTICE which bandwidth is taken and why. Errors as monte_carlo::choose_bandwidth.
    double choose(const kernel::Options& options, RunContext& context);

  private:
    monte_carlo::ScoreRows rows_;
    bool weighted_ = false;
};

} // namespace btml::pg
