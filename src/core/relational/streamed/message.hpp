// The message of a table to its parent: for each key of their separator, and each group within it, the cells of the
// table's queries.
#pragma once

#include "core/base/threads.hpp"
#include "core/base/worker_contexts.hpp"
#include "core/relational/streamed/cells.hpp"
#include "core/relational/streamed/row_batch.hpp"

#include <array>
#include <memory>
#include <span>

namespace btml::relational {

// How an entry lies in memory: words of the key, of the groups, bits of the groups that are NULL (whose words are 0),
// cells.
struct MessageLayout {
    // numbered: its entries have numbers instead of keys.
    MessageLayout(const StreamedPlan& plan, int table, bool numbered = false);

    size_t key_words, groups, null_words;
    size_t words; // of an entry
    std::vector<CellKind> kinds;
    std::vector<size_t> cells;       // where each query's cell begins
    std::vector<uint64_t> new_entry; // without its key: no row has added anything

    size_t full_key_words() const { return key_words + groups + null_words; }
    bool is_null(const uint64_t* entry, size_t group) const {
        return entry[key_words + groups + group / 64] >> (group % 64) & 1;
    }
};

// The keys of some rows, side by side, and their hashes.
struct KeyBatch {
    KeyBatch(size_t key_words, MemoryBudget& memory);

    const uint64_t* key(uint32_t i) const { return keys.data() + i * words; }
    uint64_t* key(uint32_t i) { return keys.data() + i * words; }
    void hash();

    size_t words;
    uint32_t count = 0;
    Buffer<uint64_t> keys;
    std::array<uint32_t, RowBatch::max_rows> hashes;
};

// What takes long polls the context that is given: that of the thread it runs on.
class Message {
  public:
    static constexpr uint32_t none = UINT32_MAX;

    Message(MessageLayout layout, MemoryBudget& memory);

    // The bytes that a message of so many words an entry takes at most, until these rows have made so many entries of
    // it; rows come in full batches.
    static double max_bytes(size_t words, double entries, double rows);

    const MessageLayout& layout() const { return layout_; }
    uint32_t entries() const { return count_; }
    uint64_t bytes() const {
        return (entries_.size() + slots_.size()) * sizeof(uint64_t) + (next_.size() + ends_.size()) * sizeof(uint32_t);
    }
    const uint64_t* entry(uint32_t number) const { return entries_.data() + number * layout_.words; }

    // The entries with these keys, those of the separator and the groups, made where there are none; they stay where
    // they are until the next call. The keys are hashed.
    void find_or_add(const KeyBatch& keys, uint64_t** to, RunContext& context);

    // Forgets all entries of a message that is not numbered, but keeps the memory for as many.
    void clear();

    // Makes an entry for each number below `entries`, for a layout without keys and groups. Rows add to them by number.
    void number(uint64_t entries, RunContext& context);
    bool is_numbered() const { return numbered_; }
    uint64_t* numbered(uint32_t number) { return entries_.data() + number * layout_.words; }
    // Whether rows were added to a number; no rows are added to one beyond the entries.
    bool has_rows(uint32_t number) const {
        return number < entries_.size() / layout_.words && load_integer(entry(number) + layout_.cells.front()) != 0;
    }

    // Adds the cells of another message of the same table, as if its rows came after those of this one.
    void merge(const Message& other, RunContext& context);

    // Does the same for messages none of whose keys is in this one or in another of them. Entries are not found until
    // finish().
    void append(std::span<const std::unique_ptr<Message>> parts, ThreadTeam& team, WorkerContexts& contexts);

    // To be called after the last row was added: finds entries by the separator's key from now on, and counts those
    // that rows were added to. With an order an entry has the cells of all with its key but for the last word, as far
    // as they come before it, and is found for keys whose last word compares so with its own and with no later one's.
    void finish(KeyOrder order, RunContext& context);
    // The numbers of the first entries with these keys of the separator, or none. The keys are hashed.
    void find(const KeyBatch& keys, uint32_t* numbers) const;
    // The next entry with the same key of the separator, or none; to be asked only if several(): some key has more than
    // one entry.
    uint32_t next(uint32_t number) const { return next_[number]; }
    bool several() const { return !next_.empty(); }
    // Stands for the rows of a table that found no partner in a left join: one row, and nothing of its columns.
    const uint64_t* null_entry() const { return null_entry_.data(); }

  private:
    static constexpr uint32_t prefetch_rows = 128; // what is asked for at a time fits into the first cache
    static constexpr uint64_t cached_bytes = uint64_t{1} << 18;

    template <class Equal>
    uint32_t find_slot(uint32_t hash, const Equal& equal, uint64_t& slot) const;
    bool has_key(uint32_t number, const uint64_t* key, size_t words) const {
        const uint64_t* const of_entry = entry(number);
        for (size_t w = 0; w < words; w++)
            if (of_entry[w] != key[w]) return false;
        return true;
    }
    void prefetch(const uint32_t* hashes, uint32_t count) const;
    void reserve(uint64_t entries, RunContext& context);
    void reserve_entries(uint64_t entries);
    void reserve_slots(uint64_t entries, RunContext& context);
    void set_slots(uint64_t slots, RunContext& context);
    void add_only_entry(RunContext& context);
    uint32_t append(const uint64_t* of_other);
    uint32_t append_new(const uint64_t* key);
    uint32_t find_or_copy(const uint64_t* of_other, uint32_t hash);
    void add_cells(const Message& other, std::span<const uint32_t> from, const uint32_t* to);
    void clear_slots();
    void chain_entries(RunContext& context);
    // Puts entries with the same key but for its last word side by side, by that word, and adds each to the next one.
    void order_entries(RunContext& context);
    Buffer<uint32_t> runs_of_entries(RunContext& context);
    void add_up(RunContext& context);
    int64_t last_word(uint32_t number) const { return static_cast<int64_t>(entry(number)[layout_.key_words - 1]); }
    bool is_before(int64_t word, int64_t bound) const;
    uint32_t find_in_order(const uint64_t* key) const;

    MessageLayout layout_;
    Buffer<uint64_t> entries_; // in the order in which their keys were met
    uint32_t count_ = 0;
    bool numbered_ = false, appended_ = false; // appended_: entries are not found yet
    Buffer<uint64_t> slots_; // open addressing: the hash above the number of an entry plus 1; 0 is free
    uint64_t mask_ = 0;
    Buffer<uint32_t> next_;
    KeyOrder order_ = KeyOrder::equal;
    Buffer<uint32_t> ends_; // of entries in order, whose slots lead to runs: by run, where the next one begins
    std::vector<uint64_t> null_entry_;
};

} // namespace btml::relational
