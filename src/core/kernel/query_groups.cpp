#include "core/kernel/query_groups.hpp"

#include <algorithm>
#include <cmath>

namespace btml::kernel {

static constexpr size_t sampled_keys = 16; // of each leaf
static constexpr size_t leaves_of_block = block_keys / sampled_keys;

// Takes as many of each leaf, but of the last one, which may have fewer.
Buffer<uint32_t> QueryGroups::some_of_each_leaf(MemoryBudget& budget) const {
    Buffer<uint32_t> sample(budget, "groups of queries");
    for (size_t leaf = 0; leaf < keys_.tree.leaves(); leaf++) {
        const std::span<const uint32_t> keys = keys_.tree.keys(leaf);
        const size_t count = std::min(sampled_keys, keys.size());
        for (size_t i = 0; i < count; i++) sample.push_back(keys[i * keys.size() / count]);
    }
    return sample;
}

QueryGroups::QueryGroups(const KeySet& keys, const Points& queries, ThreadTeam& team, RunContext& context)
    : keys_(keys),
      sample_(some_of_each_leaf(context.memory())),
      sample_blocks_(
          keys.distinct.frame, keys.distinct.points, (sample_.size() + block_keys - 1) / block_keys,
          [this](size_t block) {
              const size_t first = block * block_keys;
              return sample_.span().subspan(first, std::min(block_keys, sample_.size() - first));
          },
          Precision::sampling, team, context.memory()),
      rows_(context.memory(), "queries of leaves", queries.rows()),
      centres_(context.memory(), "groups of queries") {
    const size_t dimensions = queries.dimensions(), leaves = keys.tree.leaves();
    std::vector<size_t> first(leaves + 1, 0); // of each leaf's queries, and the end
    {
        const Buffer<uint32_t> leaf_of = leaves_of(queries, keys, team, context.memory());
        for (const uint32_t leaf : leaf_of) first[leaf + 1]++;
        for (size_t leaf = 0; leaf < leaves; leaf++) first[leaf + 1] += first[leaf];
        std::vector<size_t> next(first.begin(), first.end() - 1);
        for (uint32_t i = 0; i < leaf_of.size(); i++) rows_[next[leaf_of[i]]++] = i;
    }
    team.for_each(leaves, [&](size_t i, int) {
        std::sort(rows_.begin() + first[i], rows_.begin() + first[i + 1], [&](uint32_t a, uint32_t b) {
            return std::lexicographical_compare(queries.row(a), queries.row(a) + dimensions, queries.row(b),
                                                queries.row(b) + dimensions);
        });
    });
    for (size_t i = 0; i < leaves; i++) {
        const size_t count = first[i + 1] - first[i],
                     parts = (count + QueryGroup::max_queries - 1) / QueryGroup::max_queries;
        for (size_t part = 0; part < parts; part++) {
            starts_.push_back(first[i] + part * count / parts);
            leaves_.push_back(i);
        }
    }
    starts_.push_back(queries.rows());
    centres_.resize(groups() * dimensions);
    team.for_each(groups(), [&](size_t group, int) { find_centre(group, queries); });
}

Buffer<uint32_t> QueryGroups::leaves_of(const Points& queries, const KeySet& keys, ThreadTeam& team,
                                        MemoryBudget& budget) {
    const size_t dimensions = queries.dimensions();
    Buffer<uint32_t> leaf(budget, "groups of queries", queries.rows());
    std::vector<double> framed(dimensions * team.size());
    for_each_row(queries.rows(), team, [&](size_t i, int thread) {
        double* const query = framed.data() + thread * dimensions;
        keys.distinct.frame.apply(queries.row(i), query);
        leaf[i] = keys.tree.leaf_of(query);
    });
    return leaf;
}

void QueryGroups::find_centre(size_t group, const Points& queries) {
    const size_t dimensions = queries.dimensions();
    double* const centre = centres_.data() + group * dimensions;
    std::fill(centre, centre + dimensions, 0.0);
    std::vector<double> framed(dimensions);
    for (const uint32_t row : rows(group)) {
        keys_.distinct.frame.apply(queries.row(row), framed.data());
        for (size_t k = 0; k < dimensions; k++) centre[k] += framed[k] / rows(group).size();
    }
}

size_t QueryGroups::group_of(size_t position) const noexcept {
    return std::upper_bound(starts_.begin(), starts_.end(), position) - starts_.begin() - 1;
}

double QueryGroups::expected_exponent(size_t group, size_t leaf) const noexcept {
    const double* const centre = centres_.data() + group * keys_.blocks.dimensions();
    const Frame& frame = keys_.distinct.frame;
    return frame.kernel.exponent(frame.sum(centre, keys_.blocks.centre(leaf)) + keys_.blocks.spread(leaf));
}

void QueryGroups::look(size_t group, const Points& queries, QueryGroup& workspace, std::span<double> distances,
                       std::span<double> squares_of_leaves) const {
    const std::span<const uint32_t> all = rows(group);
    const size_t count = std::min(tile_queries, all.size()), leaves = distances.size();
    uint32_t some[tile_queries];
    for (size_t i = 0; i < count; i++) some[i] = all[i * all.size() / count];
    workspace.load(queries, {some, count});
    const bool is_compact = keys_.distinct.frame.kernel.is_compact;
    for (size_t leaf = 0; leaf < leaves; leaf++) {
        const size_t block = leaf / leaves_of_block, first = leaf % leaves_of_block * sampled_keys,
                     last = std::min(first + sampled_keys, sample_blocks_.keys(block));
        if (first == 0) workspace.evaluate(0, sample_blocks_, block);
        double squares = 0;
        for (size_t i = 0; i < count; i++)
            for (size_t j = first; j < last; j++) {
                const double value = workspace.values()[i * block_keys + j];
                squares += value * value;
            }
        const double mean = squares / (count * (last - first)), expected = expected_exponent(group, leaf);
        if (!squares_of_leaves.empty()) squares_of_leaves[leaf] = mean;
        distances[leaf] =
            mean > 0 ? std::min(expected, is_compact ? 1 - std::sqrt(mean) : -std::log2(mean) / 2) : expected;
    }
    distances[leaves_[group]] = -1;
}

double QueryGroups::padding() const noexcept {
    size_t places = 0;
    for (size_t group = 0; group < groups(); group++)
        places += (rows(group).size() + tile_queries - 1) / tile_queries * tile_queries;
    return places / static_cast<double>(rows().size());
}

} // namespace btml::kernel
