// Keeps a feature's bins by row of the join, a byte each: a line of the cache then holds more of the rows that a split
// reads.
#pragma once

#include "core/boosting/binning/binning.hpp"

namespace btml::boosting {

class Columns {
  public:
    // room: bytes that columns may take.
    Columns(const BinnedData& data, uint64_t room, ThreadTeam& team, RunContext& context);

    // Returns the column of a feature that a node of so many rows is to be split by. Null where its bins have more than
    // a byte, there is no room, or no earlier splits by it that would have paid for the column.
    const uint8_t* find(size_t feature, uint64_t rows);

  private:
    struct Column {
        uint64_t rows_split = 0;
        Buffer<uint8_t> bins;
    };

    void fill(const FeatureBins& feature, Buffer<uint8_t>& bins);

    const BinnedData& data_;
    uint64_t room_;
    ThreadTeam& team_;
    std::vector<Column> columns_; // by feature
};

} // namespace btml::boosting
