#include "kernel_data.hpp"

#include "core/kernel/pilot.hpp"
#include "core/kernel/query_groups.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace btml::kernel {
namespace {

using namespace btml::test;

// Keys and queries as the sums see them.
struct Prepared {
    Prepared(const Rows& keys, const Rows& values, const Rows& of_queries, double bandwidth, int threads = 2)
        : context(threads),
          team(context),
          queries(points_of(of_queries, context)),
          set(merge_equal_keys(keys_of(keys, values, context), exact_options(bandwidth), context), false, team,
              context),
          groups(set, queries, team, context) {}

    std::vector<double> framed(size_t query) const {
        std::vector<double> row(queries.dimensions());
        set.distinct.frame.apply(queries.row(query), row.data());
        return row;
    }
    size_t leaf_of(size_t group) const { return set.tree.leaf_of(framed(groups.rows(group).front()).data()); }

    QuietContext context;
    ThreadTeam team;
    Points queries;
    KeySet set;
    QueryGroups groups;
};

TEST(KeyTree, LeadsKeysToTheirLeaves) {
    QuietContext context(2);
    ThreadTeam team(context);
    for (const size_t rows : {1, 256, 257, 3000}) {
        const Points keys = points_of(normal_rows(rows, 5, 1, 1), context, "keys");
        const KeyTree tree(keys, team, context);
        EXPECT_EQ(tree.leaves(), (rows + block_keys - 1) / block_keys);
        std::vector<int> seen(rows, 0);
        for (size_t leaf = 0; leaf < tree.leaves(); leaf++) {
            EXPECT_TRUE(tree.keys(leaf).size() == block_keys || leaf + 1 == tree.leaves());
            for (const uint32_t key : tree.keys(leaf)) {
                seen[key]++;
                EXPECT_EQ(tree.leaf_of(keys.row(key)), leaf);
            }
        }
        EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), static_cast<std::ptrdiff_t>(rows));
    }
}

TEST(QueryGroups, HaveAllQueriesOnce) {
    const Prepared p(normal_rows(2000, 3, 1, 1), constant_values(2000), normal_rows(1500, 3, 1, 2), 1);
    std::vector<int> seen(1500, 0);
    for (size_t group = 0; group < p.groups.groups(); group++) {
        EXPECT_LE(p.groups.rows(group).size(), QueryGroup::max_queries);
        const size_t leaf = p.leaf_of(group);
        for (const uint32_t row : p.groups.rows(group)) {
            seen[row]++;
            EXPECT_EQ(p.set.tree.leaf_of(p.framed(row).data()), leaf);
        }
    }
    EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), 1500);
    for (size_t i = 0; i < 1500; i++) {
        const std::span<const uint32_t> rows = p.groups.rows(p.groups.group_of(i));
        EXPECT_NE(std::find(rows.begin(), rows.end(), p.groups.rows()[i]), rows.end());
    }
    EXPECT_GE(p.groups.padding(), 1);
}

// A leaf that holds keys near some of a group's queries is nearer than one that holds none, wherever their centres are.
TEST(QueryGroups, AreNearLeavesThatShareClusters) {
    const Rows points = blob_rows(4000, 60, 15, 30, 1, 1);
    Prepared p(points, constant_values(4000), points, 8);
    const Frame& frame = p.set.distinct.frame;
    QueryGroup workspace(frame, 1, p.context.memory());
    const size_t leaves = p.set.tree.leaves();
    std::vector<double> distances(leaves), squares(leaves);
    size_t heavy = 0, found = 0;
    double mean_squares = 0, expected = 0;
    for (size_t group = 0; group < p.groups.groups(); group += 4) {
        p.groups.look(group, p.queries, workspace, distances, squares);
        EXPECT_EQ(distances[p.leaf_of(group)], -1);
        for (size_t leaf = 0; leaf < leaves; leaf++) {
            const size_t pairs = p.groups.rows(group).size() * p.set.tree.keys(leaf).size();
            size_t shared = 0;
            double sum = 0;
            for (const uint32_t row : p.groups.rows(group))
                for (const uint32_t key : p.set.tree.keys(leaf)) {
                    const double value = frame.value(p.framed(row).data(), p.set.distinct.points.row(key));
                    shared += value > 0.05;
                    sum += value * value;
                }
            mean_squares += squares[leaf];
            expected += sum / static_cast<double>(pairs);
            if (shared * 10 < pairs) continue;
            heavy++;
            found += distances[leaf] < 8;
        }
    }
    EXPECT_GT(heavy, leaves / 4);
    EXPECT_GT(found, 0.95 * static_cast<double>(heavy));
    EXPECT_NEAR(mean_squares, expected, 0.1 * expected);
}

TEST(Pilot, FirstLookGivesUpOnNothingThatIsWorthIt) {
    size_t hopeless = 0, worthwhile = 0;
    for (uint64_t seed = 0; seed < 6; seed++)
        for (const double spread : {0.3, 1.0, 3.0}) {
            const size_t rows = 3000 + 500 * seed, dimensions = seed % 3 == 0 ? 3 : 16;
            const Rows points = seed % 2 == 0 ? normal_rows(rows, dimensions, spread, seed)
                                              : blob_rows(rows, dimensions, 30, 10, spread, seed);
            Prepared p(points, normal_rows(rows, 1, 1, seed + 100), points, 1);
            const Estimand estimand(Quantity::sum, p.set);
            const KeyStrata strata(p.set, estimand, p.context);
            for (const double budget : {1e-4, 1e-2}) {
                const Demand demand{budget, false, 0.99, std::numeric_limits<double>::infinity()};
                const SampleTask task{{p.set, estimand, strata, p.queries, seed, p.team, p.context}, p.groups};
                const double least = min_cost(task, demand), cost = plan_sample(task, demand).cost;
                if (cost < 0.75) {
                    EXPECT_LT(least, 0.75) << seed << ' ' << spread << ' ' << budget;
                }
                hopeless += least > 0.75;
                worthwhile += cost < 0.75;
            }
        }
    EXPECT_GT(hopeless, 5U);
    EXPECT_GT(worthwhile, 5U);
}

} // namespace
} // namespace btml::kernel
