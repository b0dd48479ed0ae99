#include "core/relational/join/join_rows.hpp"

#include "core/relational/join/row_groups.hpp"

#include <array>
#include <numeric>

namespace btml::relational {

namespace {

constexpr const char* what_rows = "the rows of a join as row numbers";

// A reduced table with as many rows as the join gives each of its rows to exactly one row of the join.
int find_identity_table(const Join& join, uint64_t join_rows) {
    for (size_t t = 0; t < join.tables().size(); t++)
        if (join.tables()[t].rows == join_rows) return static_cast<int>(t);
    return -1;
}

uint64_t tuple_bytes(const Join& join, uint64_t join_rows) {
    const uint64_t identities = find_identity_table(join, join_rows) >= 0;
    return join_rows * sizeof(RowId) * (join.tables().size() - identities);
}

// Tuples of row numbers that grow by one table after another, in place: the columns have their final length from the
// start, and a longer list of tuples is written over the shorter one from the end.
class Tuples {
  public:
    Tuples(const Join& join, uint64_t join_rows, RunContext& context)
        : join_(join),
          memory_(context.memory()),
          identity_(find_identity_table(join, join_rows)),
          tree_(reroot(join.tree(), identity_ >= 0 ? identity_ : join.largest_table())),
          context_(context),
          length_(join.tables()[tree_.root()].rows) {
        memory_.require(tuple_bytes(join, join_rows) + scratch_bytes(), what_rows);
        for (size_t t = 0; t < join.tables().size(); t++)
            columns_.emplace_back(memory_, what_rows, static_cast<int>(t) == identity_ ? 0 : join_rows);
    }

    JoinRows enumerate() && {
        if (identity_ < 0)
            std::iota(columns_[tree_.root()].begin(), columns_[tree_.root()].begin() + length_, RowId{0});
        placed_.push_back(tree_.root());
        // Tables that lengthen the list come first: the other columns are then written once.
        std::vector<int> open = tree_.nodes[tree_.root()].children;
        while (!open.empty()) {
            context_.progress("enumerating the join", placed_.size(), join_.tables().size());
            auto next = std::find_if(open.begin(), open.end(), [&](int table) { return !is_unique(table); });
            if (next == open.end()) next = open.begin();
            const int table = *next;
            open.erase(next);
            if (is_unique(table))
                append_unique(table);
            else
                append_groups(table);
            placed_.push_back(table);
            const std::vector<int>& children = tree_.nodes[table].children;
            open.insert(open.end(), children.begin(), children.end());
        }
        return {length_, std::move(columns_)};
    }

  private:
    // Tuples that are lengthened together, one column after another.
    static constexpr uint64_t block = 1024;

    int parent(int table) const { return tree_.nodes[table].parent; }
    uint64_t keys(int table) const { return join_.key_count(table, parent(table)); }
    bool is_unique(int table) const { return join_.tables()[table].rows == keys(table); }

    uint64_t scratch_bytes() const {
        uint64_t most = 0;
        for (int table : tree_.order) {
            if (table == tree_.root()) continue;
            most = std::max(most, is_unique(table) ? keys(table) : keys(table) + 2 + join_.tables()[table].rows);
        }
        return most * sizeof(RowId);
    }

    Key key_of_tuple(int table, const Key* parent_keys, const RowId* parent_rows, uint64_t tuple) const {
        return parent_keys[parent(table) == identity_ ? tuple : parent_rows[tuple]];
    }

    // A table with one row for each key: the list keeps its length.
    void append_unique(int table) {
        const Buffer<Key>& own = join_.keys(table, parent(table));
        Buffer<RowId> row_of_key(memory_, what_rows, keys(table));
        context_.for_each(own.size(), 1, [&](uint64_t row) { row_of_key[own[row]] = static_cast<RowId>(row); });
        const Key* const parent_keys = join_.keys(parent(table), table).data();
        const RowId* const parent_rows = columns_[parent(table)].data();
        RowId* const out = columns_[table].data();
        context_.for_each(length_, 1,
                          [&](uint64_t i) { out[i] = row_of_key[key_of_tuple(table, parent_keys, parent_rows, i)]; });
    }

    void append_groups(int table) {
        const RowGroups groups = group_rows(join_.keys(table, parent(table)), keys(table), what_rows, context_);
        const Key* const parent_keys = join_.keys(parent(table), table).data();
        const RowId* const parent_rows = columns_[parent(table)].data();
        const auto key_of = [&](uint64_t i) { return key_of_tuple(table, parent_keys, parent_rows, i); };

        uint64_t length = 0;
        context_.for_each(length_, 1, [&](uint64_t i) { length += groups.size(key_of(i)); });
        std::array<RowId, block> first, copies; // of each tuple's group
        uint64_t to = length;
        for (uint64_t end = length_; end > 0;) {
            const uint64_t begin = end - std::min(end, block);
            uint64_t written = 0;
            for (uint64_t i = begin; i < end; i++) {
                const Key key = key_of(i);
                first[i - begin] = groups.first[key];
                copies[i - begin] = groups.size(key);
                written += copies[i - begin];
            }
            for (int placed : placed_) repeat(columns_[placed], begin, end, copies.data(), to);
            uint64_t at = to - written;
            for (uint64_t i = 0; i < end - begin; i++) {
                copy_rows(groups.rows.data() + first[i], copies[i], columns_[table].data() + at);
                at += copies[i];
            }
            to -= written;
            end = begin;
            context_.worked(written * placed_.size() + block);
        }
        length_ = length;
    }

    // Writes values[i] copies[i − begin] times, for begin ≤ i < end from the last to the first, in front of `to`.
    void repeat(Buffer<RowId>& values, uint64_t begin, uint64_t end, const RowId* copies, uint64_t to) {
        for (uint64_t i = end; i-- > begin;) {
            const RowId value = values[i];
            const uint64_t n = copies[i - begin];
            to -= n;
            RowId* const out = values.data() + to;
            if (n <= block)
                std::fill_n(out, n, value);
            else
                context_.in_blocks(n, 1,
                                   [&](uint64_t from, uint64_t until) { std::fill(out + from, out + until, value); });
        }
    }

    void copy_rows(const RowId* rows, uint64_t n, RowId* out) {
        if (n <= block)
            std::copy_n(rows, n, out);
        else
            context_.in_blocks(
                n, 1, [&](uint64_t from, uint64_t until) { std::copy(rows + from, rows + until, out + from); });
    }

    const Join& join_;
    MemoryBudget& memory_;
    int identity_;
    JoinTree tree_;
    RunContext& context_;
    std::vector<Buffer<RowId>> columns_;
    std::vector<int> placed_;
    uint64_t length_; // tuples so far
};

} // namespace

uint64_t enumeration_bytes(const Join& join, RunContext& context) {
    return tuple_bytes(join, join.count(context));
}

JoinRows enumerate(const Join& join, RunContext& context) {
    const uint64_t rows = join.count(context);
    if (rows > max_rows)
        throw Error(ErrorCode::limit_exceeded,
                    format("the join has %" PRIu64 " rows, at most %" PRIu64 " can be enumerated", rows, max_rows));
    return Tuples(join, rows, context).enumerate();
}

} // namespace btml::relational
