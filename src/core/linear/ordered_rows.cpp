#include "core/linear/ordered_rows.hpp"

#include "core/base/worker_contexts.hpp"
#include "core/numbers/hashed_rows.hpp"

namespace btml::linear {

namespace {

constexpr size_t rows_at_a_time = 4096;
constexpr double too_large = 1e150; // whose square could overflow a sum

// Returns the rows to train on, or those that are held out, with a weight.
Buffer<HashedRow> rows_of_role(const Dataset& dataset, bool held_out, RunContext& context) {
    Buffer<HashedRow> rows(context.memory(), "the order of rows");
    const RowIds holdout_ids = dataset.holdout_ids();
    context.for_each(dataset.rows, 2, [&](uint64_t row) {
        const bool is_held_out = dataset.holdout_table >= 0 && dataset.holdout[holdout_ids[row]] != 0;
        const double weight = dataset.weight_of(row);
        check_weight(weight, "weight");
        if (is_held_out == held_out && weight > 0) rows.push_back({0, static_cast<uint32_t>(row)});
    });
    return rows;
}

void add_to_hash(HashedRow& row, uint64_t bits) {
    row.hash = mix64(row.hash ^ bits);
}

void hash_block(const Dataset& dataset, std::span<HashedRow> rows) {
    for (const FeatureColumn& column : dataset.features) {
        const RowIds ids = dataset.ids_of(column);
        if (column.categorical) {
            for (HashedRow& row : rows) add_to_hash(row, column.codes[ids[row.row]]);
            continue;
        }
        for (HashedRow& row : rows) {
            const double number = column.numbers[ids[row.row]];
            check_feature(number, column.name);
            add_to_hash(row, std::bit_cast<uint64_t>(number + 0.0));
        }
    }
    const RowIds target_ids = dataset.target_ids();
    for (HashedRow& row : rows) {
        add_to_hash(row, std::bit_cast<uint64_t>(dataset.target[target_ids[row.row]] + 0.0));
        add_to_hash(row, std::bit_cast<uint64_t>(dataset.weight_of(row.row)));
    }
}

void sort_by_content(const Dataset& dataset, Buffer<HashedRow>& rows, ThreadTeam& team, RunContext& context) {
    const size_t blocks = (rows.size() + rows_at_a_time - 1) / rows_at_a_time;
    team.for_each(blocks, [&](size_t block, int) {
        const size_t begin = block * rows_at_a_time, end = std::min(rows.size(), begin + rows_at_a_time);
        hash_block(dataset, {rows.begin() + begin, end - begin});
    });
    sort_by_hash(rows, context);
}

// Replaces a column by its values in the order of these rows of its table.
template <class T>
void gather(Buffer<T>& values, const uint32_t* rows, size_t count, RunContext& context) {
    if (values.empty()) return;
    Buffer<T> gathered(values.budget(), values.what(), count);
    context.for_each(count, 1, [&](size_t i) { gathered[i] = values[rows[i]]; });
    values = std::move(gathered);
}

void gather(FeatureColumn& column, const uint32_t* rows, size_t count, RunContext& context) {
    gather(column.numbers, rows, count, context);
    gather(column.codes, rows, count, context);
}

// Stores the columns of a table in the order of these of its rows.
void gather_table(Dataset& dataset, int table, const uint32_t* rows, size_t count, ThreadTeam& team,
                  RunContext& context) {
    for_each_item(team, dataset.features.size(), context, [&](size_t f, RunContext& own) {
        if (dataset.features[f].table == table) gather(dataset.features[f], rows, count, own);
    });
    if (dataset.divider && dataset.divider->table == table) gather(*dataset.divider, rows, count, context);
    if (dataset.target_table != table) return;
    gather(dataset.target, rows, count, context);
    gather(dataset.weight, rows, count, context);
}

// Makes these rows the dataset's. A table of about as many rows as the join is stored in their order, and small tables
// stay as they are.
void reorder(Dataset& dataset, const Buffer<HashedRow>& order, ThreadTeam& team, RunContext& context) {
    const size_t count = order.size();
    for (size_t t = 0; t < dataset.tables.size(); t++) {
        DataTable& table = dataset.tables[t];
        const RowIds ids = table.ids();
        Buffer<uint32_t> rows(context.memory(), "row ids", count);
        context.for_each(count, 1, [&](size_t i) { rows[i] = ids[order[i].row]; });
        table.lent = nullptr;
        table.row_ids.clear();
        if (table.rows < count / 2) {
            table.row_ids = std::move(rows);
            continue;
        }
        gather_table(dataset, static_cast<int>(t), rows.data(), count, team, context);
        table.rows = count;
    }
    dataset.rows = count;
}

} // namespace

void check_size(double number, const char* what) {
    if (std::abs(number) < too_large || is_null(number)) return;
    check_finite(number, what);
    throw Error(ErrorCode::out_of_range, format("%s is %g in a row", what, number),
                "Numbers of linear models must be below 1e150 in magnitude.");
}

void check_feature(double number, const std::string& name) {
    if (std::abs(number) < too_large || is_null(number)) return;
    check_size(number, ("feature \"" + name + '"').c_str());
}

OrderedRows order_rows(Dataset dataset, ThreadTeam& team, RunContext& context) {
    Buffer<HashedRow> order = rows_of_role(dataset, false, context);
    Buffer<HashedRow> held_out = rows_of_role(dataset, true, context);
    const uint64_t training = order.size();
    if (training == 0) {
        uint64_t flagged = 0;
        const RowIds ids = dataset.holdout_ids();
        if (dataset.holdout_table >= 0)
            context.for_each(dataset.rows, 1, [&](uint64_t row) { flagged += dataset.holdout[ids[row]] != 0; });
        refuse_no_training_rows(dataset.rows, flagged);
    }
    sort_by_content(dataset, order, team, context);
    sort_by_content(dataset, held_out, team, context);
    order.append(held_out.span());
    held_out.clear();
    reorder(dataset, order, team, context);
    dataset.holdout_table = -1;
    dataset.holdout.clear();
    return {std::move(dataset), training};
}

} // namespace btml::linear
