// A record has all that a histogram reads of a row of the join: the row's stats, and the bins of its features side by
// side, whichever table they come from. The rows of a small node lie far apart in memory, so that each of them waits
// for the memory once, and not for its stats, its row ids and every table's bins.
#pragma once

#include "core/boosting/binning/binning.hpp"
#include "core/boosting/growing/bin_sums.hpp"
#include "core/boosting/growing/packed_sums.hpp"
#include "core/boosting/rows/row_index.hpp"

namespace btml::boosting {

class Records {
  public:
    Records(const BinnedData& data, StatsFormat format, ThreadTeam& team, RunContext& context);

    // Returns the bytes of all records; 0 where there is no point in them: the rows' bins are together already, or too
    // many features have more bins than a byte holds, or there are too many.
    static uint64_t bytes(const BinnedData& data, StatsFormat format);
    // Says whether a group's features are in a record.
    static bool holds(const BinGroup& group) { return group.bytes == 1; }

    // Returns what so many features take with those that are summed beside them for nothing.
    static constexpr size_t rounded_up(size_t features) {
        return (features + features_of_step - 1) / features_of_step * features_of_step;
    }

    // Makes add() cover these features, which are held, and perhaps others. They are in the order of their bins.
    void select(const std::vector<const FeatureBins*>& features);
    bool covers_any() const { return !steps_.empty(); }
    // Gives rows their stats. Lists without common rows may be written at the same time.
    void write(const RowList& rows, const Stats* stats);
    void write(const RowList& rows, const NodeSums* stats); // of StatsFormat::tallied
    // Adds the stats of each row of a list, and `more`, to sums[f · bin_stride + its bin of feature f]: of those that
    // are held, in the order of groups and slots.
    void add(const RowList& rows, const Stats& more, Stats* sums) const;
    void add(const RowList& rows, const NodeSums& more, NodeSums* sums) const; // of StatsFormat::tallied
    // The same of packed sums, where every hessian is 1.
    void add(const RowList& rows, const Packing& packing, int64_t* sums) const;
    // Adds the packed sums of the features that add() covers to others, and clears them.
    void unpack(const Packing& packing, int64_t* packed, Stats* sums) const;

  private:
    static constexpr size_t features_of_step = 4;
    // Some neighbouring features, which are added one after the other: where their bins begin in a record, in bytes,
    // and their sums.
    struct Step {
        uint32_t bins, sums;
    };

    static size_t width_of(const BinnedData& data, StatsFormat format);
    // Writes of(i) to the record of rows[i].
    template <class Of>
    void write_each(const RowList& rows, const Of& of);
    void copy_bins(const BinnedData& data, ThreadTeam& team);
    // Adds the value that find(held, value) finds of each row, where `held` are the first bytes of its record.
    template <class Held, class Sum, class Find>
    void add_each(const RowList& rows, Sum* sums, const Find& find) const;
    template <class Held, class Sum, class Row, class Find>
    void add_each(size_t rows, const Row& row, Sum* sums, const Find& find) const;
    uint8_t* line(size_t row) const { return lines_ + row * width_; }

    const StatsFormat format_;
    const size_t width_;          // in bytes: a divisor of a line of the cache, or a multiple
    std::vector<size_t> offsets_; // by group: where its bins begin in a record
    Buffer<uint8_t> memory_;
    uint8_t* lines_;          // in memory_, aligned
    std::vector<Step> steps_; // those with selected features
};

} // namespace btml::boosting
