#include "pg/planner/merged_groups.hpp"

#include "core/numbers/rng.hpp"
#include "core/relational/streamed/cells.hpp"

#include <bit>

namespace btml::pg::planner {

using namespace relational;

namespace {

constexpr char equal_extrema[] = "equal extrema that are written differently";

// Tells whether a is less than b; where they are equal and look different, either may be the extremum.
bool is_less_number(double a, double b) {
    if (a == b && std::bit_cast<uint64_t>(a) != std::bit_cast<uint64_t>(b)) throw CannotDecide{equal_extrema};
    return a < b;
}

bool is_less_decimal(const StreamedCell& a, const StreamedCell& b) {
    const int order = compare(WideDecimal{a.integer, a.scale}, WideDecimal{b.integer, b.scale});
    if (order == 0 && a.scale != b.scale) throw CannotDecide{equal_extrema};
    return order < 0;
}

bool is_less(const StreamedCell& a, const StreamedCell& b, CellKind kind) {
    switch (kind) {
    case CellKind::number_min:
    case CellKind::number_max:
        return is_less_number(a.number, b.number);
    case CellKind::decimal_min:
    case CellKind::decimal_max:
    case CellKind::decimal_max_product:
        return is_less_decimal(a, b);
    default:
        return a.integer < b.integer;
    }
}

constexpr bool is_min(CellKind kind) {
    return kind == CellKind::integer_min || kind == CellKind::number_min || kind == CellKind::decimal_min;
}

} // namespace

StreamedCell added(StreamedCell a, StreamedCell b) {
    StreamedCell sum{false, 0, std::max(a.scale, b.scale), a.number + b.number};
    if (!scale_up(a.integer, sum.scale - a.scale) || !scale_up(b.integer, sum.scale - b.scale) ||
        __builtin_add_overflow(a.integer, b.integer, &sum.integer))
        throw CannotDecide{"a sum beyond 128 bits"};
    return sum;
}

MergedGroups::MergedGroups(const StreamedAggregate& result, std::vector<int> columns, RunContext& context)
    : result_(result),
      columns_(std::move(columns)),
      first_(context.memory(), "groups"),
      next_(context.memory(), "groups", result.groups(), none) {
    HashIndex index(context.memory(), "groups");
    Buffer<uint32_t> last(context.memory(), "groups");
    const auto same = [&](uint32_t a, uint32_t b) {
        for (const int c : columns_)
            if (result_.group_is_null(a, c) != result_.group_is_null(b, c) ||
                result_.group_value(a, c) != result_.group_value(b, c))
                return false;
        return true;
    };
    context.for_each(result.groups(), 10, [&](uint64_t at) {
        const auto group = static_cast<uint32_t>(at), next = static_cast<uint32_t>(first_.size());
        uint64_t hash = 0;
        for (const int c : columns_)
            hash = mix64(hash + static_cast<uint64_t>(result_.group_value(group, c)) + result_.group_is_null(group, c));
        const uint32_t merged =
            index.find_or_add(HashIndex::hash(hash), next, [&](uint32_t other) { return same(first_[other], group); });
        if (merged == next) {
            first_.push_back(group);
            last.push_back(group);
        } else {
            next_[last[merged]] = group;
            last[merged] = group;
        }
    });
    if (columns_.empty() && first_.size() == 0) first_.push_back(none);
}

StreamedCell MergedGroups::cell(uint64_t merged, size_t query, CellKind kind) const {
    StreamedCell all{kind != CellKind::count, 0, 0, 0};
    for_each_group(merged, [&](uint32_t group) {
        const StreamedCell one = result_.cell(group, query);
        if (one.absent) return;
        if (all.absent)
            all = one;
        else if (!is_extremum(kind))
            all = added(all, one);
        else if (is_min(kind) ? is_less(one, all, kind) : is_less(all, one, kind))
            all = one;
    });
    return all;
}

int64_t MergedGroups::distinct(uint64_t merged, size_t count) const {
    int64_t values = 0;
    for_each_group(merged, [&](uint32_t group) { values += result_.cell(group, count).integer > 0; });
    return values;
}

} // namespace btml::pg::planner
