#include "core/validation/folds.hpp"

#include "core/numbers/hashed_rows.hpp"
#include "core/validation/validation_options.hpp"

#include <algorithm>

namespace btml::validation {

using boosting::Role;

namespace {

constexpr const char* what = "folds of rows";

void withhold(const Dataset& dataset, const std::string& holdout, Buffer<uint16_t>& of_row, RunContext& context) {
    const RowIds ids = dataset.holdout_ids();
    uint64_t withheld = 0;
    context.for_each(dataset.rows, 1, [&](uint64_t row) {
        const bool held_out = dataset.holdout_table >= 0 && dataset.holdout[ids[row]];
        of_row[row] = held_out ? Folds::withheld : Folds::always;
        withheld += held_out;
    });
    if (dataset.rows > 0 && withheld == dataset.rows)
        throw Error(ErrorCode::invalid_argument, holdout + " leaves no rows for the folds",
                    format("It is true in all %" PRIu64 " rows.", withheld),
                    "Name a column that is true only where rows are to be held out.");
}

void read_column(const Dataset& dataset, Folds& folds, RunContext& context) {
    const FeatureColumn& column = *dataset.fold;
    check_fold_count(column.name, column.categories.size());
    folds.names = column.categories;
    const RowIds ids = dataset.ids_of(column);
    context.for_each(dataset.rows, 1, [&](uint64_t row) {
        const uint32_t code = column.codes[ids[row]];
        if (folds.of_row[row] != Folds::withheld && code != FeatureColumn::null_code)
            folds.of_row[row] = static_cast<uint16_t>(code);
    });
}

[[noreturn]] void refuse_cut(const std::string& column, const char* parts) {
    throw Error(ErrorCode::invalid_argument, column + " cuts a row of the target's table in two",
                format("The join has it in %s, so that its target would be trained on and scored.", parts),
                "Name a column that is the same wherever a row of that table is.");
}

// A row of the target's table that were trained on and scored in one fold, or withheld in some rows of the join and not
// in others, would tell its own target.
void check_whole(const Dataset& dataset, const std::string& holdout, const Folds& folds, RunContext& context) {
    const RowIds ids = dataset.target_ids();
    if (!ids) return;
    static constexpr uint32_t unseen = UINT32_MAX;
    Buffer<uint32_t> fold_of(context.memory(), what, dataset.target.size(), unseen);
    context.for_each(dataset.rows, 1, [&](uint64_t row) {
        uint32_t& fold = fold_of[ids[row]];
        if (fold != unseen && fold != folds.of_row[row]) {
            if (fold == Folds::withheld || folds.of_row[row] == Folds::withheld)
                refuse_cut(holdout, "rows that are held out and in others");
            refuse_cut("fold \"" + dataset.fold->name + "\"", "rows of different folds");
        }
        fold = folds.of_row[row];
    });
}

// Returns what is assigned as a whole, in an order at random: queries, or rows of the target's table, of which some row
// of the join is used.
Buffer<HashedRow> units_of(const Dataset& dataset, const Buffer<uint64_t>& contents, uint64_t seed,
                           const Buffer<uint16_t>& of_row, RunContext& context) {
    static constexpr uint64_t of_contents = 0x666f6c64, of_queries = of_contents + 1; // streams
    const size_t rows = dataset.target.size();
    Buffer<uint8_t> used(context.memory(), what, rows, uint8_t{0});
    const auto number_of = [&](size_t row) { return dataset.query ? (*dataset.query)[row] : row; };
    for_each_used(dataset, of_row, context, [&](uint64_t, size_t at) { used[number_of(at)] = 1; });
    Buffer<HashedRow> units(context.memory(), what);
    context.for_each(rows, 1, [&](uint64_t number) {
        if (!used[number]) return;
        const uint64_t hash =
            dataset.query ? random_bits(seed, of_queries, number) : random_bits(seed, of_contents, contents[number]);
        units.push_back({hash, static_cast<uint32_t>(number)});
    });
    sort_by_hash(units, context);
    return units;
}

// Deals units out in turn, those of one label after those of the one before.
void cut(const Dataset& dataset, const Buffer<uint64_t>& contents, size_t count, uint64_t seed, Folds& folds,
         RunContext& context) {
    const Buffer<HashedRow> units = units_of(dataset, contents, seed, folds.of_row, context);
    if (units.size() < count)
        throw Error(
            ErrorCode::invalid_argument,
            format("there are more folds (%zu) than %s (%zu)", count, dataset.query ? "queries" : "rows", units.size()),
            "", "Ask for fewer folds.");
    const auto label_of = [&](const HashedRow& unit) {
        return dataset.query || dataset.labels.empty() ? 0 : static_cast<size_t>(dataset.target[unit.row]);
    };
    std::vector<size_t> next(dataset.labels.size() + 2, 0); // by label
    for (const HashedRow& unit : units) next[label_of(unit) + 1]++;
    for (size_t label = 1; label < next.size(); label++) next[label] += next[label - 1];
    Buffer<uint16_t> of_unit(context.memory(), what, dataset.target.size(), Folds::always);
    context.for_each(units.size(), 2, [&](uint64_t i) {
        of_unit[units[i].row] = static_cast<uint16_t>(next[label_of(units[i])]++ % count);
    });
    for_each_used(dataset, folds.of_row, context, [&](uint64_t row, size_t at) {
        folds.of_row[row] = of_unit[dataset.query ? (*dataset.query)[at] : at];
    });
    for (size_t fold = 0; fold < count; fold++) folds.names.push_back(std::to_string(fold + 1));
}

void count_rows(const Dataset& dataset, Folds& folds, RunContext& context) {
    folds.rows.assign(folds.size(), 0);
    for_each_used(dataset, folds.of_row, context, [&](uint64_t row, size_t) {
        const uint16_t fold = folds.of_row[row];
        (fold == Folds::always ? folds.trained_rows : folds.rows[fold])++;
    });
    context.for_each(dataset.rows, 1,
                     [&](uint64_t row) { folds.withheld_rows += folds.of_row[row] == Folds::withheld; });
}

// Folds of which no row is used are none.
void drop_empty(Folds& folds, RunContext& context) {
    std::vector<uint16_t> numbers(folds.size(), Folds::always);
    Folds kept{{}, {}, folds.trained_rows, folds.withheld_rows, std::move(folds.of_row)};
    for (size_t fold = 0; fold < folds.size(); fold++) {
        if (folds.rows[fold] == 0) continue;
        numbers[fold] = static_cast<uint16_t>(kept.size());
        kept.names.push_back(std::move(folds.names[fold]));
        kept.rows.push_back(folds.rows[fold]);
    }
    context.for_each(kept.of_row.size(), 1, [&](uint64_t row) {
        uint16_t& fold = kept.of_row[row];
        if (fold < numbers.size()) fold = numbers[fold];
    });
    folds = std::move(kept);
}

void check(const Folds& folds) {
    if (folds.size() == 0)
        throw Error(
            ErrorCode::invalid_argument, "no row is in a fold",
            "The fold is NULL in every row that is used. Rows without a target, of weight 0 or held out are not.");
    uint64_t rows = folds.trained_rows;
    for (const uint64_t of_fold : folds.rows) rows += of_fold;
    for (size_t fold = 0; fold < folds.size(); fold++)
        if (folds.rows[fold] == rows)
            throw Error(ErrorCode::invalid_argument,
                        format("fold \"%s\" leaves no rows to train on", folds.names[fold].c_str()),
                        format("All %" PRIu64
                               " rows that are used are in it. Rows without a target, of weight 0 or held out are not.",
                               rows),
                        "Name a column of two values or more as fold.");
}

} // namespace

template <class RoleOf>
static Buffer<uint8_t> roles_by(const Buffer<uint16_t>& of_row, const RoleOf& role_of, RunContext& context) {
    Buffer<uint8_t> roles(context.memory(), what, of_row.size());
    context.for_each(of_row.size(), 1, [&](uint64_t row) { roles[row] = static_cast<uint8_t>(role_of(of_row[row])); });
    return roles;
}

Buffer<uint8_t> Folds::roles(size_t fold, RunContext& context) const {
    const auto role_of = [=](uint16_t of) {
        return of == withheld ? Role::ignored : of == fold ? Role::holdout : Role::train;
    };
    return roles_by(of_row, role_of, context);
}

Buffer<uint8_t> Folds::final_roles(bool scored, RunContext& context) const {
    const auto role_of = [=](uint16_t of) {
        return of != withheld ? Role::train : scored ? Role::holdout : Role::ignored;
    };
    return roles_by(of_row, role_of, context);
}

void check_fold_count(const std::string& column, size_t values) {
    if (values > max_folds)
        throw Error(ErrorCode::limit_exceeded,
                    format("fold \"%s\" has %zu values, at most %d can be folds", column.c_str(), values, max_folds),
                    "", "Make a column with fewer values of it in the source, as in SELECT *, customer % 5 AS part.");
}

Folds assign_folds(const Dataset& dataset, const Buffer<uint64_t>& contents, int count, uint64_t seed,
                   RunContext& context, const std::string& holdout) {
    Folds folds{{}, {}, 0, 0, Buffer<uint16_t>(context.memory(), what, dataset.rows)};
    const std::string held = holdout.empty() ? "holdout" : "holdout \"" + holdout + '"';
    withhold(dataset, held, folds.of_row, context);
    if (dataset.fold) read_column(dataset, folds, context);
    check_whole(dataset, held, folds, context);
    if (!dataset.fold) cut(dataset, contents, static_cast<size_t>(count), seed, folds, context);
    count_rows(dataset, folds, context);
    drop_empty(folds, context);
    check(folds);
    return folds;
}

} // namespace btml::validation
