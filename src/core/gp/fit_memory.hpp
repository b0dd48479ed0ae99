// How much work and memory a fit takes.
#pragma once

#include "core/gp/gp_options.hpp"
#include "core/gp/tree/training_columns.hpp"

namespace btml::gp {

uint64_t evaluations_of(const Options& options, size_t rows);
int value_bits_of(const Options& options, size_t features);

// The columns, then the searches for members side by side, or the tries and what builds and scores one; of a smooth
// kernel, what is learned from the columns.
class FitMemory {
  public:
    FitMemory(const Dataset& dataset, const Options& options);

    // Bytes that the search for one member needs.
    uint64_t search() const { return search_; }
    // Bytes besides the dataset.
    uint64_t peak(int workers) const;

  private:
    void count_trees(const Dataset& dataset, const Options& options);

    ExpansionBytes columns_;
    uint64_t search_ = 0, finish_ = 0;
    uint64_t other_fits_ = 0; // where noise is to vary: that before, that of the noise, and a copy of the columns
};

} // namespace btml::gp
