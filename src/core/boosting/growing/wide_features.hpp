// Split search for features with too many bins for a histogram per node (exact thresholds of a continuous column, keys
// as categories): one feature at a time, in scratch memory.
#pragma once

#include "core/boosting/growing/split.hpp"
#include "core/boosting/objectives/objective.hpp"

namespace btml::boosting {

class WideFeatures {
  public:
    WideFeatures(const BinnedData& data, const RowScores& scores, const RowIndex& index, bool tallies, ThreadTeam& team,
                 RunContext& context);

    // Adds the feature's candidates in a node; `order` as in SplitSearch::scan_categories.
    void search(int feature, const RowSet& rows, const SplitSearch& search, std::vector<BinSums>& order,
                Candidates& found);

    static uint64_t scratch_bytes(const BinnedData& data, bool tallies, int threads);

  private:
    // Where there are fewer rows than bins over this, sorting the rows by bin beats clearing and scanning every bin.
    static constexpr size_t sparse_ratio = 8;

    template <class Body>
    void for_each_list(const RowSet& rows, const FeatureBins& feature, const Body& body);
    void clear(size_t bins);
    void add_rows(const RowSet& rows, const FeatureBins& feature);
    void merge(size_t bins);
    void scan_dense(int feature, const RowSet& rows, const SplitSearch& search, std::vector<BinSums>& order,
                    Candidates& found);
    void scan_sparse(int feature, const RowSet& rows, const SplitSearch& search, std::vector<BinSums>& order,
                     Candidates& found);

    const BinnedData& data_;
    const RowScores& scores_;
    const RowIndex& index_;
    const bool has_tallies_;
    ThreadTeam& team_;
    RunContext& context_;
    size_t max_bins_ = 0;
    // Has a part for each thread, one after the other; all are zero between searches.
    Buffer<Stats> stats_;
    Buffer<Tally> tallies_;
    Buffer<uint64_t> keys_, spare_keys_; // bin · 2^32 + row
    Buffer<BinSums> cells_;
};

} // namespace btml::boosting
