#include "core/kernel/key_sample.hpp"

#include "core/numbers/rng.hpp"

#include <algorithm>
#include <cmath>

namespace btml::kernel {

namespace {

constexpr size_t vector_pair = 2 * keys_per_vector; // tiles take whole ones

// A key's part in the error: its weight or, of means, that and its targets' deviation from their means.
Buffer<double> magnitudes_of(const KeySet& keys, const Estimand& estimand, MemoryBudget& budget) {
    Buffer<double> magnitudes(budget, "magnitudes of the keys' values", keys.rows());
    const size_t columns = estimand.columns();
    std::vector<double> totals(columns, 0.0);
    for (size_t i = 0; i < keys.rows(); i++)
        for (size_t c = 0; c < columns; c++) totals[c] += estimand.value(i, c);
    for (size_t i = 0; i < keys.rows(); i++) {
        const uint32_t key = i;
        const double weight = estimand.value(key, 0);
        double square = estimand.is_mean() ? 0 : weight * weight;
        for (size_t c = 1; c < columns; c++) {
            const double deviation = estimand.value(key, c) - totals[c] / totals[0] * weight;
            square += deviation * deviation;
        }
        magnitudes[i] = std::sqrt(square);
    }
    if (!estimand.is_mean()) return magnitudes;
    // A mean's denominator matters too where the targets happen to be near their mean.
    double deviations = 0, weights = 0;
    for (size_t i = 0; i < keys.rows(); i++) {
        deviations += magnitudes[i];
        weights += estimand.value(i, 0);
    }
    for (size_t i = 0; i < keys.rows(); i++)
        magnitudes[i] = std::max(magnitudes[i], deviations / weights * estimand.value(i, 0));
    return magnitudes;
}

} // namespace

KeyStrata::KeyStrata(const KeySet& keys, const Estimand& estimand, RunContext& context)
    : of_key_(context.memory(), "strata of the keys", keys.rows()) {
    const Buffer<double> magnitudes = magnitudes_of(keys, estimand, context.memory());
    const double largest = *std::max_element(magnitudes.begin(), magnitudes.end());
    counts_.assign(max_strata, 0);
    for (size_t i = 0; i < keys.rows(); i++) {
        const double halvings = magnitudes[i] > 0 ? std::floor(std::log2(largest / magnitudes[i])) : max_strata;
        of_key_[i] = largest > 0 ? static_cast<uint8_t>(std::min(halvings, max_strata - 1.0)) : 0;
        counts_[of_key_[i]]++;
    }
    while (counts_.back() == 0) counts_.pop_back();
    double sum = 0;
    for (size_t s = 0; s < counts_.size(); s++)
        sum += std::ldexp(static_cast<double>(counts_[s]), -static_cast<int>(s));
    mean_rate_ = sum / keys.rows();
}

size_t KeyStrata::sampled(size_t stratum, double fraction) const noexcept {
    const double count = counts_[stratum];
    const double wanted = std::ldexp(fraction / mean_rate_, -static_cast<int>(stratum)) * count;
    if (!(wanted < count)) return counts_[stratum];
    return std::min(counts_[stratum], (static_cast<size_t>(wanted) / vector_pair + 1) * vector_pair);
}

double KeyStrata::sampled_share(double fraction) const noexcept {
    size_t all = 0;
    for (size_t s = 0; s < counts_.size(); s++) all += sampled(s, fraction);
    return all / static_cast<double>(of_key_.size());
}

Buffer<uint32_t> KeySample::draw(const KeySet& keys, double fraction, uint64_t seed, RunContext& context) {
    struct Drawn {
        uint64_t place;
        uint32_t key;
        bool operator<(const Drawn& other) const {
            return place != other.place ? place < other.place : key < other.key;
        }
    };
    std::vector<size_t> ends(strata_.strata(), 0);
    for (size_t s = 0; s < ends.size(); s++) ends[s] = (s > 0 ? ends[s - 1] : 0) + strata_.keys(s);
    Buffer<Drawn> drawn(context.memory(), "a sample of the keys", keys.rows());
    std::vector<size_t> next(ends.size());
    for (size_t s = 0; s < ends.size(); s++) next[s] = ends[s] - strata_.keys(s);
    for (size_t i = 0; i < keys.rows(); i++) {
        const uint32_t key = i;
        drawn[next[strata_.stratum_of(key)]++] = {random_bits(seed, 0, i), key};
    }
    Buffer<uint32_t> sample(context.memory(), "a sample of the keys");
    for (size_t s = 0; s < ends.size(); s++) {
        context.poll();
        Drawn* const first = drawn.begin() + ends[s] - strata_.keys(s);
        const size_t count = strata_.sampled(s, fraction);
        if (count < strata_.keys(s)) std::nth_element(first, first + count, drawn.begin() + ends[s]);
        std::sort(first, first + count);
        first_blocks_.push_back(starts_.size());
        for (size_t i = 0; i < count; i++) {
            if (i % block_keys == 0) starts_.push_back(sample.size());
            sample.push_back(first[i].key);
        }
    }
    first_blocks_.push_back(starts_.size());
    starts_.push_back(sample.size());
    return sample;
}

std::span<const uint32_t> KeySample::keys_of(size_t block) const noexcept {
    return keys_.span().subspan(starts_[block], starts_[block + 1] - starts_[block]);
}

static std::vector<double> scales_of(const KeySet& keys, size_t columns) {
    std::vector<double> scales;
    for (size_t c = 0; c < columns; c++) scales.push_back(keys.values.scale(c));
    return scales;
}

KeySample::KeySample(const KeySet& keys, const Estimand& estimand, const KeyStrata& strata, double fraction,
                     uint64_t seed, ThreadTeam& team, RunContext& context)
    : strata_(strata),
      keys_(draw(keys, fraction, seed, context)),
      blocks_(
          keys.distinct.frame, keys.distinct.points, starts_.size() - 1,
          [this](size_t block) { return keys_of(block); }, Precision::sampling, team, context.memory()),
      values_(
          blocks_.blocks(), estimand.columns(), [this](size_t block) { return keys_of(block); },
          [&](uint32_t key, size_t column) { return keys.value(key, column); }, scales_of(keys, estimand.columns()),
          team, context.memory()),
      squares_(
          blocks_.blocks(), estimand.squares(), [this](size_t block) { return keys_of(block); },
          [&](uint32_t key, size_t column) { return estimand.square(key, column); },
          std::vector<double>(estimand.squares(), 1.0), team, context.memory()),
      leaves_(context.memory(), "a sample of the keys", blocks_.blocks() * block_keys, 0U) {
    Buffer<uint32_t> leaf_of(context.memory(), "a sample of the keys", keys.rows());
    for (size_t leaf = 0; leaf < keys.tree.leaves(); leaf++)
        for (const uint32_t key : keys.tree.keys(leaf)) leaf_of[key] = leaf;
    for (size_t block = 0; block < blocks_.blocks(); block++)
        for (size_t i = 0; i < keys_of(block).size(); i++) leaves_[block * block_keys + i] = leaf_of[keys_of(block)[i]];
}

Estimand::Estimand(Quantity quantity, const KeySet& keys) : quantity_(quantity), keys_(keys) {
    if (!is_mean()) return;
    std::vector<double> sums(columns(), 0.0);
    double squares = 0;
    for (size_t i = 0; i < keys.rows(); i++) {
        const uint32_t key = i;
        const double weight = value(key, 0);
        if (!(weight > 0)) continue;
        for (size_t c = 0; c < columns(); c++) sums[c] += value(key, c);
        squares += square(key, targets() + 1) / weight;
    }
    spread_ = squares / sums[0];
    for (size_t c = 1; c < columns(); c++) spread_ -= sums[c] / sums[0] * (sums[c] / sums[0]);
    spread_ = std::max(0.0, spread_);
}

double Estimand::square(uint32_t key, size_t column) const noexcept {
    const double weight = value(key, 0);
    if (column == 0) return weight * weight;
    if (column <= targets()) return weight * value(key, column);
    double sum = 0;
    for (size_t c = 1; c <= targets(); c++) sum += value(key, c) * value(key, c);
    return sum;
}

double Estimand::magnitude(const double* sums) const noexcept {
    if (!is_mean()) return sums[0] * sums[0];
    double sum = 0;
    for (size_t c = 1; c <= targets(); c++) sum += sums[c] * sums[c];
    return sums[0] > 0 ? sum / (sums[0] * sums[0]) : 0;
}

double Estimand::error(const double* sums, const double* squares) const noexcept {
    if (!is_mean()) return std::max(0.0, squares[0]);
    if (!(sums[0] > 0)) return 0;
    double error = squares[targets() + 1];
    for (size_t c = 1; c <= targets(); c++) {
        const double mean = sums[c] / sums[0];
        error += mean * (mean * squares[0] - 2 * squares[c]);
    }
    return std::max(0.0, error) / (sums[0] * sums[0]);
}

double Estimand::error_of_hidden(double denominator, double variance, double fraction) const noexcept {
    if (!is_mean() || !(denominator > 0) || !(variance > 0) || fraction >= 1) return 0;
    // Works as if all of the variance came of one key: with its share of the estimate, and of the true denominator.
    const double estimated = std::min(1.0, std::sqrt(variance / (1 - fraction)) / denominator),
                 share = fraction * estimated / (1 - estimated + fraction * estimated);
    return (1 - fraction) / fraction * share * share * spread_;
}

} // namespace btml::kernel
