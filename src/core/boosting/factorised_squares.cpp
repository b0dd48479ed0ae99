// Sums of squared residuals of a FactorisedSet: by pairs of queries, or by sketch.
#include "core/boosting/factorised_set.hpp"
#include "core/boosting/number_grid.hpp"

#include <cmath>
#include <numeric>

namespace btml::boosting {

using namespace relational;

// One of a histogram's squares, in squares of the values' grid times units of counts.
double FactorisedSet::square_unit() const {
    return std::ldexp(units().square_unit, 2 * sum_shift_) / shifted(1);
}

// Σ residual² = Σ over pairs of the residual's queries of the product of their coefficients, over the rows that both
// let pass.
void FactorisedSet::count_squares(const Node& node, RowSums& sums) {
    const Selection selected = selection(node, in_bag_.empty() ? train_ : in_bag_);
    const std::vector<FilterQuery> queries = filtered_.relevant(selected, residual_);
    const std::vector<double*> to = pointers(sums.sums), no_counts(to.size(), nullptr);
    std::vector<RowFilters> filters;
    std::vector<FilterQuery> pairs;
    FilteredSums sums_of_pairs({join_, filters, target_table_, values_, team_, context_});
    const auto evaluate = [&] {
        sums_of_pairs.add(selected, pairs, to, no_counts);
        pairs.clear();
        filters.clear();
    };
    for (size_t a = 0; a < queries.size(); a++)
        for (size_t b = 0; b <= a; b++) {
            if (filters.empty())
                for (const GroupedTable& table : join_.tables()) filters.emplace_back(table.rows, context_.memory());
            FilterQuery pair{queries[a].coefficient * queries[b].coefficient * (a == b ? 1 : 2),
                             queries[a].power + queries[b].power,
                             {}};
            for (size_t t = 0; t < filters.size(); t++)
                pair.filters.push_back(
                    filters[t].add_both(filters_[t], queries[a].filters[t], queries[b].filters[t], context_));
            pairs.push_back(std::move(pair));
            if (pairs.size() == pairs_at_once) evaluate();
        }
    if (!pairs.empty()) evaluate();
}

// A node's sum is at most the loss. Estimates far above that, by sketches that are too small, are scaled down, as their
// sum must not overflow.
void FactorisedSet::sketch_squares(int node, const Stats* sums, Tally* out) {
    const Node& rows = nodes_[static_cast<size_t>(node)];
    const Selection selected = selection(rows, in_bag_.empty() ? train_ : in_bag_);
    const Buffer<double> squares = sketch_->by_bin(selected, residual_, layout_.selected());
    const double loss = static_cast<double>(loss_) / shifted(1);
    const bool verify = options_.verify && node == 0;
    const double exact = !verify ? 0 : in_bag_.empty() ? loss : exact_squares(rows);
    for (const int f : layout_.selected()) {
        const size_t size = data_.features[static_cast<size_t>(f)].size();
        const double* const from = squares.data() + layout_.offset(f);
        const double sum = std::accumulate(from, from + size, 0.0);
        const double unit = square_unit() * std::max(1.0, sum / (2 * loss));
        for (size_t bin = layout_.offset(f); bin < layout_.offset(f) + size; bin++)
            out[bin] = {rounded_sum(squares[bin] / unit), sums[bin].hessian};
        if (verify) sketch_->measure(sum, exact);
    }
}

double FactorisedSet::exact_squares(const Node& node) {
    RowSums sums = no_sums(only_target());
    count_squares(node, sums);
    const Buffer<double>& by_row = sums.sums[static_cast<size_t>(target_table_)];
    return std::accumulate(by_row.begin(), by_row.end(), 0.0);
}

} // namespace btml::boosting
