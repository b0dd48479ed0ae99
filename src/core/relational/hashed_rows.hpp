// The rows of a join's tables as a tensor sketch sees them: each with its bucket and sign, those with equal keys
// together, since they are one row to the rest of the join.
#pragma once

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

} // namespace btml::relational
