#include "core/gp/fit_memory.hpp"

#include "core/gp/additive/sum_training.hpp"
#include "core/gp/sparse/sparse_training.hpp"

#include <algorithm>

namespace btml::gp {

uint64_t evaluations_of(const Options& options, size_t rows) {
    return options.evaluations > 0 ? options.evaluations : default_evaluations(rows);
}

int value_bits_of(const Options& options, size_t features) {
    return options.bits > 0 ? options.bits : Encoding::default_value_bits(features);
}

FitMemory::FitMemory(const Dataset& dataset, const Options& options) : columns_(expansion_bytes(dataset)) {
    if (!is_smooth(options.kernel))
        count_trees(dataset, options);
    else
        finish_ = sparse_training_bytes(dataset.rows, dataset.features.size(),
                                        options.max_exemplars(dataset.rows, dataset.features.size()));
    if (options.varying_noise.value_or(false)) {
        static constexpr uint64_t columns_beside_features = 4; // targets, weights, errors and what is learned of them
        other_fits_ = 2 * finish_ + dataset.rows * sizeof(double) * (dataset.features.size() + columns_beside_features);
    }
}

void FitMemory::count_trees(const Dataset& dataset, const Options& options) {
    static constexpr uint64_t sorting = 56, sorted = 6, observations = 16, gradient = 26, leave_one_out = 50;
    static constexpr uint64_t score = 40, small = uint64_t{1} << 20;
    const auto value_bits = static_cast<uint64_t>(value_bits_of(options, dataset.features.size()));
    const uint64_t bits = 8 * ((dataset.features.size() * (value_bits + 1) + 63) / 64);
    const uint64_t distinct = 2 * (bits + observations), trie = 64 + 16 + bits;
    search_ = small + dataset.rows * (distinct + sorting + observations + std::max(bits, gradient));
    const uint64_t last = std::max(sorting, sorted + observations + std::max(leave_one_out, trie));
    const uint64_t others = std::max(0, options.members - 1);
    finish_ = small + dataset.rows * (bits + score + last + others * trie);
}

uint64_t FitMemory::peak(int workers) const {
    const uint64_t later = std::max(static_cast<uint64_t>(workers) * search_, finish_);
    return std::max(columns_.peak, columns_.growth + static_cast<int64_t>(later + other_fits_));
}

} // namespace btml::gp
