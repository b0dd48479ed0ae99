// A metric of the rows seen so far: the state of an aggregate.
#pragma once

#include "core/base/buffer.hpp"
#include "core/metrics/metric.hpp"

namespace btml::metrics {

class MetricSums {
  public:
    explicit MetricSums(MemoryBudget& budget) : sums_(budget, "the sums of a metric") {}

    // Adds a row, with its weight unless that is null. All rows have weights, or none has; without one a row weighs 1.
    // Errors: out_of_range for a weight that is negative or not finite, and as of the metric; invalid_argument for
    // another metric, or another parameter, than before.
    void add(const Metric& metric, const double* row, const double* weight = nullptr);
    void append(const MetricSums& other);
    // Takes a row of `exact_sum` back. Returns false, and does nothing, where the sum would not be that of the others:
    // a number that is not finite leaves nothing to take it from.
    bool remove(double x);

    // Nothing without rows, or where all of them weigh 0 or the metric is not defined. Error out_of_range: overflow.
    std::optional<double> result() const;

    // Portable bytes, for moving a state between processes.
    size_t flat_size() const noexcept;
    void flatten(std::byte* to) const noexcept; // flat_size() bytes
    // Error corrupt_model for bytes that flatten() does not write.
    static MetricSums parse(std::span<const std::byte> bytes, MemoryBudget& budget);

  private:
    void start(const Metric& metric, bool weighted);
    void require_parameter(double parameter);

    const Metric* metric_ = nullptr; // null: no row yet
    bool weighted_ = false;
    uint64_t rows_ = 0;
    double parameter_ = 0; // 0 also where the metric has none
    Buffer<WideSum> sums_; // the metric's, then the weights'
};

} // namespace btml::metrics
