#include "core/relational/hashed_rows.hpp"

#include "core/relational/sketch_hash.hpp"

namespace btml::relational {

HashedRows::HashedRows(const Join& join, int table, uint32_t size, uint64_t seed, RunContext& context)
    : groups_(group_rows(join, table, context)),
      buckets_(context.memory(), "the hashed rows of a sketch", groups_.rows.size()) {
    const SketchHash hash(seed, table);
    RowBlocks blocks(context, "hashing rows", buckets_.size());
    blocks.for_each(buckets_.size(), [&](uint64_t i) {
        // A bag's row follows from those of the tables in it.
        const RowId row = groups_.rows[i];
        if (table >= join.relations())
            buckets_[i] = 0;
        else
            buckets_[i] = hash.bucket(row, size) | (hash.is_negative(row) ? sign_bit : 0);
    });
}

TransformedGroups::TransformedGroups(const HashedRows& hashed, uint64_t min_rows, MemoryBudget& memory)
    : numbers(memory, "the row groups of a join", hashed.groups().count(), none),
      groups(memory, "the row groups of a join") {
    for (uint64_t group = 0; group < numbers.size(); group++) {
        if (hashed.groups().size(group) < min_rows) continue;
        numbers[group] = static_cast<uint32_t>(groups.size());
        groups.push_back(static_cast<uint32_t>(group));
    }
}

void store(const FourierTransform& fourier, const Frequencies& frequencies, Spectrum::Value* spectrum) {
    const FourierTransform::Complex* const output = fourier.output();
    std::fill(spectrum, spectrum + frequencies.blocks(), Spectrum::zero());
    for (uint64_t w = 0; w < frequencies.count(); w++) {
        Spectrum::Value& block = spectrum[w / Spectrum::width];
        block.re[w % Spectrum::width] = output[w].real();
        block.im[w % Spectrum::width] = output[w].imag();
    }
}

} // namespace btml::relational
