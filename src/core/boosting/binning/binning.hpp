// Feature values as small integers: what the histograms count.
#pragma once

#include "core/boosting/rows/training_rows.hpp"

#include <functional>

namespace btml::boosting {

// Features with more bins than this (with NULL's) are not for every thread to search, or to hold a histogram of.
inline constexpr size_t max_histogram_bins = 1024;

// A feature's bins: of a number, bin b holds thresholds[b−1] ≤ x < thresholds[b] in PostgreSQL's order; of a category,
// the code is the bin. One more bin, the last, is NULL's.
struct FeatureBins {
    int table = 0;
    bool categorical = false;
    int8_t direction = 0;  // as in FeatureColumn
    uint32_t values = 1;   // bins of values
    uint64_t distinct = 0; // numbers that training rows have
    Buffer<double> thresholds;
    size_t group = 0, slot = 0; // where the bins of its rows are

    uint32_t null_bin() const { return values; }
    size_t size() const { return size_t{values} + 1; }
};

// The bins of up to 8 features of one table that fit into a byte each, row by row; or of one feature of 2 or 4 bytes.
struct BinGroup {
    static constexpr size_t max_width = 8;

    int table;
    size_t width;                 // features
    size_t bytes;                 // per bin
    std::vector<size_t> features; // by slot
    Buffer<uint8_t> data;         // rows × width × bytes

    template <class Bin>
    const Bin* bins() const {
        return reinterpret_cast<const Bin*>(data.data());
    }
};

struct BinnedTable {
    uint64_t rows;
    RowIds row_ids; // which the dataset holds
    std::vector<size_t> groups;

    RowIds ids() const { return row_ids; }
};

struct BinnedData {
    uint64_t rows = 0; // of the join
    std::vector<BinnedTable> tables;
    std::vector<FeatureBins> features;
    std::vector<BinGroup> groups;
};

// body(bin) with a value of the type that bins of so many bytes have.
template <class Body>
void with_bin_type(size_t bytes, const Body& body) {
    if (bytes == 1)
        body(uint8_t{});
    else if (bytes == 2)
        body(uint16_t{});
    else
        body(uint32_t{});
}

// Calls body with the constant `wanted`, 1 … 8: the width of a group, or less.
template <size_t width = BinGroup::max_width, class Body>
void with_width(size_t wanted, const Body& body) {
    if constexpr (width > 1)
        if (wanted < width) return with_width<width - 1>(wanted, body);
    body(std::integral_constant<size_t, width>{});
}

// body(bin_of): bin_of(row) is the bin of a row of a feature's table.
template <class Body>
void with_bins(const BinnedData& data, const FeatureBins& feature, const Body& body) {
    const BinGroup& group = data.groups[feature.group];
    with_bin_type(group.bytes, [&](auto bin) {
        body([bins = group.bins<decltype(bin)>() + feature.slot, width = group.width](size_t row) -> uint32_t {
            return bins[row * width];
        });
    });
}

// Gives for a table Σ of weights over the training rows that each row joins to, in any unit; nothing where that is 1.
using Multiplicities = std::function<Buffer<int64_t>(size_t table)>;

// Bins every feature, by the values of the training rows: one bin per distinct value when there are at most max_bins
// of them (0: always), else about equal total weight in each of at most max_bins bins. Frees the raw columns, unless
// they are to be kept for other bins; the dataset keeps the tables' row ids, which the bins need.
BinnedData bin_features(Dataset& dataset, const Multiplicities& multiplicities, int max_bins, ThreadTeam& team,
                        RunContext& context, bool keep_columns = false);
BinnedData bin_features(Dataset& dataset, const TrainingRows& training, int max_bins, ThreadTeam& team,
                        RunContext& context, bool keep_columns = false);

// A threshold between two neighbouring values, a < threshold ≤ b in PostgreSQL's order: their midpoint where there is
// one; b itself where a or b is infinite; NaN where b is.
double midpoint(double a, double b);

// Bytes per bin of a feature with so many bins.
size_t bin_bytes(size_t bins);

} // namespace btml::boosting
