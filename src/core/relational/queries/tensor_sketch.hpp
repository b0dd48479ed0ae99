// Tensor sketch of a vector over the rows of a join, and its squared norm: Σ r² over the join without the join
// (Cromp, Samadian, Pruhs: Relational Boosted Regression Trees, §3; Pham and Pagh, KDD 2013). A join row is the tuple
// of its tables' row ids: it adds its sign times r to the coordinate Σ_t h_t(ρ_t) mod k. Only the Fourier transform of
// these k numbers is formed, some frequencies at a time: each frequency is a SumProd query over complex numbers of its
// own, so nothing of size k is kept for a row.
#pragma once

#include "core/base/threads.hpp"
#include "core/relational/join/row_groups.hpp"
#include "core/relational/queries/fourier.hpp"
#include "core/relational/queries/sketch_hash.hpp"
#include "core/relational/queries/spectrum.hpp"
#include "core/relational/queries/sum_product.hpp"

namespace btml::relational {

// The rows of a join's table as a tensor sketch sees them: each with its bucket and sign, those with equal keys
// together, since they are one row to the rest of the join.
class HashedRows {
  public:
    // Buckets are in [0, size), size < 2^31.
    HashedRows(const Join& join, int table, uint32_t size, uint64_t seed, RunContext& context);

    const RowGroups& groups() const { return groups_; }
    uint32_t bucket(uint64_t row) const { return buckets_[row] & ~SketchHash::sign_bit; }
    bool is_negative(uint64_t row) const { return (buckets_[row] & SketchHash::sign_bit) != 0; }

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
    RowGroups groups_;
    Buffer<uint32_t> buckets_; // of each of groups_.rows, with its sign
};

class TensorSketch {
  public:
    // Returns the size as it is. Errors: internal for 0; limit_exceeded over 2^31 − 1.
    static uint32_t checked_size(uint64_t size);

    // Returns the least size from `size` on that transforms are fast for, where there are any.
    static uint64_t fast_size(uint64_t size);

    // Hashes the rows. size: k, see checked_size; fast_size() of it takes less time.
    TensorSketch(const Join& join, uint64_t size, uint64_t seed, RunContext& context);

    // Returns ‖sk(r)‖², an unbiased estimate of Σ r² over the join for r the product of the factors; for its error see
    // sketch_size.hpp. The same bytes whatever the number of threads.
    double squared_norm(const Factors& factors);

  private:
    struct TransformedGroups;
    struct BlockFactors;

    std::vector<TransformedGroups> transform_groups(const Factors& factors); // by table
    // A transform for each thread, fewer where they would take more than half of the memory that is left.
    std::vector<FourierTransform> one_for_each_thread();

    // The least number of rows that makes a group worth transforming, where the transforms fit the memory.
    uint64_t min_rows() const;
    uint64_t groups_of(uint64_t min_rows) const;
    // Bytes that one thread needs for a query.
    uint64_t query_bytes() const;

    uint32_t size_;
    RunContext& context_;
    ThreadTeam team_;
    std::vector<HashedRows> tables_;
    Join grouped_; // one row for each group
    Frequencies frequencies_;
    RootsOfUnity roots_;
};

} // namespace btml::relational
