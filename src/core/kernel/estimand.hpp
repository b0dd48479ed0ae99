// What is estimated from a sample of the keys, and how its error follows from the sample.
//
// Everything is in units of BlockValues' scales, where values are at most 1.
#pragma once

#include "core/kernel/key_set.hpp"
#include "core/kernel/options.hpp"

namespace btml::kernel {

class Estimand {
  public:
    Estimand(Quantity quantity, const KeySet& keys) : quantity_(quantity), keys_(keys) {}

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

  private:
    Quantity quantity_;
    const KeySet& keys_;
};

} // namespace btml::kernel
