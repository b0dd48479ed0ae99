// Where a numeric feature with many values is cut into bins.
#pragma once

#include "core/base/buffer.hpp"
#include "core/base/peers.hpp"
#include "core/boosting/rows/row_sums.hpp"
#include "core/boosting/rows/stats.hpp"

#include <span>

namespace btml::boosting {

// Fills bins with values, ascending. Values at least as frequent as an average bin get bins of their own as far as bins
// suffice; the others share the bins that are left evenly.
class BinFiller {
  public:
    // frequent: how many values are that frequent; shared: the weight of the others.
    BinFiller(size_t max_bins, size_t frequent, uint128 shared)
        : bins_left_(max_bins), frequent_(frequent), shared_(shared) {}

    // Takes the next value, and says whether it is in another bin than the one before.
    bool add(uint64_t weight, bool is_frequent) {
        const bool cuts = (is_full_ || (is_frequent && filled_ > 0)) && bins_left_ > 1;
        if (cuts) {
            bins_left_--;
            filled_ = 0;
        }
        filled_ += weight;
        frequent_ -= is_frequent;
        // Bins that the others may still use: one is kept for each frequent value to come.
        const size_t bins_shared = bins_left_ > frequent_ ? bins_left_ - frequent_ : 1;
        is_full_ = is_frequent || (filled_ * bins_shared >= shared_ && bins_left_ > frequent_ + 1);
        if (!is_frequent && is_full_) shared_ -= std::min(shared_, filled_);
        return cuts;
    }
    // Says whether the value taken last is its bin's last, as far as bins suffice.
    bool is_full() const { return is_full_; }
    // Returns the least weight of a next value, not a frequent one, that fills a bin; the largest there is for none.
    uint128 weight_to_fill() const {
        const bool starts = is_full_ && bins_left_ > 1;
        const size_t bins_left = bins_left_ - starts;
        if (bins_left <= frequent_ + 1) return ~uint128{0};
        const size_t bins_shared = bins_left - frequent_;
        const uint128 needed = (shared_ + bins_shared - 1) / bins_shared, filled = starts ? 0 : filled_;
        return needed > filled ? needed - filled : 1;
    }

  private:
    size_t bins_left_; // the current one included
    size_t frequent_;  // values from here on
    uint128 shared_;   // weight of the other values from here on
    uint128 filled_ = 0;
    bool is_full_ = false;
};

inline bool is_frequent(uint64_t weight, uint128 all, size_t max_bins) {
    return static_cast<uint128>(weight) * max_bins >= all;
}

// The values of a feature in the rows that a process holds, as keys, ascending.
struct WeightedValues {
    Buffer<uint64_t> keys;
    Buffer<uint64_t> up_to; // the weight of values up to each
    std::string feature = {};
};

// Neighbouring values that lie in different bins.
struct Cut {
    uint64_t last, next;
};

// Returns the cuts of the values that all peers have, as one process would find them that had all: by a few questions
// for exact weights, not by sending the values. distinct: set to how many there are, one too many for them all to have
// bins where there are more. Error not_supported for more distinct values than most_bins with max_bins 0.
std::vector<Cut> cuts_among(Peers& peers, const WeightedValues& own, size_t max_bins, size_t most_bins,
                            uint64_t& distinct);

} // namespace btml::boosting
