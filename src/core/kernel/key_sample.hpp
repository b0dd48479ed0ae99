// Random samples of the keys, the same for all queries, so that they go through the tiles: strata of keys whose values
// are of one order of magnitude, and of each the first keys in a random order. Strata of larger values are sampled at
// higher rates (importance sampling).
#pragma once

#include "core/kernel/estimand.hpp"

namespace btml::kernel {

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
