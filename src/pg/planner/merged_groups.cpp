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

MergedGroups::MergedGroups(std::span<const JoinResult> results, std::vector<int> groups, RunContext& context)
    : context_(context),
      results_(results),
      groups_(std::move(groups)),
      is_plain_(results.size() == 1 && groups_.size() == results[0].groups.size()),
      first_(context.memory(), "groups"),
      next_(context.memory(), "groups"),
      merged_(context.memory(), "groups") {
    if (is_plain_) return;
    merge(context);
    if (groups_.empty() && first_.size() == 0) first_.push_back(none);
    if (results_.size() > 1 && !groups_.empty()) drop_empty(context);
}

void MergedGroups::merge(RunContext& context) {
    uint64_t all = 0;
    for (const JoinResult& result : results_) {
        begins_.push_back(all);
        all += result.aggregate->groups();
    }
    constexpr uint64_t reported = 65536;
    if (all >= none) throw CannotDecide{"more than 4 billion groups"};
    next_ = Buffer<uint32_t>(context.memory(), "groups", all, none);
    merged_ = Buffer<uint32_t>(context.memory(), "groups", all);
    HashIndex index(context.memory(), "groups");
    Buffer<uint32_t> last(context.memory(), "groups");
    const auto same = [&](uint32_t merged, size_t i, uint64_t group) {
        const auto [of, first] = this->first(merged);
        for (const int g : groups_)
            if (is_null_in(of, first, g) != is_null_in(i, group, g) || value_in(of, first, g) != value_in(i, group, g))
                return false;
        return true;
    };
    context.for_each(all, 10, [&](uint64_t number) {
        if (number % reported == 0) context.progress("merging groups", number, all);
        const auto at = static_cast<uint32_t>(number), next = static_cast<uint32_t>(first_.size());
        const size_t i = join_of(at);
        const uint64_t group = at - begins_[i];
        uint64_t hash = 0;
        for (const int g : groups_)
            hash = mix64(hash + static_cast<uint64_t>(value_in(i, group, g)) + is_null_in(i, group, g));
        merged_[at] =
            index.find_or_add(HashIndex::hash(hash), next, [&](uint32_t other) { return same(other, i, group); });
        if (merged_[at] == next) {
            first_.push_back(at);
            last.push_back(at);
        } else {
            next_[last[merged_[at]]] = at;
            last[merged_[at]] = at;
        }
    });
}

// Groups are left that have rows once those of some joins are subtracted.
void MergedGroups::drop_empty(RunContext& context) {
    Buffer<uint32_t> number(context.memory(), "groups", first_.size(), none);
    uint32_t kept = 0;
    context.for_each(first_.size(), 10, [&](uint64_t merged) {
        if (cell(merged, CellKind::count, [&](size_t i) { return results_[i].rows; }).integer == 0) return;
        number[merged] = kept;
        first_[kept++] = first_[merged];
    });
    first_.resize(kept);
    for (uint32_t& merged : merged_) merged = number[merged];
}

std::pair<size_t, uint64_t> MergedGroups::first(uint64_t merged) const {
    if (is_plain_) return {0, merged};
    const size_t i = join_of(first_[merged]);
    return {i, first_[merged] - begins_[i]};
}

bool MergedGroups::is_null_in(size_t i, uint64_t in_join, int group) const {
    return results_[i].aggregate->group_is_null(in_join, static_cast<size_t>(results_[i].groups[group]));
}

int64_t MergedGroups::value_in(size_t i, uint64_t in_join, int group) const {
    return results_[i].aggregate->group_value(in_join, static_cast<size_t>(results_[i].groups[group]));
}

bool MergedGroups::is_null(uint64_t merged, int group) const {
    const auto [i, in_join] = first(merged);
    return is_null_in(i, in_join, group);
}

int64_t MergedGroups::value(uint64_t merged, int group) const {
    const auto [i, in_join] = first(merged);
    return value_in(i, in_join, group);
}

uint64_t MergedGroups::that_has(const MergedGroups& parts, uint64_t part) const {
    const auto [i, group] = parts.first(part);
    return is_plain_ ? group : merged_[begins_[i] + group];
}

void MergedGroups::add(CellKind kind, bool is_subtracted, StreamedCell one, StreamedCell* all) {
    if (one.absent) return;
    if (is_subtracted) one.integer = -one.integer;
    if (all->absent)
        *all = one;
    else if (!is_extremum(kind))
        *all = added(*all, one);
    else if (is_min(kind) ? is_less(one, *all, kind) : is_less(*all, one, kind))
        *all = one;
}

} // namespace btml::pg::planner
