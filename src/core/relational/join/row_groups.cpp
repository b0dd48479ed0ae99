#include "core/relational/join/row_groups.hpp"

#include "core/data/dictionary.hpp"

#include <array>
#include <numeric>

namespace btml::relational {

namespace {

constexpr const char* what_row_groups = "the row groups of a join";
constexpr int digit_bits = 11;
constexpr size_t digits = size_t{1} << digit_bits;

// One stable pass of a radix sort, by one digit of a column.
void sort_by_digit(Buffer<RowId>& rows, Buffer<RowId>& spare, const Buffer<Key>& column, int shift,
                   RunContext& context) {
    std::array<uint64_t, digits> places{};
    const auto digit = [&](uint64_t i) { return (column[rows[i]] >> shift) % digits; };
    context.for_each(rows.size(), 1, [&](uint64_t i) { places[digit(i)]++; });
    uint64_t place = 0;
    for (uint64_t& next : places) place += std::exchange(next, place);
    context.for_each(rows.size(), 1, [&](uint64_t i) { spare[places[digit(i)]++] = rows[i]; });
    std::swap(rows, spare);
}

} // namespace

void sort_rows(Buffer<RowId>& rows, const KeyColumns& columns, const char* what_row_groups, RunContext& context) {
    Buffer<RowId> spare(context.memory(), what_row_groups, rows.size());
    for (size_t c = columns.size(); c-- > 0;) {
        const Buffer<Key>& column = *columns[c];
        Key varying = 0;
        context.for_each(rows.size(), 1, [&](uint64_t i) { varying |= column[rows[i]] ^ column[rows[0]]; });
        for (int shift = 0; shift < 32; shift += digit_bits)
            if ((varying >> shift) % digits != 0) sort_by_digit(rows, spare, column, shift, context);
    }
}

// Sorts by counting, shifted by one key: placing the rows moves each bound to where the next group begins.
RowGroups group_rows(const Buffer<Key>& keys, uint64_t count, const char* what_row_groups, RunContext& context) {
    RowGroups groups{Buffer<RowId>(context.memory(), what_row_groups, keys.size()),
                     Buffer<RowId>(context.memory(), what_row_groups, count + 2, RowId{0})};
    context.for_each(keys.size(), 1, [&](uint64_t row) { groups.first[size_t{keys[row]} + 2]++; });
    std::partial_sum(groups.first.begin(), groups.first.end(), groups.first.begin());
    context.for_each(keys.size(), 1, [&](uint64_t row) {
        groups.rows[groups.first[size_t{keys[row]} + 1]++] = static_cast<RowId>(row);
    });
    groups.first.resize(count + 1);
    return groups;
}

RowGroups group_rows(const Join& join, int table, RunContext& context) {
    const uint64_t rows = join.tables()[table].rows;
    std::vector<const Key*> keys;
    for (int neighbour : join.tree().neighbours(table)) keys.push_back(join.keys(table, neighbour).data());
    Buffer<Key> group_of(context.memory(), what_row_groups, rows);
    Buffer<RowId> first_rows(context.memory(), what_row_groups); // of the groups so far
    HashIndex index(context.memory(), what_row_groups);
    context.for_each(rows, 1, [&](uint64_t row) {
        uint64_t hash = 0;
        for (const Key* key : keys) hash = mix64(hash ^ key[row]);
        const auto next = static_cast<uint32_t>(first_rows.size());
        group_of[row] = index.find_or_add(HashIndex::hash(hash), next, [&](uint32_t other) {
            return std::all_of(keys.begin(), keys.end(),
                               [&](const Key* key) { return key[first_rows[other]] == key[row]; });
        });
        if (group_of[row] == next) first_rows.push_back(static_cast<RowId>(row));
    });
    return group_rows(group_of, first_rows.size(), what_row_groups, context);
}

Join join_of_groups(const Join& join, const std::vector<const RowGroups*>& groups, RunContext& context) {
    std::vector<Table> tables;
    for (size_t t = 0; t < groups.size(); t++) {
        Table table;
        table.name = join.tables()[t].name;
        table.rows = groups[t]->count();
        for (int neighbour : join.tree().neighbours(t)) {
            const Buffer<Key>& keys = join.keys(t, neighbour);
            Buffer<Key> values(context.memory(), what_row_groups, table.rows);
            for (uint64_t g = 0; g < table.rows; g++) values[g] = keys[groups[t]->rows[groups[t]->first[g]]];
            // An edge of the join tree is named by its lower end.
            const int attribute = neighbour == join.tree().nodes[t].parent ? static_cast<int>(t) : neighbour;
            table.keys.push_back({attribute, std::move(values)});
        }
        tables.push_back(std::move(table));
    }
    return {std::move(tables), {}, context};
}

} // namespace btml::relational
