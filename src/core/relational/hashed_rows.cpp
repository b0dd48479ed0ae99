#include "core/relational/hashed_rows.hpp"

#include "core/relational/sketch_hash.hpp"

namespace btml::relational {

HashedRows::HashedRows(const Join& join, int table, uint32_t size, uint64_t seed, RunContext& context)
    : groups_(group_rows(join, table, context)),
      buckets_(context.memory(), "the hashed rows of a sketch", groups_.rows.size()) {
    const SketchHash hash(seed, static_cast<uint64_t>(table));
    RowBlocks blocks(context, "hashing rows", buckets_.size());
    blocks.run(buckets_.size(), [&](uint64_t begin, uint64_t end) {
        for (uint64_t i = begin; i < end; i++) {
            // A bag's row follows from those of the tables in it.
            const RowId row = groups_.rows[i];
            if (table >= join.relations())
                buckets_[i] = 0;
            else
                buckets_[i] = hash.bucket(row, size) | (hash.is_negative(row) ? sign_bit : 0);
        }
    });
}

} // namespace btml::relational
