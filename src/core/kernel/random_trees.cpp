#include "core/kernel/random_trees.hpp"

#include <algorithm>
#include <memory>

namespace btml::kernel {

static constexpr size_t rows_of_item = 1024;
static constexpr float negligible = 0x1p-40F; // what all pairs of less come to is far below any error of samples

RandomTrees::RandomTrees(const KeySet& keys, const Points& queries, uint64_t seed, ThreadTeam& team,
                         RunContext& context)
    : keys_(keys),
      queries_(queries),
      of_keys_(context.memory(), "random trees", trees * keys.rows()),
      of_queries_(context.memory(), "random trees", trees * queries.rows()),
      leaves_(context.memory(), "random trees", keys.rows()) {
    for (size_t leaf = 0; leaf < keys.tree.leaves(); leaf++)
        for (const uint32_t key : keys.tree.keys(leaf)) leaves_[key] = static_cast<uint32_t>(leaf);
    for (size_t t = 0; t < trees; t++) {
        trees_.emplace_back(keys.distinct.points, leaf_keys, seed + t, team, context);
        const KeyTree& tree = trees_.back();
        for (size_t leaf = 0; leaf < tree.leaves(); leaf++)
            for (const uint32_t key : tree.keys(leaf)) of_keys_[t * keys.rows() + key] = static_cast<uint32_t>(leaf);
    }
    const size_t rows = queries.rows();
    team.for_each((rows + rows_of_item - 1) / rows_of_item, [&](size_t item, int) {
        std::vector<double> framed(queries.dimensions());
        for (size_t i = item * rows_of_item; i < std::min(rows, (item + 1) * rows_of_item); i++) {
            keys.distinct.frame.apply(queries.row(i), framed.data());
            for (size_t t = 0; t < trees; t++)
                of_queries_[t * rows + i] = static_cast<uint32_t>(trees_[t].leaf_of(framed.data()));
        }
    });
}

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
    const size_t rows = queries_.rows();
    for (size_t t = 0; t < trees; t++) {
        const KeyTree& tree = trees_[t];
        const KeyBlocks blocks(
            keys_.distinct.frame, keys_.distinct.points, tree.leaves(), [&](size_t leaf) { return tree.keys(leaf); },
            Precision::full, team, context.memory());
        std::vector<size_t> first(tree.leaves() + 1, 0);
        const uint32_t* const of_queries = &of_queries_[t * rows];
        for (size_t i = 0; i < rows; i++) first[of_queries[i] + 1]++;
        for (size_t leaf = 0; leaf < tree.leaves(); leaf++) first[leaf + 1] += first[leaf];
        Buffer<uint32_t> order(context.memory(), "random trees", rows);
        std::vector<size_t> next(first.begin(), first.end() - 1);
        for (size_t i = 0; i < rows; i++) order[next[of_queries[i]]++] = static_cast<uint32_t>(i);
        const auto add_pair = [&](uint32_t query, uint32_t key, double value) {
            if (is_near(query, leaves_[key]) || met_before(t, query, key)) return;
            for (size_t c = 0; c < columns; c++)
                sums[query * columns + c] += value * keys_.value(key, c) / keys_.values.scale(c);
        };
        team.for_each(tree.leaves(), [&](size_t leaf, int thread) {
            Worker& worker = *workers[static_cast<size_t>(thread)];
            const std::span<const uint32_t> keys = tree.keys(leaf);
            for (size_t begin = first[leaf]; begin < first[leaf + 1]; begin += QueryGroup::most_queries) {
                const std::span<const uint32_t> queries =
                    order.span().subspan(begin, std::min(first[leaf + 1] - begin, QueryGroup::most_queries));
                worker.group.load(worker.queries.load(queries_, queries));
                for (size_t i = 0; i < queries.size(); i++) {
                    const float* values = i % tile_queries == 0 ? worker.group.evaluate(i / tile_queries, blocks, leaf)
                                                                : worker.group.values();
                    values += i % tile_queries * block_keys;
                    for (size_t j = 0; j < keys.size(); j++)
                        if (values[j] > negligible) add_pair(queries[i], keys[j], static_cast<double>(values[j]));
                }
            }
        });
    }
}

} // namespace btml::kernel
