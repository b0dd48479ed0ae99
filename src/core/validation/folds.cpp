#include "core/validation/folds.hpp"

#include "core/numbers/hashed_rows.hpp"
#include "core/relational/queries/sketch_hash.hpp"
#include "core/validation/ordered_values.hpp"

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
    const FeatureColumn& column = *dataset.divider;
    check_fold_count(column.name, column.categories.size());
    folds.names = column.categories;
    const RowIds ids = dataset.ids_of(column);
    context.for_each(dataset.rows, 1, [&](uint64_t row) {
        const uint32_t code = column.codes[ids[row]];
        if (folds.of_row[row] != Folds::withheld && code != FeatureColumn::null_code)
            folds.of_row[row] = static_cast<uint16_t>(code);
    });
}

// Refuses a row that counts and has no value to be ordered or grouped by.
void check_values(const Dataset& dataset, const DivisionRule& rule, RunContext& context) {
    const std::string name = called_column(rule.division, dataset.divider->name);
    const FeatureColumn& column = *dataset.divider;
    const RowIds ids = dataset.ids_of(column), target_ids = dataset.target_ids();
    context.for_each(dataset.rows, 1, [&](uint64_t row) {
        if (!weighs(dataset, target_ids[row])) return;
        if (!column.categorical)
            check_given(column.numbers[ids[row]], name.c_str());
        else if (column.codes[ids[row]] == FeatureColumn::null_code)
            refuse_no_group(name);
    });
}

// A row of the target's table that were trained on and scored in one fold, or withheld in some rows of the join and not
// in others, would tell its own target.
void check_whole(const Dataset& dataset, const std::string& holdout, const DivisionRule& rule, const Folds& folds,
                 RunContext& context) {
    const RowIds ids = dataset.target_ids();
    if (!ids) return;
    const FeatureColumn* const column = dataset.divider ? &*dataset.divider : nullptr;
    const RowIds column_ids = column ? dataset.ids_of(*column) : RowIds();
    const auto differ = [&](uint32_t a, uint32_t b) {
        return column->categorical ? column->codes[a] != column->codes[b] : column->numbers[a] != column->numbers[b];
    };
    static constexpr uint32_t unseen = UINT32_MAX;
    Buffer<uint32_t> first_of(context.memory(), what, dataset.target.size(), unseen); // its first row of the join
    context.for_each(dataset.rows, 1, [&](uint64_t row) {
        if (!weighs(dataset, ids[row])) return;
        uint32_t& first = first_of[ids[row]];
        if (first == unseen) first = static_cast<uint32_t>(row);
        const bool is_withheld = folds.of_row[row] == Folds::withheld;
        if (is_withheld != (folds.of_row[first] == Folds::withheld))
            refuse_cut(holdout, "rows that are held out and in others");
        if (column && !is_withheld && differ(column_ids[row], column_ids[first]))
            refuse_cut(called_column(rule.division, dataset.divider->name),
                       rule.division == Division::order_by   ? "rows of different values"
                       : rule.division == Division::group_by ? "rows of different groups"
                                                             : "rows of different folds");
    });
}

// What is dealt out as a whole: groups, queries or rows of the target's table, each with a number.
class Units {
  public:
    Units(const Dataset& dataset, const Buffer<uint64_t>& contents, uint64_t seed)
        : dataset_(dataset), contents_(contents), seed_(seed) {
        if (dataset.divider) group_ids_ = dataset.ids_of(*dataset.divider);
    }

    // Says whether there is no label by which they are alike.
    bool are_mixed() const { return dataset_.divider || dataset_.query || dataset_.labels.empty(); }
    // Numbers are below it.
    size_t end() const { return dataset_.divider ? dataset_.divider->categories.size() : dataset_.target.size(); }
    size_t of(uint64_t row, size_t at) const {
        if (dataset_.divider) return dataset_.divider->codes[group_ids_[row]];
        return dataset_.query ? (*dataset_.query)[at] : at;
    }
    uint64_t hash(size_t number) const {
        static constexpr uint64_t of_contents = 0x666f6c64, of_queries = of_contents + 1, of_groups = of_contents + 2;
        if (dataset_.divider)
            return random_bits(seed_, of_groups, relational::hash_bytes(dataset_.divider->categories[number]));
        return dataset_.query ? random_bits(seed_, of_queries, number)
                              : random_bits(seed_, of_contents, contents_[number]);
    }
    std::string called() const {
        if (dataset_.divider) return "groups of \"" + dataset_.divider->name + '"';
        return dataset_.query ? "queries" : "rows";
    }

  private:
    const Dataset& dataset_;
    const Buffer<uint64_t>& contents_;
    const uint64_t seed_;
    RowIds group_ids_;
};

// Returns the units of which some row of the join is used, in an order at random.
Buffer<HashedRow> shuffled(const Dataset& dataset, const Units& units, const Buffer<uint16_t>& of_row,
                           RunContext& context) {
    Buffer<uint8_t> used(context.memory(), what, units.end(), uint8_t{0});
    for_each_used(dataset, of_row, context, [&](uint64_t row, size_t at) { used[units.of(row, at)] = 1; });
    Buffer<HashedRow> order(context.memory(), what);
    context.for_each(used.size(), 1, [&](uint64_t number) {
        if (used[number]) order.push_back({units.hash(number), static_cast<uint32_t>(number)});
    });
    sort_by_hash(order, context);
    return order;
}

void name_by_number(Folds& folds, size_t count) {
    for (size_t fold = 0; fold < count; fold++) folds.names.push_back(std::to_string(fold + 1));
}

// Deals units out in turn, those of one label after those of the one before.
void deal(const Dataset& dataset, const Units& units, size_t count, Folds& folds, RunContext& context) {
    const Buffer<HashedRow> order = shuffled(dataset, units, folds.of_row, context);
    if (order.size() < count)
        throw Error(ErrorCode::invalid_argument,
                    format("there are more folds (%zu) than %s (%zu)", count, units.called().c_str(), order.size()), "",
                    "Ask for fewer folds.");
    const auto label_of = [&](const HashedRow& unit) {
        return units.are_mixed() ? 0 : static_cast<size_t>(dataset.target[unit.row]);
    };
    std::vector<size_t> next(dataset.labels.size() + 2, 0); // by label
    for (const HashedRow& unit : order) next[label_of(unit) + 1]++;
    for (size_t label = 1; label < next.size(); label++) next[label] += next[label - 1];
    Buffer<uint16_t> of_unit(context.memory(), what, units.end(), Folds::always);
    context.for_each(order.size(), 2, [&](uint64_t i) {
        of_unit[order[i].row] = static_cast<uint16_t>(next[label_of(order[i])]++ % count);
    });
    for_each_used(dataset, folds.of_row, context,
                  [&](uint64_t row, size_t at) { folds.of_row[row] = of_unit[units.of(row, at)]; });
    name_by_number(folds, count);
}

// Returns the first value of each fold.
std::vector<double> first_values(const Dataset& dataset, size_t count, const DivisionRule& rule, const Folds& folds,
                                 RunContext& context) {
    const FeatureColumn& column = *dataset.divider;
    const RowIds ids = dataset.ids_of(column);
    Buffer<uint64_t> rows(context.memory(), what, column.numbers.size(), uint64_t{0});
    for_each_used(dataset, folds.of_row, context, [&](uint64_t row, size_t) { rows[ids[row]]++; });
    const OrderedValues values(column.numbers, rows, context);
    if (values.size() < count + 1)
        throw Error(ErrorCode::invalid_argument,
                    format("%s has %zu value%s, %zu folds need %zu",
                           called_column(rule.division, dataset.divider->name).c_str(), values.size(),
                           values.size() == 1 ? "" : "s", count, count + 1),
                    "Rows of one value stay together, and those before the first fold are trained on alone.",
                    "Ask for fewer folds.");
    std::vector<double> shares;
    for (size_t part = 1; part <= count; part++)
        shares.push_back(static_cast<double>(part) / static_cast<double>(count + 1));
    return values.parts(shares);
}

// Makes folds that follow each other.
void cut_in_order(const Dataset& dataset, size_t count, const DivisionRule& rule, Folds& folds, RunContext& context) {
    const std::vector<double> first = first_values(dataset, count, rule, folds, context);
    std::vector<double> train_end = first;
    if (rule.train_end) std::transform(first.begin(), first.end(), train_end.begin(), rule.train_end);
    // A month before the 31st is no later than one before the 30th, but may be earlier in the day.
    for (size_t i = train_end.size(); i-- > 1;) train_end[i - 1] = std::min(train_end[i - 1], train_end[i]);
    Buffer<uint16_t>& trains_from = folds.trains_from.emplace(context.memory(), what, dataset.rows);
    const RowIds ids = dataset.ids_of(*dataset.divider);
    const auto values_up_to = [](const std::vector<double>& values, double value) {
        return static_cast<uint16_t>(std::upper_bound(values.begin(), values.end(), value) - values.begin());
    };
    context.for_each(dataset.rows, 10, [&](uint64_t row) {
        const double value = dataset.divider->numbers[ids[row]];
        trains_from[row] = values_up_to(train_end, value);
        if (folds.of_row[row] == Folds::withheld) return;
        const uint16_t part = values_up_to(first, value);
        folds.of_row[row] = part == 0 ? Folds::always : static_cast<uint16_t>(part - 1);
    });
    name_by_number(folds, count);
}

// Says that the first fold, before which the fewest rows are, has some to be trained on.
void check_gap(const Dataset& dataset, const Folds& folds, RunContext& context) {
    bool has_rows = false;
    for_each_used(dataset, folds.of_row, context,
                  [&](uint64_t row, size_t) { has_rows = has_rows || folds.is_trained(row, 0); });
    if (!has_rows)
        throw Error(ErrorCode::invalid_argument, "gap leaves no rows to train on before fold \"1\"", "",
                    "Give a smaller gap, or fewer folds.");
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
static Buffer<uint8_t> roles_by(uint64_t rows, const RoleOf& role_of, RunContext& context) {
    Buffer<uint8_t> roles(context.memory(), what, rows);
    context.for_each(rows, 1, [&](uint64_t row) { roles[row] = static_cast<uint8_t>(role_of(row)); });
    return roles;
}

Buffer<uint8_t> Folds::roles(size_t fold, RunContext& context) const {
    const auto role_of = [&](uint64_t row) {
        if (of_row[row] == fold) return Role::holdout;
        return of_row[row] != withheld && is_trained(row, fold) ? Role::train : Role::ignored;
    };
    return roles_by(of_row.size(), role_of, context);
}

Buffer<uint8_t> Folds::final_roles(bool scored, RunContext& context) const {
    const auto role_of = [&](uint64_t row) {
        return of_row[row] != withheld ? Role::train : scored ? Role::holdout : Role::ignored;
    };
    return roles_by(of_row.size(), role_of, context);
}

void refuse_cut(const std::string& column, const char* parts) {
    throw Error(ErrorCode::invalid_argument, column + " cuts a row of the target's table in two",
                format("The join has it in %s, so that its target would be trained on and scored.", parts),
                "Name a column that is the same wherever a row of that table is.");
}

std::string called_column(Division division, const std::string& column) {
    return format("%s \"%s\"", division_names[static_cast<size_t>(division)], column.c_str());
}

void refuse_no_group(const std::string& column) {
    throw Error(ErrorCode::null_value, column + " is NULL in a row", "",
                "Leave such rows out, or give them groups with coalesce().");
}

void check_fold_count(const std::string& column, size_t values) {
    if (values > max_folds)
        throw Error(ErrorCode::limit_exceeded,
                    format("fold \"%s\" has %zu values, at most %d can be folds", column.c_str(), values, max_folds),
                    "", format("Deal whole groups of them to folds: group_by => '%s'.", column.c_str()));
}

Folds assign_folds(const Dataset& dataset, const Buffer<uint64_t>& contents, int count, uint64_t seed,
                   RunContext& context, const std::string& holdout, const DivisionRule& rule) {
    Folds folds{{}, {}, 0, 0, Buffer<uint16_t>(context.memory(), what, dataset.rows)};
    const std::string held = holdout.empty() ? "holdout" : "holdout \"" + holdout + '"';
    withhold(dataset, held, folds.of_row, context);
    if (rule.division != Division::fold) check_values(dataset, rule, context);
    check_whole(dataset, held, rule, folds, context);
    const bool is_ordered = rule.division == Division::order_by;
    if (is_ordered) {
        cut_in_order(dataset, static_cast<size_t>(count), rule, folds, context);
        check_gap(dataset, folds, context);
    } else if (dataset.divider && rule.division == Division::fold) {
        read_column(dataset, folds, context);
    } else {
        deal(dataset, Units(dataset, contents, seed), static_cast<size_t>(count), folds, context);
    }
    count_rows(dataset, folds, context);
    if (is_ordered) return folds;
    drop_empty(folds, context);
    check(folds);
    return folds;
}

} // namespace btml::validation
