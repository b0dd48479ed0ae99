// One pass over the rows of a table: each finds its partners in the messages of the table's children and adds to the
// table's own.
#pragma once

#include "core/relational/streamed/queries.hpp"
#include "core/relational/streamed/ranges.hpp"

#include <numeric>

namespace btml::relational {

class TablePass {
  public:
    // children: their messages, which are finished when rows are added, and may be others then. own: the table's.
    TablePass(const StreamedPlan& plan, int table, std::vector<const Message*> children, Message& own,
              MemoryBudget& memory)
        : table_(plan.tables[table]),
          own_(&own),
          queries_(plan, table, children, own.layout()),
          matches_(children.size()),
          own_keys_(own.layout().full_key_words(), memory),
          meets_(children.size()),
          ranges_(table_.measured.size()) {
        for (size_t c = 0; c < children.size(); c++) {
            const StreamedChild& child = table_.children[c];
            children_.push_back({children[c], child.join, child.key, KeyBatch(child.key.size(), memory), {}});
        }
    }

    // Leaves out the rows whose keys, in these columns, a finished message lacks, as long as they are not few.
    void filter(const Message& message, const std::vector<int>& columns, MemoryBudget& memory) {
        filters_.push_back({&message, columns, KeyBatch(columns.size(), memory)});
    }
    // Rows add to this message of the table from now on.
    void add_to(Message& own) { own_ = &own; }
    // At most RowBatch::max_rows rows. context: of the thread that this is called on, polled by the work that rows
    // make: a row may meet many entries. known: by child, the first entry that each row meets, or none; null where that
    // is to be found. numbers: by row, the entry that it adds to, if the table's message is numbered.
    void add(const RowBatch::Column* columns, uint32_t rows, RunContext& context,
             const std::vector<const uint32_t*>& known = {}, const uint32_t* numbers = nullptr) {
        columns_ = columns;
        numbers_ = numbers;
        rows_read_ += rows;
        selected_count_ = rows;
        std::iota(selected_.begin(), selected_.begin() + rows, 0U);
        keep_keyed(table_.key);
        for (Filter& filter : filters_) apply(filter);
        for (size_t c = 0; c < children_.size(); c++) probe(children_[c], known.empty() ? nullptr : known[c]);
        context.worked(rows * (1 + filters_.size() + children_.size()));
        rows_kept_ += selected_count_;
        measure();
        matches_.columns = columns;
        if (may_meet_several())
            for (uint32_t i = 0; i < selected_count_; i++) match_all(selected_[i], 0, context);
        else
            match_once();
        flush(context);
    }

    uint64_t rows_read() const { return rows_read_; }
    uint64_t rows_kept() const { return rows_kept_; }
    const std::vector<StreamedRange>& ranges() const { return ranges_; }

  private:
    static constexpr uint32_t none = Message::none;

    struct Child {
        const Message* message;
        StreamedJoin join;
        std::vector<int> key;
        KeyBatch keys;
        std::array<uint32_t, RowBatch::max_rows> first; // by row: the first entry that it meets, or none
    };

    struct Filter {
        const Message* message;
        std::vector<int> columns;
        KeyBatch keys;
        uint64_t probed = 0, dropped = 0;
    };

    // Rows that have NULL in a key join nothing.
    void keep_keyed(const std::vector<int>& key) {
        for (int number : key) {
            const uint8_t* const nulls = columns_[number].nulls;
            uint32_t kept = 0;
            for (uint32_t i = 0; i < selected_count_; i++) {
                const uint32_t row = selected_[i];
                selected_[kept] = row;
                kept += nulls[row] == 0;
            }
            selected_count_ = kept;
        }
    }
    // Rows are kept that might have been dropped where too few of those before were.
    void apply(Filter& filter) {
        constexpr uint64_t min_probed = 16 * RowBatch::max_rows, min_share = 4;
        if (filter.probed > min_probed && filter.dropped * min_share < filter.probed) return;
        std::array<uint32_t, RowBatch::max_rows> numbers;
        fill_keys(filter.keys, filter.columns);
        filter.message->find(filter.keys, numbers.data());
        uint32_t kept = 0;
        for (uint32_t i = 0; i < selected_count_; i++) {
            selected_[kept] = selected_[i];
            kept += numbers[i] != none;
        }
        filter.probed += selected_count_;
        filter.dropped += selected_count_ - kept;
        selected_count_ = kept;
    }
    // Leaves the rows selected that the join with the child lets pass.
    void probe(Child& child, const uint32_t* known) {
        std::array<uint32_t, RowBatch::max_rows> numbers;
        if (known) {
            for (uint32_t i = 0; i < selected_count_; i++) numbers[i] = known[selected_[i]];
        } else {
            if (child.join == StreamedJoin::inner || child.join == StreamedJoin::semi) keep_keyed(child.key);
            fill_keys(child.keys, child.key);
            child.message->find(child.keys, numbers.data());
        }
        const bool nulls_stay = child.join == StreamedJoin::left || child.join == StreamedJoin::anti;
        const auto has_null = [&](uint32_t row) {
            return std::any_of(child.key.begin(), child.key.end(),
                               [&](int column) { return columns_[column].nulls[row] != 0; });
        };
        uint32_t kept = 0;
        for (uint32_t i = 0; i < selected_count_; i++) {
            const uint32_t row = selected_[i];
            const uint32_t number = nulls_stay && has_null(row) ? none : numbers[i];
            child.first[row] = number;
            selected_[kept] = row;
            kept += child.join == StreamedJoin::left || (number != none) == (child.join != StreamedJoin::anti);
        }
        selected_count_ = kept;
    }
    // Fills in the keys of the rows that are selected, from these columns.
    void fill_keys(KeyBatch& keys, const std::vector<int>& columns) const {
        keys.count = selected_count_;
        for (size_t w = 0; w < columns.size(); w++) {
            const int64_t* const words = columns_[columns[w]].words;
            uint64_t* key = keys.keys.data() + w;
            for (uint32_t i = 0; i < selected_count_; i++, key += keys.words)
                *key = static_cast<uint64_t>(words[selected_[i]]);
        }
        keys.hash();
    }
    const uint64_t* entry_of(const Child& child, uint32_t number) const {
        return number == none ? child.message->null_entry() : child.message->entry(number);
    }
    // Where each row meets one entry of each child, all rows are matches at once.
    void match_once() {
        matches_.count = selected_count_;
        std::copy_n(selected_.begin(), selected_count_, matches_.rows.begin());
        for (size_t c = 0; c < children_.size(); c++) {
            const Child& child = children_[c];
            if (!multiplies(child.join)) continue;
            for (uint32_t i = 0; i < selected_count_; i++)
                matches_.from[c][i] = entry_of(child, child.first[selected_[i]]);
        }
    }
    // Matches every combination of the entries that a row meets, those of the children before `child` being chosen.
    void match_all(uint32_t row, size_t child, RunContext& context) {
        if (child == children_.size()) {
            if (matches_.count == Matches::max) flush(context);
            matches_.rows[matches_.count] = row;
            for (size_t c = 0; c < children_.size(); c++) matches_.from[c][matches_.count] = meets_[c];
            matches_.count++;
            return;
        }
        const Child& of = children_[child];
        if (!multiplies(of.join)) {
            match_all(row, child + 1, context);
            return;
        }
        uint32_t number = of.first[row];
        do {
            meets_[child] = entry_of(of, number);
            match_all(row, child + 1, context);
            number = number == none || !of.message->several() ? none : of.message->next(number);
        } while (number != none);
    }
    void measure() {
        for (size_t m = 0; m < ranges_.size(); m++) {
            const int column = table_.measured[m];
            widen(ranges_[m], table_.columns[column], columns_[column], selected_.data(), selected_count_);
        }
    }
    // Has a child several entries for some key?
    bool may_meet_several() const {
        return std::any_of(children_.begin(), children_.end(),
                           [](const Child& child) { return multiplies(child.join) && child.message->several(); });
    }
    // Adds the matches to the message and forgets them.
    void flush(RunContext& context) {
        if (matches_.count == 0) return;
        if (own_->is_numbered())
            for (uint32_t i = 0; i < matches_.count; i++) matches_.to[i] = own_->numbered(numbers_[matches_.rows[i]]);
        else
            find_entries(context);
        queries_.add(matches_);
        context.worked(matches_.count * (own_->layout().words + 2 * children_.size()));
        matches_.count = 0;
    }
    // Finds the entries that the matches add to by their keys.
    void find_entries(RunContext& context) {
        KeyBatch& keys = own_keys_;
        const MessageLayout& layout = own_->layout();
        keys.count = matches_.count;
        for (size_t w = 0; w < layout.key_words; w++)
            for (uint32_t i = 0; i < keys.count; i++)
                keys.key(i)[w] = static_cast<uint64_t>(columns_[table_.key[w]].words[matches_.rows[i]]);
        for (uint32_t i = 0; i < keys.count; i++)
            std::fill_n(keys.key(i) + layout.key_words + layout.groups, layout.null_words, uint64_t{0});
        size_t group = 0;
        for (int column : table_.groups) {
            fill_group(keys, layout.key_words + group, group, column);
            group++;
        }
        for (size_t c = 0; c < children_.size(); c++) {
            if (!multiplies(children_[c].join)) continue;
            copy_groups(keys, group, c);
            group += children_[c].message->layout().groups;
        }
        keys.hash();
        own_->find_or_add(keys, matches_.to.data(), context);
    }
    // Writes a group column of the table itself into the keys.
    void fill_group(KeyBatch& keys, size_t word, size_t group, int column) const {
        const MessageLayout& layout = own_->layout();
        const size_t null_word = layout.key_words + layout.groups + group / 64;
        for (uint32_t i = 0; i < keys.count; i++) {
            const uint32_t row = matches_.rows[i];
            const bool null = columns_[column].nulls[row] != 0;
            keys.key(i)[word] = null ? 0 : static_cast<uint64_t>(columns_[column].words[row]);
            keys.key(i)[null_word] |= uint64_t{null} << (group % 64);
        }
    }
    // Writes all group columns of a child's message into the keys, as the groups from this number on.
    void copy_groups(KeyBatch& keys, size_t group, size_t child) const {
        const MessageLayout& from = children_[child].message->layout();
        const MessageLayout& layout = own_->layout();
        if (from.groups == 0) return;
        for (uint32_t i = 0; i < keys.count; i++) {
            const uint64_t* const entry = matches_.from[child][i];
            uint64_t* const key = keys.key(i);
            for (size_t g = 0; g < from.groups; g++) {
                const size_t to = group + g;
                key[layout.key_words + to] = entry[from.key_words + g];
                key[layout.key_words + layout.groups + to / 64] |= uint64_t{from.is_null(entry, g)} << (to % 64);
            }
        }
    }

    const StreamedTable& table_;
    Message* own_;
    std::vector<Filter> filters_;
    std::vector<Child> children_; // in the plan's order
    QueryEvaluator queries_;
    Matches matches_;
    KeyBatch own_keys_;
    std::vector<const uint64_t*> meets_; // by child: the entry of the match that is being made
    const RowBatch::Column* columns_ = nullptr;
    const uint32_t* numbers_ = nullptr;
    std::array<uint32_t, RowBatch::max_rows> selected_; // rows that are not out so far
    uint32_t selected_count_ = 0;
    uint64_t rows_read_ = 0, rows_kept_ = 0;
    std::vector<StreamedRange> ranges_;
};

} // namespace btml::relational
