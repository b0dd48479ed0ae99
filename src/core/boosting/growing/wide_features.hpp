// Split search for features with too many bins for a histogram per node (exact thresholds of a continuous column, keys
// as categories): one feature at a time, in scratch memory.
#pragma once

#include "core/base/radix_sort.hpp"
#include "core/boosting/growing/histogram.hpp"
#include "core/boosting/growing/split.hpp"
#include "core/boosting/objectives/objective.hpp"

#include <cstring>

namespace btml::boosting {

inline size_t max_wide_bins(const BinnedData& data) {
    size_t most = 0;
    for (const FeatureBins& feature : data.features)
        if (feature.size() > max_histogram_bins) most = std::max(most, feature.size());
    return most;
}

class WideFeatures {
  public:
    WideFeatures(const BinnedData& data, const RowScores& scores, const RowIndex& index, bool tallies, ThreadTeam& team,
                 RunContext& context)
        : data_(data),
          scores_(scores),
          index_(index),
          has_tallies_(tallies),
          team_(team),
          context_(context),
          max_bins_(max_wide_bins(data)),
          stats_(context.memory(), "sums by bin"),
          tallies_(context.memory(), "sums by bin"),
          keys_(context.memory(), "rows by bin"),
          spare_keys_(context.memory(), "rows by bin"),
          cells_(context.memory(), "sums by bin") {
        stats_.resize(max_bins_ * team.size());
        tallies_.resize(tallies ? stats_.size() : 0);
        clear(stats_.size());
        const size_t sparse_rows = std::min<size_t>(max_bins_ / sparse_ratio, data.rows);
        keys_.resize(sparse_rows);
        spare_keys_.resize(sparse_rows);
        cells_.resize(sparse_rows);
    }

    // Adds the feature's candidates in a node; `order` as in SplitSearch::scan_categories.
    void search(int feature, const RowSet& rows, const SplitSearch& search, std::vector<BinSums>& order,
                Candidates& found) {
        const FeatureBins& bins = data_.features[feature];
        if (rows.size() < bins.size() / sparse_ratio)
            scan_sparse(feature, rows, search, order, found);
        else
            scan_dense(feature, rows, search, order, found);
    }

    static uint64_t scratch_bytes(const BinnedData& data, bool tallies, int threads) {
        const uint64_t bins = max_wide_bins(data);
        return bins * (sizeof(Stats) + (tallies ? sizeof(Tally) : 0)) * threads +
               bins / sparse_ratio * (2 * sizeof(uint64_t) + sizeof(BinSums));
    }

  private:
    // Where there are fewer rows than bins over this, sorting the rows by bin beats clearing and scanning every bin.
    static constexpr size_t sparse_ratio = 8;

    // body(rows, bin, worker) for the set's rows, list by list; bin(i) is the bin of rows[i].
    template <class Body>
    void for_each_list(const RowSet& rows, const FeatureBins& feature, const Body& body) {
        const RowIds ids = data_.tables[feature.table].ids();
        with_bins(data_, feature, [&](const auto& bin_of) {
            index_.for_each_list(rows, [&](const RowList& list, int worker) {
                body(
                    list, [&](size_t i) { return bin_of(ids[list[i]]); }, worker);
            });
        });
    }
    void clear(size_t bins) {
        for_pieces(team_, bins, [&](size_t begin, size_t end, int) {
            std::fill(stats_.data() + begin, stats_.data() + end, Stats{});
            if (has_tallies_) std::fill(tallies_.data() + begin, tallies_.data() + end, Tally{});
        });
    }
    void add_rows(const RowSet& rows, const FeatureBins& feature) {
        for_each_list(rows, feature, [&](const RowList& list, const auto& bin, int worker) {
            Stats* const sums = stats_.data() + worker * max_bins_;
            if (!has_tallies_) {
                Stats gathered[RowIndex::list_rows];
                scores_.gather(list, gathered);
                for (size_t i = 0; i < list.count; i++) sums[bin(i)] += gathered[i];
                return;
            }
            NodeSums gathered[RowIndex::list_rows];
            scores_.gather_tallied(list, gathered);
            Tally* const tallies = tallies_.data() + worker * max_bins_;
            for (size_t i = 0; i < list.count; i++) {
                sums[bin(i)] += gathered[i].total;
                tallies[bin(i)] += gathered[i].tally;
            }
        });
    }
    // Sums of all workers into the first one's, clearing the others'.
    void merge(size_t bins) {
        for (size_t worker = 1; worker < static_cast<size_t>(team_.size()); worker++)
            for_pieces(team_, bins, [&](size_t begin, size_t end, int) {
                const auto add = [&](auto* sums) {
                    auto* others = sums + worker * max_bins_;
                    for (size_t b = begin; b < end; b++) sums[b] += std::exchange(others[b], {});
                };
                add(stats_.data());
                if (has_tallies_) add(tallies_.data());
            });
    }
    void scan_dense(int f, const RowSet& rows, const SplitSearch& search, std::vector<BinSums>& order,
                    Candidates& found) {
        const FeatureBins& feature = data_.features[f];
        add_rows(rows, feature);
        merge(feature.size());
        const DenseBins bins{stats_.data(), has_tallies_ ? tallies_.data() : nullptr, 0, feature.values};
        const NodeSums null = bins.sums(feature.null_bin());
        if (feature.categorical) {
            search.scan_categories(f, bins, null, order, found, context_);
        } else {
            // Each piece is scanned from the sums of the pieces before it; the lists are joined in order.
            const size_t pieces = (feature.values + piece_rows - 1) / piece_rows;
            std::vector<NodeSums> before(pieces + 1);
            std::vector<Candidates> lists(pieces, search.no_candidates());
            const auto end = [&](size_t piece) { return std::min<size_t>(feature.values, (piece + 1) * piece_rows); };
            team_.for_each(pieces, [&](size_t piece, int) {
                NodeSums sums;
                for (size_t b = piece * piece_rows; b < end(piece); b++) sums += bins.sums(b);
                before[piece + 1] = sums;
            });
            for (size_t piece = 0; piece < pieces; piece++) before[piece + 1] += before[piece];
            team_.for_each(pieces, [&](size_t piece, int) {
                search.scan_numbers(f, DenseBins{bins.stats, bins.tallies, piece * piece_rows, end(piece)},
                                    before[piece], null, lists[piece]);
            });
            for (const Candidates& list : lists) found.add(list);
        }
        clear(feature.size());
    }
    void scan_sparse(int f, const RowSet& rows, const SplitSearch& search, std::vector<BinSums>& order,
                     Candidates& found) {
        const FeatureBins& feature = data_.features[f];
        keys_.resize(rows.size());
        spare_keys_.resize(rows.size());
        for_each_list(rows, feature, [&](const RowList& list, const auto& bin, int) {
            for (size_t i = 0; i < list.count; i++) keys_[list.position + i] = uint64_t{bin(i)} << 32 | list[i];
        });
        // The order of rows within a bin does not matter.
        radix_sort(keys_, spare_keys_, team_, [](uint64_t key) { return key >> 32; });
        size_t used = 0;
        NodeSums null;
        for (size_t i = 0; i < keys_.size(); i++) {
            if (i % piece_rows == 0) context_.poll();
            const auto bin = static_cast<uint32_t>(keys_[i] >> 32), row = static_cast<uint32_t>(keys_[i]);
            NodeSums sum;
            scores_.gather_tallied({&row, 0, 1, i}, &sum);
            if (bin != feature.null_bin() && (used == 0 || cells_[used - 1].bin != bin)) cells_[used++] = {bin, {}};
            NodeSums& sums = bin == feature.null_bin() ? null : cells_[used - 1].sums;
            sums += has_tallies_ ? sum : NodeSums(sum.total);
        }
        search.scan(f, feature.categorical, SparseBins{cells_.span().first(used)}, null, order, found, context_);
    }

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
