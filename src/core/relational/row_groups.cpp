#include "core/relational/row_groups.hpp"

#include "core/base/dictionary.hpp"

#include <numeric>

namespace btml::relational {

namespace {

constexpr const char* what = "the row groups of a join";

// Edges of the join tree, named by their lower end.
struct Edge {
    int child, neighbour;
};

std::vector<Edge> edges_of(const Join& join, int table) {
    const JoinTree::Node& node = join.tree().nodes[static_cast<size_t>(table)];
    std::vector<Edge> edges;
    if (node.parent >= 0) edges.push_back({table, node.parent});
    for (int child : node.children) edges.push_back({child, child});
    return edges;
}

uint64_t rows_of(const Join& join, int table) {
    return join.tables()[static_cast<size_t>(table)].rows;
}

// The group of each row, and in `sizes` how many rows each group has.
Buffer<RowId> number_groups(const Join& join, int table, Buffer<RowId>& sizes, RunContext& context) {
    const uint64_t rows = rows_of(join, table);
    std::vector<const Key*> keys;
    for (const Edge& edge : edges_of(join, table)) keys.push_back(join.keys(table, edge.neighbour).data());
    Buffer<RowId> group_of(context.memory(), what, rows), first_rows(context.memory(), what);
    HashIndex index(context.memory(), what);
    RowBlocks blocks(context, "grouping rows", rows);
    blocks.run(rows, [&](uint64_t begin, uint64_t end) {
        for (uint64_t row = begin; row < end; row++) {
            uint64_t hash = 0;
            for (const Key* key : keys) hash = mix64(hash ^ key[row]);
            const auto next = static_cast<uint32_t>(sizes.size());
            const uint32_t group = index.find_or_add(HashIndex::hash(hash), next, [&](uint32_t other) {
                return std::all_of(keys.begin(), keys.end(),
                                   [&](const Key* key) { return key[first_rows[other]] == key[row]; });
            });
            if (group == next) {
                sizes.push_back(0);
                first_rows.push_back(static_cast<RowId>(row));
            }
            sizes[group]++;
            group_of[row] = group;
        }
    });
    return group_of;
}

} // namespace

RowGroups group_rows(const Join& join, int table, RunContext& context) {
    const uint64_t rows = rows_of(join, table);
    Buffer<RowId> next(context.memory(), what);
    const Buffer<RowId> group_of = number_groups(join, table, next, context);
    RowGroups groups{Buffer<RowId>(context.memory(), what, rows), Buffer<RowId>(context.memory(), what)};
    groups.first.resize(next.size() + 1);
    groups.first[0] = 0;
    std::inclusive_scan(next.begin(), next.end(), groups.first.begin() + 1);
    std::copy(groups.first.begin(), groups.first.end() - 1, next.begin());
    RowBlocks blocks(context, "grouping rows", rows);
    blocks.run(rows, [&](uint64_t begin, uint64_t end) {
        for (uint64_t row = begin; row < end; row++) groups.rows[next[group_of[row]]++] = static_cast<RowId>(row);
    });
    return groups;
}

Join join_of_groups(const Join& join, const std::vector<const RowGroups*>& groups, RunContext& context) {
    std::vector<Table> tables;
    for (size_t t = 0; t < groups.size(); t++) {
        const int number = static_cast<int>(t);
        Table table;
        table.name = join.tables()[t].name;
        table.rows = groups[t]->count();
        for (const Edge& edge : edges_of(join, number)) {
            const Buffer<Key>& keys = join.keys(number, edge.neighbour);
            Buffer<Key> values(context.memory(), what, table.rows);
            for (uint64_t g = 0; g < table.rows; g++) values[g] = keys[groups[t]->rows[groups[t]->first[g]]];
            table.keys.push_back({edge.child, std::move(values)});
        }
        tables.push_back(std::move(table));
    }
    return {std::move(tables), {}, context};
}

} // namespace btml::relational
