// How often a search may evaluate the likelihood, counted to the row: an evaluation of some of the rows, or of a sample
// of them, counts in proportion.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace btml::gp {

class EvaluationBudget {
  public:
    // Of the likelihood of `rows`.
    EvaluationBudget(uint64_t evaluations, size_t rows)
        : rows_(std::max<size_t>(rows, 1)),
          limit_(std::min(evaluations, std::numeric_limits<uint64_t>::max() / rows_) * rows_) {}

    // Evaluations with so many rows that it still allows.
    uint64_t left(size_t rows) const { return (limit_ - spent_) / std::max<size_t>(rows, 1); }
    // `wanted` of them, or as many as are left.
    int most(uint64_t wanted, size_t rows) const { return static_cast<int>(std::min(wanted, left(rows))); }
    void spend(uint64_t evaluations, size_t rows) {
        spent_ = std::min(limit_, spent_ + evaluations * std::max<size_t>(rows, 1));
    }
    // In evaluations with all rows, rounded up.
    uint64_t spent() const { return (spent_ + rows_ - 1) / rows_; }

  private:
    uint64_t rows_, limit_, spent_ = 0;
};

} // namespace btml::gp
