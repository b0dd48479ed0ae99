// Scores Gaussian processes on folds.
#pragma once

#include "core/gp/gp_options.hpp"
#include "core/validation/folds.hpp"
#include "core/validation/scorer.hpp"
#include "core/validation/validation_options.hpp"

namespace btml::validation {

class GpScorer : public Scorer {
  public:
    // folds must outlive it. Every fold's model is what gp::fit makes of the rows outside of it alone, whose categories
    // it knows no others than. Errors as of gp::fit.
    GpScorer(Dataset dataset, const Folds& folds, std::vector<gp::Options> trials, GpMetric metric,
             RunContext& context);

    std::vector<Curve> curves(size_t trial, size_t begin, size_t end, double share, const std::string& phase) override;
    bool has_trees() const override { return false; }
    double withheld_score(size_t trial, size_t trees) override;
    bool is_better(double value, double than) const override { return value < than; }

  private:
    double score(const Buffer<uint8_t>& roles, size_t trial, const std::string& phase);

    RunContext& context_;
    Dataset dataset_;
    const Folds& folds_;
    const std::vector<gp::Options> trials_;
    const GpMetric metric_;
};

} // namespace btml::validation
