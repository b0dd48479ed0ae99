// Sorts rows under one bit order after another, for searches, and evaluates the likelihood of kernels.
#pragma once

#include "core/gp/tree/likelihood.hpp"
#include "core/gp/tree/row_sorter.hpp"

#include <limits>
#include <optional>

namespace btml::gp {

// Holds what the user fixes, and the least noise to be learned; in units of the targets' variance.
struct KernelLimits {
    std::optional<double> noise, signal;
    double min_noise = 0;
};

struct OrderedKernel {
    BitOrder order;
    Kernel kernel;
    double negative_log_likelihood = std::numeric_limits<double>::infinity(); // is that of all rows
    uint64_t evaluations = 0;                                                 // were made to find it
};

// Fits weights and noise by maximum likelihood, for rows in one order, from `start`, whose noise and weights are
// brought within the limits, by L-BFGS on the logarithms of the weights and of the noise above its least; at most so
// many evaluations of the likelihood, at least 1. Rows as for negative_log_likelihood, whose order is the caller's and
// is left empty.
OrderedKernel fit_kernel(std::span<const uint16_t> common, const Observations& sorted, const Kernel& start,
                         const KernelLimits& limits, int evaluations, RunContext& context);

// Counts how often a search may evaluate the likelihood, to the row: an evaluation of some of the rows, or of a sample
// of them, counts in proportion.
class EvaluationBudget {
  public:
    // Allows so many evaluations of the likelihood of `rows`.
    EvaluationBudget(uint64_t evaluations, size_t rows)
        : rows_(std::max<size_t>(rows, 1)),
          limit_(std::min(evaluations, std::numeric_limits<uint64_t>::max() / rows_) * rows_) {}

    // Evaluations with so many rows that it still allows.
    uint64_t left(size_t rows) const { return (limit_ - spent_) / std::max<size_t>(rows, 1); }
    // `wanted` of them, or as many as are left.
    int most(uint64_t wanted, size_t rows) const { return std::min(wanted, left(rows)); }
    void spend(uint64_t evaluations, size_t rows) {
        spent_ = std::min(limit_, spent_ + evaluations * std::max<size_t>(rows, 1));
    }
    // Counts in evaluations with all rows, rounded up.
    uint64_t spent() const { return (spent_ + rows_ - 1) / rows_; }
    uint64_t limit() const { return limit_ / rows_; }

  private:
    uint64_t rows_, limit_, spent_ = 0;
};

// Holds what a bit order and its kernel are searched for. It refers to all but the limits.
struct OrderProblem {
    const Encoding& encoding;
    const DistinctRows& rows;
    std::span<const uint16_t> features; // Levels may take bits of these.
    KernelLimits limits;
    RunContext& context;

    size_t count() const { return rows.rows.rows; }
};

// Evaluates as far as the budget goes. It keeps references to the problem and the budget.
class OrderEvaluator {
  public:
    OrderEvaluator(const OrderProblem& problem, EvaluationBudget& budget)
        : problem_(problem),
          budget_(budget),
          sorter_(problem.rows.rows, problem.context),
          sorted_(problem.context.memory()),
          gradient_(problem.context) {}

    void sort(const BitOrder& order) {
        const SortedRows& sorted = sorter_.propose(bits_of_levels(problem_.encoding, order), problem_.context);
        common_ = sorted.common.span();
        gather(problem_.rows.observations, sorted.rows.span(), sorted_, problem_.context);
    }
    // Later orders are likely to be close to the last one.
    void accept() noexcept { sorter_.accept(); }
    // Returns how many evaluations the budget still allows.
    uint64_t left() const { return budget_.left(problem_.count()); }

    // Returns that of the rows as they were sorted last. The budget must allow one evaluation.
    double likelihood(const Kernel& kernel) {
        spend(1);
        return negative_log_likelihood(common_, sorted_, kernel, problem_.context);
    }
    double likelihood(const Kernel& kernel, Gradient& gradient) {
        spend(1);
        return gradient_(common_, sorted_, kernel, gradient, problem_.context);
    }
    OrderedKernel fit(const Kernel& start, int evaluations) {
        const int most = budget_.most(evaluations, problem_.count());
        OrderedKernel fit = fit_kernel(common_, sorted_, start, problem_.limits, most, problem_.context);
        spend(fit.evaluations);
        return fit;
    }

  private:
    void spend(uint64_t evaluations) {
        budget_.spend(evaluations, problem_.count());
        problem_.context.share_progress("bit order", budget_.spent(), budget_.limit());
    }

    const OrderProblem& problem_;
    EvaluationBudget& budget_;
    RowSorter sorter_;
    std::span<const uint16_t> common_;
    Observations sorted_;
    LikelihoodGradient gradient_;
};

} // namespace btml::gp
