#include "core/kernel/random_trees.hpp"

#include "core/numbers/rng.hpp"

#include <algorithm>

namespace btml::kernel {

static constexpr size_t queries_of_task = 1024;
static constexpr uint64_t stream_of_trees = 0x7e3e5;
static constexpr float negligible_pair = 0x1p-40F; // what all pairs of less come to is far below any error of samples

RandomTrees::RandomTrees(const KeySet& keys, const Points& queries, size_t count, uint64_t seed, ThreadTeam& team,
                         RunContext& context)
    : keys_(keys),
      queries_(queries),
      of_keys_(context.memory(), "random trees", count * keys.rows()),
      of_queries_(context.memory(), "random trees", count * queries.rows()),
      leaves_(context.memory(), "random trees", keys.rows()) {
    for (size_t leaf = 0; leaf < keys.tree.leaves(); leaf++)
        for (const uint32_t key : keys.tree.keys(leaf)) leaves_[key] = leaf;
    for (size_t t = 0; t < count; t++) {
        trees_.emplace_back(keys.distinct.points, leaf_keys, random_bits(seed, stream_of_trees, t), team, context);
        const KeyTree& tree = trees_.back();
        for (size_t leaf = 0; leaf < tree.leaves(); leaf++)
            for (const uint32_t key : tree.keys(leaf)) of_keys_[t * keys.rows() + key] = leaf;
    }
    const size_t rows = queries.rows();
    team.for_each((rows + queries_of_task - 1) / queries_of_task, [&](size_t item, int) {
        std::vector<double> framed(queries.dimensions());
        for (size_t i = item * queries_of_task; i < std::min(rows, (item + 1) * queries_of_task); i++) {
            keys.distinct.frame.apply(queries.row(i), framed.data());
            for (size_t t = 0; t < count; t++) of_queries_[t * rows + i] = trees_[t].leaf_of(framed.data());
        }
    });
}

void RandomTrees::add_sums(const std::function<bool(uint32_t query, uint32_t leaf)>& is_near, size_t columns,
                           double* sums, ThreadTeam& team, RunContext& context) const {
    std::vector<QueryGroup> workers = QueryGroup::of_team(team, keys_.distinct.frame, 0, context.memory());
    for (size_t t = 0; t < trees(); t++) {
        const KeyTree& tree = trees_[t];
        const auto keys_of = [&](size_t leaf) { return tree.keys(leaf); };
        const KeyBlocks blocks(keys_.distinct.frame, keys_.distinct.points, tree.leaves(), keys_of, Precision::full,
                               team, context.memory());
        QueriesOfLeaves queries({&of_queries_[t * queries_.rows()], queries_.rows()}, tree.leaves(), context.memory());
        const auto add_pair = [&](uint32_t query, uint32_t key, double value) {
            if (is_near(query, leaves_[key]) || met_before(t, query, key)) return;
            for (size_t c = 0; c < columns; c++)
                sums[query * columns + c] += value * keys_.value(key, c) / keys_.values.scale(c);
        };
        const auto add_pairs = [&](size_t leaf, std::span<const uint32_t> some, QueryGroup& group) {
            group.load(queries_, some);
            for (size_t i = 0; i < some.size(); i++) {
                if (i % tile_queries == 0) group.evaluate(i / tile_queries, blocks, leaf);
                const float* const values = group.values() + i % tile_queries * block_keys;
                for (size_t j = 0; j < tree.keys(leaf).size(); j++)
                    if (values[j] > negligible_pair) add_pair(some[i], tree.keys(leaf)[j], values[j]);
            }
        };
        team.for_each(tree.leaves(), [&](size_t leaf, int thread) {
            const std::span<const uint32_t> of_leaf = queries.of(leaf);
            for (size_t begin = 0; begin < of_leaf.size(); begin += QueryGroup::max_queries)
                add_pairs(leaf, of_leaf.subspan(begin, std::min(of_leaf.size() - begin, QueryGroup::max_queries)),
                          workers[thread]);
        });
    }
}

} // namespace btml::kernel
