// Scores boosted trees on folds of rows that are binned once.
#pragma once

#include "core/boosting/fold_trainings.hpp"
#include "core/boosting/objectives/holdout_metric.hpp"
#include "core/validation/folds.hpp"
#include "core/validation/scorer.hpp"

#include <map>
#include <set>

namespace btml::validation {

class BoostedScorer : public Scorer {
  public:
    // Consumes the dataset: its columns are binned once for each max_bins that a trial has, by all rows that some fold
    // sees, the scored ones among them. Every trial has the metric. folds must outlive it. Errors as of boosting::fit;
    // memory_limit before the work starts.
    BoostedScorer(Dataset dataset, const Folds& folds, std::vector<boosting::Options> trials, RunContext& context);

    // Folds grow side by side, where the memory allows. Where a trial has early_stopping, they do so until that many
    // trees brought no better mean.
    std::vector<Curve> curves(size_t trial, size_t begin, size_t end, double share, const std::string& phase) override;
    bool folds_are_apart(size_t trial) const override { return trials_[trial].early_stopping == 0; }
    bool has_trees() const override { return true; }
    double work(size_t trial) const override { return trials_[trial].trees; }
    double withheld_score(size_t trial, size_t trees) override;
    bool is_better(double value, double than) const override {
        return boosting::is_better(*trials_.front().metric, value, than);
    }

    // What is odd in the rows that some fold sees.
    const boosting::Findings& findings() const { return findings_; }

  private:
    void require_memory();
    std::set<int> distinct_max_bins() const;
    void bin();
    Dataset with_roles(Buffer<uint8_t> roles);
    size_t side_by_side(const boosting::Options& options) const;

    RunContext& context_;
    ThreadTeam team_;
    Dataset dataset_;
    const Folds& folds_;
    const std::vector<boosting::Options> trials_;
    std::map<int, boosting::BinnedData> bins_; // by max_bins
    boosting::Findings findings_;
};

} // namespace btml::validation
