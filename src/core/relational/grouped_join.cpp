#include "core/relational/grouped_join.hpp"

#include "core/relational/row_blocks.hpp"

#include <numeric>

namespace btml::relational {

namespace {

constexpr const char* what = "the keys of a join by group";

std::vector<int> neighbours_of(const JoinTree& tree, int table) {
    const JoinTree::Node& node = tree.nodes[static_cast<size_t>(table)];
    std::vector<int> neighbours;
    if (node.parent >= 0) neighbours.push_back(node.parent);
    neighbours.insert(neighbours.end(), node.children.begin(), node.children.end());
    return neighbours;
}

// Places 0 ≤ i < values.size() by value, those of one value in their order: `places` begins at first[value].
// Empty when they are so by themselves.
Buffer<RowId> sort_places(const Buffer<Key>& values, const Buffer<RowId>& first, MemoryBudget& memory,
                          RowBlocks& blocks) {
    Buffer<RowId> places(memory, what);
    if (std::is_sorted(values.begin(), values.end())) return places;
    places.resize(values.size());
    Buffer<RowId> next(memory, what, first.size());
    std::copy(first.begin(), first.end(), next.begin());
    blocks.run(values.size(), [&](uint64_t begin, uint64_t end) {
        for (uint64_t i = begin; i < end; i++) places[next[values[i]]++] = static_cast<RowId>(i);
    });
    return places;
}

Buffer<RowId> count_values(const Buffer<Key>& values, uint64_t keys, MemoryBudget& memory, RowBlocks& blocks) {
    Buffer<RowId> first(memory, what, keys + 1, RowId{0});
    blocks.run(values.size(), [&](uint64_t begin, uint64_t end) {
        for (uint64_t i = begin; i < end; i++) first[size_t{values[i]} + 1]++;
    });
    std::partial_sum(first.begin(), first.end(), first.begin());
    return first;
}

class Grouper {
  public:
    Grouper(const Join& join, RunContext& context, uint64_t work)
        : join_(join), memory_(context.memory()), blocks_(context, "grouping rows by key", work) {}

    GroupedTable group(int table) {
        const std::vector<int> neighbours = neighbours_of(join_.tree(), table);
        GroupedTable grouped{
            join_.tables()[static_cast<size_t>(table)].rows, sort(table, neighbours), Buffer<RowId>(memory_, what), {}};
        find_groups(table, neighbours, grouped);
        for (const int neighbour : neighbours) grouped.edges.push_back(edge(table, neighbour, grouped));
        return grouped;
    }

  private:
    static RowId row_at(const Buffer<RowId>& order, uint64_t i) {
        return order.empty() ? static_cast<RowId>(i) : order[i];
    }

    // By one separator after another, the first one last, as a stable sort of tuples.
    Buffer<RowId> sort(int table, const std::vector<int>& neighbours) {
        Buffer<RowId> order(memory_, what);
        for (size_t e = neighbours.size(); e-- > 0;) {
            const Buffer<Key>& keys = join_.keys(table, neighbours[e]);
            const Buffer<RowId> first = count_values(keys, join_.key_count(table, neighbours[e]), memory_, blocks_);
            if (order.empty()) {
                order = sort_places(keys, first, memory_, blocks_);
                continue;
            }
            Buffer<Key> sorted(memory_, what, keys.size());
            blocks_.run(keys.size(), [&](uint64_t begin, uint64_t end) {
                for (uint64_t i = begin; i < end; i++) sorted[i] = keys[order[i]];
            });
            const Buffer<RowId> places = sort_places(sorted, first, memory_, blocks_);
            if (places.empty()) continue;
            Buffer<RowId> composed(memory_, what, places.size());
            blocks_.run(places.size(), [&](uint64_t begin, uint64_t end) {
                for (uint64_t i = begin; i < end; i++) composed[i] = order[places[i]];
            });
            order = std::move(composed);
        }
        return order;
    }

    void find_groups(int table, const std::vector<int>& neighbours, GroupedTable& grouped) {
        blocks_.run(grouped.rows, [&](uint64_t begin, uint64_t end) {
            for (uint64_t i = begin; i < end; i++) {
                const bool same = i > 0 && std::all_of(neighbours.begin(), neighbours.end(), [&](int neighbour) {
                                      const Buffer<Key>& keys = join_.keys(table, neighbour);
                                      return keys[row_at(grouped.order, i)] == keys[row_at(grouped.order, i - 1)];
                                  });
                if (!same || i - grouped.first[grouped.first.size() - 1] == GroupedTable::max_group_rows)
                    grouped.first.push_back(static_cast<RowId>(i));
            }
        });
        grouped.first.push_back(static_cast<RowId>(grouped.rows));
        grouped.first.shrink_to_fit();
    }

    GroupedTable::Edge edge(int table, int neighbour, const GroupedTable& grouped) {
        const std::vector<int> back = neighbours_of(join_.tree(), neighbour);
        const auto reverse = std::find(back.begin(), back.end(), table) - back.begin();
        const Buffer<Key>& keys = join_.keys(table, neighbour);
        Buffer<Key> key(memory_, what, grouped.groups());
        blocks_.run(key.size(), [&](uint64_t begin, uint64_t end) {
            for (uint64_t g = begin; g < end; g++) key[g] = keys[row_at(grouped.order, grouped.first[g])];
        });
        const uint64_t key_count = join_.key_count(table, neighbour);
        Buffer<RowId> first = count_values(key, key_count, memory_, blocks_);
        Buffer<RowId> groups = sort_places(key, first, memory_, blocks_);
        return {neighbour, static_cast<int>(reverse), key_count, std::move(key), std::move(first), std::move(groups)};
    }

    const Join& join_;
    MemoryBudget& memory_;
    RowBlocks blocks_;
};

} // namespace

GroupedJoin::GroupedJoin(const Join& join, RunContext& context)
    : relations_(join.relations()), order_(join.tree().order) {
    uint64_t work = 0;
    for (size_t t = 0; t < join.tables().size(); t++)
        work += join.tables()[t].rows * (2 + 5 * neighbours_of(join.tree(), static_cast<int>(t)).size());
    Grouper grouper(join, context, work);
    for (size_t t = 0; t < join.tables().size(); t++) tables_.push_back(grouper.group(static_cast<int>(t)));
}

void GroupedJoin::keep_rows(size_t table, const Buffer<RowId>& kept, RunContext& context) {
    GroupedTable& grouped = tables_[table];
    Buffer<RowId> order(context.memory(), what, kept.size());
    size_t group = 0;
    RowBlocks(context, "leaving out rows", kept.size()).run(kept.size(), [&](uint64_t begin, uint64_t end) {
        for (uint64_t i = begin; i < end; i++) {
            while (grouped.first[group] <= kept[i]) grouped.first[group++] = static_cast<RowId>(i);
            order[i] = grouped.order.empty() ? kept[i] : grouped.order[kept[i]];
        }
    });
    grouped.first[grouped.groups()] = static_cast<RowId>(kept.size());
    grouped.order = std::move(order);
    grouped.rows = kept.size();
}

} // namespace btml::relational
