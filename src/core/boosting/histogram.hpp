// Sums of the residuals of a node's rows by bin, for all features with a moderate number of bins at once.
#pragma once

#include "core/boosting/training_set.hpp"

namespace btml::boosting {

// Both numbers of Stats, or of a Tally, which are added alike: by one 128-bit addition.
using Pair [[gnu::vector_size(16), gnu::may_alias]] = long long;

class HistogramBuilder {
  public:
    HistogramBuilder(const BinnedData& data, const RowScores& scores, const RowIndex& index, ThreadTeam& team,
                     RunContext& context);

    // The features that the histograms of the next tree cover; wide ones are left out. Ascending.
    void select(const std::vector<int>& features);
    const HistogramLayout& layout() const { return layout_; }

    // out[layout().offset(f) + b] = sums over the rows in bin b of feature f.
    // packed_bits: of scores whose hessians take counts, else 0.
    void build(const RowSet& rows, int packed_bits, Stats* out);
    void build(const RowSet& rows, Tally* out);

    // Bytes of scratch memory that a builder takes.
    static uint64_t scratch_bytes(const BinnedData& data, int threads);

  private:
    static constexpr size_t block_rows = RowIndex::list_rows;
    static constexpr size_t slot_stride = 260; // not a multiple of 4 kB, or stores would seem to collide with loads

    // A group's selected features.
    struct ActiveGroup {
        size_t group;
        size_t accumulator; // where its sums begin in a worker's accumulators
        std::vector<uint8_t> slots;
        bool all; // every slot, in order
    };
    struct ActiveTable {
        size_t table;
        size_t features = 0;
        std::vector<ActiveGroup> groups;
        bool aggregate = false; // sum up by table row first, then put the table's rows into the histograms
    };
    struct Worker {
        explicit Worker(RunContext& context)
            : accumulators(context.memory(), "histograms"), sums(context.memory(), "sums by table row") {}
        bool used = false;   // its accumulators hold something
        bool summed = false; // its sums too: fixed once the rows are through, so that others may read it
        Buffer<Stats> accumulators;
        Buffer<Stats> sums; // by row of the aggregated tables, one after the other
        alignas(64) Stats block[block_rows];
        uint32_t ids[block_rows];
    };

    static size_t accumulators_of(const BinnedData& data);
    static bool may_aggregate(const BinnedTable& table, size_t features, uint64_t rows, int threads);
    size_t slot_size(const ActiveGroup& group, size_t slot) const;
    void start(Worker& worker);
    template <class Gather>
    void build(const RowSet& rows, const Gather& gather, Pair* out);
    void add_rows(Worker& worker, const RowList& rows);
    void add_groups(Worker& worker, const ActiveTable& table, const uint32_t* ids, size_t begin, size_t count);
    void add_table_rows(Worker& worker, const ActiveTable& table, size_t begin, size_t end);
    void merge(Pair* out) const;

    const BinnedData& data_;
    const RowScores& scores_;
    const RowIndex& index_;
    ThreadTeam& team_;
    std::vector<Worker> workers_;
    std::vector<ActiveTable> tables_;
    HistogramLayout layout_;
    std::vector<size_t> sums_offsets_; // by table, in Worker::sums
    size_t accumulator_size_ = 0;
    size_t sums_size_ = 0;
};

} // namespace btml::boosting
