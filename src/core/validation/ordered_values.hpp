// Cuts rows by their order into parts that follow each other. Rows of one value are never parted.
#pragma once

#include "core/base/buffer.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace btml::validation {

// The distinct values of some rows, in their order.
class OrderedValues {
  public:
    // values: finite, one for each row of a table; rows: what each of them counts. A value that only rows of no count
    // have is none.
    OrderedValues(const Buffer<double>& values, const Buffer<uint64_t>& rows, RunContext& context);

    size_t size() const { return values_.size(); }
    // Returns the first value of each part but the first. shares: what part of the rows lies before each of them,
    // ascending. A part begins at the value for which that is nearest to the share, the later of two, as long as every
    // part has a value: there must be more values than shares.
    std::vector<double> parts(std::span<const double> shares) const;

  private:
    size_t nearest(double share, size_t first, size_t last) const;

    Buffer<double> values_;
    Buffer<unsigned __int128> before_; // rows before each value, then all of them
};

} // namespace btml::validation
