#include "core/boosting/factorised_populations.hpp"

#include "core/base/rng.hpp"

namespace btml::boosting::factorised {

using namespace relational;

static void weigh_each(Buffer<double>& weights, uint64_t rows) {
    if (!weights.empty()) return;
    weights.resize(rows);
    std::fill(weights.begin(), weights.end(), 1);
}

Populations::Populations(Dataset& dataset, const GroupedJoin& join, const Options& options, const Count& count,
                         RunContext& context)
    : join_(join), options_(options), target_table_(static_cast<size_t>(dataset.target_table)), context_(context) {
    const auto [exponent, shift] = scale_of_weights(dataset.weight);
    units_ = {!dataset.weight.empty(), exponent, shift, 0};
    for (double& w : dataset.weight) w = std::ldexp(w, -exponent);
    train_rows_ = count_rows(dataset, false, count);
    holdout_rows_ = dataset.holdout_table < 0 ? 0 : count_rows(dataset, true, count);
    if (train_rows_ == 0)
        throw Error(ErrorCode::invalid_argument, "there are no rows to train on",
                    format("Of %llu rows, %llu are held out and %llu have weight 0.",
                           static_cast<unsigned long long>(dataset.rows),
                           static_cast<unsigned long long>(holdout_rows_),
                           static_cast<unsigned long long>(dataset.rows - holdout_rows_)));
    train_ = population(dataset, false);
    if (holdout_rows_ > 0) held_out_ = population(dataset, true);
}

RowWeights Populations::population(const Dataset& dataset, bool held_out) const {
    RowWeights weights;
    for (size_t t = 0; t < join_.tables().size(); t++) weights.emplace_back(context_.memory(), "weights");
    const auto multiply = [&](int table, const auto& factor_of) {
        Buffer<double>& factors = weights[static_cast<size_t>(table)];
        weigh_each(factors, join_.tables()[static_cast<size_t>(table)].rows);
        for (size_t i = 0; i < factors.size(); i++) {
            poll_at(context_, i);
            factors[i] *= factor_of(i);
        }
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
        for (size_t row = 0; row < rows.first.size(); row++) {
            poll_at(context_, row);
            if (rows.first[row] != row) weights[rows.first[row]] += weights[row];
        }
        keep(weights, 1, rows.kept, context_);
    }
}

// As an enumerated set samples: by the number of the target table's row before it was put into the order of keys.
void Populations::sample(uint64_t tree) {
    if (!is_sampled()) return;
    in_bag_.clear();
    for (const Buffer<double>& weights : train_) {
        in_bag_.emplace_back(context_.memory(), "weights", weights.size());
        std::copy(weights.begin(), weights.end(), in_bag_.back().begin());
    }
    const GroupedTable& table = join_.tables()[target_table_];
    Buffer<double>& weights = in_bag_[target_table_];
    weigh_each(weights, table.rows);
    for (size_t i = 0; i < weights.size(); i++) {
        poll_at(context_, i);
        const uint64_t row = table.order.empty() ? i : table.order[i];
        if (!(random_unit(static_cast<uint64_t>(options_.seed), tree, row) < options_.row_fraction)) weights[i] = 0;
    }
}

} // namespace btml::boosting::factorised
