#include "core/boosting/factorised/factorised_queries.hpp"

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

std::pair<int, int> TreeNodes::split(int node, const BinnedData& data, const Split& split) {
    const FeatureBins& feature = data.features[split.feature];
    const Rows parent = std::exchange(nodes_[node], {});
    const RowSubset& rows = *parent[feature.table];
    RowSubset children[2] = {subset(false), subset(false)};
    const GroupedTable& grouped = join_.tables()[feature.table];
    for (RowSubset& child : children) child.first.reserve(grouped.groups() + 1);
    const auto place_rows = [&](const auto& bin_of, const auto& goes_left) {
        const Buffer<RowId>& first = rows.all ? grouped.first : rows.first;
        for (uint64_t g = 0; g < grouped.groups(); g++) {
            for (RowSubset& child : children) child.first.push_back(static_cast<RowId>(child.rows.size()));
            for (RowId i = first[g]; i < first[g + 1]; i++) {
                const RowId row = rows.all ? i : rows.rows[i];
                children[1 - goes_left(bin_of(row))].rows.push_back(row);
            }
            context_.worked(first[g + 1] - first[g] + 1);
        }
    };
    sides_.with(feature, split, [&](const auto& goes_left) {
        with_bins(data, feature, [&](const auto& bin_of) { place_rows(bin_of, goes_left); });
    });
    for (RowSubset& child : children) {
        child.first.push_back(static_cast<RowId>(child.rows.size()));
        child.rows.shrink_to_fit();
        child.first.shrink_to_fit();
        nodes_.emplace_back(parent)[feature.table] = std::make_shared<RowSubset>(std::move(child));
    }
    return {static_cast<int>(nodes_.size()) - 2, static_cast<int>(nodes_.size()) - 1};
}

RowSums::RowSums(size_t tables, MemoryBudget& memory) {
    for (std::vector<Buffer<double>>* const numbers : {&sums, &counts, &squares})
        for (size_t t = 0; t < tables; t++) numbers->emplace_back(memory, "sums by row");
}

std::vector<double*> pointers(std::vector<Buffer<double>>& buffers) {
    std::vector<double*> result;
    for (Buffer<double>& buffer : buffers) result.push_back(buffer.empty() ? nullptr : buffer.data());
    return result;
}

ResidualQueries::ResidualQueries(const GroupedJoin& join, size_t target_table, ThreadTeam& team, RunContext& context)
    : values_(context.memory(), "residuals"),
      filtered_{join, filters_, target_table, values_, team, context},
      sums_(filtered_) {
    start();
}

void ResidualQueries::start() {
    filters_.clear();
    for (const GroupedTable& table : filtered_.join.tables())
        filters_.emplace_back(table.rows, filtered_.context.memory());
    queries_.assign(1, plain_query(1, 1));
}

FilterQuery ResidualQueries::plain_query(double coefficient, int power) const {
    return {coefficient, power, std::vector<int>(filtered_.join.tables().size(), -1)};
}

void ResidualQueries::subtract(const TreeNodes::Rows& rows, int64_t value) {
    FilterQuery query = plain_query(-static_cast<double>(value), 0);
    for (size_t t = 0; t < rows.size(); t++)
        if (!rows[t]->all) query.filters[t] = filters_[t].add(*rows[t], filtered_.context);
    queries_.push_back(std::move(query));
}

RowSums ResidualQueries::no_sums(const std::vector<bool>& tables) const {
    MemoryBudget& memory = filtered_.context.memory();
    RowSums result(tables.size(), memory);
    for (size_t t = 0; t < tables.size(); t++) {
        if (!tables[t]) continue;
        const uint64_t rows = filtered_.join.tables()[t].rows;
        result.sums[t] = Buffer<double>(memory, "sums by row", rows, 0.0);
        result.counts[t] = Buffer<double>(memory, "sums by row", rows, 0.0);
    }
    return result;
}

RowSums ResidualQueries::sums(const Selection& selection, const std::vector<bool>& tables) {
    RowSums result = no_sums(tables);
    sums_.add(selection, queries_, pointers(result.sums), pointers(result.counts));
    return result;
}

void ResidualQueries::update(RowSums& sums, const Selection& selection, size_t known) {
    const std::vector<FilterQuery> added(queries_.begin() + static_cast<std::ptrdiff_t>(known), queries_.end());
    if (added.empty()) return;
    const std::vector<double*> to = pointers(sums.sums), no_counts(to.size(), nullptr);
    sums_.add(selection, added, to, no_counts);
}

RowWeights ResidualQueries::counts(const Selection& selection, const std::vector<bool>& tables) {
    RowSums result = no_sums(tables);
    sums_.add(selection, {}, pointers(result.sums), pointers(result.counts));
    return std::move(result.counts);
}

FilteredSums::Total ResidualQueries::total(const Selection& selection) {
    return sums_.total(selection, queries_);
}

// Σ residual² = Σ over pairs of the residual's queries of the product of their coefficients, over the rows that both
// let pass.
RowWeights ResidualQueries::squares(const Selection& selection, const std::vector<bool>& tables) {
    RowSums result = no_sums(tables);
    const std::vector<FilterQuery> queries = filtered_.relevant(selection, filtered_.find_alive(selection), queries_);
    const std::vector<double*> to = pointers(result.sums), no_counts(to.size(), nullptr);
    std::vector<RowFilters> filters;
    std::vector<FilterQuery> pairs;
    FilteredJoin of_pairs{filtered_.join, filters, filtered_.value_table, values_, filtered_.team, filtered_.context};
    FilteredSums sums_of_pairs(of_pairs);
    const auto evaluate = [&] {
        sums_of_pairs.add(selection, pairs, to, no_counts);
        pairs.clear();
        filters.clear();
    };
    for (size_t a = 0; a < queries.size(); a++)
        for (size_t b = 0; b <= a; b++) {
            if (filters.empty())
                for (const GroupedTable& table : filtered_.join.tables())
                    filters.emplace_back(table.rows, filtered_.context.memory());
            FilterQuery pair{queries[a].coefficient * queries[b].coefficient * (a == b ? 1 : 2),
                             queries[a].power + queries[b].power,
                             {}};
            for (size_t t = 0; t < filters.size(); t++)
                pair.filters.push_back(
                    filters[t].add_both(filters_[t], queries[a].filters[t], queries[b].filters[t], filtered_.context));
            pairs.push_back(std::move(pair));
            if (pairs.size() == pairs_at_once) evaluate();
        }
    if (!pairs.empty()) evaluate();
    return std::move(result.sums);
}

} // namespace btml::boosting::factorised
