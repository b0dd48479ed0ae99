#include "boosting_data.hpp"
#include "core/boosting/rows/row_index.hpp"

#include <set>

namespace btml::boosting::test {
namespace {

// Some rows with the random roles and weights that seed gives.
PlainData random_rows(size_t rows, uint64_t seed) {
    Random random(seed);
    PlainData data;
    data.rows = rows;
    data.tables = {{rows, {}}};
    data.target.assign(rows, 1);
    if (seed % 2 == 0) return data;
    data.holdout_table = 0;
    for (size_t i = 0; i < rows; i++) {
        data.holdout.push_back(random.chance(0.2));
        data.weight.push_back(random.chance(0.1) ? 0 : 1);
    }
    return data;
}

struct Indexed {
    QuietContext context;
    ThreadTeam team{context};
    Dataset dataset;
    TrainingRows training;
    RowIndex index;
    Indexed(const PlainData& plain, int threads)
        : context(threads),
          dataset(to_dataset(plain, context)),
          training(dataset, team, context),
          index(training, team, context) {}

    // Each row once, and every list where it says that it is.
    std::vector<uint32_t> rows_of(const RowSet& set) {
        std::vector<uint32_t> rows(set.size(), UINT32_MAX);
        index.for_each_list(set, [&](const RowList& list, int) {
            for (size_t i = 0; i < list.count; i++) {
                EXPECT_EQ(rows[list.position + i], UINT32_MAX);
                rows[list.position + i] = list[i];
            }
        });
        EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end()));
        EXPECT_EQ(std::adjacent_find(rows.begin(), rows.end()), rows.end());
        return rows;
    }
};

struct RandomSide {
    uint64_t seed;
    size_t operator()(uint32_t row) const { return random_unit(seed, 1, row) < 0.3; }
};

const void* nothing_read(uint32_t) {
    return nullptr;
}

TEST(RowIndex, SplitsWhatItHolds) {
    for (uint64_t seed = 0; seed < 24; seed++) {
        const PlainData plain = random_rows(seed % 3 == 0 ? 1 + seed * 7 : 5000 * (seed + 1), seed);
        Indexed indexed(plain, 1 + static_cast<int>(seed % 3));
        const double fraction = seed % 4 < 2 ? 1 : 0.7;
        for (uint64_t tree = 0; tree < 2; tree++) {
            NodeRows root = indexed.index.root(fraction, seed, tree);
            std::set<uint32_t> seen;
            for (size_t part = 0; part < part_count; part++) {
                for (const uint32_t row : indexed.rows_of(root[part])) {
                    EXPECT_TRUE(seen.insert(row).second);
                    EXPECT_EQ(plain.held_out(row), part == held_out);
                    EXPECT_NE(plain.weight_of(row), 0);
                }
            }
            size_t expected = 0;
            for (size_t row = 0; row < plain.rows; row++) expected += plain.weight_of(row) != 0;
            EXPECT_EQ(seen.size(), expected);
            EXPECT_EQ(root[out_of_bag].empty(), fraction == 1);

            RowSet set = std::move(root[in_bag]);
            for (uint64_t depth = 0; depth < 12; depth++) {
                const std::vector<uint32_t> rows = indexed.rows_of(set);
                const RandomSide side{seed * 100 + depth};
                auto [left, right] = indexed.index.partition(set, side, nothing_read);
                const std::vector<uint32_t> lefts = indexed.rows_of(left), rights = indexed.rows_of(right);
                std::vector<uint32_t> found, expected_left;
                std::copy_if(rows.begin(), rows.end(), std::back_inserter(expected_left), side);
                std::merge(lefts.begin(), lefts.end(), rights.begin(), rights.end(), std::back_inserter(found));
                EXPECT_EQ(lefts, expected_left);
                EXPECT_EQ(found, rows);
                set = depth % 2 ? std::move(left) : std::move(right);
            }
        }
    }
}

// Weights alone move no row, so that a tree's root need not be written.
TEST(RowIndex, LeavesARootOfAllRowsAlone) {
    PlainData data = random_rows(5000, 0);
    for (size_t i = 0; i < data.rows; i++) data.weight.push_back(0.5 + static_cast<double>(i % 7));
    EXPECT_TRUE(Indexed(data, 2).index.root(1, 0, 0)[in_bag].identity);
    EXPECT_FALSE(Indexed(data, 2).index.root(0.5, 0, 0)[in_bag].identity);
    data.weight[777] = 0;
    Indexed lacking(data, 2);
    const NodeRows root = lacking.index.root(1, 0, 0);
    EXPECT_FALSE(root[in_bag].identity);
    EXPECT_EQ(lacking.rows_of(root[in_bag]).size(), data.rows - 1);
}

TEST(RowIndex, ReadsFromAnyRowOn) {
    const PlainData plain = random_rows(70000, 1);
    Indexed indexed(plain, 2);
    const NodeRows root = indexed.index.root(1, 0, 0);
    const auto [left, right] = indexed.index.partition(root[in_bag], RandomSide{5}, nothing_read);
    const std::vector<uint32_t> rows = indexed.rows_of(right);
    for (size_t begin = 0; begin < rows.size(); begin += 997) {
        const size_t end = std::min(rows.size(), begin + begin % 3000);
        std::vector<uint32_t> found;
        indexed.index.for_each_list(right, begin, end, [&](const RowList& list) {
            for (size_t i = 0; i < list.count; i++) found.push_back(list[i]);
        });
        const auto at = [&](size_t i) { return rows.begin() + static_cast<std::ptrdiff_t>(i); };
        EXPECT_EQ(found, std::vector<uint32_t>(at(begin), at(end)));
    }
}

// What a tree's rows may take is what they do take, within a node's vectors.
TEST(RowIndex, TakesTheBytesItSays) {
    for (const uint64_t leaves : {uint64_t{2}, uint64_t{31}, uint64_t{1} << 40})
        for (const uint64_t rows : {uint64_t{1}, uint64_t{100000}, uint64_t{10000000}}) {
            const uint64_t bytes = RowIndex::bytes(rows, leaves, 2);
            EXPECT_GE(bytes, 2 * rows);
            EXPECT_LE(bytes, (leaves > 1000000 ? 10 : 4) * rows + 300000);
        }
}

} // namespace
} // namespace btml::boosting::test
