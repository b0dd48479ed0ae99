#include "core/relational/join/left_join.hpp"

#include "core/relational/join/key_codes.hpp"
#include "core/relational/join/table.hpp"

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

} // namespace

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

} // namespace btml::relational
