#include "core/relational/join/generic_join.hpp"

#include "caught.hpp"
#include "random_join.hpp"

#include <gtest/gtest.h>

#include <map>
#include <numeric>

namespace btml::relational {
namespace {

using namespace test;
using btml::test::Caught;
using btml::test::caught;

using KeyTuple = std::vector<Key>;

Table table_of(const std::vector<int>& attributes, const std::vector<KeyTuple>& rows, MemoryBudget& memory) {
    Table table;
    table.name = "t";
    table.rows = rows.size();
    for (size_t i = 0; i < attributes.size(); i++) {
        table.keys.push_back({attributes[i], Buffer<Key>(memory, "a test", rows.size())});
        for (size_t row = 0; row < rows.size(); row++) table.keys.back().values[row] = rows[row][i];
    }
    return table;
}

std::vector<KeyTuple> tuples_of(const std::vector<Buffer<Key>>& columns, uint64_t rows) {
    std::vector<KeyTuple> tuples(rows);
    for (uint64_t row = 0; row < rows; row++)
        for (const Buffer<Key>& column : columns) tuples[row].push_back(column[row]);
    return tuples;
}

TEST(SortedRelation, IsTheSetOfCompleteTuples) {
    for (uint64_t seed = 0; seed < 200; seed++) {
        SCOPED_TRACE(seed);
        Random random(seed);
        QuietContext context;
        std::vector<KeyTuple> rows;
        RowMask mask(context.memory(), "a test");
        std::set<KeyTuple> expected;
        for (int i = random.below(300); i > 0; i--) {
            KeyTuple row;
            for (Key spread : {1U, 65'537U, 400'000'000U}) row.push_back(static_cast<Key>(random.below(6)) * spread);
            if (random.chance(0.1)) row[static_cast<size_t>(random.below(3))] = null_key;
            rows.push_back(row);
            mask.push_back(random.chance(0.9));
            if (mask[mask.size() - 1] && row[2] != null_key && row[0] != null_key) expected.insert({row[2], row[0]});
        }
        const Table table = table_of({5, 6, 7}, rows, context.memory());
        Buffer<RowId> tuples(context.memory(), "a test");
        const SortedRelation sorted = project(table, mask, {7, 5}, context, &tuples);
        EXPECT_EQ(tuples_of(sorted.columns, sorted.rows), std::vector<KeyTuple>(expected.begin(), expected.end()));
        ASSERT_EQ(tuples.size(), rows.size());
        for (size_t row = 0; row < rows.size(); row++) {
            const KeyTuple tuple = {rows[row][2], rows[row][0]};
            const bool counts = mask[row] && tuple[0] != null_key && tuple[1] != null_key;
            const auto number = std::distance(expected.begin(), expected.find(tuple));
            EXPECT_EQ(tuples[row], counts ? static_cast<RowId>(number) : sorted.rows);
        }
        if (HasFailure()) return;
    }
}

TEST(SortedRelation, NeedsTheAttributes) {
    QuietContext context;
    const Table table = table_of({5}, {}, context.memory());
    const RowMask mask(context.memory(), "a test");
    const Caught error = caught([&] { project(table, mask, {6}, context); });
    EXPECT_EQ(error.code, ErrorCode::internal);
    EXPECT_EQ(error.message, "table \"t\" lacks a join attribute");
}

TEST(AttributeOrder, EachNextToOneBefore) {
    EXPECT_EQ(attribute_order({{0, 1}, {1, 2}, {2, 3}}), (std::vector<int>{1, 2, 0, 3}));
    EXPECT_EQ(attribute_order({{0}, {4, 9}, {4, 9}, {9, 2}}), (std::vector<int>{9, 4, 2, 0}));
    EXPECT_TRUE(attribute_order({}).empty());
}

// All tuples over so many values, multiples of `spread`, tested one by one.
std::vector<KeyTuple> by_brute_force(const std::vector<int>& attributes,
                                     const std::vector<std::vector<int>>& relation_attributes,
                                     const std::vector<std::vector<KeyTuple>>& relations, Key values, Key spread) {
    std::vector<KeyTuple> tuples;
    KeyTuple tuple(attributes.size());
    const std::function<void(size_t)> place = [&](size_t at) {
        if (at < attributes.size()) {
            for (tuple[at] = 0; tuple[at] < values * spread; tuple[at] += spread) place(at + 1);
            return;
        }
        for (size_t r = 0; r < relations.size(); r++) {
            KeyTuple part;
            for (int attribute : relation_attributes[r])
                part.push_back(tuple[static_cast<size_t>(std::find(attributes.begin(), attributes.end(), attribute) -
                                                         attributes.begin())]);
            if (std::find(relations[r].begin(), relations[r].end(), part) == relations[r].end()) return;
        }
        tuples.push_back(tuple);
    };
    place(0);
    return tuples;
}

// The tuples with a first value below a bound, then the others; each is found in the rows of the relations, too.
std::vector<KeyTuple> in_two_parts(const std::vector<int>& attributes, const std::vector<SortedRelation>& relations,
                                   Key bound, RunContext& context) {
    std::vector<KeyTuple> tuples;
    for (const auto& [begin, end] : {std::pair(Key{0}, bound), std::pair(bound, null_key)}) {
        GenericJoin join(attributes, relations, context);
        join.restrict_first(begin, end);
        join.for_each([&](const JoinedTuples& found) {
            for (uint32_t i = 0; i < found.count; i++) {
                KeyTuple& tuple = tuples.emplace_back();
                for (const JoinedTuples::Column& value : found.values) tuple.push_back(value[i]);
                for (size_t r = 0; r < relations.size(); r++)
                    for (size_t level = 0; level < relations[r].attributes.size(); level++) {
                        const auto at = std::find(attributes.begin(), attributes.end(), relations[r].attributes[level]);
                        EXPECT_EQ(relations[r].columns[level][found.rows[r][i]],
                                  tuple[static_cast<size_t>(at - attributes.begin())]);
                    }
            }
        });
    }
    return tuples;
}

// Columns that are asked for get the tuples and the rows they are made of, as many as fit.
void expect_written(GenericJoin& join, const std::vector<int>& order, const std::vector<SortedRelation>& relations,
                    const std::vector<KeyTuple>& expected, MemoryBudget& memory) {
    const uint64_t all = expected.size();
    for (const auto& [fit, most] : {std::pair(all, all), {all + 2'000, UINT64_MAX - 1}, {all / 2, all}, {0, all / 2}}) {
        std::vector<Buffer<Key>> values, rows;
        for (size_t i = 0; i < order.size(); i++) values.emplace_back(memory, "a test");
        for (size_t r = 0; r < relations.size(); r++) rows.emplace_back(memory, "a test");
        std::vector<Buffer<Key>*> keys, row_columns;
        for (Buffer<Key>& column : values) keys.push_back(&column);
        for (Buffer<RowId>& column : rows) row_columns.push_back(&column);
        row_columns.front() = nullptr;
        const uint64_t written = std::min(all, fit);
        ASSERT_EQ(join.write(fit, most, keys, row_columns), std::min(all, most + 1));
        EXPECT_TRUE(rows.front().empty());
        ASSERT_EQ(values.front().size(), written);
        EXPECT_EQ(tuples_of(values, written), std::vector<KeyTuple>(expected.begin(), expected.begin() + written));
        for (size_t r = 1; r < relations.size(); r++)
            for (size_t level = 0; level < relations[r].attributes.size(); level++) {
                const auto at = std::find(order.begin(), order.end(), relations[r].attributes[level]) - order.begin();
                for (size_t t = 0; t < written; t++)
                    ASSERT_EQ(relations[r].columns[level][rows[r][t]], expected[t][static_cast<size_t>(at)]);
            }
    }
}

TEST(GenericJoin, EqualsTestingEveryTuple) {
    int not_empty = 0;
    for (uint64_t seed = 0; seed < 400; seed++) {
        SCOPED_TRACE(seed);
        Random random(seed);
        QuietContext context;
        const int most = 1 + random.below(4);
        const Key values = static_cast<Key>(2 + random.below(4)), spread = random.chance(0.3) ? 100'000'000 : 1;
        std::vector<std::vector<int>> parts(static_cast<size_t>(1 + random.below(5)));
        for (int attribute = 0; attribute < most; attribute++) {
            parts[static_cast<size_t>(random.below(static_cast<int>(parts.size())))].push_back(attribute);
            for (std::vector<int>& part : parts)
                if (random.chance(0.4) && (part.empty() || part.back() != attribute)) part.push_back(attribute);
        }
        std::erase_if(parts, [](const std::vector<int>& part) { return part.empty(); });
        const std::vector<int> order = attribute_order(parts);
        std::vector<std::vector<KeyTuple>> rows(parts.size());
        std::vector<SortedRelation> relations;
        for (size_t r = 0; r < parts.size(); r++) {
            std::sort(parts[r].begin(), parts[r].end(), [&](int a, int b) {
                return std::find(order.begin(), order.end(), a) < std::find(order.begin(), order.end(), b);
            });
            for (int i = random.below(40); i >= 0; i--) {
                rows[r].emplace_back();
                for (size_t c = 0; c < parts[r].size(); c++)
                    rows[r].back().push_back(static_cast<Key>(random.below(static_cast<int>(values))) * spread);
            }
            const RowMask mask(context.memory(), "a test", rows[r].size(), uint8_t{1});
            relations.push_back(project(table_of(parts[r], rows[r], context.memory()), mask, parts[r], context));
        }
        GenericJoin join(order, relations, context);
        const std::vector<KeyTuple> expected = by_brute_force(order, parts, rows, values, spread);
        expect_written(join, order, relations, expected, context.memory());
        const Key bound = static_cast<Key>(random.below(static_cast<int>(values) + 1)) * spread;
        EXPECT_EQ(in_two_parts(order, relations, bound, context), expected);
        not_empty += !expected.empty();
        if (HasFailure()) return;
    }
    EXPECT_GT(not_empty, 200);
}

// Few values of the first attributes and many of the last, which are found in several parts, by key and by search.
TEST(GenericJoin, ManyLastValues) {
    for (uint64_t seed = 0; seed < 60; seed++) {
        SCOPED_TRACE(seed);
        Random random(seed);
        QuietContext context(1, seed % 5 == 0 ? 1 : uint64_t{1} << 30); // without memory for rows by key, too
        QuietContext roomy;
        const std::vector<std::vector<int>> parts{{0, 2}, {1, 2}, {0, 1}};
        const Key spread = seed % 3 == 0 ? 100'000 : 1;
        std::vector<std::vector<KeyTuple>> rows(3);
        std::vector<std::set<Key>> last[2];
        for (size_t r = 0; r < 2; r++)
            for (Key first = 0; first < 8; first++) {
                const double share = random.chance(0.3) ? 0.002 : random.chance(0.5) ? 0.05 : 0.8;
                std::set<Key>& of_first = last[r].emplace_back();
                for (Key value = 0; value < 4'000; value++)
                    if (random.chance(share)) of_first.insert(value * spread);
                for (Key value : of_first) rows[r].push_back({first, value});
            }
        std::vector<KeyTuple> expected;
        for (Key a = 0; a < 8; a++)
            for (Key b = 0; b < 8; b++) {
                if (random.chance(0.3)) continue;
                rows[2].push_back({a, b});
                for (Key value : last[0][a])
                    if (last[1][b].count(value)) expected.push_back({a, b, value});
            }
        std::vector<SortedRelation> relations;
        for (size_t r = 0; r < 3; r++) {
            const RowMask mask(roomy.memory(), "a test", rows[r].size(), uint8_t{1});
            relations.push_back(project(table_of(parts[r], rows[r], roomy.memory()), mask, parts[r], roomy));
        }
        const std::vector<int> order{0, 1, 2};
        EXPECT_EQ(in_two_parts(order, relations, 3, context), expected);
        GenericJoin join(order, relations, context);
        EXPECT_EQ(join.write(0, UINT64_MAX - 1, {}, {}), expected.size());
        if (HasFailure()) return;
    }
}

// The hard case for plans of two-way joins: R ⋈ S alone would have n²/4 rows, and the triangle has 3n/2 − 2.
TEST(GenericJoin, SkewedTriangle) {
    QuietContext context;
    const Key n = 40'000;
    std::vector<KeyTuple> star;
    for (Key i = 0; i < n / 2; i++) star.insert(star.end(), {{0, i}, {i, 0}});
    const RowMask mask(context.memory(), "a test", star.size(), uint8_t{1});
    std::vector<SortedRelation> relations;
    const std::vector<int> order = attribute_order({{0, 1}, {1, 2}, {2, 0}});
    for (std::vector<int> part : {std::vector<int>{0, 1}, {1, 2}, {0, 2}})
        relations.push_back(project(table_of(part, star, context.memory()), mask, part, context));
    EXPECT_EQ(order, (std::vector<int>{0, 1, 2}));
    EXPECT_EQ(GenericJoin(order, relations, context).write(0, n * 3, {}, {}), uint64_t{3} * (n / 2) - 2);
}

} // namespace
} // namespace btml::relational
