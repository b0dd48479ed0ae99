#include "core/linear/join_groups.hpp"

#include "core/numbers/hashed_rows.hpp"
#include "core/relational/join/both_ways.hpp"

namespace btml::linear {

using relational::DataColumn;
using relational::Join;
using relational::RowGroups;
using relational::RowId;
using relational::Table;

namespace {

constexpr const char* what_contents = "the contents of a join's rows";

// Makes one hash of a set of rows of the join: a sum of products of those of their parts, whatever the order of either.
struct HashRing {
    using Value = uint64_t;
    static constexpr uint64_t zero() { return 0; }
    static constexpr uint64_t one() { return 1; }
    static constexpr uint64_t add(uint64_t a, uint64_t b) { return a + b; }
    static constexpr uint64_t multiply(uint64_t a, uint64_t b) { return a * b; }
};

// Equal values of two tables have different hashes, since they may not change places. Hashes are odd, so that a product
// of two loses no bits of either.
Buffer<uint64_t> contents_of(const Table& table, uint64_t number, RunContext& context) {
    Buffer<uint64_t> contents(context.memory(), what_contents, table.rows, mix64(number + 1) | 1);
    for (const DataColumn& column : table.columns) {
        const auto mix = [&](const auto& bits_of) {
            context.for_each(table.rows, 1,
                             [&](uint64_t row) { contents[row] = mix64(contents[row] ^ bits_of(row)) | 1; });
        };
        if (column.kind == DataColumn::Kind::number)
            mix([&](uint64_t row) { return std::bit_cast<uint64_t>(column.numbers[row] + 0.0); });
        else
            mix([&](uint64_t row) { return uint64_t{column.codes[row]}; });
    }
    return contents;
}

// hashes: of the rows with all that they join with.
RowGroups in_order(RowGroups groups, const Buffer<uint64_t>& contents, const Buffer<uint64_t>& hashes,
                   RunContext& context) {
    const auto hash_of = [&](size_t group) {
        uint64_t sum = 0;
        for (RowId i = groups.first[group]; i < groups.first[group + 1]; i++) sum += hashes[groups.rows[i]];
        return sum;
    };
    const Buffer<HashedRow> order = rows_by_hash(groups.count(), what_contents, 4, context, hash_of);
    RowGroups sorted{Buffer<RowId>(context.memory(), what_contents), Buffer<RowId>(context.memory(), what_contents)};
    sorted.rows.reserve(groups.rows.size());
    sorted.first.reserve(groups.first.size());
    context.for_each(order.size(), 4, [&](uint64_t i) {
        const uint32_t group = order[i].row;
        const auto begin = static_cast<RowId>(sorted.rows.size());
        sorted.first.append_reserved(begin);
        sorted.rows.append({groups.rows.begin() + groups.first[group], groups.size(group)});
        std::sort(sorted.rows.begin() + begin, sorted.rows.end(), [&](RowId a, RowId b) {
            context.worked(1);
            return contents[a] < contents[b];
        });
    });
    sorted.first.append_reserved(static_cast<RowId>(sorted.rows.size()));
    return sorted;
}

} // namespace

std::vector<RowGroups> groups_by_content(const Join& join, ThreadTeam& team, RunContext& context) {
    std::vector<Buffer<uint64_t>> contents;
    for (const Table& table : join.tables()) contents.push_back(contents_of(table, contents.size(), context));
    const relational::BothWays<HashRing> messages(join, contents, team, context);
    std::vector<RowGroups> groups;
    for (int t = 0; t < static_cast<int>(join.tables().size()); t++) {
        Buffer<uint64_t> hashes = messages.beside(t, context);
        context.for_each(hashes.size(), 1, [&](uint64_t row) { hashes[row] *= contents[t][row]; });
        groups.push_back(in_order(relational::group_rows(join, t, context), contents[t], hashes, context));
    }
    return groups;
}

} // namespace btml::linear
