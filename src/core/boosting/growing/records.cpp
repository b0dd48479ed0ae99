#include "core/boosting/growing/records.hpp"

#include "core/boosting/growing/split.hpp"

#include <bit>
#include <sys/mman.h>
#include <unistd.h>

namespace btml::boosting {

static constexpr size_t cache_line = 64, max_lines = 4;
// Records to ask for in advance: from memory into the outer cache, where many requests may wait, and from there into
// the inner one, whose few places for requests the sums need, too.
static constexpr size_t far_ahead = 64, ahead = 8;

namespace {

// Asks the system for large pages behind memory of zeros that is read at random: fewer of its addresses have to be
// looked up in page tables. Where it has none, nothing changes. Small pages that are there since the memory was
// another's are given back, because they would stay: what comes in their place is zeros, too.
void prefer_huge_pages([[maybe_unused]] void* memory, [[maybe_unused]] size_t bytes) {
#ifdef MADV_HUGEPAGE
    const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE)), address = reinterpret_cast<uintptr_t>(memory);
    const uintptr_t begin = (address + page - 1) / page * page, end = (address + bytes) / page * page;
    if (begin < end && madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE) == 0)
        madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
#endif
}

// Stats of StatsFormat::narrow.
struct Halves {
    int32_t sum, hessian;
};

} // namespace

size_t Records::width_of(const BinnedData& data, StatsFormat format) {
    size_t features = 0, lines = 0, beside = 0;
    for (const BinGroup& group : data.groups) {
        if (!holds(group)) beside += data.features[group.features[0]].size() <= max_histogram_bins;
        if (!holds(group)) continue;
        features += group.width;
        lines += data.tables[static_cast<size_t>(group.table)].ids() ? 2 : 1;
    }
    const size_t width = bytes_of(format) + rounded_up(features);
    if (lines < 2 || features < 3 * beside || width > max_lines * cache_line) return 0;
    return width <= cache_line ? std::bit_ceil(width) : (width + cache_line - 1) / cache_line * cache_line;
}

uint64_t Records::bytes(const BinnedData& data, StatsFormat format) {
    const size_t width = width_of(data, format);
    return width == 0 ? 0 : data.rows * width + cache_line;
}

Records::Records(const BinnedData& data, StatsFormat format, ThreadTeam& team, RunContext& context)
    : format_(format), width_(width_of(data, format)), memory_(context.memory(), "records", bytes(data, format), 0) {
    const size_t misplaced = reinterpret_cast<uintptr_t>(memory_.data()) % cache_line;
    lines_ = memory_.data() + (misplaced == 0 ? 0 : cache_line - misplaced);
    prefer_huge_pages(memory_.data(), memory_.size());
    size_t offset = bytes_of(format);
    for (const BinGroup& group : data.groups) {
        offsets_.push_back(offset);
        if (holds(group)) offset += group.width;
    }
    copy_bins(data, team);
}

void Records::copy_bins(const BinnedData& data, ThreadTeam& team) {
    constexpr size_t block = 256; // rows, whose records stay in the cache from one group to the next
    for_pieces(team, data.rows, [&](size_t begin, size_t end, int) {
        for (size_t first = begin; first < end; first += block) {
            const size_t last = std::min(end, first + block);
            for (size_t g = 0; g < data.groups.size(); g++) {
                const BinGroup& group = data.groups[g];
                if (!holds(group)) continue;
                const RowIds ids = data.tables[static_cast<size_t>(group.table)].ids();
                with_width(group.width, [&](auto width) {
                    for (size_t row = first; row < last; row++)
                        std::memcpy(line(row) + offsets_[g], group.data.data() + (ids[row]) * width, width);
                });
            }
        }
    });
}

void Records::select(const std::vector<const FeatureBins*>& features) {
    steps_.clear();
    const size_t first = bytes_of(format_);
    for (const FeatureBins* const feature : features) {
        const size_t number = (offsets_[feature->group] + feature->slot - first) / features_of_step * features_of_step;
        const Step step{static_cast<uint32_t>(first + number), static_cast<uint32_t>(number * bin_stride)};
        if (steps_.empty() || steps_.back().bins != step.bins) steps_.push_back(step);
    }
}

template <class Of>
void Records::write_each(const RowList& rows, const Of& of) {
    for (size_t i = 0; i < rows.count; i++) {
        const auto held = of(i);
        std::memcpy(line(rows[i]), &held, sizeof(held));
    }
}

void Records::write(const RowList& rows, const Stats* stats) {
    switch (format_) {
    case StatsFormat::full:
        return write_each(rows, [=](size_t i) { return stats[i]; });
    case StatsFormat::unit_hessian:
        return write_each(rows, [=](size_t i) { return stats[i].sum; });
    case StatsFormat::narrow:
        return write_each(rows, [=](size_t i) {
            return Halves{static_cast<int32_t>(stats[i].sum), static_cast<int32_t>(stats[i].hessian)};
        });
    case StatsFormat::tallied:
        break;
    }
}

void Records::write(const RowList& rows, const NodeSums* stats) {
    write_each(rows, [=](size_t i) { return stats[i]; });
}

// A loop of nothing but requests to the memory would be taken for one without effect.
template <int Locality>
[[gnu::always_inline]] inline void request(const uint8_t* record, size_t width) {
    static_assert(max_lines == 4);
    __builtin_prefetch(record, 0, Locality);
    if (width <= cache_line) return;
    __builtin_prefetch(record + cache_line, 0, Locality);
    if (width > 2 * cache_line) __builtin_prefetch(record + 2 * cache_line, 0, Locality);
    if (width > 3 * cache_line) __builtin_prefetch(record + 3 * cache_line, 0, Locality);
}

template <class Held, class Sum, class Row, class Find>
void Records::add_each(size_t rows, const Row& row, Sum* sums, const Find& find) const {
    using Loose [[gnu::aligned(alignof(int64_t))]] = Sum; // sums may lie anywhere
    const uint8_t* const records = lines_;
    const size_t width = width_, last = rows - 1;
    const Step *const begin = steps_.data(), *const end = begin + steps_.size();
    for (size_t i = 0; i <= last; i++) {
        request<2>(records + row(std::min(i + far_ahead, last)) * width, width);
        request<3>(records + row(std::min(i + ahead, last)) * width, width);
        const uint8_t* const record = records + row(i) * width;
        Held held;
        std::memcpy(&held, record, sizeof(held));
        Sum value;
        find(held, value);
        for (const Step* step = begin; step < end; step++) {
            const uint8_t* const bins = record + step->bins;
            Loose* const out = sums + step->sums;
#pragma GCC unroll 4
            for (size_t f = 0; f < features_of_step; f++) (out + f * bin_stride)[bins[f]] += value;
        }
    }
}

template <class Held, class Sum, class Find>
void Records::add_each(const RowList& rows, Sum* sums, const Find& find) const {
    if (const uint32_t* const list = rows.list)
        add_each<Held>(
            rows.count, [list](size_t i) -> size_t { return list[i]; }, sums, find);
    else
        add_each<Held>(
            rows.count, [first = rows.first](size_t i) { return first + i; }, sums, find);
}

void Records::add(const RowList& rows, const Stats& more, Stats* sums) const {
    const Pair added = pair_of(more.sum, more.hessian);
    auto* const to = reinterpret_cast<Pair*>(sums);
    switch (format_) {
    case StatsFormat::full:
        return add_each<Pair>(rows, to, [=](Pair both, Pair& value) { value = both + added; });
    case StatsFormat::unit_hessian:
        return add_each<int64_t>(rows, to, [=](int64_t sum, Pair& value) { value = pair_of(sum, 1) + added; });
    case StatsFormat::narrow:
        return add_each<Halves>(rows, to,
                                [=](Halves both, Pair& value) { value = pair_of(both.sum, both.hessian) + added; });
    case StatsFormat::tallied:
        break;
    }
}

void Records::add(const RowList& rows, const NodeSums& more, NodeSums* sums) const {
    Quad added;
    std::memcpy(&added, &more, sizeof(added));
    add_each<Quad>(rows, reinterpret_cast<Quad*>(sums), [&](const Quad& held, Quad& value) { value = held + added; });
}

void Records::add(const RowList& rows, const Packing& packing, int64_t* sums) const {
    add_each<int64_t>(rows, sums,
                      [one = packing.one_row()](int64_t residual, int64_t& value) { value = residual + one; });
}

void Records::unpack(const Packing& packing, int64_t* packed, Stats* sums) const {
    for (const Step& step : steps_)
        unpack_sums(packing.count_bit, features_of_step * bin_stride, packed + step.sums, sums + step.sums);
}

} // namespace btml::boosting
