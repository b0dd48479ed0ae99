#include "core/relational/streamed/message.hpp"

#include "core/base/radix_sort.hpp"

namespace btml::relational {

namespace {

constexpr const char* what_messages = "the messages of a join";
constexpr uint64_t min_slots = 256, cached_slots = uint64_t{1} << 15;
constexpr uint64_t max_entries = uint64_t{1} << 31;

uint32_t hash_of(const uint64_t* key, size_t words) {
    uint64_t hash = 0x9e3779b97f4a7c15;
    for (size_t w = 0; w < words; w++) {
        hash = (hash ^ key[w]) * 0xd6e8feb86659fd93;
        hash ^= hash >> 32;
    }
    return static_cast<uint32_t>(hash * 0xd6e8feb86659fd93 >> 32);
}

} // namespace

MessageLayout::MessageLayout(const StreamedPlan& plan, int table, bool numbered)
    : key_words(numbered ? 0 : plan.tables[table].key.size()),
      groups(plan.message_groups(table)),
      null_words((groups + 63) / 64),
      words(key_words + groups + null_words) {
    for (const StreamedQuery& query : plan.tables[table].queries) {
        kinds.push_back(query.kind);
        cells.push_back(words);
        words += cell_words(query.kind);
    }
    new_entry.resize(words);
    for (size_t q = 0; q < kinds.size(); q++) store_absent(kinds[q], new_entry.data() + cells[q]);
}

KeyBatch::KeyBatch(size_t key_words, MemoryBudget& memory)
    : words(key_words), keys(memory, what_messages, key_words * RowBatch::max_rows) {}

void KeyBatch::hash() {
    if (words == 1)
        for (uint32_t i = 0; i < count; i++) hashes[i] = hash_of(&keys[i], 1);
    else
        for (uint32_t i = 0; i < count; i++) hashes[i] = hash_of(key(i), words);
}

Message::Message(MessageLayout layout, MemoryBudget& memory)
    : layout_(std::move(layout)),
      entries_(memory, what_messages),
      slots_(memory, what_messages, min_slots, uint64_t{0}),
      mask_(min_slots - 1),
      next_(memory, what_messages),
      ends_(memory, what_messages),
      null_entry_(layout_.new_entry) {
    store_integer(null_entry_.data() + layout_.cells.front(), 1);
    for (size_t w = 0; w < layout_.null_words; w++) null_entry_[layout_.key_words + layout_.groups + w] = ~uint64_t{0};
}

// Room is made for a batch of rows at a time, as if each were a new entry; slots that grow are there twice.
double Message::max_bytes(size_t words, double entries, double rows) {
    const double reserved = std::max(entries, std::min(entries + RowBatch::max_rows, rows));
    double slots = min_slots, before = 0, room = std::max(1.0, std::min<double>(RowBatch::max_rows, rows));
    while (2 * reserved > slots) {
        before = slots;
        slots *= slots < cached_slots ? 4 : 2;
    }
    while (room < reserved) room *= 2;
    return (slots + before + room * static_cast<double>(words)) * sizeof(uint64_t);
}

// Finds the entry with this hash for which equal(number) holds, or the free slot that it would have.
template <class Equal>
uint32_t Message::find_slot(uint32_t hash, const Equal& equal, uint64_t& slot) const {
    const uint64_t* const slots = slots_.data();
    for (slot = hash & mask_;; slot = (slot + 1) & mask_) {
        if (slots[slot] == 0) return none;
        const auto number = static_cast<uint32_t>(slots[slot]) - 1;
        if (slots[slot] >> 32 == hash && equal(number)) return number;
    }
}

// Asks for the slots, then for the entries, that the keys with these hashes will most likely be found in.
void Message::prefetch(const uint32_t* hashes, uint32_t count) const {
    if (bytes() < cached_bytes) return;
    for (uint32_t i = 0; i < count; i++) __builtin_prefetch(&slots_[hashes[i] & mask_]);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t slot = 0;
        const uint32_t number = find_slot(
            hashes[i], [](uint32_t) { return true; }, slot);
        if (number != none) __builtin_prefetch(entry(number));
    }
}

void Message::set_slots(uint64_t slots, RunContext& context) {
    Buffer<uint64_t> old = std::move(slots_);
    slots_ = Buffer<uint64_t>(old.budget(), what_messages, slots, uint64_t{0});
    mask_ = slots - 1;
    context.for_each(old.size(), 1, [&](uint64_t slot) {
        if (old[slot] == 0) return;
        uint64_t at = (old[slot] >> 32) & mask_;
        while (slots_[at] != 0) at = (at + 1) & mask_;
        slots_[at] = old[slot];
    });
}

void Message::reserve(uint64_t entries, RunContext& context) {
    reserve_entries(entries);
    reserve_slots(entries, context);
}

void Message::reserve_entries(uint64_t entries) {
    if (entries > max_entries) refuse("more than 2^31 keys");
    entries_.reserve(entries * layout_.words);
}

void Message::reserve_slots(uint64_t entries, RunContext& context) {
    uint64_t slots = slots_.size();
    while (entries * 2 > slots) slots *= slots < cached_slots ? 4 : 2; // Small tables are seldom moved.
    if (slots > slots_.size()) set_slots(slots, context);
}

uint32_t Message::append(const uint64_t* of_other) {
    const size_t begin = entries_.size();
    entries_.resize(begin + layout_.words);
    std::copy_n(of_other, layout_.words, entries_.begin() + begin);
    return count_++;
}

uint32_t Message::append_new(const uint64_t* key) {
    const uint32_t number = append(layout_.new_entry.data());
    std::copy_n(key, layout_.full_key_words(), entries_.data() + number * layout_.words);
    return number;
}

// Adds the one entry of a message without keys or groups.
void Message::add_only_entry(RunContext& context) {
    reserve(1, context);
    const uint32_t hash = hash_of(nullptr, 0);
    slots_[hash & mask_] = uint64_t{hash} << 32 | 1;
    append(layout_.new_entry.data());
}

void Message::find_or_add(const KeyBatch& keys, uint64_t** to, RunContext& context) {
    const size_t words = layout_.full_key_words();
    if (words == 0) {
        if (count_ == 0) add_only_entry(context);
        std::fill_n(to, keys.count, entries_.data());
        return;
    }
    reserve(uint64_t{count_} + keys.count, context);
    for (uint32_t begin = 0; begin < keys.count; begin += prefetch_rows) {
        const uint32_t end = std::min(keys.count, begin + prefetch_rows);
        prefetch(keys.hashes.data() + begin, end - begin);
        for (uint32_t i = begin; i < end; i++) {
            const uint32_t hash = keys.hashes[i];
            uint64_t slot = 0;
            uint32_t number = find_slot(
                hash, [&](uint32_t other) { return has_key(other, keys.key(i), words); }, slot);
            if (number == none) {
                number = append_new(keys.key(i));
                slots_[slot] = uint64_t{hash} << 32 | (number + 1);
            }
            to[i] = entries_.data() + number * layout_.words;
        }
    }
}

// What has far more slots than it used gives them back, lest each of many small messages clears those of a large one.
void Message::clear() {
    constexpr uint64_t max_unused = 16;
    if (slots_.size() > max_unused * std::max<uint64_t>(min_slots, count_))
        clear_slots();
    else
        std::fill(slots_.begin(), slots_.end(), uint64_t{0});
    entries_.resize(0);
    next_.clear();
    count_ = 0;
    appended_ = false;
}

void Message::number(uint64_t entries, RunContext& context) {
    numbered_ = true;
    entries_.resize(entries * layout_.words);
    context.for_each(entries, layout_.words, [&](uint64_t number) {
        std::copy_n(layout_.new_entry.data(), layout_.words, entries_.data() + number * layout_.words);
    });
}

void Message::merge(const Message& other, RunContext& context) {
    std::array<uint32_t, prefetch_rows> hashes, from, to;
    for (uint32_t begin = 0; begin < other.count_; begin += prefetch_rows) {
        const uint32_t count = std::min(other.count_ - begin, prefetch_rows);
        reserve(uint64_t{count_} + count, context);
        for (uint32_t i = 0; i < count; i++) hashes[i] = hash_of(other.entry(begin + i), layout_.full_key_words());
        prefetch(hashes.data(), count);
        uint32_t met = 0; // entries that this message has, too
        for (uint32_t i = 0; i < count; i++) {
            from[met] = begin + i;
            to[met] = find_or_copy(other.entry(begin + i), hashes[i]);
            met += to[met] != none;
        }
        add_cells(other, {from.data(), met}, to.data());
        context.worked(count * (4 + layout_.words));
    }
}

void Message::append(std::span<const std::unique_ptr<Message>> parts, ThreadTeam& team, WorkerContexts& contexts) {
    std::vector<size_t> begins; // of the parts' words among those of this message
    uint64_t entries = count_;
    for (const std::unique_ptr<Message>& part : parts) {
        begins.push_back(entries * layout_.words);
        entries += part->count_;
    }
    reserve_entries(entries);
    entries_.resize(entries * layout_.words);
    count_ = static_cast<uint32_t>(entries);
    appended_ = true;
    const auto copy = [&](size_t part, int worker) {
        const Buffer<uint64_t>& from = parts[part]->entries_;
        contexts.run(worker, [&](RunContext& context) {
            context.in_blocks(from.size(), 1, [&](uint64_t begin, uint64_t end) {
                std::copy_n(from.data() + begin, end - begin, entries_.data() + begins[part] + begin);
            });
        });
    };
    team.for_each(parts.size(), copy, [&] { contexts.poll(); });
}

// The number of the entry with this key, or none after it was appended as it is.
uint32_t Message::find_or_copy(const uint64_t* of_other, uint32_t hash) {
    uint64_t slot = 0;
    const uint32_t number = find_slot(
        hash, [&](uint32_t candidate) { return has_key(candidate, of_other, layout_.full_key_words()); }, slot);
    if (number == none) slots_[slot] = uint64_t{hash} << 32 | (append(of_other) + 1);
    return number;
}

void Message::add_cells(const Message& other, std::span<const uint32_t> from, const uint32_t* to) {
    for (size_t q = 0; q < layout_.kinds.size(); q++)
        with_cell(layout_.kinds[q], [&](auto cell) {
            using Cell = decltype(cell);
            const size_t at = layout_.cells[q];
            for (size_t i = 0; i < from.size(); i++) {
                typename Cell::Value value;
                if (Cell::load(other.entry(from[i]) + at, value))
                    Cell::add(entries_.data() + to[i] * layout_.words + at, value);
            }
        });
}

void Message::find(const KeyBatch& keys, uint32_t* numbers) const {
    if (order_ != KeyOrder::equal) {
        for (uint32_t i = 0; i < keys.count; i++) numbers[i] = find_in_order(keys.key(i));
        return;
    }
    for (uint32_t begin = 0; begin < keys.count; begin += prefetch_rows) {
        const uint32_t end = std::min(keys.count, begin + prefetch_rows);
        prefetch(keys.hashes.data() + begin, end - begin);
        uint64_t slot = 0;
        for (uint32_t i = begin; i < end; i++) {
            // Sorted rows, as those of bags, often have the key of the row before.
            const uint64_t* const key = keys.key(i);
            if (i > 0 && keys.hashes[i] == keys.hashes[i - 1] && std::equal(key, key + keys.words, key - keys.words))
                numbers[i] = numbers[i - 1];
            else
                numbers[i] = find_slot(
                    keys.hashes[i], [&](uint32_t other) { return has_key(other, key, keys.words); }, slot);
        }
    }
}

void Message::finish(KeyOrder order, RunContext& context) {
    order_ = order;
    if (order_ != KeyOrder::equal) {
        order_entries(context);
        add_up(context);
        return;
    }
    if ((layout_.groups > 0 || appended_) && count_ > 0) chain_entries(context);
    if (numbered_)
        context.for_each(entries_.size() / layout_.words, 1,
                         [&](uint64_t number) { count_ += has_rows(static_cast<uint32_t>(number)); });
}

bool Message::is_before(int64_t word, int64_t bound) const {
    switch (order_) {
    case KeyOrder::less:
        return word < bound;
    case KeyOrder::less_equal:
        return word <= bound;
    case KeyOrder::greater:
        return word > bound;
    default:
        return word >= bound;
    }
}

// Returns the last entry of the key's run that comes before the key, or none.
uint32_t Message::find_in_order(const uint64_t* key) const {
    const size_t words = layout_.key_words - 1;
    uint64_t slot = 0;
    const uint32_t run = find_slot(
        hash_of(key, words), [&](uint32_t other) { return has_key(other == 0 ? 0 : ends_[other - 1], key, words); },
        slot);
    if (run == none) return none;
    const uint32_t begin = run == 0 ? 0 : ends_[run - 1];
    uint32_t low = begin, high = ends_[run];
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (is_before(last_word(middle), static_cast<int64_t>(key[words])))
            low = middle + 1;
        else
            high = middle;
    }
    return low == begin ? none : low - 1;
}

// Fills the slots anew: with a number for each key but for its last word. Returns the numbers by entry; ends_ counts
// the entries of each. Until they lie side by side, first[run] is an entry of it.
Buffer<uint32_t> Message::runs_of_entries(RunContext& context) {
    const size_t words = layout_.key_words - 1;
    Buffer<uint32_t> runs(next_.budget(), what_messages, count_), first(next_.budget(), what_messages);
    clear_slots();
    ends_.clear();
    context.for_each(count_, 4, [&](uint64_t number) {
        const uint64_t* const key = entry(static_cast<uint32_t>(number));
        const uint32_t hash = hash_of(key, words);
        uint64_t slot = 0;
        uint32_t run = find_slot(
            hash, [&](uint32_t other) { return has_key(first[other], key, words); }, slot);
        if (run == none) {
            run = static_cast<uint32_t>(first.size());
            slots_[slot] = uint64_t{hash} << 32 | (run + 1);
            first.push_back(static_cast<uint32_t>(number));
            ends_.push_back(0);
        }
        runs[number] = run;
        ends_[run]++;
    });
    return runs;
}

void Message::order_entries(RunContext& context) {
    struct Item {
        uint64_t word; // orders as the last word of the key does
        uint32_t number;
    };
    context.progress("ordering keys", 0, count_);
    const Buffer<uint32_t> runs = runs_of_entries(context);
    const bool descends = order_ == KeyOrder::greater || order_ == KeyOrder::greater_equal;
    constexpr uint64_t sign = uint64_t{1} << 63;
    Buffer<Item> items(next_.budget(), what_messages, count_), spare(next_.budget(), what_messages, count_);
    context.for_each(count_, 1, [&](uint64_t number) {
        const uint64_t word = static_cast<uint64_t>(last_word(static_cast<uint32_t>(number))) ^ sign;
        items[number] = {descends ? ~word : word, static_cast<uint32_t>(number)};
    });
    ThreadTeam team(context, 1);
    radix_sort(items, spare, team, [](const Item& item) { return item.word; });
    uint32_t begin = 0;
    for (uint32_t& end : ends_) begin += std::exchange(end, begin);
    Buffer<uint64_t> ordered(next_.budget(), what_messages, entries_.size());
    context.for_each(count_, layout_.words, [&](uint64_t i) {
        const uint32_t number = items[i].number;
        std::copy_n(entry(number), layout_.words, ordered.data() + ends_[runs[number]]++ * layout_.words);
    });
    entries_ = std::move(ordered);
}

void Message::add_up(RunContext& context) {
    uint32_t run = 0;
    context.for_each(count_, 1 + layout_.words, [&](uint64_t number) {
        if (number == ends_[run]) {
            run++;
            return;
        }
        if (number == 0) return;
        for (size_t q = 0; q < layout_.kinds.size(); q++)
            with_cell(layout_.kinds[q], [&](auto cell) {
                using Cell = decltype(cell);
                typename Cell::Value value;
                if (Cell::load(entry(static_cast<uint32_t>(number) - 1) + layout_.cells[q], value))
                    Cell::add(entries_.data() + number * layout_.words + layout_.cells[q], value);
            });
    });
}

// Frees as many slots as all entries need.
void Message::clear_slots() {
    slots_.clear();
    slots_ = Buffer<uint64_t>(next_.budget(), what_messages, std::max(min_slots, std::bit_ceil(uint64_t{count_} * 2)),
                              uint64_t{0});
    mask_ = slots_.size() - 1;
}

// Fills the slots anew: with the first entry of each key of the separator, which leads to the others in their order.
void Message::chain_entries(RunContext& context) {
    const size_t words = layout_.key_words;
    clear_slots();
    next_ = Buffer<uint32_t>(next_.budget(), what_messages, count_, none);
    bool chained = false;
    std::array<uint32_t, prefetch_rows> hashes;
    for (uint32_t end = count_, begin = 0; end > 0; end = begin) {
        begin = end - std::min(end, prefetch_rows);
        for (uint32_t number = begin; number < end; number++) {
            const uint32_t hash = hashes[number - begin] = hash_of(entry(number), words);
            __builtin_prefetch(&slots_[hash & mask_]);
        }
        for (uint32_t number = end; number-- > begin;) {
            const uint64_t* const key = entry(number);
            const uint32_t hash = hashes[number - begin];
            uint64_t slot = 0;
            next_[number] = find_slot(
                hash, [&](uint32_t other) { return has_key(other, key, words); }, slot);
            slots_[slot] = uint64_t{hash} << 32 | (number + 1);
            chained |= next_[number] != none;
        }
        context.worked(4 * (end - begin));
    }
    if (!chained) next_.clear();
}

} // namespace btml::relational
