#include "core/relational/join/join.hpp"

#include "core/numbers/rng.hpp"
#include "core/relational/join/inside_out.hpp"
#include "core/relational/join/key_codes.hpp"
#include "core/relational/join/table.hpp"

#include <utility>

namespace btml::relational {

namespace {

void check_edges(const std::vector<Table>& tables, const std::vector<LeftJoin>& edges) {
    std::vector<bool> is_right(tables.size(), false);
    for (const LeftJoin& edge : edges) {
        const auto known = [&](int table) { return table >= 0 && static_cast<size_t>(table) < tables.size(); };
        if (!known(edge.left) || !known(edge.right) || edge.left_keys.size() != edge.right_keys.size())
            throw Error(ErrorCode::internal, "a left join names no table, or its sides have different numbers of keys");
        const Table& left = tables[edge.left];
        const Table& right = tables[edge.right];
        if (is_right[edge.right])
            throw Error(ErrorCode::internal,
                        format("table \"%s\" is the right side of two left joins", right.name.c_str()));
        is_right[edge.right] = true;
        for (size_t i = 0; i < edge.left_keys.size(); i++)
            if (edge.left_keys[i].size() != left.rows || edge.right_keys[i].size() != right.rows)
                throw Error(ErrorCode::internal, format("a key of the left join of \"%s\" and \"%s\" has not one value "
                                                        "for each row",
                                                        left.name.c_str(), right.name.c_str()));
    }
}

// Numbers of the edges, every edge after the one whose right table is its left. Each table is the right side of one
// edge at most, so an edge that is never ready leads into a circle.
std::vector<size_t> outer_first(const std::vector<Table>& tables, const std::vector<LeftJoin>& edges) {
    std::vector<bool> waits(tables.size(), false);
    for (const LeftJoin& edge : edges) waits[edge.right] = true;
    std::vector<size_t> order;
    std::vector<bool> taken(edges.size(), false);
    for (bool found = true; found;) {
        found = false;
        for (size_t e = 0; e < edges.size(); e++) {
            if (taken[e] || waits[edges[e].left]) continue;
            waits[edges[e].right] = false;
            taken[e] = found = true;
            order.push_back(e);
        }
    }
    if (order.size() < edges.size()) throw Error(ErrorCode::internal, "left joins form a circle");
    return order;
}

KeyColumns refs(const std::vector<Buffer<Key>>& columns) {
    KeyColumns list;
    for (const Buffer<Key>& column : columns) list.push_back(&column);
    return list;
}

// Codes of the edge's keys; afterwards the null row's code is `count`, and every left row without a partner has it.
KeyCodes match_rows(LeftJoin& edge, uint64_t left_rows, uint64_t right_rows, RunContext& context) {
    for (Buffer<Key>& keys : edge.left_keys) { // the null row that an outer left join gave the left table
        const size_t given = keys.size();
        keys.resize(left_rows);
        std::fill(keys.begin() + given, keys.end(), null_key);
    }
    KeyCodes codes = encode_keys(refs(edge.left_keys), left_rows, refs(edge.right_keys), right_rows, context);
    const Key unmatched = codes.count;
    Buffer<uint8_t> occurs(context.memory(), "the keys of a left join", size_t{unmatched} + 1, uint8_t{0});
    context.for_each(right_rows, 1, [&](uint64_t row) {
        occurs[codes.right[row]] = 1;
        if (codes.right[row] == unmatched) codes.right[row] = null_key;
    });
    context.for_each(left_rows, 1, [&](uint64_t row) {
        if (!occurs[codes.left[row]]) codes.left[row] = unmatched;
    });
    return codes;
}

int first_free_attribute(const std::vector<Table>& tables) {
    int free = 0;
    for (const Table& table : tables)
        for (const KeyColumn& key : table.keys) free = std::max(free, key.attribute + 1);
    return free;
}

// For each edge: one more row in the right table, and one more key column, of an attribute that no other table has, in
// both. Left rows that match no right row get the null row's key. Edges are taken from the outside in: the null row of
// a table that is itself the left side of another edge has NULL keys there and so meets that edge's null row (unless
// that edge has no key columns: then it meets every right row, if there are any, as each left row does).
// Error internal when a table is the right side of two edges, of an edge to itself or of a circle of edges.
void expand_left_joins(std::vector<Table>& tables, std::vector<LeftJoin> edges, RunContext& context) {
    check_edges(tables, edges);
    int attribute = first_free_attribute(tables);
    for (size_t e : outer_first(tables, edges)) {
        LeftJoin& edge = edges[e];
        Table& left = tables[edge.left];
        Table& right = tables[edge.right];
        KeyCodes codes = match_rows(edge, left.rows, right.rows, context);
        edge.left_keys.clear();
        edge.right_keys.clear();
        append_null_row(right);
        codes.right.resize(right.rows);
        codes.right[right.rows - 1] = codes.count;
        left.keys.push_back({attribute, std::move(codes.left)});
        right.keys.push_back({attribute, std::move(codes.right)});
        attribute++;
    }
}

std::vector<std::vector<int>> attributes_of(const std::vector<Table>& tables) {
    std::vector<std::vector<int>> attributes(tables.size());
    for (size_t t = 0; t < tables.size(); t++)
        for (const KeyColumn& key : tables[t].keys) attributes[t].push_back(key.attribute);
    return attributes;
}

KeyCodes encode_separator(const Table& child, const Table& parent, const std::vector<int>& separator,
                          RunContext& context) {
    KeyColumns child_keys, parent_keys;
    for (int attribute : separator) {
        child_keys.push_back(&key_column(child, attribute));
        parent_keys.push_back(&key_column(parent, attribute));
    }
    return encode_keys(child_keys, child.rows, parent_keys, parent.rows, context);
}

// Which keys occur in the rows that a mask keeps.
void mark_keys(RowMask& marks, const Buffer<Key>& keys, const RowMask& mask, RunContext& context) {
    std::fill(marks.begin(), marks.end(), uint8_t{0});
    context.for_each(keys.size(), 1, [mark = marks.data(), key = keys.data(), kept = mask.data()](uint64_t row) {
        mark[key[row]] |= kept[row];
    });
}

// Drops the rows whose key is not marked.
void keep_marked(RowMask& mask, const Buffer<Key>& keys, const RowMask& marks, RunContext& context) {
    context.for_each(keys.size(), 1, [mark = marks.data(), key = keys.data(), kept = mask.data()](uint64_t row) {
        kept[row] &= mark[key[row]];
    });
}

// Keeps the rows whose key some kept row of the other side has; those keys are marked. Rows with the key `keys` join to
// nothing.
RowMask semi_join(RowMask& mask, const Buffer<Key>& own, const RowMask& other_mask, const Buffer<Key>& other,
                  uint64_t keys, RunContext& context) {
    RowMask marks(context.memory(), "the separators of a join", keys + 1);
    mark_keys(marks, other, other_mask, context);
    marks[keys] = 0;
    keep_marked(mask, own, marks, context);
    return marks;
}

// A key's content is the least of the rows that have it in some table: rows with different keys differ in content.
void mix_key_content(Buffer<uint64_t>& content, const Buffer<Key>& keys, const Table& table, int attribute,
                     RunContext& context) {
    const KeyCodes codes = encode_keys({&keys}, keys.size(), {&key_column(table, attribute)}, table.rows, context);
    Buffer<uint64_t> least(context.memory(), "the contents of join keys", size_t{codes.count} + 1, UINT64_MAX);
    context.for_each(table.rows, 1, [&](uint64_t row) {
        uint64_t& of_key = least[codes.right[row]];
        of_key = std::min(of_key, (*table.content)[row]);
    });
    context.for_each(keys.size(), 1,
                     [&](uint64_t row) { content[row] = mix64(content[row] ^ least[codes.left[row]]); });
}

// A bag's rows are combinations of keys. Where all tables before it have contents, so has it.
void add_bag_content(std::vector<Table>& tables, size_t bag, RunContext& context) {
    const auto before = tables.begin() + static_cast<std::ptrdiff_t>(bag);
    if (!std::all_of(tables.begin(), before, [](const Table& table) { return table.content.has_value(); })) return;
    Buffer<uint64_t> content(context.memory(), "the contents of a bag's rows", tables[bag].rows, uint64_t{0});
    for (const KeyColumn& key : tables[bag].keys) {
        const auto table = std::find_if(tables.begin(), before, [&](const Table& other) {
            return std::any_of(other.keys.begin(), other.keys.end(),
                               [&](const KeyColumn& column) { return column.attribute == key.attribute; });
        });
        mix_key_content(content, key.values, *table, key.attribute, context);
    }
    tables[bag].content = std::move(content);
}

// Numbers the marked keys of a separator from 0 without gaps. Rows with another key get an arbitrary number.
void renumber(KeyCodes& separator, const RowMask& marks, RunContext& context) {
    const uint64_t marked = count_kept(marks);
    if (marked < separator.count) {
        Buffer<Key> numbers(context.memory(), "the separators of a join", marks.size());
        Key next = 0;
        for (size_t key = 0; key < marks.size(); key++) {
            numbers[key] = next;
            next += marks[key];
        }
        for (Buffer<Key>* const keys : {&separator.left, &separator.right})
            context.for_each(keys->size(), 1, [&](uint64_t row) { (*keys)[row] = numbers[(*keys)[row]]; });
    }
    separator.count = static_cast<Key>(marked);
}

} // namespace

Join::Join(std::vector<Table> tables, std::vector<LeftJoin> left_joins, RunContext& context)
    : tables_(std::move(tables)) {
    for (const Table& table : tables_) {
        check_shape(table);
        rows_read_.push_back(table.rows);
    }
    expand_left_joins(tables_, std::move(left_joins), context);

    std::vector<RowMask> masks = all_rows(context.memory());
    context.progress("joining tables", 0, 0);
    merge_equal_attributes(masks, context);

    BagCodes bag_codes;
    if (const EarRemoval reduction = cut_ears(attributes_of(tables_)); reduction.left.size() > 1) {
        reduce_by_ears(reduction.ears, masks, context);
        cycles_ = add_bags(tables_, masks, reduction.left, bag_codes, context);
    }
    tree_ = build_join_tree(attributes_of(tables_));
    if (!cycles_.bags.empty()) tree_ = reroot(tree_, relations());
    number_separators(std::move(bag_codes), context);
    for (size_t bag = rows_read_.size(); bag < tables_.size(); bag++) {
        rows_read_.push_back(tables_[bag].rows);
        add_bag_content(tables_, bag, context);
        tables_[bag].keys.clear();
    }
    reduce(std::move(masks), context);
}

int Join::largest_table() const {
    const auto fewer_rows = [](const Table& a, const Table& b) { return a.rows < b.rows; };
    return static_cast<int>(std::max_element(tables_.begin(), tables_.end(), fewer_rows) - tables_.begin());
}

std::vector<RowMask> Join::all_rows(MemoryBudget& memory) const {
    std::vector<RowMask> masks;
    for (const Table& table : tables_) masks.emplace_back(memory, "the rows of a join", table.rows, uint8_t{1});
    return masks;
}

void Join::merge_equal_attributes(std::vector<RowMask>& masks, RunContext& context) {
    for (size_t t = 0; t < tables_.size(); t++) {
        std::vector<KeyColumn> merged;
        for (KeyColumn& key : tables_[t].keys) {
            const auto same = std::find_if(merged.begin(), merged.end(),
                                           [&](const KeyColumn& other) { return other.attribute == key.attribute; });
            if (same == merged.end()) {
                merged.push_back(std::move(key));
                continue;
            }
            context.for_each(masks[t].size(), 1, [&](uint64_t row) {
                masks[t][row] &= key.values[row] != null_key && key.values[row] == same->values[row];
            });
        }
        tables_[t].keys = std::move(merged);
    }
}

// Conditions on tables around a cycle so make its bags smaller.
void Join::reduce_by_ears(const std::vector<Ear>& ears, std::vector<RowMask>& masks, RunContext& context) {
    for (const Ear& ear : ears) {
        const KeyCodes codes = encode_separator(tables_[ear.table], tables_[ear.witness], ear.separator, context);
        semi_join(masks[ear.witness], codes.right, masks[ear.table], codes.left, codes.count, context);
    }
}

void Join::number_separators(BagCodes bag_codes, RunContext& context) {
    // Neighbours share exactly the attributes of a table that a bag has.
    const auto known_codes = [&](int table, int bag) {
        const auto known = bag_codes.find({table, bag});
        return known == bag_codes.end() ? nullptr : &known->second;
    };
    for (size_t t = 0; t < tables_.size(); t++) {
        static constexpr const char* what = "the separators of a join";
        const JoinTree::Node& node = tree_.nodes[t];
        const auto table = static_cast<int>(t);
        if (node.parent < 0)
            separators_.push_back({0, Buffer<Key>(context.memory(), what), Buffer<Key>(context.memory(), what)});
        else if (KeyCodes* const below = known_codes(table, node.parent))
            separators_.push_back(std::move(*below));
        else if (KeyCodes* const above = known_codes(node.parent, table))
            separators_.push_back({above->count, std::move(above->right), std::move(above->left)});
        else
            separators_.push_back(encode_separator(tables_[t], tables_[node.parent], node.separator, context));
    }
}

// Yannakakis' full reducer: semi-joins of each parent with its children from the leaves up, then of each child with its
// parent from the root down.
void Join::reduce(std::vector<RowMask> masks, RunContext& context) {
    context.progress("removing dangling rows", 0, 0);
    const auto parent = [&](int child) { return tree_.nodes[child].parent; };
    for (size_t i = tree_.order.size(); i-- > 1;) {
        const int child = tree_.order[i];
        const KeyCodes& between = separator(child);
        semi_join(masks[parent(child)], between.right, masks[child], between.left, between.count, context);
    }
    for (size_t i = 1; i < tree_.order.size(); i++) {
        const int child = tree_.order[i];
        KeyCodes& between = separators_[child];
        const RowMask marks =
            semi_join(masks[child], between.left, masks[parent(child)], between.right, between.count, context);
        renumber(between, marks, context);
    }

    for (size_t t = 0; t < tables_.size(); t++) {
        const uint64_t kept = count_kept(masks[t]);
        if (kept == tables_[t].rows) continue;
        keep_rows(tables_[t], masks[t], kept, context);
        if (tree_.nodes[t].parent >= 0) keep_rows(separators_[t].left, masks[t], kept, context);
        for (int child : tree_.nodes[t].children) keep_rows(separators_[child].right, masks[t], kept, context);
    }
}

void Join::filter(int table, const std::function<bool(RowId)>& keep, RunContext& context) {
    std::vector<RowMask> masks = all_rows(context.memory());
    RowMask& mask = masks[table];
    context.for_each(mask.size(), 1, [&](uint64_t row) { mask[row] = keep(static_cast<RowId>(row)); });
    reduce(std::move(masks), context);
}

uint64_t Join::count(RunContext& context) const {
    InsideOut<Counting, NoFactors<Counting>> query(*this, tree_.root(), {}, context);
    const uint64_t count = query.total();
    if (count > Counting::most)
        throw Error(ErrorCode::out_of_range,
                    format("the join has more than %" PRIu64 " rows, the most that can be counted", Counting::most));
    return count;
}

WideCount Join::wide_count(RunContext& context) const {
    const uint64_t few = InsideOut<Counting, NoFactors<Counting>>(*this, tree_.root(), {}, context).total();
    if (few <= Counting::most) return few;
    return InsideOut<WideCounting, NoFactors<WideCounting>>(*this, tree_.root(), {}, context).total();
}

} // namespace btml::relational
