// Scores models of which each fold has one fit of its own, to the rows that it is trained on alone.
#pragma once

#include "core/base/worker_contexts.hpp"
#include "core/validation/folds.hpp"
#include "core/validation/scorer.hpp"

namespace btml::validation {

// Rows of a dataset by themselves, as if no other had been read: they know no categories that none of them has.
class RowsApart {
  public:
    // The dataset must outlive it.
    RowsApart(const Dataset& dataset, const Buffer<uint8_t>& roles, RunContext& context);

    // Returns the rows to train on, each with its own columns. Once.
    Dataset take() { return std::move(subset_); }
    // The rows to score, and their features as a model of the others knows them: codes of categories that it has not
    // are −1, and the offset is last.
    const Buffer<uint32_t>& scored() const { return scored_; }
    void read_point(size_t row, std::span<double> point) const;

  private:
    const Dataset& dataset_;
    Dataset subset_;
    Buffer<uint32_t> scored_;
    // By feature and code of the whole.
    std::vector<std::vector<double>> codes_;
};

class RefitScorer : public Scorer {
  public:
    std::vector<Curve> curves(size_t trial, size_t begin, size_t end, double share, const std::string& phase) final;
    bool has_trees() const final { return false; }
    double withheld_score(size_t trial, size_t trees) final;

  protected:
    // folds must outlive it.
    RefitScorer(Dataset dataset, const Folds& folds, RunContext& context)
        : dataset_(std::move(dataset)), context_(context), folds_(folds) {}

    const Dataset dataset_;

  private:
    // Fits the rows to train on, and returns what those to score have.
    virtual double score(const Buffer<uint8_t>& roles, size_t trial, RunContext& context) = 0;
    double score_in(const Buffer<uint8_t>& roles, size_t trial, const std::string& phase);

    RunContext& context_;
    const Folds& folds_;
};

} // namespace btml::validation
