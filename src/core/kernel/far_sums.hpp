// Sums at a query so far from every key that the tiles' float32 has lost them: in double, by the nearest keys first.
#pragma once

#include "core/kernel/key_set.hpp"

namespace btml::kernel {

class FarSums {
  public:
    // Keeps a reference. One thread's workspace.
    explicit FarSums(const KeySet& keys)
        : keys_(keys), query_(keys.distinct.points.dimensions()), sums_(keys.distinct.columns) {}

    // Sums at a query in the frame's coordinates. Afterwards column c sums to sum(c)·2^−exponent(); under a compact
    // kernel sum(c) is over the nearest keys, each as much as it weighs.
    void find(const double* query);
    double exponent() const noexcept { return exponent_; }
    double sum(size_t column) const noexcept { return sums_[column]; }

  private:
    struct Candidate {
        double bound; // no key of the block has a smaller exponent
        size_t block;
    };
    void approach(const double* query);
    void add(uint32_t key, double exponent);
    double bound_of(const double* query, size_t block) const;

    const KeySet& keys_;
    std::vector<Candidate> candidates_;
    std::vector<double> query_, sums_;
    double exponent_ = 0;
};

} // namespace btml::kernel
