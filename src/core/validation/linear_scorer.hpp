// Scores linear models on folds.
#pragma once

#include "core/linear/linear_options.hpp"
#include "core/validation/refit_scorer.hpp"

namespace btml::validation {

class LinearScorer : public RefitScorer {
  public:
    // folds must outlive it. Every fold's model is what linear::fit makes of the rows outside of it alone. The metric
    // is one that check_labels() has let pass. Errors as of linear::fit.
    LinearScorer(Dataset dataset, const Folds& folds, std::vector<linear::Options> trials,
                 boosting::HoldoutMetric metric, RunContext& context);

    bool is_better(double value, double than) const override { return boosting::is_better(metric_, value, than); }

  private:
    double score(const Buffer<uint8_t>& roles, size_t trial, RunContext& context) override;

    const std::vector<linear::Options> trials_;
    const boosting::HoldoutMetric metric_;
};

} // namespace btml::validation
