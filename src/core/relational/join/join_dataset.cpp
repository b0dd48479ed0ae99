#include "core/relational/join/join_dataset.hpp"

#include "core/relational/join/inside_out.hpp"

#include <algorithm>

namespace btml::relational {

void renumber_categories(DataColumn& column, const std::vector<uint32_t>& order, RunContext& context) {
    std::vector<uint32_t> numbers(column.categories.size(), DataColumn::null_code);
    std::vector<std::string> ordered;
    ordered.reserve(order.size());
    context.for_each(order.size(), 10, [&](uint64_t i) {
        numbers[order[i]] = static_cast<uint32_t>(i);
        ordered.push_back(std::move(column.categories[order[i]]));
    });
    column.categories = std::move(ordered);
    context.for_each(column.codes.size(), 1, [&](uint64_t row) {
        if (uint32_t& code = column.codes[row]; code != DataColumn::null_code) code = numbers[code];
    });
    if (column.null_row_code != DataColumn::null_code) column.null_row_code = numbers[column.null_row_code];
}

void drop_unused_categories(DataColumn& column, RunContext& context) {
    std::vector<bool> is_used(column.categories.size(), false);
    context.for_each(column.codes.size(), 1, [&](uint64_t row) {
        if (column.codes[row] != DataColumn::null_code) is_used[column.codes[row]] = true;
    });
    std::vector<uint32_t> used;
    context.for_each(is_used.size(), 1, [&](uint64_t code) {
        if (is_used[code]) used.push_back(static_cast<uint32_t>(code));
    });
    renumber_categories(column, used, context);
}

namespace {

// What errors call a column.
std::string called(const char* role, const DataColumn& column) {
    return format("%s \"%s\"", role, column.name.c_str());
}

void check_each(const DataColumn& column, const char* role, void (*check)(double number, const char* what),
                RunContext& context) {
    const std::string what = called(role, column);
    context.for_each(column.numbers.size(), 1, [&](uint64_t row) { check(column.numbers[row], what.c_str()); });
}

// Groups are numbered by their content, whatever the order of rows.
Buffer<uint32_t> make_groups(DataColumn& column, RunContext& context) {
    const bool is_category = column.kind == DataColumn::Kind::category;
    if (is_category) drop_unused_categories(column, context);
    const uint64_t rows = is_category ? column.codes.size() : column.numbers.size();
    context.for_each(rows, 1, [&](uint64_t row) {
        if (!column.has_value(row)) throw Error(ErrorCode::null_value, called("query", column) + " is NULL in a row");
    });
    if (is_category) return std::move(column.codes);
    Buffer<double> distinct = column.numbers.copy(context);
    std::sort(distinct.begin(), distinct.end(), [&](double a, double b) {
        context.worked(1);
        return sql_less(a, b);
    });
    const auto same = [](double a, double b) { return !sql_less(a, b); };
    double* const end = std::unique(distinct.begin(), distinct.end(), same);
    Buffer<uint32_t> groups(context.memory(), "groups", rows);
    context.for_each(rows, 20, [&](uint64_t row) {
        double* const found = std::lower_bound(distinct.begin(), end, column.numbers[row], sql_less);
        groups[row] = static_cast<uint32_t>(found - distinct.begin());
    });
    return groups;
}

FeatureColumn make_feature(DataColumn& column, const FeatureRef& feature, RunContext& context) {
    const bool is_category = column.kind == DataColumn::Kind::category;
    if (is_category) drop_unused_categories(column, context);
    FeatureColumn made(context.memory(), {column.name, feature.type, is_category, std::move(column.categories)},
                       feature.place.table, feature.direction);
    made.numbers = std::move(column.numbers);
    made.codes = std::move(column.codes);
    return made;
}

} // namespace

Buffer<double> repeats_of_rows(const Join& join, int table, RunContext& context) {
    return InsideOut<SumProduct, NoFactors<SumProduct>>(join, table, {}, context).values();
}

void share_weights(Join& join, DatasetPlan& plan, const Buffer<double>& repeats, RunContext& context) {
    if (plan.weight) {
        check_each(column_at(join, *plan.weight), "weight", check_weight, context);
    } else {
        std::vector<DataColumn>& columns = join.tables()[plan.target.table].columns;
        plan.weight = ColumnRef{plan.target.table, static_cast<int>(columns.size())};
        columns.push_back({"weight",
                           DataColumn::Kind::number,
                           Buffer<double>(context.memory(), "weights", repeats.size(), 1.0),
                           Buffer<uint32_t>(context.memory(), "weights"),
                           {}});
    }
    Buffer<double>& weights = column_at(join, *plan.weight).numbers;
    context.for_each(weights.size(), 1, [&](uint64_t row) { weights[row] /= repeats[row]; });
}

Dataset make_dataset(Join join, JoinRows rows, const DatasetPlan& plan, RunContext& context) {
    DataColumn& target = column_at(join, plan.target);
    check_each(target, "target", check_finite, context);
    Dataset dataset(context.memory(), rows.rows);
    dataset.target_table = plan.target.table;
    dataset.target = std::move(target.numbers);
    dataset.labels = plan.labels;
    dataset.label_weights = plan.label_weights;
    for (size_t t = 0; t < static_cast<size_t>(join.relations()); t++) // bags have no columns
        dataset.tables.push_back({join.tables()[t].rows, std::move(rows.row_ids[t])});
    if (plan.weight) {
        DataColumn& weight = column_at(join, *plan.weight);
        check_each(weight, "weight", check_weight, context);
        dataset.weight = std::move(weight.numbers);
    }
    if (plan.holdout) {
        dataset.holdout_table = plan.holdout->table;
        const DataColumn& holdout = column_at(join, *plan.holdout);
        dataset.holdout.resize(holdout.numbers.size());
        context.for_each(holdout.numbers.size(), 1, [&](uint64_t row) {
            dataset.holdout[row] = !is_null(holdout.numbers[row]) && holdout.numbers[row] != 0;
        });
    }
    if (plan.offset) {
        DataColumn& offset = column_at(join, plan.offset->place);
        check_each(offset, "offset", check_given, context);
        dataset.offset = make_feature(offset, *plan.offset, context);
    }
    if (plan.divider) dataset.divider = make_feature(column_at(join, plan.divider->place), *plan.divider, context);
    if (plan.query) dataset.query = make_groups(column_at(join, *plan.query), context);
    for (const FeatureRef& feature : plan.features)
        dataset.features.push_back(make_feature(column_at(join, feature.place), feature, context));
    return dataset;
}

void keep_rows_of(Join& join, JoinRows& rows, RunContext& context) {
    MemoryBudget& memory = context.memory();
    for (size_t t = 0; t < static_cast<size_t>(join.relations()); t++) {
        Table& table = join.tables()[t];
        Buffer<RowId>& row_ids = rows.row_ids[t];
        RowMask kept(memory, "the rows of a join", table.rows, uint8_t{0});
        context.for_each(rows.rows, 1, [&](uint64_t i) { kept[row_ids[i]] = 1; });
        Buffer<RowId> numbers(memory, "the rows of a join", table.rows);
        RowId next = 0;
        context.for_each(table.rows, 1, [&](uint64_t row) {
            numbers[row] = next;
            next += kept[row];
        });
        context.for_each(rows.rows, 1, [&](uint64_t i) { row_ids[i] = numbers[row_ids[i]]; });
        keep_rows(table, kept, next, context);
    }
}

Dataset make_dataset(Join join, const RowOrders& order_of, const DatasetPlan& plan, RunContext& context) {
    JoinRows rows{join.count(context), {}};
    for (size_t t = 0; t < join.tables().size(); t++) rows.row_ids.emplace_back(context.memory(), "row ids");
    Dataset dataset = make_dataset(std::move(join), std::move(rows), plan, context);
    reorder(dataset.target, order_of(dataset.target_table), context);
    if (!dataset.weight.empty()) reorder(dataset.weight, order_of(dataset.target_table), context);
    if (dataset.offset) reorder(dataset.offset->numbers, order_of(dataset.target_table), context);
    if (dataset.query) reorder(*dataset.query, order_of(dataset.target_table), context);
    if (dataset.holdout_table >= 0) reorder(dataset.holdout, order_of(dataset.holdout_table), context);
    for (FeatureColumn& feature : dataset.features) {
        if (!feature.categorical)
            reorder(feature.numbers, order_of(feature.table), context);
        else
            reorder(feature.codes, order_of(feature.table), context);
    }
    return dataset;
}

} // namespace btml::relational
