#include "core/boosting/factorised_nodes.hpp"

namespace btml::boosting::factorised {

using namespace relational;

RowSubset TreeNodes::subset(bool all) const {
    return {all, Buffer<RowId>(context_.memory(), "rows of nodes"), Buffer<RowId>(context_.memory(), "rows of nodes")};
}

void TreeNodes::start() {
    nodes_.assign(1, {});
    for (size_t t = 0; t < join_.tables().size(); t++) nodes_[0].push_back(std::make_shared<RowSubset>(subset(true)));
}

uint64_t TreeNodes::rows(int node) const {
    uint64_t rows = 0;
    for (size_t t = 0; t < join_.tables().size(); t++) {
        const RowSubset& subset = *(*this)[node][t];
        rows += subset.all ? join_.tables()[t].rows : subset.rows.size();
    }
    return rows;
}

Selection TreeNodes::selection(int node, const RowWeights& population) const {
    Selection result;
    for (size_t t = 0; t < join_.tables().size(); t++) {
        result.rows.push_back((*this)[node][t].get());
        result.weights.push_back(population[t].empty() ? nullptr : population[t].data());
    }
    return result;
}

// By bin: 1 where it goes left.
static std::vector<uint8_t> sides_of(const FeatureBins& feature, const Split& split) {
    std::vector<uint8_t> sides(feature.size(), 0);
    if (feature.categorical)
        for (const uint32_t code : split.categories) sides[code] = 1;
    else
        std::fill_n(sides.begin(), split.last_bin + 1, 1);
    sides[feature.null_bin()] = split.null_left;
    return sides;
}

std::pair<int, int> TreeNodes::split(int node, const BinnedData& data, const Split& split) {
    constexpr uint64_t groups_per_poll = 4096;
    const FeatureBins& feature = data.features[static_cast<size_t>(split.feature)];
    const auto table = static_cast<size_t>(feature.table);
    const Rows parent = std::exchange(nodes_[static_cast<size_t>(node)], {});
    const RowSubset& rows = *parent[table];
    const std::vector<uint8_t> sides = sides_of(feature, split);
    RowSubset children[2] = {subset(false), subset(false)};
    const GroupedTable& grouped = join_.tables()[table];
    for (RowSubset& child : children) child.first.reserve(grouped.groups() + 1);
    with_bins(data, feature, [&](const auto& bin_of) {
        for (uint64_t g = 0; g < grouped.groups(); g++) {
            if (g % groups_per_poll == 0) context_.poll();
            for (RowSubset& child : children) child.first.push_back(static_cast<RowId>(child.rows.size()));
            const auto place = [&](RowId row) { children[1 - sides[bin_of(row)]].rows.push_back(row); };
            if (rows.all)
                for (RowId row = grouped.first[g]; row < grouped.first[g + 1]; row++) place(row);
            else
                for (RowId i = rows.first[g]; i < rows.first[g + 1]; i++) place(rows.rows[i]);
        }
    });
    for (RowSubset& child : children) {
        child.first.push_back(static_cast<RowId>(child.rows.size()));
        child.rows.shrink_to_fit();
        child.first.shrink_to_fit();
        Rows& added = nodes_.emplace_back(parent);
        added[table] = std::make_shared<RowSubset>(std::move(child));
    }
    return {static_cast<int>(nodes_.size()) - 2, static_cast<int>(nodes_.size()) - 1};
}

} // namespace btml::boosting::factorised
