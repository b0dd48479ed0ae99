// Rows under one bit order after another, for searches: sorted, and with the likelihood of kernels.
#pragma once

#include "core/gp/search/evaluation_budget.hpp"
#include "core/gp/search/kernel_fit.hpp"
#include "core/gp/tree/distinct_rows.hpp"
#include "core/gp/tree/row_sorter.hpp"

namespace btml::gp {

class OrderEvaluator {
  public:
    // Keeps references to both.
    OrderEvaluator(const Encoding& encoding, const DistinctRows& rows, RunContext& context)
        : encoding_(encoding),
          rows_(rows),
          sorter_(rows.rows, context),
          sorted_(make_observations({}, {}, context)),
          gradient_(context) {}

    void sort(const BitOrder& order, RunContext& context) {
        const SortedRows& sorted = sorter_.propose(bits_of_levels(encoding_, order), context);
        common_ = sorted.common.span();
        gather(rows_.observations, sorted.rows.span(), sorted_, context);
    }
    // Later orders are likely to be close to the last one.
    void accept() noexcept { sorter_.accept(); }

    // Of the rows as they were sorted last. The budget must allow one evaluation.
    double likelihood(const Kernel& kernel, EvaluationBudget& budget, RunContext& context) {
        budget.spend(1, rows_.rows.rows);
        return negative_log_likelihood(common_, sorted_, kernel, context);
    }
    double likelihood(const Kernel& kernel, Gradient& gradient, EvaluationBudget& budget, RunContext& context) {
        budget.spend(1, rows_.rows.rows);
        return gradient_(common_, sorted_, kernel, gradient, context);
    }
    KernelFit fit(const Kernel& start, const KernelLimits& limits, int evaluations, EvaluationBudget& budget,
                  RunContext& context) {
        const int most = budget.most(static_cast<uint64_t>(evaluations), rows_.rows.rows);
        KernelFit fit = fit_kernel(common_, sorted_, start, limits, most, context);
        budget.spend(static_cast<uint64_t>(fit.evaluations), rows_.rows.rows);
        return fit;
    }

  private:
    const Encoding& encoding_;
    const DistinctRows& rows_;
    RowSorter sorter_;
    std::span<const uint16_t> common_;
    Observations sorted_;
    LikelihoodGradient gradient_;
};

} // namespace btml::gp
