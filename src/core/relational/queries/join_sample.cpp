#include "core/relational/queries/join_sample.hpp"

#include "core/numbers/rng.hpp"
#include "core/relational/join/row_groups.hpp"

#include <bit>
#include <numeric>

namespace btml::relational {

namespace {

constexpr const char* what_sample = "a sample of a join's rows";
constexpr uint64_t rank_work = 5;     // units of work of drawing a rank
constexpr uint64_t piece_rows = 4096; // whose rows of a table one thread finds at a time

// Uniform numbers below a bound, by rejection of longer ones: exactly uniform.
class Ranks {
  public:
    Ranks(WideCount count, uint64_t seed, uint64_t stream) : count_(count), seed_(seed), stream_(2 * stream) {
        if (count <= 1) return;
        const auto high = static_cast<uint64_t>((count - 1) >> 64), low = static_cast<uint64_t>(count - 1);
        mask_ = ~WideCount{0} >> (128 - (high > 0 ? 64 + std::bit_width(high) : std::bit_width(low)));
    }

    WideCount next() {
        for (;;) {
            const WideCount high = random_bits(seed_, stream_, counter_);
            const WideCount rank = (high << 64 | random_bits(seed_, stream_ + 1, counter_)) & mask_;
            counter_++;
            if (rank < count_) return rank;
        }
    }

  private:
    WideCount count_, mask_ = 0;
    uint64_t seed_, stream_, counter_ = 0;
};

void remove_equal(Buffer<WideCount>& ranks) {
    ranks.resize(static_cast<size_t>(std::unique(ranks.begin(), ranks.end()) - ranks.begin()));
}

// The next n ranks, ascending, each once.
Buffer<WideCount> sorted_ranks(Ranks& ranks, uint64_t n, RunContext& context) {
    Buffer<WideCount> drawn(context.memory(), what_sample, n);
    context.for_each(n, rank_work, [&](uint64_t i) { drawn[i] = ranks.next(); });
    std::sort(drawn.begin(), drawn.end(), [&](WideCount a, WideCount b) {
        context.worked(1);
        return a < b;
    });
    remove_equal(drawn);
    return drawn;
}

// Merges ascending ranks into others, from the largest down, and drops those that are there twice.
void merge_distinct(Buffer<WideCount>& ranks, const Buffer<WideCount>& more, RunContext& context) {
    uint64_t left = ranks.size(), left_of_more = more.size();
    ranks.resize(left + left_of_more);
    context.for_each(ranks.size(), 1, [&](uint64_t i) {
        const bool from_more = left_of_more > 0 && (left == 0 || more[left_of_more - 1] > ranks[left - 1]);
        ranks[ranks.size() - 1 - i] = from_more ? more[--left_of_more] : ranks[--left];
    });
    remove_equal(ranks);
}

// The first n distinct ones of a sequence of independent ranks: by symmetry any set of n is as likely.
Buffer<WideCount> distinct_ranks(WideCount count, uint64_t n, uint64_t seed, uint64_t stream, RunContext& context) {
    Ranks ranks(count, seed, stream);
    Buffer<WideCount> distinct = sorted_ranks(ranks, n, context);
    while (distinct.size() < n) merge_distinct(distinct, sorted_ranks(ranks, n - distinct.size(), context), context);
    return distinct;
}

// The ranks below `excluded.size()` + n that are not excluded.
Buffer<WideCount> other_ranks(const Buffer<WideCount>& excluded, uint64_t n, RunContext& context) {
    Buffer<WideCount> ranks(context.memory(), what_sample, n);
    uint64_t passed = 0;
    context.for_each(n, 1, [&](uint64_t i) {
        while (passed < excluded.size() && excluded[passed] == i + passed) passed++;
        ranks[i] = i + passed;
    });
    return ranks;
}

uint64_t rows_to_draw(WideCount count, uint64_t n) {
    return static_cast<uint64_t>(std::min<WideCount>(count, n));
}

// Rows that are left out instead, where they are fewer than those that are drawn.
uint64_t rows_to_exclude(WideCount count, uint64_t drawn) {
    return count - drawn < drawn ? static_cast<uint64_t>(count - drawn) : 0;
}

int find_smallest_table(const Join& join) {
    const auto fewer = [](const Table& a, const Table& b) { return a.rows < b.rows; };
    return static_cast<int>(std::min_element(join.tables().begin(), join.tables().end(), fewer) -
                            join.tables().begin());
}

} // namespace

WideCount checked_count(WideCount count) {
    if (count > WideCounting::most)
        throw Error(ErrorCode::out_of_range, "the join has more than 2^127 rows, the most that can be sampled from");
    return count;
}

Buffer<WideCount> draw_ranks(WideCount count, uint64_t n, uint64_t seed, uint64_t stream, RunContext& context) {
    const uint64_t drawn = rows_to_draw(count, n);
    if (2 * WideCount{drawn} <= count) return distinct_ranks(count, drawn, seed, stream, context);
    const uint64_t excluded = rows_to_exclude(count, drawn);
    return other_ranks(distinct_ranks(count, excluded, seed, stream, context), drawn, context);
}

JoinSampler::JoinSampler(const Join& join, std::optional<RowFilter> filter, RunContext& context)
    : join_(join),
      filter_(std::move(filter)),
      context_(context),
      query_(join, find_smallest_table(join), Kept{&filter_}, context),
      count_(query_.total()) {
    for (const Table& table : join.tables())
        if (!table.content)
            throw Error(ErrorCode::internal, format("table \"%s\" has no contents to sample by", table.name.c_str()));
    checked_count(count_);
}

uint64_t JoinSampler::bytes(uint64_t n) const {
    uint64_t scratch = 0;
    for (size_t t = 0; t < join_.tables().size(); t++) {
        const int table = static_cast<int>(t), parent = query_.tree().nodes[t].parent;
        const uint64_t keys = parent < 0 ? 1 : join_.key_count(table, parent);
        scratch = std::max(scratch, join_.tables()[t].rows * (sizeof(RowId) + sizeof(WideCount)) +
                                        keys * (sizeof(RowId) + sizeof(uint8_t)) + 2 * sizeof(RowId));
    }
    const uint64_t walk = n * join_.tables().size() * sizeof(RowId) + scratch;
    return n * sizeof(WideCount) + std::max(walk, rows_to_exclude(count_, n) * sizeof(WideCount));
}

JoinRows JoinSampler::draw(uint64_t n, uint64_t seed, uint64_t stream) {
    const uint64_t rows = rows_to_draw(count_, n);
    if (rows > max_rows)
        throw Error(ErrorCode::limit_exceeded,
                    format("a sample of %" PRIu64 " rows, at most %" PRIu64 " can be drawn", rows, max_rows));
    context_.memory().require(bytes(rows), what_sample);
    context_.progress("sampling the join", 0, 0);
    Buffer<WideCount> rest = draw_ranks(count_, rows, seed, stream, context_);
    JoinRows sample{rows, {}};
    for (size_t t = 0; t < join_.tables().size(); t++)
        sample.row_ids.emplace_back(context_.memory(), what_sample, rows);
    if (rows == 0) return sample;
    ThreadTeam team(context_, static_cast<int>(1 + rows / piece_rows / 4)); // few rows are not worth a thread
    for (int table : query_.tree().order) place(table, rest, sample.row_ids, team);
    for (size_t bag = static_cast<size_t>(join_.relations()); bag < sample.row_ids.size(); bag++)
        sample.row_ids[bag].clear();
    return sample;
}

// A table's rows by their key to its parent; all of the root's are one group.
RowGroups JoinSampler::groups_of(int table) const {
    MemoryBudget& memory = context_.memory();
    const int parent = query_.tree().nodes[table].parent;
    if (parent >= 0)
        return group_rows(join_.keys(table, parent), join_.key_count(table, parent), what_sample, context_);
    const uint64_t rows = join_.tables()[table].rows;
    RowGroups all{Buffer<RowId>(memory, what_sample, rows), Buffer<RowId>(memory, what_sample, 2)};
    std::iota(all.rows.begin(), all.rows.end(), RowId{0});
    all.first[0] = 0;
    all.first[1] = static_cast<RowId>(rows);
    return all;
}

void JoinSampler::sort_by_content(int table, RowGroups& groups, uint64_t group) const {
    const uint64_t* const content = join_.tables()[table].content->data();
    std::sort(groups.rows.begin() + groups.first[group], groups.rows.begin() + groups.first[group + 1],
              [&](RowId a, RowId b) {
                  context_.worked(1);
                  return content[a] != content[b] ? content[a] < content[b] : a < b;
              });
}

WideCount JoinSampler::rows_of(int table, RowId row) const {
    WideCount count = 0;
    Kept{&filter_}.visit(table, [&](auto&& phi) { count = phi(row); });
    for (int child : query_.tree().nodes[table].children) count *= query_.message(child)[join_.keys(table, child)[row]];
    return count;
}

// Sorts the groups with this mark, and counts up to the end of each of their rows.
Buffer<WideCount> JoinSampler::count_up(int table, RowGroups& groups, const RowMask& marks) const {
    Buffer<WideCount> ends(context_.memory(), what_sample, groups.rows.size());
    context_.for_each(groups.count(), 1, [&](uint64_t group) {
        if (!marks[group]) return;
        sort_by_content(table, groups, group);
        WideCount end = 0;
        context_.for_each(groups.size(group), 2, [&](uint64_t i) {
            const uint64_t at = groups.first[group] + i;
            ends[at] = end += rows_of(table, groups.rows[at]);
        });
    });
    return ends;
}

// Draws each sampled row's row of one table. rest[i] is a number below the product of the counts of all tables that are
// next to placed ones and not yet placed themselves. This table's part of it says which row of the group, and leaves a
// number below what that row leads to: below the counts of the table's children.
void JoinSampler::place(int table, Buffer<WideCount>& rest, std::vector<Buffer<RowId>>& row_ids,
                        ThreadTeam& team) const {
    const int parent = query_.tree().nodes[table].parent;
    const auto group_of = [keys = parent < 0 ? nullptr : join_.keys(parent, table).data(),
                           rows = parent < 0 ? nullptr : row_ids[parent].data()](uint64_t i) -> uint64_t {
        return keys ? keys[rows[i]] : 0;
    };
    RowGroups groups = groups_of(table);
    RowMask is_met(context_.memory(), what_sample, groups.count(), uint8_t{0});
    context_.for_each(rest.size(), 1, [&](uint64_t i) { is_met[group_of(i)] = 1; });
    const Buffer<WideCount> ends = count_up(table, groups, is_met);

    const auto find_row = [&](uint64_t i) {
        const uint64_t group = group_of(i);
        const WideCount* const begin = ends.data() + groups.first[group];
        const WideCount* const end = ends.data() + groups.first[group + 1];
        const WideCount others = rest[i] / end[-1], digit = rest[i] - others * end[-1];
        const WideCount* const at = std::upper_bound(begin, end, digit);
        const WideCount before = at == begin ? 0 : at[-1];
        rest[i] = others * (*at - before) + (digit - before);
        row_ids[table][i] = groups.rows[at - ends.data()];
    };
    team.for_each((rest.size() + piece_rows - 1) / piece_rows, [&](size_t piece, int) {
        const uint64_t end = std::min<uint64_t>(rest.size(), (piece + 1) * piece_rows);
        for (uint64_t i = piece * piece_rows; i < end; i++) find_row(i);
    });
}

} // namespace btml::relational
