// Scores Gaussian processes on folds.
#pragma once

#include "core/gp/gp_options.hpp"
#include "core/validation/refit_scorer.hpp"
#include "core/validation/validation_options.hpp"

namespace btml::validation {

class GpScorer : public RefitScorer {
  public:
    // folds must outlive it. Every fold's model is what gp::fit makes of the rows outside of it alone. Errors as of
    // gp::fit.
    GpScorer(Dataset dataset, const Folds& folds, std::vector<gp::Options> trials, GpMetric metric,
             RunContext& context);

    bool is_better(double value, double than) const override { return value < than; }

  private:
    double score(const Buffer<uint8_t>& roles, size_t trial, RunContext& context) override;

    const std::vector<gp::Options> trials_;
    const GpMetric metric_;
};

} // namespace btml::validation
