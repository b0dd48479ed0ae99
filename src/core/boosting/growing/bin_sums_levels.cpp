#include "core/boosting/binning/binning.hpp"
#include "core/boosting/growing/bin_sums.hpp"

namespace btml::boosting::BTML_LEVEL {

namespace {

struct ByPosition {
    size_t begin;
    size_t operator()(size_t i) const { return begin + i; }
    static constexpr size_t ahead = 0; // the processor foresees these by itself
};

struct ById {
    const uint32_t* ids;
    size_t operator()(size_t i) const { return ids[i]; }
    static constexpr size_t ahead = 32;
};

// Adds block[i] to the bins of row(i) in a group's first Width slots. The features' chains of loads and stores are
// independent of each other, which hides the time between a store to a bin and the next load of the same bin.
template <size_t Width, class Row, class Sums>
void add_all(const uint8_t* bins, const Sums* block, size_t count, Row row, Sums* out) {
    using Numbers = typename Sums::Numbers;
    const auto add = [=](size_t i) {
        const uint8_t* const line = bins + row(i) * Width;
        const Numbers value = *reinterpret_cast<const Numbers*>(block + i);
#pragma GCC unroll 8
        for (size_t slot = 0; slot < Width; slot++)
            *reinterpret_cast<Numbers*>(out + slot * bin_stride + line[slot]) += value;
    };
    size_t i = 0;
    if constexpr (Row::ahead > 0)
        for (; i + Row::ahead < count; i++) {
            __builtin_prefetch(bins + row(i + Row::ahead) * Width);
            add(i);
        }
    for (; i < count; i++) add(i);
}

template <size_t Count, class Row, class Sums>
void add_some(const BinnedRows& rows, const Sums* block, Row row, Sums* out) {
    using Numbers = typename Sums::Numbers;
    const auto* const bins = static_cast<const uint8_t*>(rows.bins);
    const size_t width = rows.width, count = rows.count;
    size_t offsets[Count];
    Sums* sums[Count];
    for (size_t s = 0; s < Count; s++) {
        offsets[s] = rows.slots[s];
        sums[s] = out + rows.slots[s] * bin_stride;
    }
    for (size_t i = 0; i < count; i++) {
        const uint8_t* const line = bins + row(i) * width;
        const Numbers value = *reinterpret_cast<const Numbers*>(block + i);
#pragma GCC unroll 8
        for (size_t s = 0; s < Count; s++) *reinterpret_cast<Numbers*>(sums[s] + line[offsets[s]]) += value;
    }
}

template <class Bin, class Row, class Sums>
void add_single(const void* bins, const Sums* block, size_t count, Row row, Sums* out) {
    using Numbers = typename Sums::Numbers;
    const auto* const by_row = static_cast<const Bin*>(bins);
    for (size_t i = 0; i < count; i++)
        *reinterpret_cast<Numbers*>(out + by_row[row(i)]) += *reinterpret_cast<const Numbers*>(block + i);
}

template <class Row, class Sums>
void add(const BinnedRows& rows, const Sums* block, Row row, Sums* sums) {
    if (rows.bytes == 2)
        add_single<uint16_t>(rows.bins, block, rows.count, row, sums);
    else if (rows.bytes == 4)
        add_single<uint32_t>(rows.bins, block, rows.count, row, sums);
    else if (rows.features == rows.width)
        with_width(rows.width, [&](auto width) {
            add_all<width()>(static_cast<const uint8_t*>(rows.bins), block, rows.count, row, sums);
        });
    else
        with_width(rows.features, [&](auto features) { add_some<features()>(rows, block, row, sums); });
}

template <class Sums>
void add(const BinnedRows& rows, const Sums* block, Sums* sums) {
    if (rows.ids)
        add(rows, block, ById{rows.ids}, sums);
    else
        add(rows, block, ByPosition{rows.begin}, sums);
}

} // namespace

void add_to_bins(const BinnedRows& rows, const Stats* block, Stats* sums) {
    add(rows, block, sums);
}

void add_to_bins(const BinnedRows& rows, const NodeSums* block, NodeSums* sums) {
    add(rows, block, sums);
}

} // namespace btml::boosting::BTML_LEVEL
