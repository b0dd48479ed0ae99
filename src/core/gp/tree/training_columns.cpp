#include "core/gp/tree/training_columns.hpp"

#include <algorithm>
#include <set>

namespace btml::gp {

namespace {

// Sorts rows by target, weight and features, as bits: any order will do that the values alone decide.
class RowOrder {
  public:
    RowOrder(const Dataset& dataset, RunContext& context)
        : dataset_(dataset), context_(context), target_ids_(dataset.target_ids()) {
        for (const FeatureColumn& feature : dataset.features) feature_ids_.push_back(dataset.ids_of(feature));
    }

    void sort(Buffer<uint32_t>& rows) const {
        std::sort(rows.begin(), rows.end(), [&](uint32_t a, uint32_t b) {
            context_.worked(4);
            return less(a, b);
        });
    }

  private:
    static uint64_t key(double x) { return std::bit_cast<uint64_t>(x); }

    bool less(uint32_t a, uint32_t b) const {
        const size_t i = target_ids_[a], j = target_ids_[b];
        if (dataset_.target[i] != dataset_.target[j]) return dataset_.target[i] < dataset_.target[j];
        if (!dataset_.weight.empty() && dataset_.weight[i] != dataset_.weight[j])
            return dataset_.weight[i] < dataset_.weight[j];
        for (size_t f = 0; f < feature_ids_.size(); f++) {
            const FeatureColumn& feature = dataset_.features[f];
            const bool numeric = !feature.categorical;
            const size_t k = feature_ids_[f][a], l = feature_ids_[f][b];
            const uint64_t x = numeric ? key(feature.numbers[k]) : feature.codes[k];
            const uint64_t z = numeric ? key(feature.numbers[l]) : feature.codes[l];
            if (x != z) return x < z;
        }
        return false;
    }

    const Dataset& dataset_;
    RunContext& context_;
    const RowIds target_ids_;
    std::vector<RowIds> feature_ids_;
};

// Returns the rows to train on, and appends the others.
Buffer<uint32_t> choose_rows(const Dataset& dataset, Buffer<uint32_t>& held_out, RunContext& context) {
    Buffer<uint32_t> training(context.memory(), "row ids");
    training.reserve(dataset.rows);
    const RowIds target_ids = dataset.target_ids(), holdout_ids = dataset.holdout_ids();
    for (uint32_t row = 0; row < dataset.rows; row++) {
        context.worked(4);
        const double y = dataset.target[target_ids[row]];
        check_targets(std::abs(y));
        if (!dataset.weight.empty() && dataset.weight[target_ids[row]] == 0) continue;
        const bool is_held_out = dataset.holdout_table >= 0 && dataset.holdout[holdout_ids[row]];
        (is_held_out ? held_out : training).push_back(row);
    }
    if (training.empty()) refuse_no_training_rows(dataset.rows, held_out.size());
    return training;
}

template <class T>
Buffer<T> pick(const Buffer<T>& column, const RowIds& ids, const Buffer<uint32_t>& rows, RunContext& context) {
    Buffer<T> picked(context.memory(), "columns of the training rows", rows.size());
    context.for_each(rows.size(), 4, [&](size_t i) { picked[i] = column[ids[rows[i]]]; });
    return picked;
}

TrainingColumns targets(const Dataset& dataset, const Buffer<uint32_t>& rows, RunContext& context) {
    const RowIds ids = dataset.target_ids();
    TrainingColumns columns(context.memory());
    columns.target = pick(dataset.target, ids, rows, context);
    if (!dataset.weight.empty()) columns.weight = pick(dataset.weight, ids, rows, context);
    return columns;
}

TrainingColumn empty_column(const FeatureColumn& feature, RunContext& context) {
    return {feature.categorical, Buffer<double>(context.memory(), "features"),
            Buffer<uint32_t>(context.memory(), "features"), static_cast<uint32_t>(feature.categories.size())};
}

TrainingColumn pick(const FeatureColumn& feature, const RowIds& ids, const Buffer<uint32_t>& rows,
                    RunContext& context) {
    TrainingColumn column = empty_column(feature, context);
    if (column.categorical)
        column.codes = pick(feature.codes, ids, rows, context);
    else
        column.numbers = pick(feature.numbers, ids, rows, context);
    return column;
}

// Where the rows of a join go to at most half as many of a table, ids take no more than one column.
bool stays_in_table(const Dataset& dataset, const FeatureColumn& feature) {
    const DataTable& table = dataset.tables.at(static_cast<size_t>(feature.table));
    return !table.row_ids.empty() && table.rows <= dataset.rows / 2;
}

// Takes the column of a feature for the training rows, in the order of these. ids: for each table, where their values
// are, made when it is needed.
TrainingColumn take(FeatureColumn& feature, const Dataset& dataset, const Buffer<uint32_t>& rows,
                    std::vector<std::shared_ptr<const Buffer<uint32_t>>>& ids, RunContext& context) {
    if (!stays_in_table(dataset, feature)) return pick(feature, dataset.ids_of(feature), rows, context);
    TrainingColumn column = empty_column(feature, context);
    column.numbers = std::move(feature.numbers);
    column.codes = std::move(feature.codes);
    auto& of_table = ids[static_cast<size_t>(feature.table)];
    if (!of_table) {
        const RowIds of_join = dataset.ids_of(feature);
        Buffer<uint32_t> sorted(context.memory(), "row ids", rows.size());
        context.for_each(rows.size(), 4, [&](size_t i) { sorted[i] = of_join[rows[i]]; });
        of_table = std::make_shared<const Buffer<uint32_t>>(std::move(sorted));
    }
    column.ids = of_table;
    return column;
}

uint64_t count_held_out(const Dataset& dataset) {
    if (dataset.holdout_table < 0) return 0;
    const RowIds ids = dataset.holdout_ids();
    uint64_t count = 0;
    for (uint32_t row = 0; row < dataset.rows; row++) count += dataset.holdout[ids[row]] != 0;
    return count;
}

} // namespace

std::vector<FeatureView> TrainingColumns::views() const {
    std::vector<FeatureView> views;
    for (const TrainingColumn& feature : features) views.push_back(feature.view());
    return views;
}

void TrainingColumns::read_row(size_t row, std::span<double> values) const {
    for (size_t f = 0; f < features.size(); f++) values[f] = features[f].view().value(row);
}

void TrainingColumns::free_features() {
    for (TrainingColumn& feature : features) {
        feature.numbers.clear();
        feature.codes.clear();
        feature.ids.reset();
    }
}

TrainingColumns select(const TrainingColumns& rows, std::span<const uint32_t> chosen, RunContext& context) {
    const auto pick_from = [&](const auto& column, const FeatureView& view) {
        std::remove_cvref_t<decltype(column)> picked(context.memory(), "columns of the training rows");
        if (column.empty()) return picked;
        picked.resize(chosen.size());
        context.for_each(chosen.size(), 4, [&](size_t i) { picked[i] = column[view.place(chosen[i])]; });
        return picked;
    };
    const FeatureView of_rows;
    TrainingColumns columns(context.memory());
    columns.target = pick_from(rows.target, of_rows);
    columns.weight = pick_from(rows.weight, of_rows);
    for (const TrainingColumn& feature : rows.features) {
        const FeatureView view = feature.view();
        columns.features.push_back({feature.categorical, pick_from(feature.numbers, view),
                                    pick_from(feature.codes, view), feature.categories});
    }
    return columns;
}

ExpansionBytes expansion_bytes(const Dataset& dataset) {
    const auto bytes = [](uint64_t count, size_t size) { return static_cast<int64_t>(count * size); };
    const uint64_t rows = dataset.rows;
    const int64_t row_numbers = bytes(rows, 2 * sizeof(uint32_t));
    int64_t held = row_numbers + bytes(rows, (dataset.weight.empty() ? 1 : 2) * sizeof(double));
    int64_t peak = held;
    const uint64_t held_out = count_held_out(dataset);
    std::set<int> tables_with_ids;
    for (const FeatureColumn& feature : dataset.features) {
        const bool number = !feature.categorical, stays = stays_in_table(dataset, feature);
        held += bytes(stays ? held_out : rows, number ? sizeof(double) : sizeof(uint32_t));
        if (stays && tables_with_ids.insert(feature.table).second) held += bytes(rows, sizeof(uint32_t));
        peak = std::max(peak, held);
        if (!stays)
            held -= bytes(feature.numbers.size(), sizeof(double)) + bytes(feature.codes.size(), sizeof(uint32_t));
    }
    held -= row_numbers + bytes(dataset.target.size() + dataset.weight.size(), sizeof(double));
    for (const DataTable& table : dataset.tables) held -= bytes(table.row_ids.size(), sizeof(uint32_t));
    return {peak, held};
}

FitRows expand(Dataset dataset, RunContext& context) {
    if (dataset.features.empty())
        throw Error(ErrorCode::invalid_argument, "there are no features to learn from", {},
                    "The source needs at least one column besides target, holdout and weight.");
    if (dataset.rows > UINT32_MAX - 1)
        throw Error(ErrorCode::limit_exceeded, format("the join has %" PRIu64 " rows, at most %u can be trained on",
                                                      dataset.rows, UINT32_MAX - 1));
    Buffer<uint32_t> held_out(context.memory(), "row ids"), training = choose_rows(dataset, held_out, context);
    const RowOrder order(dataset, context);
    order.sort(training);
    order.sort(held_out);
    FitRows rows(targets(dataset, training, context), context);
    rows.choosing = targets(dataset, held_out, context);
    std::vector<std::shared_ptr<const Buffer<uint32_t>>> ids(dataset.tables.size());
    for (FeatureColumn& feature : dataset.features) {
        rows.choosing.features.push_back(pick(feature, dataset.ids_of(feature), held_out, context));
        rows.training.features.push_back(take(feature, dataset, training, ids, context));
        feature.numbers.clear();
        feature.codes.clear();
    }
    return rows;
}

} // namespace btml::gp
