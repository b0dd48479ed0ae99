#include "kernel_data.hpp"

#include "core/kernel/query_groups.hpp"
#include "core/kernel/sampled_sums.hpp"

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
          set(merge_equal_keys(keys_of(keys, values, context), exact_options(bandwidth), team, context), false, team,
              context),
          groups(set, queries, team, context) {}

    std::vector<double> framed(size_t query) const {
        std::vector<double> row(queries.dimensions());
        set.distinct.frame.apply(queries.row(query), row.data());
        return row;
    }
    double value(size_t query, uint32_t key) const {
        return set.distinct.frame.value(framed(query).data(), set.distinct.points.row(key));
    }

    QuietContext context;
    ThreadTeam team;
    Points queries;
    KeySet set;
    QueryGroups groups;
};

// Few heavy pairs, most of them between leaves of the keys' own tree.
Prepared paired(size_t rows, int threads = 2) {
    Rows points = normal_rows(rows, 12, 3, 1);
    Normals normal(2);
    for (size_t i = 0; i + 1 < rows; i += 2)
        for (size_t k = 0; k < 12; k++) points[i][k] = points[i + 1][k] + 0.15 * normal();
    return Prepared(points, normal_rows(rows, 1, 1, 3), points, 1, threads);
}

TEST(KeyTree, LeadsKeysToTheirLeaves) {
    QuietContext context(2);
    ThreadTeam team(context);
    for (const size_t rows : {1, 64, 65, 1000}) {
        const Points keys = points_of(normal_rows(rows, 5, 1, 1), context, "keys");
        for (const std::optional<uint64_t> seed : {std::optional<uint64_t>(), std::optional<uint64_t>(7)}) {
            const KeyTree tree(keys, 64, seed, team, context);
            EXPECT_EQ(tree.leaves(), (rows + 63) / 64);
            std::vector<int> seen(rows, 0);
            for (size_t leaf = 0; leaf < tree.leaves(); leaf++) {
                EXPECT_TRUE(tree.keys(leaf).size() == 64 || leaf + 1 == tree.leaves());
                for (const uint32_t key : tree.keys(leaf)) {
                    seen[key]++;
                    EXPECT_EQ(tree.leaf_of(keys.row(key)), leaf);
                }
            }
            EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), static_cast<std::ptrdiff_t>(rows));
        }
    }
}

TEST(QueryGroups, HaveAllQueriesOnce) {
    const Prepared p(normal_rows(2000, 3, 1, 1), constant_values(2000), normal_rows(1500, 3, 1, 2), 1);
    std::vector<int> seen(1500, 0);
    for (size_t group = 0; group < p.groups.groups(); group++) {
        EXPECT_LE(p.groups.rows(group).size(), QueryGroup::max_queries);
        for (const uint32_t row : p.groups.rows(group)) {
            seen[row]++;
            EXPECT_EQ(p.set.tree.leaf_of(p.framed(row).data()), p.groups.leaf(group));
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
        EXPECT_EQ(distances[p.groups.leaf(group)], -1);
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

TEST(RandomTrees, SumOverTheirPairsOnce) {
    Prepared p = paired(1500);
    const RandomTrees trees(p.set, p.queries, RandomTrees::max_trees, 5, p.team, p.context);
    const auto near = [](uint32_t query, uint32_t leaf) { return (query + leaf) % 3 == 0; };
    std::vector<double> sums(1500, 0.0);
    trees.add_sums(near, 1, sums.data(), p.team, p.context);
    double heavy = 0, met_heavy = 0;
    for (uint32_t i = 0; i < 1500; i++) {
        double expected = 0;
        for (uint32_t key = 0; key < 1500; key++) {
            bool met = false;
            for (size_t t = 0; t < trees.trees(); t++) met |= trees.of_query(t, i) == trees.of_key(t, key);
            const double value = p.value(i, key);
            if (met && !near(i, trees.leaf(key))) expected += value * p.set.value(key, 0) / p.set.values.scale(0);
            heavy += value > 0.3;
            met_heavy += met && value > 0.3;
        }
        EXPECT_NEAR(sums[i], expected, 1e-5);
    }
    EXPECT_GT(met_heavy, 0.99 * heavy);
}

// Near leaves, trees and samples have every pair once between them.
TEST(SampledSums, AreUnbiasedWithTrees) {
    Prepared p = paired(1500);
    const Estimand estimand(Quantity::sum, p.set);
    const KeyStrata strata(p.set, estimand, p.context);
    const Buffer<double> exact = exact_sums(p.set, p.queries, p.team, p.context);
    const auto sample = [&](bool with_trees, uint64_t seed) {
        Plan plan;
        plan.near = -1;
        plan.fraction = 0.3;
        plan.least = 0.15;
        plan.allowed = 1e9; // one sample
        if (with_trees)
            plan.trees = std::make_unique<RandomTrees>(p.set, p.queries, RandomTrees::max_trees, 11, p.team, p.context);
        return sampled_sums({{p.set, estimand, strata, p.queries, seed, p.team, p.context}, p.groups}, plan);
    };
    double with = 0, without = 0, stated = 0;
    std::vector<double> mean(1500, 0.0);
    constexpr int seeds = 40;
    for (int seed = 0; seed < seeds; seed++) {
        const SampledSums trees = sample(true, static_cast<uint64_t>(seed) * 100),
                          plain = sample(false, static_cast<uint64_t>(seed) * 100);
        stated += trees.error / seeds;
        for (size_t i = 0; i < 1500; i++) {
            const double truth = exact[i] / p.set.values.scale(0);
            mean[i] += trees.sums[i] / seeds;
            with += std::pow(trees.sums[i] - truth, 2) / seeds;
            without += std::pow(plain.sums[i] - truth, 2) / seeds;
        }
    }
    double bias = 0;
    for (size_t i = 0; i < 1500; i++) bias += std::pow(mean[i] - exact[i] / p.set.values.scale(0), 2);
    EXPECT_LT(with, 0.2 * without);
    EXPECT_LT(bias, 3 * with / seeds);
    EXPECT_GT(stated, 0.6 * with);
    EXPECT_LT(stated, 1.6 * with);
}

// Enough queries for trees to pay, and heavy pairs that only they find cheaply.
TEST(Pilot, ChoosesTreesWhereTheyPay) {
    const size_t rows = 60000;
    const Rows points = blob_rows(rows, 16, rows / 10, 10, 0.3, 1);
    Prepared p(points, constant_values(rows), points, 1);
    const Estimand estimand(Quantity::sum, p.set);
    const KeyStrata strata(p.set, estimand, p.context);
    const Demand demand{0.02, false, 0.99, 0.75};
    const SampleTask task{{p.set, estimand, strata, p.queries, 1, p.team, p.context}, p.groups};
    const Plan plan = plan_sample(task, demand);
    EXPECT_NE(plan.trees, nullptr);
    EXPECT_LT(plan.cost, 0.75);
    EXPECT_LT(min_cost(task, demand), 1.2 * plan.cost);
    Prepared spread(normal_rows(3000, 16, 3, 1), constant_values(3000), normal_rows(3000, 16, 3, 1), 1);
    const Estimand other(Quantity::sum, spread.set);
    const KeyStrata others(spread.set, other, spread.context);
    const PilotTask of_spread{spread.set, other, others, spread.queries, 1, spread.team, spread.context};
    EXPECT_EQ(plan_sample({of_spread, spread.groups}, demand).trees, nullptr);
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
