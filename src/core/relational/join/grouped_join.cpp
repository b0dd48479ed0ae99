#include "core/relational/join/grouped_join.hpp"

#include "core/relational/join/row_groups.hpp"

#include <numeric>

namespace btml::relational {

namespace {

constexpr const char* what_group_keys = "the keys of a join by group";

class Grouper {
  public:
    Grouper(const Join& join, RunContext& context) : join_(join), memory_(context.memory()), context_(context) {}

    GroupedTable group(size_t table) {
        const std::vector<int> neighbours = join_.tree().neighbours(table);
        GroupedTable grouped{join_.tables()[table].rows,
                             sort(table, neighbours),
                             Buffer<RowId>(memory_, what_group_keys),
                             {},
                             Buffer<uint64_t>(memory_, "the contents of a join's rows")};
        find_groups(table, neighbours, grouped);
        for (const int neighbour : neighbours) grouped.edges.push_back(edge(table, neighbour, grouped));
        if (const auto& content = join_.tables()[table].content) {
            grouped.content.resize(grouped.rows);
            context_.for_each(grouped.rows, 1,
                              [&](uint64_t i) { grouped.content[i] = (*content)[row_at(grouped.order, i)]; });
        }
        return grouped;
    }

  private:
    static RowId row_at(const Buffer<RowId>& order, uint64_t i) {
        return order.empty() ? static_cast<RowId>(i) : order[i];
    }

    // Sorts the rows by one separator after another. Returns nothing where they are so by themselves.
    Buffer<RowId> sort(size_t table, const std::vector<int>& neighbours) {
        Buffer<RowId> order(memory_, what_group_keys, join_.tables()[table].rows);
        std::iota(order.begin(), order.end(), RowId{0});
        KeyColumns columns;
        for (const int neighbour : neighbours) columns.push_back(&join_.keys(table, neighbour));
        sort_rows(order, columns, what_group_keys, context_);
        if (std::is_sorted(order.begin(), order.end())) order.clear();
        return order;
    }

    void find_groups(size_t table, const std::vector<int>& neighbours, GroupedTable& grouped) {
        context_.for_each(grouped.rows, 1, [&](uint64_t i) {
            const bool same = i > 0 && std::all_of(neighbours.begin(), neighbours.end(), [&](int neighbour) {
                                  const Buffer<Key>& keys = join_.keys(table, neighbour);
                                  return keys[row_at(grouped.order, i)] == keys[row_at(grouped.order, i - 1)];
                              });
            if (!same || i - grouped.first[grouped.first.size() - 1] == GroupedTable::max_group_rows)
                grouped.first.push_back(static_cast<RowId>(i));
        });
        grouped.first.push_back(static_cast<RowId>(grouped.rows));
        grouped.first.shrink_to_fit();
    }

    GroupedTable::Edge edge(size_t table, int neighbour, const GroupedTable& grouped) {
        const std::vector<int> back = join_.tree().neighbours(neighbour);
        const auto reverse = std::find(back.begin(), back.end(), table) - back.begin();
        const Buffer<Key>& keys = join_.keys(table, neighbour);
        Buffer<Key> key(memory_, what_group_keys, grouped.groups());
        context_.for_each(key.size(), 1, [&](uint64_t g) { key[g] = keys[row_at(grouped.order, grouped.first[g])]; });
        RowGroups groups = group_rows(key, join_.key_count(table, neighbour), what_group_keys, context_);
        if (std::is_sorted(key.begin(), key.end())) groups.rows.clear();
        return {static_cast<size_t>(neighbour), static_cast<size_t>(reverse), groups.count(), std::move(key),
                std::move(groups.first),        std::move(groups.rows)};
    }

    const Join& join_;
    MemoryBudget& memory_;
    RunContext& context_;
};

} // namespace

GroupedJoin::GroupedJoin(const Join& join, RunContext& context)
    : relations_(join.relations()), order_(join.tree().order.begin(), join.tree().order.end()) {
    context.progress("grouping rows by key", 0, 0);
    Grouper grouper(join, context);
    for (size_t t = 0; t < join.tables().size(); t++) tables_.push_back(grouper.group(t));
}

void GroupedJoin::keep_rows(size_t table, const Buffer<RowId>& kept, RunContext& context) {
    GroupedTable& grouped = tables_[table];
    Buffer<RowId> order(context.memory(), what_group_keys, kept.size());
    size_t group = 0;
    context.for_each(kept.size(), 1, [&](uint64_t i) {
        while (grouped.first[group] <= kept[i]) grouped.first[group++] = static_cast<RowId>(i);
        order[i] = grouped.order.empty() ? kept[i] : grouped.order[kept[i]];
        if (!grouped.content.empty()) grouped.content[i] = grouped.content[kept[i]];
    });
    if (!grouped.content.empty()) grouped.content.resize(kept.size());
    grouped.first[grouped.groups()] = static_cast<RowId>(kept.size());
    grouped.order = std::move(order);
    grouped.rows = kept.size();
}

} // namespace btml::relational
