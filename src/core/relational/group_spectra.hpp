// Fourier transforms of the groups that have so many rows that one fast transform of them all costs less than adding
// the rows up frequency by frequency.
#pragma once

#include "core/base/worker_contexts.hpp"
#include "core/relational/fourier.hpp"
#include "core/relational/hashed_rows.hpp"

namespace btml::relational {

// Which groups of a table those are.
struct TransformedGroups {
    static constexpr uint32_t none = UINT32_MAX;

    TransformedGroups(const HashedRows& hashed, uint64_t min_rows, MemoryBudget& memory);

    Buffer<uint32_t> numbers; // of every group; none where it is not transformed
    Buffer<uint32_t> groups;  // by number
};

// All blocks of frequencies of the first group, then those of the second one and so on.
using GroupSpectra = Buffer<Spectrum::Value>;

// The output of a transform in blocks, zeros after the last frequency.
void store(const FourierTransform& fourier, const Frequencies& frequencies, Spectrum::Value* spectrum);

// The transform of one group with the factors phi(row), into `spectrum`, one value for each block of frequencies.
template <class Phi>
void transform_group(const HashedRows& hashed, uint64_t group, const Frequencies& frequencies,
                     FourierTransform& fourier, Phi&& phi, Spectrum::Value* spectrum, RunContext& context) {
    double* const buckets = fourier.input();
    std::fill(buckets, buckets + fourier.size(), 0.0);
    const RowGroups& groups = hashed.groups();
    RowBlocks blocks(context, "transforming rows", 0);
    blocks.run(groups.size(group), [&](uint64_t begin, uint64_t end) {
        for (uint64_t i = groups.first[group] + begin; i < groups.first[group] + end; i++) {
            const double factor = phi(groups.rows[i]);
            buckets[hashed.bucket(i)] += hashed.is_negative(i) ? -factor : factor;
        }
    });
    fourier.run();
    store(fourier, frequencies, spectrum);
}

} // namespace btml::relational
