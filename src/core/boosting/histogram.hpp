// Sums of the residuals of a node's rows by bin, for all features with a moderate number of bins at once.
#pragma once

#include "core/boosting/records.hpp"
#include "core/boosting/training_set.hpp"

namespace btml::boosting {

class HistogramBuilder {
  public:
    // records: null, or those of the data.
    HistogramBuilder(const BinnedData& data, const RowScores& scores, const RowIndex& index, Records* records,
                     ThreadTeam& team, RunContext& context);

    // Starts a tree: its root is built first, and its histograms cover these features, ascending; wide ones are left
    // out.
    void select(const std::vector<int>& features);
    const HistogramLayout& layout() const { return layout_; }

    // out[layout().offset(f) + b] = sums over the rows in bin b of feature f.
    // packed_bits: of scores whose hessians take counts, else 0.
    void build(const RowSet& rows, int packed_bits, Stats* out);
    void build(const RowSet& rows, Tally* out);

    // Bytes of scratch memory that a builder takes, and those that it takes beside them where there are records.
    static uint64_t scratch_bytes(const BinnedData& data, int threads);
    static uint64_t packed_bytes(const BinnedData& data, int threads);

  private:
    static constexpr size_t block_rows = RowIndex::list_rows;

    // A group's selected features.
    struct ActiveGroup {
        size_t group;
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
            : accumulators(context.memory(), "histograms"),
              packed(context.memory(), "histograms"),
              sums(context.memory(), "sums by table row") {}
        bool used = false;   // its accumulators hold something
        bool summed = false; // its sums too: fixed once the rows are through, so that others may read it
        Buffer<Stats> accumulators;
        Buffer<int64_t> packed; // what the accumulators of features in records lack; all zero between nodes
        size_t packed_rows = 0; // in them
        Buffer<Stats> sums;     // by row of the aggregated tables, one after the other
        alignas(64) Stats block[block_rows];
        uint32_t ids[block_rows];
    };

    using ActiveTables = std::vector<ActiveTable>;

    static std::vector<size_t> places_of_groups(const BinnedData& data);
    static size_t packed_places(const BinnedData& data);
    Stats* accumulators(Worker& worker, const ActiveGroup& group, size_t slot) const {
        return &worker.accumulators[places_[group.group] + slot * Records::stride];
    }
    static bool may_aggregate(const BinnedTable& table, size_t features, uint64_t rows, int threads);
    size_t slot_size(const ActiveGroup& group, size_t slot) const;
    void start(Worker& worker);
    void clear(Worker& worker, const ActiveTable& table);
    ActiveTables share_with_records();
    void add_records(Worker& worker, const RowList& rows, Stats more);
    void unpack(Worker& worker);
    void choose_aggregates(const RowSet& rows);
    bool choose_records(const RowSet& rows);
    template <class Sums, class Add>
    void build(const RowSet& rows, Sums* out, const Add& add);
    void add_rows(Worker& worker, const ActiveTables& tables, const RowList& rows);
    void add_groups(Worker& worker, const ActiveTable& table, const uint32_t* ids, size_t begin, size_t count);
    void add_table_rows(Worker& worker, const ActiveTable& table, size_t begin, size_t end);
    void merge(Pair* out);

    const BinnedData& data_;
    const RowScores& scores_;
    const RowIndex& index_;
    Records* const records_;
    bool records_are_stale_ = true; // the tree's stats are not in them yet
    Packing packing_{64};           // of the node that is built
    ThreadTeam& team_;
    std::vector<Worker> workers_;
    ActiveTables tables_;
    HistogramLayout layout_;
    const std::vector<size_t> places_; // by group: where its sums begin in a worker's accumulators; then their number
    std::vector<size_t> sums_offsets_; // by table, in Worker::sums
    size_t sums_size_ = 0;
};

} // namespace btml::boosting
