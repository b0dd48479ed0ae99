#include "core/data/dataset.hpp"

#include <cmath>

namespace btml {

Dataset::Dataset(MemoryBudget& budget, uint64_t rows_)
    : rows(rows_), target(budget, "targets"), weight(budget, "weights"), holdout(budget, "holdout flags") {}

int Dataset::add_table(uint64_t table_rows, const uint32_t* lent) {
    tables.push_back({table_rows, Buffer<uint32_t>(target.budget(), "row ids"), lent});
    return static_cast<int>(tables.size()) - 1;
}

Dataset Dataset::copy_of_targets(RunContext& context) const {
    const auto without_values = [&](const FeatureColumn& column) {
        return FeatureColumn(context.memory(), column.without_categories(), column.table, column.direction);
    };
    Dataset copied(context.memory(), rows);
    for (const DataTable& table : tables) copied.add_table(table.rows, table.ids().data());
    for (const FeatureColumn& column : features) copied.features.push_back(without_values(column));
    copied.target_table = target_table;
    copied.target = target.copy(context);
    copied.weight = weight.copy(context);
    copied.labels = labels;
    copied.label_weights = label_weights;
    if (offset) {
        copied.offset = without_values(*offset);
        copied.offset->numbers = offset->numbers.copy(context);
    }
    if (query) copied.query = query->copy(context);
    if (row_hashes) copied.row_hashes = row_hashes->copy(context);
    return copied;
}

void Dataset::hold_out(Buffer<uint8_t> rows_of_join) {
    holdout_table = add_table(rows);
    holdout = std::move(rows_of_join);
}

void refuse_no_training_rows(uint64_t rows, uint64_t held_out) {
    static constexpr const char* message = "there are no rows to train on";
    if (rows == 0) throw NothingToTrainOn(message);
    throw NothingToTrainOn(message,
                           format("Of %" PRIu64 " rows, %" PRIu64 " are held out and %" PRIu64 " have weight 0.", rows,
                                  held_out, rows - held_out));
}

void check_finite(double number, const char* what) {
    if (!std::isfinite(number))
        throw Error(ErrorCode::out_of_range,
                    format("%s is %s in a row", what, std::isnan(number) ? "NaN" : "infinite"));
}

void check_given(double number, const char* what) {
    if (is_null(number)) throw Error(ErrorCode::null_value, format("%s is NULL in a row", what));
    check_finite(number, what);
}

void check_weight(double weight, const char* what) {
    check_given(weight, what);
    if (weight < 0)
        throw Error(ErrorCode::out_of_range, format("%s is %g in a row", what, weight),
                    "Weights must not be negative.");
}

void check_targets(double largest) {
    static constexpr double too_large = 1e150;
    if (!(largest < too_large))
        throw Error(ErrorCode::out_of_range, format("target value of magnitude %g is out of range", largest), {},
                    "Targets must be finite and below 1e150 in magnitude.");
}

} // namespace btml
