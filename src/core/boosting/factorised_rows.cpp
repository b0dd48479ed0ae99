// Which rows a FactorisedSet holds, and how often: populations, samples and equal rows.
#include "core/base/rng.hpp"
#include "core/boosting/equal_rows.hpp"
#include "core/boosting/factorised_set.hpp"

namespace btml::boosting {

using namespace relational;

namespace {

// Of an array with `width` elements a row, the rows that are kept.
template <class T>
void keep(Buffer<T>& array, size_t width, const Buffer<RowId>& kept, RunContext& context) {
    RowBlocks(context, "leaving out equal rows", 0).run(kept.size(), [&](uint64_t begin, uint64_t end) {
        for (uint64_t i = begin; i < end; i++)
            if (kept[i] != i) std::copy_n(array.data() + kept[i] * width, width, array.data() + i * width);
    });
    array.resize(kept.size() * width);
    array.shrink_to_fit();
}

void weigh_each(Buffer<double>& weights, uint64_t rows) {
    if (!weights.empty()) return;
    weights.resize(rows);
    std::fill(weights.begin(), weights.end(), 1);
}

} // namespace

FactorisedSet::RowWeights FactorisedSet::population(const Dataset& dataset, bool held_out) {
    RowWeights weights;
    for (size_t t = 0; t < join_.tables().size(); t++) weights.emplace_back(context_.memory(), "weights");
    const auto multiply = [&](int table, const auto& factor_of) {
        Buffer<double>& factors = weights[static_cast<size_t>(table)];
        weigh_each(factors, join_.tables()[static_cast<size_t>(table)].rows);
        for (size_t i = 0; i < factors.size(); i++) {
            poll_at(i);
            factors[i] *= factor_of(i);
        }
    };
    if (!dataset.weight.empty()) multiply(dataset.target_table, [&](size_t i) { return dataset.weight[i]; });
    if (dataset.holdout_table >= 0)
        multiply(dataset.holdout_table, [&](size_t i) { return (dataset.holdout[i] != 0) == held_out ? 1.0 : 0.0; });
    return weights;
}

// Join rows of positive weight that are trained on, or held out.
uint64_t FactorisedSet::count_rows(const Dataset& dataset, bool held_out) {
    RowWeights present = population(dataset, held_out);
    if (!dataset.weight.empty())
        for (double& w : present[static_cast<size_t>(dataset.target_table)]) w = w > 0 ? 1 : 0;
    return static_cast<uint64_t>(queries_.total(selection(nodes_[0], present), {}).count);
}

void FactorisedSet::choose_rows(const Dataset& dataset) {
    train_rows_ = count_rows(dataset, false);
    holdout_rows_ = dataset.holdout_table < 0 ? 0 : count_rows(dataset, true);
    if (train_rows_ == 0)
        throw Error(ErrorCode::invalid_argument, "there are no rows to train on",
                    format("Of %llu rows, %llu are held out and %llu have weight 0.",
                           static_cast<unsigned long long>(dataset.rows),
                           static_cast<unsigned long long>(holdout_rows_),
                           static_cast<unsigned long long>(dataset.rows - holdout_rows_)));
    train_ = population(dataset, false);
    if (holdout_rows_ > 0) held_out_ = population(dataset, true);
}

// By row of the tables that are asked for: the weight of the population's join rows that it takes part in.
FactorisedSet::RowWeights FactorisedSet::multiplicities(const RowWeights& population, const std::vector<bool>& tables) {
    RowSums sums = no_sums(tables);
    queries_.add(selection(nodes_[0], population), {}, pointers(sums.sums), pointers(sums.counts));
    return std::move(sums.counts);
}

// Equal rows become one that weighs as much as they do together. A sample of the target's rows would tell them apart.
void FactorisedSet::leave_out_equal_rows(size_t t) {
    const bool has_values = static_cast<int>(t) == target_table_;
    if (has_values && options_.row_fraction < 1) return;
    BinnedTable& table = data_.tables[t];
    const Buffer<RowId> first =
        find_equal_rows(data_, table, join_.tables()[t], has_values ? &values_ : nullptr, team_, context_);
    Buffer<RowId> kept(context_.memory(), "rows that are equal");
    for (size_t row = 0; row < first.size(); row++) {
        poll_at(row);
        if (first[row] == row) kept.push_back(static_cast<RowId>(row));
    }
    if (kept.size() == first.size()) return;
    for (RowWeights* const population : {&train_, &held_out_}) {
        if (population->empty()) continue;
        Buffer<double>& weights = (*population)[t];
        weigh_each(weights, first.size());
        for (size_t row = 0; row < first.size(); row++) {
            poll_at(row);
            if (first[row] != row) weights[first[row]] += weights[row];
        }
        keep(weights, 1, kept, context_);
    }
    if (has_values) keep(values_, 1, kept, context_);
    for (const size_t g : table.groups) {
        BinGroup& group = data_.groups[g];
        keep(group.data, group.width * group.bytes, kept, context_);
    }
    table.rows = kept.size();
    join_.keep_rows(t, kept, context_);
}

// As an enumerated set samples: by the number of the target table's row before it was put into the order of keys.
void FactorisedSet::sample(uint64_t tree) {
    in_bag_.clear();
    if (options_.row_fraction >= 1) return;
    for (const Buffer<double>& weights : train_) {
        in_bag_.emplace_back(context_.memory(), "weights", weights.size());
        std::copy(weights.begin(), weights.end(), in_bag_.back().begin());
    }
    const GroupedTable& table = join_.tables()[static_cast<size_t>(target_table_)];
    Buffer<double>& weights = in_bag_[static_cast<size_t>(target_table_)];
    weigh_each(weights, table.rows);
    for (size_t i = 0; i < weights.size(); i++) {
        poll_at(i);
        const uint64_t row = table.order.empty() ? i : table.order[i];
        if (!(random_unit(static_cast<uint64_t>(options_.seed), tree, row) < options_.row_fraction)) weights[i] = 0;
    }
}

} // namespace btml::boosting
