#include "core/relational/row_filters.hpp"

#include "core/relational/filtered_kernels.hpp"

namespace btml::relational {

template <class Body>
static void for_each_row(const Buffer<RowId>& rows, RunContext& context, const Body& body) {
    context.for_each(rows.size(), 1, [&](uint64_t i) { body(rows[i]); });
}

static uint64_t digest(const Buffer<RowId>& rows, RunContext& context) {
    uint64_t hash = rows.size();
    for_each_row(rows, context, [&](RowId row) { hash = (hash ^ row) * 0x9E3779B97F4A7C15 + (hash >> 29); });
    return hash;
}

bool RowFilters::equals(int filter, const RowSubset& subset) const {
    const auto f = static_cast<size_t>(filter);
    if (sizes_[f] != subset.rows.size()) return false;
    const uint64_t* const bits = word(f / 64);
    return std::all_of(subset.rows.begin(), subset.rows.end(),
                       [&](RowId row) { return (bits[row] >> (f % 64) & 1) != 0; });
}

int RowFilters::add_empty() {
    if (count_ % 64 == 0) words_.emplace_back(memory_, "row filters of leaves", rows_, uint64_t{0});
    sizes_.push_back(0);
    return count_++;
}

int RowFilters::add_both(const RowFilters& other, int a, int b, RunContext& context) {
    if (a < 0) std::swap(a, b);
    if (a < 0) return -1;
    if (b < 0) b = a;
    const auto [place, is_new] = by_pair_.emplace(std::minmax(a, b), count_);
    if (!is_new) return place->second;
    const int filter = add_empty();
    const uint64_t* const bits_a = other.word(static_cast<size_t>(a) / 64);
    const uint64_t* const bits_b = other.word(static_cast<size_t>(b) / 64);
    uint64_t* const bits = words_.back().data();
    context.in_blocks(rows_, 1, [&](uint64_t begin, uint64_t end) {
        kernels::intersect(bits_a + begin, static_cast<unsigned>(a) % 64, bits_b + begin, static_cast<unsigned>(b) % 64,
                           end - begin, static_cast<unsigned>(filter) % 64, bits + begin);
    });
    return filter;
}

int RowFilters::add(const RowSubset& subset, RunContext& context) {
    const uint64_t key = digest(subset.rows, context);
    const auto [begin, end] = by_digest_.equal_range(key);
    for (auto it = begin; it != end; ++it)
        if (equals(it->second, subset)) return it->second;
    const int filter = add_empty();
    uint64_t* const bits = words_.back().data();
    for_each_row(subset.rows, context, [&](RowId row) { bits[row] |= uint64_t{1} << (filter % 64); });
    sizes_.back() = subset.rows.size();
    by_digest_.emplace(key, filter);
    return filter;
}

} // namespace btml::relational
