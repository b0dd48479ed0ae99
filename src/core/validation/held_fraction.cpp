#include "core/validation/held_fraction.hpp"

#include "core/numbers/hashed_rows.hpp"
#include "core/relational/join/inside_out.hpp"
#include "core/relational/queries/sketch_hash.hpp"
#include "core/validation/folds.hpp"
#include "core/validation/ordered_values.hpp"

#include <cmath>
#include <numeric>

namespace btml::validation {

using relational::ColumnRef;
using relational::Counting;
using relational::DataColumn;
using relational::DatasetPlan;
using relational::InsideOut;
using relational::Join;
using relational::RowId;
using relational::Table;

namespace {

constexpr const char* what_held = "rows held out";

// Factors of the number of rows of the join that weigh something and, where flags are given, are held out.
struct UsedRows {
    int target_table;
    const DataColumn* weight; // of the target's table; null: 1 each
    int flagged_table = -1;   // another one
    const Buffer<double>* flags = nullptr;

    template <class Body>
    void visit(int table, Body&& body) const {
        if (weight && table == target_table)
            body([this](RowId row) { return uint64_t{weight->numbers[row] > 0}; });
        else if (table == flagged_table)
            body([this](RowId row) { return uint64_t{(*flags)[row] != 0}; });
        else
            body([](RowId) { return Counting::one(); });
    }
};

UsedRows used_rows_of(const Join& join, const DatasetPlan& plan) {
    return {plan.target.table, plan.weight ? &column_at(join, *plan.weight) : nullptr};
}

// Returns how many rows of the join that weigh something each row of a table is in.
Buffer<uint64_t> used_rows(const Join& join, const DatasetPlan& plan, int table, RunContext& context) {
    return InsideOut<Counting, UsedRows>(join, table, used_rows_of(join, plan), context).values();
}

// A row of the target's table that is held out in some rows of the join and trained on in others would tell its target.
void check_whole_targets(const Join& join, const DatasetPlan& plan, int table, const Buffer<double>& flags,
                         const std::string& column, RunContext& context) {
    if (table == plan.target.table) return;
    const Buffer<uint64_t> all = used_rows(join, plan, plan.target.table, context);
    UsedRows factors = used_rows_of(join, plan);
    factors.flagged_table = table;
    factors.flags = &flags;
    const Buffer<uint64_t> held = InsideOut<Counting, UsedRows>(join, plan.target.table, factors, context).values();
    context.for_each(all.size(), 1, [&](uint64_t row) {
        if (held[row] > 0 && held[row] < all[row]) refuse_cut(column, "rows that are held out and in others");
    });
}

[[noreturn]] void refuse_one(const std::string& of_what) {
    throw Error(ErrorCode::invalid_argument, "holdout_fraction needs two " + of_what + " or more",
                "One is trained on, and one is held out. Rows without a target or of weight 0 do not count.");
}

// Returns 1 for the rows of the last values, 0 for the others.
Buffer<double> last_rows(const Join& join, const DatasetPlan& plan, double fraction, RunContext& context) {
    const DataColumn& column = column_at(join, plan.divider->place);
    const std::string name = called_column(Division::order_by, column.name);
    const Buffer<double>& numbers = column.numbers;
    const Buffer<uint64_t> used = used_rows(join, plan, plan.divider->place.table, context);
    context.for_each(numbers.size(), 1, [&](uint64_t row) {
        if (used[row] > 0) check_given(numbers[row], name.c_str());
    });
    const OrderedValues values(numbers, used, context);
    if (values.size() < 2) refuse_one("values of \"" + column.name + '"');
    const double shares[] = {1 - fraction};
    const double first = values.parts(shares)[0];
    Buffer<double> flags(context.memory(), what_held, numbers.size());
    context.for_each(numbers.size(), 1, [&](uint64_t row) { flags[row] = numbers[row] >= first; });
    return flags;
}

// Returns a hash of the value of each row.
Buffer<uint64_t> hashes_of(const DataColumn& column, uint64_t seed, RunContext& context) {
    static constexpr uint64_t stream = 0x68656c64;
    Buffer<uint64_t> of_category(context.memory(), what_held, column.categories.size());
    context.for_each(of_category.size(), 10, [&](uint64_t category) {
        of_category[category] = random_bits(seed, stream, relational::hash_bytes(column.categories[category]));
    });
    const bool is_category = column.kind == DataColumn::Kind::category;
    Buffer<uint64_t> hashes(context.memory(), what_held, is_category ? column.codes.size() : column.numbers.size(),
                            uint64_t{0});
    context.for_each(hashes.size(), 2, [&](uint64_t row) {
        if (!is_category)
            hashes[row] = random_bits(seed, stream, hash_of_numbers({&column.numbers[row], 1}));
        else if (column.codes[row] != DataColumn::null_code)
            hashes[row] = of_category[column.codes[row]];
    });
    return hashes;
}

// Returns the rows that are used, in the order of their hashes.
Buffer<HashedRow> used_by_hash(const Buffer<uint64_t>& hashes, const Buffer<uint64_t>& used, RunContext& context) {
    Buffer<HashedRow> rows(context.memory(), what_held);
    context.for_each(hashes.size(), 1, [&](uint64_t row) {
        if (used[row] > 0) rows.push_back({hashes[row], static_cast<uint32_t>(row)});
    });
    sort_by_hash(rows, context);
    return rows;
}

uint64_t count_held(double fraction, uint64_t units) {
    const auto nearest = static_cast<uint64_t>(std::llround(fraction * static_cast<double>(units)));
    return std::clamp<uint64_t>(nearest, 1, units - 1);
}

// Returns 1 for the rows whose hashes, which whole groups share, are the least.
Buffer<double> whole_groups(const Buffer<uint64_t>& hashes, const Buffer<uint64_t>& used, double fraction,
                            const std::string& called, RunContext& context) {
    const Buffer<HashedRow> rows = used_by_hash(hashes, used, context);
    const auto is_first = [&](size_t i) { return i == 0 || rows[i].hash != rows[i - 1].hash; };
    uint64_t groups = 0;
    context.for_each(rows.size(), 1, [&](uint64_t i) { groups += is_first(i); });
    if (groups < 2) refuse_one(called);
    const uint64_t held = count_held(fraction, groups);
    Buffer<double> flags(context.memory(), what_held, hashes.size(), 0.0);
    uint64_t met = 0;
    context.for_each(rows.size(), 1, [&](uint64_t i) {
        met += is_first(i);
        flags[rows[i].row] = met <= held;
    });
    return flags;
}

// Returns how many rows of each label are held out, as large a part of each as whole rows allow. rows: of each label.
std::vector<uint64_t> held_of_labels(const std::vector<uint64_t>& rows, double fraction) {
    const uint64_t all = std::accumulate(rows.begin(), rows.end(), uint64_t{0});
    const double share = static_cast<double>(count_held(fraction, all)) / static_cast<double>(all);
    const auto held_of = [=](uint64_t first) { return std::llround(share * static_cast<double>(first)); };
    std::vector<uint64_t> held;
    uint64_t begin = 0;
    for (const uint64_t of_label : rows) {
        held.push_back(static_cast<uint64_t>(held_of(begin + of_label) - held_of(begin)));
        begin += of_label;
    }
    return held;
}

// Returns 1 for the rows of the least hashes of each label.
Buffer<double> single_rows(const Join& join, const DatasetPlan& plan, const HeldFraction& held, RunContext& context) {
    static constexpr uint64_t stream = 0x726f77;
    const Buffer<uint64_t>& contents = *join.tables()[plan.target.table].content;
    Buffer<uint64_t> hashes(context.memory(), what_held, contents.size());
    context.for_each(contents.size(), 2,
                     [&](uint64_t row) { hashes[row] = random_bits(held.seed, stream, contents[row]); });
    const Buffer<HashedRow> rows = used_by_hash(hashes, used_rows(join, plan, plan.target.table, context), context);
    if (rows.size() < 2) refuse_one("rows of the target's table");
    const Buffer<double>& target = column_at(join, plan.target).numbers;
    const auto label_of = [&](const HashedRow& of) {
        return plan.labels.empty() ? 0 : static_cast<size_t>(target[of.row]);
    };
    std::vector<uint64_t> of_label(std::max<size_t>(plan.labels.size(), 1), 0);
    context.for_each(rows.size(), 1, [&](uint64_t i) { of_label[label_of(rows[i])]++; });
    std::vector<uint64_t> left = held_of_labels(of_label, held.fraction);
    Buffer<double> flags(context.memory(), what_held, contents.size(), 0.0);
    context.for_each(rows.size(), 1, [&](uint64_t i) {
        uint64_t& more = left[label_of(rows[i])];
        flags[rows[i].row] = more > 0;
        more -= more > 0;
    });
    return flags;
}

Buffer<double> groups_of(const Join& join, const DatasetPlan& plan, const HeldFraction& held, RunContext& context) {
    const bool is_query = held.division == Division::fold;
    const ColumnRef place = is_query ? *plan.query : plan.divider->place;
    const DataColumn& column = column_at(join, place);
    const std::string name = is_query ? "queries" : "groups of \"" + column.name + '"';
    const Buffer<uint64_t> used = used_rows(join, plan, place.table, context);
    if (!is_query)
        context.for_each(column.codes.size(), 1, [&](uint64_t row) {
            if (used[row] > 0 && !column.has_value(row)) refuse_no_group(called_column(held.division, column.name));
        });
    return whole_groups(hashes_of(column, held.seed, context), used, held.fraction, name, context);
}

} // namespace

void hold_out(Join& join, DatasetPlan& plan, const HeldFraction& held, RunContext& context) {
    const bool is_ordered = held.division == Division::order_by, is_grouped = held.division == Division::group_by;
    Buffer<double> flags = is_ordered                 ? last_rows(join, plan, held.fraction, context)
                           : is_grouped || plan.query ? groups_of(join, plan, held, context)
                                                      : single_rows(join, plan, held, context);
    const int table = plan.divider ? plan.divider->place.table : plan.target.table;
    if (plan.divider)
        check_whole_targets(join, plan, table, flags,
                            called_column(held.division, column_at(join, plan.divider->place).name), context);
    std::vector<DataColumn>& columns = join.tables()[table].columns;
    plan.holdout = ColumnRef{table, static_cast<int>(columns.size())};
    columns.push_back({"holdout_fraction",
                       DataColumn::Kind::number,
                       std::move(flags),
                       Buffer<uint32_t>(context.memory(), what_held),
                       {}});
    plan.divider.reset();
}

} // namespace btml::validation
