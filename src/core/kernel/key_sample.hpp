// Random samples of the keys, the same for all queries, so that they go through the tiles: strata of keys whose values
// are of one order of magnitude, and of each the first keys in a random order. Strata of larger values are sampled at
// higher rates (importance sampling).
#pragma once

#include "core/kernel/kernel_options.hpp"
#include "core/kernel/key_set.hpp"

namespace btml::kernel {

// Says what is estimated from a sample of the keys, and how its error follows from the sample. Everything is in units
// of BlockValues' scales, where values are at most 1.
class Estimand {
  public:
    Estimand(Quantity quantity, const KeySet& keys);

    bool is_mean() const noexcept { return quantity_ == Quantity::mean; }
    size_t targets() const noexcept { return is_mean() ? keys_.distinct.columns - 1 : 0; }
    // Columns of sums Σk·value, and of Σk²·square: the weight's square and, of means, the products of the weight and
    // each target's column, and the sum of these columns' squares.
    size_t columns() const noexcept { return 1 + targets(); }
    size_t squares() const noexcept { return is_mean() ? targets() + 2 : 1; }
    double value(uint32_t key, size_t column) const noexcept {
        return keys_.value(key, column) / keys_.values.scale(column);
    }
    double square(uint32_t key, size_t column) const noexcept;

    // The squared result, summed over targets, that `sums` come to.
    double magnitude(const double* sums) const noexcept;
    // The squared error of the result, summed over targets, where `squares` are variances and covariances of the sums
    // in the order of square(): for means by the delta method, Var(a/b) ≈ Var(a − (a/b)·b)/b².
    double error(const double* sums, const double* squares) const noexcept;
    // Of a mean's denominator that a sample of this fraction of the keys estimates, with that variance: the squared
    // error of the means to expect of keys that are much of the denominator and that the sample lacks. The delta method
    // does not see it: without such a key the variance is small, and with it the mean is that key's target. Each one
    // that the sample holds stands for (1 − fraction)/fraction others. 0 for sums and densities.
    double error_of_hidden(double denominator, double variance, double fraction) const noexcept;
    // The targets' squared deviation from their mean over the keys, summed over targets.
    double spread() const noexcept { return spread_; }

  private:
    Quantity quantity_;
    const KeySet& keys_;
    double spread_ = 0;
};

// Strata by powers of two of the values' magnitude, the largest first: stratum s is sampled at 2^−s times the rate of
// the first, until it is exhausted.
class KeyStrata {
  public:
    static constexpr size_t max_strata = 16;

    KeyStrata(const KeySet& keys, const Estimand& estimand, RunContext& context);

    size_t strata() const noexcept { return counts_.size(); }
    size_t keys(size_t stratum) const noexcept { return counts_[stratum]; }
    size_t stratum_of(uint32_t key) const noexcept { return of_key_[key]; }
    // Keys of a stratum in a sample of about `fraction` of all keys.
    size_t sampled(size_t stratum, double fraction) const noexcept;
    // The share of all keys that is.
    double sampled_share(double fraction) const noexcept;
    // How much less a key's square counts, or more, than in a sample without strata.
    double inflation_of(size_t stratum) const noexcept { return mean_rate_ * (1U << stratum); }
    double inflation(uint32_t key) const noexcept { return inflation_of(of_key_[key]); }

  private:
    std::vector<size_t> counts_;
    Buffer<uint8_t> of_key_;
    double mean_rate_ = 1; // at which all keys are sampled when that of the first stratum is 1
};

class KeySample {
  public:
    // Makes room for samples of up to `fraction`; its order is a function of the seed and the set of keys.
    KeySample(const KeySet& keys, const Estimand& estimand, const KeyStrata& strata, double fraction, uint64_t seed,
              ThreadTeam& team, RunContext& context);

    const KeyStrata& strata() const noexcept { return strata_; }
    size_t first_block(size_t stratum) const noexcept { return first_blocks_[stratum]; }
    const KeyBlocks& blocks() const noexcept { return blocks_; }
    const BlockValues& values() const noexcept { return values_; }
    const BlockValues& squares() const noexcept { return squares_; }
    // The leaf that each key of a block is in.
    const uint32_t* leaves(size_t block) const noexcept { return leaves_.data() + block * block_keys; }

  private:
    std::span<const uint32_t> keys_of(size_t block) const noexcept;
    Buffer<uint32_t> draw(const KeySet& keys, double fraction, uint64_t seed, RunContext& context);

    const KeyStrata& strata_;
    std::vector<size_t> first_blocks_; // by stratum, and the end
    std::vector<size_t> starts_;       // of each block's keys in keys_, and the end
    Buffer<uint32_t> keys_;
    KeyBlocks blocks_;
    BlockValues values_, squares_;
    Buffer<uint32_t> leaves_;
};

} // namespace btml::kernel
