// Says what is estimated from a sample of the keys, and how its error follows from the sample.
//
// Everything is in units of BlockValues' scales, where values are at most 1.
#pragma once

#include "core/kernel/kernel_options.hpp"
#include "core/kernel/key_set.hpp"

namespace btml::kernel {

class Estimand {
  public:
    Estimand(Quantity quantity, const KeySet& keys);

    bool is_mean() const noexcept { return quantity_ == Quantity::mean; }
    size_t targets() const noexcept { return is_mean() ? keys_.distinct.columns - 1 : 0; }
    // Columns of sums Σk·value, and of Σk²·square: the weight's square and, of means, the products of the weight and
    // each target's column, and the sum of these columns' squares.
    size_t columns() const noexcept { return 1 + targets(); }
    size_t squares() const noexcept { return is_mean() ? targets() + 2 : 1; }
    double value(uint32_t key, size_t column) const noexcept {
        return keys_.value(key, column) / keys_.values.scale(column);
    }
    double square(uint32_t key, size_t column) const noexcept;

    // The squared result, summed over targets, that `sums` come to.
    double magnitude(const double* sums) const noexcept;
    // The squared error of the result, summed over targets, where `squares` are variances and covariances of the sums
    // in the order of square(): for means by the delta method, Var(a/b) ≈ Var(a − (a/b)·b)/b².
    double error(const double* sums, const double* squares) const noexcept;
    // Of a mean's denominator that a sample of this fraction of the keys estimates, with that variance: the squared
    // error of the means to expect of keys that are much of the denominator and that the sample lacks. The delta method
    // does not see it: without such a key the variance is small, and with it the mean is that key's target. Each one
    // that the sample holds stands for (1 − fraction)/fraction others. 0 for sums and densities.
    double error_of_hidden(double denominator, double variance, double fraction) const noexcept;
    // The targets' squared deviation from their mean over the keys, summed over targets.
    double spread() const noexcept { return spread_; }

  private:
    Quantity quantity_;
    const KeySet& keys_;
    double spread_ = 0;
};

} // namespace btml::kernel
