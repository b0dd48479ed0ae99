#include "core/kernel/random_trees.hpp"

#include "core/base/rng.hpp"

#include <algorithm>
#include <memory>

namespace btml::kernel {

static constexpr size_t rows_of_item = 1024;
static constexpr uint64_t stream_of_trees = 0x7e3e5;
static constexpr float negligible = 0x1p-40F; // what all pairs of less come to is far below any error of samples

RandomTrees::RandomTrees(const KeySet& keys, const Points& queries, size_t count, uint64_t seed, ThreadTeam& team,
                         RunContext& context)
    : keys_(keys),
      queries_(queries),
      of_keys_(context.memory(), "random trees", count * keys.rows()),
      of_queries_(context.memory(), "random trees", count * queries.rows()),
      leaves_(context.memory(), "random trees", keys.rows()) {
    for (size_t leaf = 0; leaf < keys.tree.leaves(); leaf++)
        for (const uint32_t key : keys.tree.keys(leaf)) leaves_[key] = static_cast<uint32_t>(leaf);
    for (size_t t = 0; t < count; t++) {
        trees_.emplace_back(keys.distinct.points, leaf_keys, random_bits(seed, stream_of_trees, t), team, context);
        const KeyTree& tree = trees_.back();
        for (size_t leaf = 0; leaf < tree.leaves(); leaf++)
            for (const uint32_t key : tree.keys(leaf)) of_keys_[t * keys.rows() + key] = static_cast<uint32_t>(leaf);
    }
    const size_t rows = queries.rows();
    team.for_each((rows + rows_of_item - 1) / rows_of_item, [&](size_t item, int) {
        std::vector<double> framed(queries.dimensions());
        for (size_t i = item * rows_of_item; i < std::min(rows, (item + 1) * rows_of_item); i++) {
            keys.distinct.frame.apply(queries.row(i), framed.data());
            for (size_t t = 0; t < count; t++)
                of_queries_[t * rows + i] = static_cast<uint32_t>(trees_[t].leaf_of(framed.data()));
        }
    });
}

// The queries by their leaves in a tree, and where each leaf's start.
struct RandomTrees::QueriesOfLeaves {
    std::vector<size_t> first;
    Buffer<uint32_t> queries;

    QueriesOfLeaves(std::span<const uint32_t> leaf_of_queries, size_t leaves, MemoryBudget& budget)
        : first(leaves + 1, 0), queries(budget, "random trees", leaf_of_queries.size()) {
        for (const uint32_t leaf : leaf_of_queries) first[leaf + 1]++;
        for (size_t leaf = 0; leaf < leaves; leaf++) first[leaf + 1] += first[leaf];
        std::vector<size_t> next(first.begin(), first.end() - 1);
        for (size_t i = 0; i < leaf_of_queries.size(); i++)
            queries[next[leaf_of_queries[i]]++] = static_cast<uint32_t>(i);
    }
    std::span<const uint32_t> of(size_t leaf) const {
        return queries.span().subspan(first[leaf], first[leaf + 1] - first[leaf]);
    }
};

void RandomTrees::add_sums(const std::function<bool(uint32_t query, uint32_t leaf)>& is_near, size_t columns,
                           double* sums, ThreadTeam& team, RunContext& context) const {
    struct Worker {
        Worker(const Frame& frame, MemoryBudget& budget) : group(frame, 0, budget), queries(frame, budget) {}
        QueryGroup group;
        FramedQueries queries;
    };
    std::vector<std::unique_ptr<Worker>> workers;
    for (int i = 0; i < team.size(); i++)
        workers.push_back(std::make_unique<Worker>(keys_.distinct.frame, context.memory()));
    for (size_t t = 0; t < trees(); t++) {
        const KeyTree& tree = trees_[t];
        const auto keys_of = [&](size_t leaf) { return tree.keys(leaf); };
        const KeyBlocks blocks(keys_.distinct.frame, keys_.distinct.points, tree.leaves(), keys_of, Precision::full,
                               team, context.memory());
        const QueriesOfLeaves queries({&of_queries_[t * queries_.rows()], queries_.rows()}, tree.leaves(),
                                      context.memory());
        const auto add_pair = [&](uint32_t query, uint32_t key, double value) {
            if (is_near(query, leaves_[key]) || met_before(t, query, key)) return;
            for (size_t c = 0; c < columns; c++)
                sums[query * columns + c] += value * keys_.value(key, c) / keys_.values.scale(c);
        };
        const auto add_pairs = [&](size_t leaf, std::span<const uint32_t> some, Worker& worker) {
            worker.group.load(worker.queries.load(queries_, some));
            for (size_t i = 0; i < some.size(); i++) {
                if (i % tile_queries == 0) worker.group.evaluate(i / tile_queries, blocks, leaf);
                const float* const values = worker.group.values() + i % tile_queries * block_keys;
                for (size_t j = 0; j < tree.keys(leaf).size(); j++)
                    if (values[j] > negligible) add_pair(some[i], tree.keys(leaf)[j], static_cast<double>(values[j]));
            }
        };
        team.for_each(tree.leaves(), [&](size_t leaf, int thread) {
            const std::span<const uint32_t> of_leaf = queries.of(leaf);
            for (size_t begin = 0; begin < of_leaf.size(); begin += QueryGroup::max_queries)
                add_pairs(leaf, of_leaf.subspan(begin, std::min(of_leaf.size() - begin, QueryGroup::max_queries)),
                          *workers[static_cast<size_t>(thread)]);
        });
    }
}

} // namespace btml::kernel
