#include "core/relational/join_dataset.hpp"

#include <cmath>

namespace btml::relational {

namespace {

DataColumn& column_at(Join& join, const ColumnRef& place) {
    return join.tables()[place.table].columns[place.column];
}

void check_target(const DataColumn& column) {
    for (double y : column.numbers)
        if (!std::isfinite(y))
            throw Error(ErrorCode::out_of_range, format("target \"%s\" is %s in a row", column.name.c_str(),
                                                        std::isnan(y) ? "NaN" : "infinite"));
}

void check_weight(const DataColumn& column) {
    const char* const name = column.name.c_str();
    for (double w : column.numbers) {
        if (is_null(w)) throw Error(ErrorCode::null_value, format("weight \"%s\" is NULL in a row", name));
        if (!std::isfinite(w))
            throw Error(ErrorCode::out_of_range,
                        format("weight \"%s\" is %s in a row", name, std::isnan(w) ? "NaN" : "infinite"));
        if (w < 0)
            throw Error(ErrorCode::out_of_range, format("weight \"%s\" is %g in a row", name, w),
                        "Weights must not be negative.");
    }
}

void drop_unused_categories(DataColumn& column) {
    std::vector<uint32_t> renumbered(column.categories.size(), DataColumn::null_code);
    for (uint32_t code : column.codes)
        if (code != DataColumn::null_code) renumbered[code] = 0;
    std::vector<std::string> used;
    for (size_t code = 0; code < renumbered.size(); code++) {
        if (renumbered[code] == DataColumn::null_code) continue;
        renumbered[code] = static_cast<uint32_t>(used.size());
        used.push_back(std::move(column.categories[code]));
    }
    column.categories = std::move(used);
    for (uint32_t& code : column.codes)
        if (code != DataColumn::null_code) code = renumbered[code];
}

FeatureColumn make_feature(DataColumn& column, const FeatureRef& feature) {
    const bool is_category = column.kind == DataColumn::Kind::category;
    if (is_category) drop_unused_categories(column);
    return {column.name,
            feature.type,
            is_category ? FeatureKind::category : FeatureKind::number,
            feature.place.table,
            std::move(column.numbers),
            std::move(column.codes),
            std::move(column.categories)};
}

} // namespace

Dataset make_dataset(Join join, JoinRows rows, const DatasetPlan& plan) {
    MemoryBudget& budget = rows.row_ids.front().budget();
    DataColumn& target = column_at(join, plan.target);
    check_target(target);
    Dataset dataset{.rows = rows.rows,
                    .tables = {},
                    .features = {},
                    .target_table = plan.target.table,
                    .target = std::move(target.numbers),
                    .weight = Buffer<double>(budget, "weights"),
                    .holdout_table = -1,
                    .holdout = Buffer<uint8_t>(budget, "holdout flags")};
    for (size_t t = 0; t < static_cast<size_t>(join.relations()); t++) // bags have no columns
        dataset.tables.push_back({join.tables()[t].rows, std::move(rows.row_ids[t])});
    if (plan.weight) {
        DataColumn& weight = column_at(join, *plan.weight);
        check_weight(weight);
        dataset.weight = std::move(weight.numbers);
    }
    if (plan.holdout) {
        dataset.holdout_table = plan.holdout->table;
        const DataColumn& holdout = column_at(join, *plan.holdout);
        dataset.holdout.resize(holdout.numbers.size());
        for (size_t i = 0; i < holdout.numbers.size(); i++)
            dataset.holdout[i] = !is_null(holdout.numbers[i]) && holdout.numbers[i] != 0;
    }
    for (const FeatureRef& feature : plan.features)
        dataset.features.push_back(make_feature(column_at(join, feature.place), feature));
    return dataset;
}

void keep_rows_of(Join& join, JoinRows& rows, RunContext& context) {
    MemoryBudget& memory = context.memory();
    RowBlocks blocks(context, "sampling the join", 0);
    for (size_t t = 0; t < static_cast<size_t>(join.relations()); t++) {
        Table& table = join.tables()[t];
        Buffer<RowId>& row_ids = rows.row_ids[t];
        RowMask kept(memory, "the rows of a join", table.rows, uint8_t{0});
        blocks.for_each(rows.rows, [&](uint64_t i) { kept[row_ids[i]] = 1; });
        Buffer<RowId> numbers(memory, "the rows of a join", table.rows);
        RowId next = 0;
        blocks.for_each(table.rows, [&](uint64_t row) {
            numbers[row] = next;
            next += kept[row];
        });
        blocks.for_each(rows.rows, [&](uint64_t i) { row_ids[i] = numbers[row_ids[i]]; });
        keep_rows(table, kept, next, blocks);
    }
}

Dataset make_dataset(Join join, const GroupedJoin& grouped, const DatasetPlan& plan, RunContext& context) {
    JoinRows rows{join.count(context), {}, -1};
    for (size_t t = 0; t < join.tables().size(); t++) rows.row_ids.emplace_back(context.memory(), "row ids");
    Dataset dataset = make_dataset(std::move(join), std::move(rows), plan);
    RowBlocks blocks(context, "grouping rows by key", 0);
    const auto order_of = [&](int table) -> const Buffer<RowId>& { return grouped.tables()[table].order; };
    reorder(dataset.target, order_of(dataset.target_table), blocks);
    if (!dataset.weight.empty()) reorder(dataset.weight, order_of(dataset.target_table), blocks);
    if (dataset.holdout_table >= 0) reorder(dataset.holdout, order_of(dataset.holdout_table), blocks);
    for (FeatureColumn& feature : dataset.features) {
        if (feature.kind == FeatureKind::number)
            reorder(feature.numbers, order_of(feature.table), blocks);
        else
            reorder(feature.codes, order_of(feature.table), blocks);
    }
    return dataset;
}

} // namespace btml::relational
