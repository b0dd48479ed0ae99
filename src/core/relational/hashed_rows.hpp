// The rows of a join's tables as a tensor sketch sees them: each with its bucket and sign, those with equal keys
// together, since they are one row to the rest of the join.
#pragma once

#include "core/relational/fourier.hpp"
#include "core/relational/row_groups.hpp"
#include "core/relational/spectrum.hpp"

namespace btml::relational {

class HashedRows {
  public:
    // Buckets are in [0, size), size < 2^31.
    HashedRows(const Join& join, int table, uint32_t size, uint64_t seed, RunContext& context);

    const RowGroups& groups() const { return groups_; }
    uint32_t bucket(uint64_t row) const { return buckets_[row] & ~sign_bit; }
    bool is_negative(uint64_t row) const { return (buckets_[row] & sign_bit) != 0; }

    // Σ over the rows of a group of sign · phi(row) · exp(−2πi·bucket·w/k) for the frequencies w of a block. Rows with
    // phi(row) = 0 cost little.
    template <class Phi>
    Spectrum::Value transform(uint64_t group, uint64_t block, const RootsOfUnity& roots, Phi&& phi) const {
        Spectrum::Value sum = Spectrum::zero();
        for (uint64_t i = groups_.first[group]; i < groups_.first[group + 1]; i++) {
            const double factor = phi(groups_.rows[i]);
            if (factor != 0)
                sum = Spectrum::add(sum, roots.powers(bucket(i), block, is_negative(i) ? -factor : factor));
        }
        return sum;
    }

  private:
    static constexpr uint32_t sign_bit = uint32_t{1} << 31;

    RowGroups groups_;
    Buffer<uint32_t> buckets_; // of each of groups_.rows; with sign_bit where the sign is negative
};

// The groups of a table that have so many rows that one fast Fourier transform of them all costs less than adding the
// rows up frequency by frequency.
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
