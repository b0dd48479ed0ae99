// Kernel sums of a fixed set of queries over keys that come one by one: the state of btml.kernel_sum_agg.
#pragma once

#include "core/base/buffer.hpp"
#include "core/base/run_context.hpp"
#include "core/numbers/exact_sum.hpp"
#include "core/pairwise/kernels/kernels.hpp"

#include <vector>

namespace btml::kernel {

// What all keys of one set of sums are given with.
struct QuerySet {
    std::span<const double> queries; // row by row
    double bandwidth;
    pairwise::Kernel kernel;
};

// Kernel values are doubles and are added up exactly, so sums do not depend on the order of the keys or on how they
// were split. A key takes time in proportion to the queries.
class QuerySums {
  public:
    static constexpr double min_bandwidth = 1e-150, max_bandwidth = 1e150; // whose squares are normal numbers

    explicit QuerySums(MemoryBudget& budget);

    // Adds weight · kernel(q, x) to the sum of each query q. Errors: invalid_argument for an x or queries without
    // numbers, queries that are no whole number of points, a bandwidth out of range, and for queries, bandwidth, kernel
    // or coordinates that are not those of the first key; out_of_range for a number that is not finite.
    void add(std::span<const double> x, double weight, const QuerySet& set);
    void append(const QuerySums& other);

    bool empty() const { return sums_.empty(); }
    // The sum of each query. Error out_of_range: overflow.
    std::vector<double> values() const;

    // Portable bytes, for moving a state between backends.
    uint64_t flat_size() const noexcept;
    void flatten(std::byte* to) const noexcept; // flat_size() bytes
    // Error corrupt_model for bytes that flatten() does not write.
    static QuerySums parse(std::span<const std::byte> bytes, MemoryBudget& budget, RunContext& context);

  private:
    void start(size_t dimensions, const QuerySet& set);
    void require_same(size_t dimensions, const QuerySet& set) const;
    QuerySet set() const { return {queries_.span(), bandwidth_, kernel_}; }

    size_t dimensions_ = 0; // 0: no key yet
    double bandwidth_ = 0;
    pairwise::Kernel kernel_{};
    Buffer<double> queries_; // row by row
    Buffer<double> columns_; // of the queries and, in one place after them, of the key; see pairwise::PointColumns
    Buffer<double> values_;  // of the kernel, for one key
    Buffer<ExactSum> sums_;
};

} // namespace btml::kernel
