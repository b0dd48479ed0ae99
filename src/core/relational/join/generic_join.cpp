#include "core/relational/join/generic_join.hpp"

#include "core/relational/join/row_groups.hpp"

#include <numeric>
#include <set>
#include <tuple>

namespace btml::relational {

namespace {

constexpr const char* what_sorted_keys = "the sorted keys of a cyclic join";
constexpr RowId none = UINT32_MAX; // greater than the number of any tuple

Buffer<RowId> complete_rows(const KeyColumns& columns, const RowMask& mask, RunContext& context) {
    Buffer<RowId> rows(context.memory(), what_sorted_keys);
    rows.reserve(count_kept(mask));
    context.for_each(mask.size(), 1, [&](uint64_t row) {
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

SortedRelation project(const Table& table, const RowMask& mask, std::vector<int> attributes, RunContext& context,
                       Buffer<RowId>* tuples) {
    KeyColumns columns;
    for (int attribute : attributes) columns.push_back(&key_column(table, attribute));
    Buffer<RowId> rows = complete_rows(columns, mask, context);
    sort_rows(rows, columns, what_sorted_keys, context);
    if (tuples) {
        *tuples = Buffer<RowId>(context.memory(), what_sorted_keys, table.rows);
        context.for_each(table.rows, 1, [&](uint64_t row) { (*tuples)[row] = none; });
    }
    // Keeps the first row of each run of equal ones.
    uint64_t distinct = 0;
    context.for_each(rows.size(), 1, [&](uint64_t i) {
        bool repeated = distinct > 0;
        for (const Buffer<Key>* column : columns)
            repeated = repeated && (*column)[rows[i]] == (*column)[rows[distinct - 1]];
        if (!repeated) rows[distinct++] = rows[i];
        if (tuples) (*tuples)[rows[i]] = static_cast<RowId>(distinct - 1);
    });
    if (tuples)
        context.for_each(table.rows, 1, [&](uint64_t row) {
            (*tuples)[row] = std::min((*tuples)[row], static_cast<RowId>(distinct));
        });
    SortedRelation sorted{std::move(attributes), {}, distinct, 0};
    for (const Buffer<Key>* column : columns) {
        Buffer<Key>& values = sorted.columns.emplace_back(context.memory(), what_sorted_keys, distinct);
        context.for_each(distinct, 1, [&](uint64_t i) { values[i] = (*column)[rows[i]]; });
    }
    const Key* const last = sorted.columns.back().data();
    context.for_each(distinct, 1,
                     [&](uint64_t i) { sorted.last_end = std::max(sorted.last_end, uint64_t{last[i]} + 1); });
    return sorted;
}

std::vector<int> attribute_order(const std::vector<std::vector<int>>& relations, int first) {
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
        const int next = order.empty() && first >= 0 ? first : -std::get<2>(best);
        for (size_t r = 0; r < relations.size(); r++)
            if (std::find(relations[r].begin(), relations[r].end(), next) != relations[r].end()) met[r] = true;
        order.push_back(next);
        left.erase(next);
    }
    return order;
}

GenericJoin::GenericJoin(const std::vector<int>& attributes, const std::vector<SortedRelation>& relations,
                         RunContext& context)
    : depths_(attributes.size()),
      values_(attributes.size()),
      rows_(relations.size()),
      last_values_(max_found),
      picked_(max_found),
      context_(context) {
    for (const Key& value : values_) tuples_.values.push_back({&value, 0});
    for (const RowId& row : rows_) tuples_.rows.push_back({&row, 0});
    tuples_.values.back() = {last_values_.data(), 1};
    uint64_t last_end = 0; // of the last attribute's values
    for (size_t r = 0; r < relations.size(); r++) {
        ranges_.push_back({0, static_cast<RowId>(relations[r].rows)});
        last_.push_back({Buffer<RowId>(context.memory(), what_sorted_keys), {}});
        for (size_t level = 0; level < relations[r].attributes.size(); level++) {
            const auto at = std::find(attributes.begin(), attributes.end(), relations[r].attributes[level]);
            depths_[at - attributes.begin()].push_back({r, relations[r].columns[level].data(), {}, 0, 0});
        }
        if (relations[r].attributes.back() == attributes.back()) last_end = std::max(last_end, relations[r].last_end);
    }
    for (const Participant& participant : depths_.back()) {
        constexpr uint64_t max_keys_per_row = 4, min_keys = 1024; // so that all takes little beside the relation
        constexpr uint64_t part_of_memory = 64; // since it is not needed, and several threads may take it
        LastRows& last = last_[participant.relation];
        last.found.resize(max_found);
        tuples_.rows[participant.relation] = {last.found.data(), 1};
        const uint64_t max_keys = std::max(min_keys, max_keys_per_row * relations[participant.relation].rows);
        if (depths_.back().size() > 1 && last_end <= max_keys &&
            last_end * sizeof(RowId) <= context.memory().left() / part_of_memory)
            last.by_key = Buffer<RowId>(context.memory(), what_sorted_keys, last_end, RowId{0});
    }
}

// Moves every participant to the next value that all of them have. The first, which has the fewest rows, leads.
bool GenericJoin::align(Participants& participants) {
    Participant& lead = participants.front();
    while (lead.at < lead.whole.end) {
        context_.worked(1);
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

// Notes that rows of the participant are sought by the last attribute, at this cost.
void GenericJoin::ask_for(const Participant& participant, uint64_t cost) {
    LastRows& last = last_[participant.relation];
    const auto set = [&](bool known) {
        for (RowId row = last.rows.begin; row < last.rows.end; row++)
            last.by_key[participant.column[row]] = known ? row + 1 : 0;
        last.known = known;
    };
    if (last.by_key.empty()) return;
    if (last.rows != participant.whole) {
        if (last.known) set(false);
        last.rows = participant.whole;
        last.spent = 0;
    } else if (!last.known && last.spent >= last.rows.size()) {
        set(true);
    }
    last.spent += cost;
}

// The participant whose rows are gone through is the one with the fewest, or, if not many more, with the fewest that
// are not known by key.
void GenericJoin::put_lead_first(Participants& participants) const {
    constexpr uint64_t search_cost = 8; // of a row that is not known by key
    const auto is_known = [&](const Participant& participant) { return last_[participant.relation].known; };
    if (!is_known(participants.front())) return;
    auto lead = participants.end();
    for (auto other = participants.begin(); other != participants.end(); ++other)
        if (!is_known(*other) && (lead == participants.end() || other->whole.size() < lead->whole.size())) lead = other;
    if (lead != participants.end() && lead->whole.size() / search_cost <= participants.front().whole.size())
        std::iter_swap(participants.begin(), lead);
}

// Leaves those of the tuples found so far whose last value is in this participant, too.
void GenericJoin::keep_partners(Participants& participants, size_t number) {
    Participant& other = participants[number];
    const LastRows& last = last_[other.relation];
    RowId* const found = last_[other.relation].found.data();
    uint32_t kept = 0;
    if (last.known) {
        for (uint32_t i = 0; i < tuples_.count; i++) {
            const RowId row = last.by_key[last_values_[i]];
            picked_[kept] = i;
            found[kept] = row - 1;
            kept += row != 0;
        }
    } else {
        for (uint32_t i = 0; i < tuples_.count; i++) {
            other.at = gallop(other.column, other.at, other.whole.end, last_values_[i]);
            if (other.at == other.whole.end) break;
            picked_[kept] = i;
            found[kept] = other.at;
            kept += other.column[other.at] == last_values_[i];
        }
    }
    const auto keep = [&](std::vector<uint32_t>& column) {
        for (uint32_t i = 0; i < kept; i++) column[i] = column[picked_[i]];
    };
    keep(last_values_);
    for (size_t p = 0; p < number; p++) keep(last_[participants[p].relation].found);
    tuples_.count = kept;
}

// Calls emit() for the tuples with the values so far, until it says false. Tuples are distinct, so that each value of
// the last attribute is in one row of every participant.
template <class Emit>
bool GenericJoin::finish_tuples(Participants& participants, Emit& emit) {
    if (participants.size() > 1) {
        const uint64_t cost = participants.front().whole.size();
        for (const Participant& participant : participants) ask_for(participant, cost);
        put_lead_first(participants);
    }
    const Participant& lead = participants.front();
    for (uint64_t next = lead.at; next < lead.whole.end; next += max_found) {
        const auto at = static_cast<RowId>(next);
        tuples_.count = std::min(max_found, lead.whole.end - at);
        std::copy_n(lead.column + at, tuples_.count, last_values_.data());
        std::iota(last_[lead.relation].found.begin(), last_[lead.relation].found.begin() + tuples_.count, at);
        context_.worked(tuples_.count);
        for (size_t p = 1; p < participants.size(); p++) keep_partners(participants, p);
        if (tuples_.count > 0 && !emit()) return false;
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
    uint64_t tuples = 0, room = 0;
    const auto for_each_column = [&](const auto& body) {
        for (Buffer<Key>* column : keys)
            if (column) body(*column);
        for (Buffer<RowId>* column : rows)
            if (column) body(*column);
    };
    const auto make_room = [&](uint64_t written, uint64_t needed) {
        room = std::min(fit, std::max<uint64_t>({1024, 2 * room, needed}));
        for_each_column([&](Buffer<uint32_t>& column) {
            column.resize(room);
            column.resize(written);
        });
    };
    const auto emit = [&] {
        const uint64_t before = std::min(fit, tuples), written = std::min<uint64_t>(tuples_.count, fit - before);
        if (before + written > room) make_room(before, before + written);
        const auto append = [&](const std::vector<Buffer<uint32_t>*>& to,
                                const std::vector<JoinedTuples::Column>& from) {
            for (size_t c = 0; c < to.size(); c++)
                if (to[c])
                    for (uint32_t i = 0; i < written; i++) to[c]->append_reserved(from[c][i]);
        };
        append(keys, tuples_.values);
        append(rows, tuples_.rows);
        tuples += tuples_.count;
        return tuples <= most;
    };
    extend(0, emit);
    for_each_column([](Buffer<uint32_t>& column) { column.shrink_to_fit(); });
    return std::min(tuples, most + 1);
}

void GenericJoin::for_each(const Body& body) {
    const auto emit = [&] {
        body(tuples_);
        return true;
    };
    extend(0, emit);
}

} // namespace btml::relational
