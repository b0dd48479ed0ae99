// Sums of the residuals of a node's rows by bin, for all features with a moderate number of bins at once.
#pragma once

#include "core/boosting/growing/records.hpp"
#include "core/boosting/growing/training_set.hpp"

namespace btml::boosting {

class HistogramBuilder {
  public:
    // records: null, or those of the data. tallies: of every row, beside its stats.
    HistogramBuilder(const BinnedData& data, const RowScores& scores, const RowIndex& index, Records* records,
                     bool tallies, ThreadTeam& team, RunContext& context);
    bool has_tallies() const { return has_tallies_; }

    // Starts a tree: its root is built first, and its histograms cover these features, ascending; wide ones are left
    // out.
    void select(const std::vector<int>& features);
    const HistogramLayout& layout() const { return layout_; }

    // out[layout().offset(f) + b] = sums over the rows in bin b of feature f.
    // packed_bits: of scores whose hessians take counts, else 0.
    void build(const RowSet& rows, int packed_bits, Stats* out);
    // The same with tallies, of a builder that has them.
    void build(const RowSet& rows, Stats* sums, Tally* tallies);

    // Bytes of scratch memory that a builder takes, and those that it takes beside them where there are records.
    static uint64_t scratch_bytes(const BinnedData& data, bool tallies, int threads);
    static uint64_t packed_bytes(const BinnedData& data, int threads);

  private:
    static constexpr size_t block_rows = RowIndex::list_rows;

    // A group's selected features.
    struct ActiveGroup {
        size_t group;
        std::vector<uint8_t> slots; // ascending
    };
    struct ActiveTable {
        size_t table;
        size_t features = 0;
        std::vector<ActiveGroup> groups;
        bool aggregate = false; // sum up by table row first, then put the table's rows into the histograms
    };
    // Some Stats, or NodeSums, of which none lies in two lines of the processor's cache.
    class Scratch {
      public:
        Scratch(MemoryBudget& budget, const char* what) : memory_(budget, what) {}
        void resize(size_t count, bool tallies) { memory_.resize(elements(count, tallies)); }
        static size_t elements(size_t count, bool tallies) { return tallies ? 2 * count + 1 : count; }
        template <class Sums>
        Sums* as() {
            const bool is_between = reinterpret_cast<uintptr_t>(memory_.data()) % sizeof(Sums) != 0;
            return reinterpret_cast<Sums*>(memory_.data() + is_between);
        }

      private:
        Buffer<Stats> memory_;
    };
    struct Worker {
        explicit Worker(RunContext& context)
            : accumulators(context.memory(), "histograms"),
              packed(context.memory(), "histograms"),
              sums(context.memory(), "sums by table row") {}
        template <class Sums>
        Sums* rows() {
            return reinterpret_cast<Sums*>(block);
        }

        bool used = false;      // its accumulators hold something
        bool summed = false;    // its sums too: fixed once the rows are through, so that others may read it
        Scratch accumulators;   // of each feature's bins
        Buffer<int64_t> packed; // what the accumulators of features in records lack; all zero between nodes
        size_t packed_rows = 0; // in them
        Scratch sums;           // by row of the aggregated tables, one after the other
        alignas(64) NodeSums block[block_rows];
        uint32_t ids[block_rows];
    };

    using ActiveTables = std::vector<ActiveTable>;

    static std::vector<size_t> places_of_groups(const BinnedData& data);
    static size_t packed_places(const BinnedData& data);
    template <class Sums>
    Sums* accumulators(Worker& worker, const ActiveGroup& group, size_t slot) const {
        return worker.accumulators.as<Sums>() + places_[group.group] + slot * bin_stride;
    }
    template <class Sums>
    Sums* sums_of(Worker& worker, const ActiveTable& table) const {
        return worker.sums.as<Sums>() + sums_offsets_[table.table];
    }
    static bool may_aggregate(const BinnedTable& table, size_t features, uint64_t rows, int threads);
    size_t slot_size(const ActiveGroup& group, size_t slot) const;
    template <class Sums>
    void start(Worker& worker);
    template <class Sums>
    void clear(Worker& worker, const ActiveTable& table);
    ActiveTables share_with_records();
    template <class Sums>
    void add_records(Worker& worker, const RowList& rows, const Sums& more);
    void unpack(Worker& worker);
    void choose_aggregates(const RowSet& rows);
    bool choose_records(const RowSet& rows);
    void gather(const RowList& rows, Stats* out) const { scores_.gather(rows, out); }
    void gather(const RowList& rows, NodeSums* out) const { scores_.gather_tallied(rows, out); }
    template <class Sums>
    void add_up(const RowSet& rows, const Sums& more);
    template <class Sums>
    void add_up_aggregates();
    template <class Sums>
    void add_rows(Worker& worker, const ActiveTables& tables, const RowList& rows);
    template <class Sums>
    void add_groups(Worker& worker, const ActiveTable& table, const uint32_t* ids, size_t begin, size_t count);
    template <class Sums>
    void add_table_rows(Worker& worker, const ActiveTable& table, size_t begin, size_t end);
    template <class Sums, class Add>
    void merge(const Add& add);

    const BinnedData& data_;
    const RowScores& scores_;
    const RowIndex& index_;
    Records* const records_;
    const bool has_tallies_;
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
