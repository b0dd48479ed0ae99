#include "core/boosting/binned_trees.hpp"

#include <algorithm>
#include <cmath>

namespace btml::boosting {

Split split_at(const Node& node, const FeatureBins& bins) {
    Split split;
    split.feature = node.feature;
    split.null_left = node.null_left;
    if (bins.categorical) {
        split.categories = node.categories;
        return split;
    }
    const auto first = std::partition_point(bins.thresholds.begin(), bins.thresholds.end(),
                                            [&](double threshold) { return sql_less(threshold, node.threshold); });
    const bool only_null = std::isinf(node.threshold) && node.threshold < 0; // no number is smaller
    split.last_bin = only_null ? -1 : first - bins.thresholds.begin();
    return split;
}

BinnedTrees::BinnedTrees(std::span<const Tree> trees, const BinnedData& data, RunContext& context)
    : data_(data),
      steps_(context.memory(), "trees over bins"),
      categories_(context.memory(), "trees over bins"),
      roots_(context.memory(), "trees over bins") {
    for (const Tree& tree : trees) {
        const auto root = static_cast<int32_t>(steps_.size());
        roots_.push_back(static_cast<uint32_t>(root));
        context.worked(10 * tree.size());
        for (const Node& node : tree) {
            if (node.is_leaf()) {
                const auto own = static_cast<int32_t>(steps_.size());
                steps_.push_back({own, own, 0, 0, false, 0, 0, node.value});
                continue;
            }
            const Split split = split_at(node, data.features[node.feature]);
            const auto first = static_cast<uint32_t>(categories_.size());
            for (const uint32_t category : split.categories) categories_.push_back(category);
            steps_.push_back({root + node.left, root + node.right, node.feature, static_cast<int32_t>(split.last_bin),
                              node.null_left, first, static_cast<uint32_t>(categories_.size()), 0});
        }
    }
}

bool BinnedTrees::goes_left(const Step& step, uint32_t bin) const {
    const FeatureBins& feature = data_.features[step.feature];
    if (bin == feature.null_bin()) return step.null_left;
    if (!feature.categorical) return static_cast<int64_t>(bin) <= step.last_bin;
    return std::binary_search(categories_.begin() + step.first_category, categories_.begin() + step.end_category, bin);
}

void BinnedTrees::read_bins(std::span<const uint32_t> rows, std::vector<uint32_t>& bins) const {
    bins.resize(data_.features.size() * rows.size());
    uint32_t* of_feature = bins.data();
    for (const FeatureBins& feature : data_.features) {
        const RowIds ids = data_.tables[feature.table].ids();
        with_bins(data_, feature, [&](const auto& bin_of) {
            for (size_t i = 0; i < rows.size(); i++) of_feature[i] = bin_of(ids[rows[i]]);
        });
        of_feature += rows.size();
    }
}

// All rows go through one tree before the next, which stays in the cache.
void BinnedTrees::add(std::span<const uint32_t> rows, std::span<double> scores, std::vector<uint32_t>& bins) const {
    read_bins(rows, bins);
    for (const uint32_t root : roots_)
        for (size_t i = 0; i < rows.size(); i++) {
            const Step* step = &steps_[root];
            while (step->left != step->right) {
                const uint32_t bin = bins[static_cast<size_t>(step->feature) * rows.size() + i];
                step = &steps_[goes_left(*step, bin) ? step->left : step->right];
            }
            scores[i] += step->value;
        }
}

} // namespace btml::boosting
