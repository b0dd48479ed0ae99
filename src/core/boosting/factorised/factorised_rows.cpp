#include "core/boosting/factorised/factorised_rows.hpp"

#include "core/numbers/rng.hpp"
#include "core/relational/filtered/filtered_join.hpp"

#include <cstring>
#include <numeric>

namespace btml::boosting::factorised {

using namespace relational;

EqualRows find_equal_rows(const BinnedData& data, size_t table, const GroupedTable& grouped,
                          const Buffer<double>* values, ThreadTeam& team, RunContext& context) {
    constexpr uint64_t steps_of_row = 50;
    // < 0 where row a comes before row b, 0 where they are equal.
    const auto compare = [&](RowId a, RowId b) {
        for (const size_t g : data.tables[table].groups) {
            const BinGroup& group = data.groups[g];
            const size_t bytes = group.width * group.bytes;
            const int bins = std::memcmp(group.data.data() + a * bytes, group.data.data() + b * bytes, bytes);
            if (bins != 0) return bins;
        }
        return !values || (*values)[a] == (*values)[b] ? 0 : (*values)[a] < (*values)[b] ? -1 : 1;
    };
    // The first of equal rows stays, by its content where there is one: the same wherever the rows lie.
    const auto place = [&](RowId row) {
        return std::pair(grouped.content.empty() ? uint64_t{0} : grouped.content[row], row);
    };
    Buffer<RowId> first(context.memory(), "rows that are equal", grouped.rows);
    for_ranges(team, grouped.groups(), steps_of_row * grouped.rows, [&](uint64_t begin, uint64_t end, int) {
        std::vector<RowId> rows;
        for (uint64_t g = begin; g < end; g++) {
            rows.resize(grouped.first[g + 1] - grouped.first[g]);
            std::iota(rows.begin(), rows.end(), grouped.first[g]);
            std::sort(rows.begin(), rows.end(), [&](RowId a, RowId b) {
                const int c = compare(a, b);
                return c != 0 ? c < 0 : place(a) < place(b);
            });
            for (size_t i = 0; i < rows.size(); i++)
                first[rows[i]] = i > 0 && compare(rows[i - 1], rows[i]) == 0 ? first[rows[i - 1]] : rows[i];
        }
    });
    Buffer<RowId> kept(context.memory(), "rows that are equal");
    context.for_each(first.size(), 1, [&](uint64_t row) {
        if (first[row] == row) kept.push_back(static_cast<RowId>(row));
    });
    return {std::move(first), std::move(kept)};
}

static void weigh_each(Buffer<double>& weights, uint64_t rows) {
    if (weights.empty()) weights = Buffer<double>(weights.budget(), weights.what(), rows, 1.0);
}

Populations::Populations(Dataset& dataset, const GroupedJoin& join, const Options& options, const Count& count,
                         RunContext& context)
    : join_(join), options_(options), target_table_(dataset.target_table), context_(context) {
    if (count_other_than_one(dataset.weight) == 0) dataset.weight.clear();
    const auto [exponent, shift] = scale_of_weights(dataset.weight);
    units_ = {!dataset.weight.empty(), exponent, shift, 0};
    for (double& w : dataset.weight) w = std::ldexp(w, -exponent);
    train_rows_ = count_rows(dataset, false, count);
    holdout_rows_ = dataset.holdout_table < 0 ? 0 : count_rows(dataset, true, count);
    if (train_rows_ == 0) refuse_no_training_rows(dataset.rows, holdout_rows_);
    train_ = population(dataset, false);
    if (holdout_rows_ > 0) held_out_ = population(dataset, true);
}

RowWeights Populations::population(const Dataset& dataset, bool held_out) const {
    RowWeights weights;
    for (size_t t = 0; t < join_.tables().size(); t++) weights.emplace_back(context_.memory(), "weights");
    const auto multiply = [&](int table, const auto& factor_of) {
        Buffer<double>& factors = weights[table];
        weigh_each(factors, join_.tables()[table].rows);
        context_.for_each(factors.size(), 1, [&](uint64_t i) { factors[i] *= factor_of(i); });
    };
    if (units_.weighted) multiply(dataset.target_table, [&](size_t i) { return dataset.weight[i]; });
    if (dataset.holdout_table >= 0)
        multiply(dataset.holdout_table, [&](size_t i) { return (dataset.holdout[i] != 0) == held_out ? 1.0 : 0.0; });
    return weights;
}

// Join rows of positive weight that are trained on, or held out.
uint64_t Populations::count_rows(const Dataset& dataset, bool held_out, const Count& count) const {
    RowWeights present = population(dataset, held_out);
    if (units_.weighted)
        for (double& w : present[target_table_]) w = w > 0 ? 1 : 0;
    return static_cast<uint64_t>(count(present));
}

void Populations::set_total(double weight) {
    if (units_.weighted) units_.scale = max_sum_bits - 1 - units_.exponent - std::ilogb(weight);
}

void Populations::merge(size_t table, const EqualRows& rows) {
    for (RowWeights* const population : {&train_, &held_out_}) {
        if (population->empty()) continue;
        Buffer<double>& weights = (*population)[table];
        weigh_each(weights, rows.first.size());
        context_.for_each(rows.first.size(), 1, [&](uint64_t row) {
            if (rows.first[row] != row) weights[rows.first[row]] += weights[row];
        });
        keep(weights, 1, rows.kept, context_);
    }
}

// Samples as an enumerated set does: by the number of the target table's row before it was put into the order of keys.
void Populations::sample(uint64_t tree) {
    if (!is_sampled()) return;
    in_bag_.clear();
    for (const Buffer<double>& weights : train_) in_bag_.push_back(weights.copy(context_));
    const GroupedTable& table = join_.tables()[target_table_];
    Buffer<double>& weights = in_bag_[target_table_];
    weigh_each(weights, table.rows);
    context_.for_each(weights.size(), 2, [&](uint64_t i) {
        const uint64_t row = table.order.empty() ? i : table.order[i];
        if (!(random_unit(options_.seed, tree, row) < options_.row_fraction)) weights[i] = 0;
    });
}

} // namespace btml::boosting::factorised
