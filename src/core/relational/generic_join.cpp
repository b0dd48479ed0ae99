#include "core/relational/generic_join.hpp"

#include "core/relational/row_groups.hpp"

#include <set>
#include <tuple>

namespace btml::relational {

namespace {

constexpr const char* what = "the sorted keys of a cyclic join";
constexpr RowId none = UINT32_MAX; // greater than the number of any tuple

Buffer<RowId> complete_rows(const KeyColumns& columns, const RowMask& mask, MemoryBudget& memory, RowBlocks& blocks) {
    Buffer<RowId> rows(memory, what);
    rows.reserve(count_kept(mask));
    blocks.for_each(mask.size(), [&](uint64_t row) {
        bool complete = mask[row] != 0;
        for (const Buffer<Key>* column : columns) complete &= (*column)[row] != null_key;
        if (complete) rows.append_reserved(static_cast<RowId>(row));
    });
    return rows;
}

// The first place from `from` on, at most `end`, whose key is `key` or more: the nearer, the faster found.
RowId gallop(const Key* column, RowId from, RowId end, Key key) {
    uint64_t low = from, high = from;
    for (uint64_t step = 1; high < end && column[high] < key; step *= 2) {
        low = high + 1;
        high += step;
    }
    return static_cast<RowId>(std::lower_bound(column + low, column + std::min<uint64_t>(high, end), key) - column);
}

} // namespace

SortedRelation project(const Table& table, const RowMask& mask, std::vector<int> attributes, MemoryBudget& memory,
                       RowBlocks& blocks, Buffer<RowId>* tuples) {
    KeyColumns columns;
    for (int attribute : attributes) columns.push_back(&key_column(table, attribute));
    Buffer<RowId> rows = complete_rows(columns, mask, memory, blocks);
    sort_rows(rows, columns, what, memory, blocks);
    if (tuples) {
        *tuples = Buffer<RowId>(memory, what, table.rows);
        blocks.for_each(table.rows, [&](uint64_t row) { (*tuples)[row] = none; });
    }
    // Keeps the first row of each run of equal ones.
    uint64_t distinct = 0;
    blocks.for_each(rows.size(), [&](uint64_t i) {
        bool repeated = distinct > 0;
        for (const Buffer<Key>* column : columns)
            repeated = repeated && (*column)[rows[i]] == (*column)[rows[distinct - 1]];
        if (!repeated) rows[distinct++] = rows[i];
        if (tuples) (*tuples)[rows[i]] = static_cast<RowId>(distinct - 1);
    });
    if (tuples)
        blocks.for_each(table.rows,
                        [&](uint64_t row) { (*tuples)[row] = std::min((*tuples)[row], static_cast<RowId>(distinct)); });
    SortedRelation sorted{std::move(attributes), {}, distinct};
    for (const Buffer<Key>* column : columns) {
        Buffer<Key>& values = sorted.columns.emplace_back(memory, what, distinct);
        blocks.for_each(distinct, [&](uint64_t i) { values[i] = (*column)[rows[i]]; });
    }
    return sorted;
}

std::vector<int> attribute_order(const std::vector<std::vector<int>>& relations) {
    std::set<int> left;
    for (const std::vector<int>& relation : relations) left.insert(relation.begin(), relation.end());
    std::vector<bool> met(relations.size(), false);
    std::vector<int> order;
    while (!left.empty()) {
        std::tuple<int, int, int> best{-1, 0, 0}; // relations met before, relations, the least attribute
        for (int attribute : left) {
            int before = 0, of = 0;
            for (size_t r = 0; r < relations.size(); r++) {
                if (std::find(relations[r].begin(), relations[r].end(), attribute) == relations[r].end()) continue;
                before += met[r];
                of++;
            }
            best = std::max(best, {before, of, -attribute});
        }
        const int next = -std::get<2>(best);
        for (size_t r = 0; r < relations.size(); r++)
            if (std::find(relations[r].begin(), relations[r].end(), next) != relations[r].end()) met[r] = true;
        order.push_back(next);
        left.erase(next);
    }
    return order;
}

GenericJoin::GenericJoin(const std::vector<int>& attributes, const std::vector<SortedRelation>& relations,
                         RowBlocks& blocks)
    : depths_(attributes.size()), values_(attributes.size()), rows_(relations.size()), blocks_(blocks) {
    for (size_t r = 0; r < relations.size(); r++) {
        ranges_.push_back({0, static_cast<RowId>(relations[r].rows)});
        for (size_t level = 0; level < relations[r].attributes.size(); level++) {
            const auto at = std::find(attributes.begin(), attributes.end(), relations[r].attributes[level]);
            depths_[at - attributes.begin()].push_back({r, relations[r].columns[level].data(), {}, 0, 0});
        }
    }
}

// Moves every participant to the next value that all of them have. The first, which has the fewest rows, leads.
bool GenericJoin::align(Participants& participants) {
    Participant& lead = participants.front();
    while (lead.at < lead.whole.end) {
        blocks_.advance(1);
        const Key key = lead.column[lead.at];
        Key greatest = key;
        for (size_t i = 1; i < participants.size() && greatest == key; i++) {
            Participant& other = participants[i];
            other.at = gallop(other.column, other.at, other.whole.end, key);
            if (other.at == other.whole.end) return false;
            greatest = other.column[other.at];
        }
        if (greatest == key) return true;
        lead.at = gallop(lead.column, lead.at, lead.whole.end, greatest);
    }
    return false;
}

// Calls emit() for every tuple that extends the values before `depth`, until it says false.
template <class Emit>
bool GenericJoin::extend(size_t depth, Emit& emit) {
    if (depth == depths_.size()) return emit();
    Participants& participants = depths_[depth];
    for (Participant& participant : participants) {
        participant.whole = ranges_[participant.relation];
        participant.at = participant.whole.begin;
    }
    const auto fewer_rows = [](const Participant& a, const Participant& b) {
        return a.whole.end - a.whole.begin < b.whole.end - b.whole.begin;
    };
    std::iter_swap(participants.begin(), std::min_element(participants.begin(), participants.end(), fewer_rows));
    if (depth + 1 == depths_.size()) return finish_tuples(participants, emit);
    bool more = true;
    while (more && align(participants)) {
        values_[depth] = participants.front().column[participants.front().at];
        for (Participant& participant : participants) {
            participant.next = gallop(participant.column, participant.at, participant.whole.end, values_[depth] + 1);
            ranges_[participant.relation] = {participant.at, participant.next};
            rows_[participant.relation] = participant.at;
        }
        more = extend(depth + 1, emit);
        for (Participant& participant : participants) participant.at = participant.next;
    }
    for (const Participant& participant : participants) ranges_[participant.relation] = participant.whole;
    return more;
}

// Calls emit() for each value of the last attribute, until it says false. Tuples are distinct, so that each value is in
// one row of every participant.
template <class Emit>
bool GenericJoin::finish_tuples(Participants& participants, Emit& emit) {
    Participant& lead = participants.front();
    for (; align(participants); lead.at++) {
        values_.back() = lead.column[lead.at];
        for (const Participant& participant : participants) rows_[participant.relation] = participant.at;
        if (!emit()) return false;
    }
    return true;
}

void GenericJoin::restrict_first(Key begin, Key end) {
    for (const Participant& participant : depths_.front()) {
        Range& range = ranges_[participant.relation];
        const auto place = [&](Key key) {
            return static_cast<RowId>(
                std::lower_bound(participant.column + range.begin, participant.column + range.end, key) -
                participant.column);
        };
        range = {place(begin), place(end)};
    }
}

uint64_t GenericJoin::write(uint64_t fit, uint64_t most, const std::vector<Buffer<Key>*>& keys,
                            const std::vector<Buffer<RowId>*>& rows) {
    static_assert(std::is_same_v<Key, RowId>);
    std::vector<std::pair<const Key*, Buffer<Key>*>> columns;
    for (size_t i = 0; i < keys.size(); i++)
        if (keys[i]) columns.emplace_back(&values_[i], keys[i]);
    for (size_t r = 0; r < rows.size(); r++)
        if (rows[r]) columns.emplace_back(&rows_[r], rows[r]);
    uint64_t tuples = 0, room = 0;
    const auto make_room = [&] {
        room = std::min(fit, std::max<uint64_t>(1024, 2 * room));
        for (const auto& [from, column] : columns) {
            column->resize(room);
            column->resize(tuples);
        }
    };
    const auto emit = [&] {
        if (tuples == room && room < fit) make_room();
        if (tuples < room)
            for (const auto& [from, column] : columns) column->append_reserved(*from);
        return ++tuples <= most;
    };
    extend(0, emit);
    for (const auto& [from, column] : columns) column->shrink_to_fit();
    return tuples;
}

void GenericJoin::for_each(const Body& body) {
    const auto emit = [&] {
        body(values_, rows_);
        return true;
    };
    extend(0, emit);
}

} // namespace btml::relational
