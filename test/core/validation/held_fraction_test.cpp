// Rows held out as a fraction against their definition, over random joins.
#include "caught.hpp"
#include "relational/random_join.hpp"

#include "core/validation/held_fraction.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>

namespace btml::validation {
namespace {

using btml::test::caught;
using relational::ColumnRef;
using relational::DataColumn;
using relational::DatasetPlan;
using relational::Join;
using relational::test::brute_force;
using relational::test::original_row;
using relational::test::PlainJoin;
using relational::test::Tuple;

// Adds a column of what of(row as made) says and returns its place.
template <class Of>
ColumnRef add_column(Join& join, int table, bool is_category, const Of& of, RunContext& context) {
    relational::Table& to = join.tables()[static_cast<size_t>(table)];
    DataColumn column{"made",
                      is_category ? DataColumn::Kind::category : DataColumn::Kind::number,
                      Buffer<double>(context.memory(), "a test"),
                      Buffer<uint32_t>(context.memory(), "a test"),
                      {"a", "b", "c", "d", "nobody's"}};
    for (uint64_t row = 0; row < to.rows; row++) {
        const double value = of(original_row(join, table, row));
        if (is_category)
            column.codes.push_back(static_cast<uint32_t>(value));
        else
            column.numbers.push_back(value);
    }
    to.columns.push_back(std::move(column));
    return {table, static_cast<int>(to.columns.size()) - 1};
}

struct Case {
    PlainJoin plain;
    std::vector<Tuple> rows; // of the join
    Join join;
    DatasetPlan plan{};
    int table; // of the column that divides rows

    double weight(const Tuple& tuple) const {
        const int row = tuple[static_cast<size_t>(plan.target.table)];
        return plan.weight ? std::abs(row + 7) % 3 : 1;
    }
    static double value(int row, uint64_t seed) {
        return static_cast<double>(random_bits(seed, 9, uint64_t(row + 1)) % 4);
    }
};

Case make_case(uint64_t seed, bool is_category, RunContext& context) {
    PlainJoin plain = seed % 4 == 1 ? relational::test::random_join(seed, relational::test::cyclic_shape)
                                    : relational::test::random_join(seed);
    Case made{plain, brute_force(plain), columnar(plain, context), {}, 0};
    const auto tables = static_cast<uint64_t>(plain.tables.size());
    made.plan.target = {static_cast<int>(random_bits(seed, 1, 0) % tables), 0};
    made.table = static_cast<int>(random_bits(seed, 1, 1) % tables);
    if (seed % 3 == 0)
        made.plan.weight = add_column(
            made.join, made.plan.target.table, false, [](int row) { return std::abs(row + 7) % 3; }, context);
    const auto value = [=](int row) { return Case::value(row, seed); };
    made.plan.divider = relational::FeatureRef{add_column(made.join, made.table, is_category, value, context), "x"};
    return made;
}

// What is held out by value, and how many rows of the join each value has.
std::pair<std::map<double, bool>, std::map<double, double>> held_by_value(const Case& of, uint64_t seed) {
    std::pair<std::map<double, bool>, std::map<double, double>> found;
    const DataColumn& flags = column_at(of.join, *of.plan.holdout);
    const uint64_t rows = of.join.tables()[static_cast<size_t>(of.table)].rows;
    EXPECT_EQ(flags.numbers.size(), rows);
    for (uint64_t row = 0; row < rows; row++) {
        const double value = Case::value(original_row(of.join, of.table, row), seed);
        const bool is_new = !found.first.count(value);
        const bool held = flags.numbers[row] != 0;
        // Of a group without rows that weigh something nothing is held out.
        if (is_new) found.first[value] = held;
        found.first[value] = found.first[value] || held;
    }
    for (const Tuple& tuple : of.rows)
        if (of.weight(tuple) > 0) found.second[Case::value(tuple[static_cast<size_t>(of.table)], seed)]++;
    return found;
}

// Says whether a row of the target's table that weighs something is in rows of both kinds.
template <class IsHeld>
bool cuts_a_target(const Case& of, const IsHeld& is_held) {
    std::map<int, bool> held;
    for (const Tuple& tuple : of.rows) {
        const bool flag = is_held(tuple[static_cast<size_t>(of.table)]);
        if (of.weight(tuple) > 0 &&
            held.emplace(tuple[static_cast<size_t>(of.plan.target.table)], flag).first->second != flag)
            return true;
    }
    return false;
}

double fraction_of(uint64_t seed) {
    return 0.02 + 0.96 * random_unit(seed, 2, 0);
}

TEST(HeldFraction, IsOfTheLastRowsOfTheJoin) {
    size_t tried = 0, refused = 0, cut = 0, cyclic = 0;
    for (uint64_t seed = 0; seed < 1000; seed++) {
        QuietContext context;
        Case of = make_case(seed, false, context);
        if (of.rows.empty()) continue;
        const double fraction = fraction_of(seed);
        const auto error = caught([&] { hold_out(of.join, of.plan, {fraction, 0, Division::order_by}, context); });
        std::map<double, double> rows;
        for (const Tuple& tuple : of.rows)
            if (of.weight(tuple) > 0) rows[Case::value(tuple[static_cast<size_t>(of.table)], seed)]++;
        if (rows.size() < 2) {
            EXPECT_EQ(error.message, "holdout_fraction needs two values of \"made\" or more");
            refused++;
            continue;
        }
        double all = 0, before = 0, best = -1, first = 0;
        for (const auto& [value, count] : rows) all += count;
        for (const auto& [value, count] : rows) {
            const double off = std::abs(before - (1 - fraction) * all);
            if (before > 0 && (best < 0 || off <= best)) {
                best = off;
                first = value;
            }
            before += count;
        }
        const bool is_cut = cuts_a_target(of, [&](int row) { return Case::value(row, seed) >= first; });
        EXPECT_EQ(error.message, is_cut ? "order_by \"made\" cuts a row of the target's table in two" : "");
        cut += is_cut;
        if (is_cut) continue;
        EXPECT_FALSE(of.plan.divider);
        const DataColumn& flags = column_at(of.join, *of.plan.holdout);
        for (uint64_t row = 0; row < flags.numbers.size(); row++)
            EXPECT_EQ(flags.numbers[row] != 0, Case::value(original_row(of.join, of.table, row), seed) >= first)
                << seed;
        tried++;
        cyclic += !of.join.cycles().bags.empty();
    }
    EXPECT_GT(tried, 100u);
    EXPECT_GT(cut, 50u);
    EXPECT_GT(refused, 20u);
    EXPECT_GT(cyclic, 10u);
}

TEST(HeldFraction, IsOfWholeGroups) {
    size_t tried = 0, refused = 0, cut = 0;
    std::set<double> held_first;
    for (uint64_t seed = 0; seed < 1000; seed++) {
        QuietContext context;
        Case of = make_case(seed, true, context);
        if (of.rows.empty()) continue;
        const double fraction = fraction_of(seed);
        const auto error = caught([&] { hold_out(of.join, of.plan, {fraction, seed, Division::group_by}, context); });
        if (error.message == "group_by \"made\" cuts a row of the target's table in two") {
            EXPECT_NE(of.table, of.plan.target.table);
            cut++;
            continue;
        }
        if (error.thrown) {
            std::set<double> groups;
            for (const Tuple& tuple : of.rows)
                if (of.weight(tuple) > 0) groups.insert(Case::value(tuple[static_cast<size_t>(of.table)], seed));
            EXPECT_LT(groups.size(), 2u);
            EXPECT_EQ(error.message, "holdout_fraction needs two groups of \"made\" or more");
            refused++;
            continue;
        }
        const auto [held, rows] = held_by_value(of, seed);
        double groups = 0;
        for (const auto& [value, count] : rows) groups += held.at(value);
        const auto all = static_cast<double>(rows.size());
        EXPECT_EQ(groups, std::clamp(std::round(fraction * all), 1.0, all - 1)) << seed;
        EXPECT_FALSE(cuts_a_target(of, [&](int row) { return held.at(Case::value(row, seed)); }));
        // Rows that weigh something are held out with their group.
        const DataColumn& flags = column_at(of.join, *of.plan.holdout);
        std::map<int, double> flag_of;
        for (uint64_t row = 0; row < flags.numbers.size(); row++)
            flag_of[original_row(of.join, of.table, row)] = flags.numbers[row];
        for (const Tuple& tuple : of.rows) {
            const int row = tuple[static_cast<size_t>(of.table)];
            if (of.weight(tuple) == 0) continue;
            EXPECT_EQ(flag_of.at(row) != 0, held.at(Case::value(row, seed)));
        }
        for (const auto& [value, is_held] : held)
            if (is_held) held_first.insert(value);
        tried++;
    }
    EXPECT_GT(tried, 100u);
    EXPECT_GT(cut, 50u);
    EXPECT_GT(refused, 20u);
    EXPECT_EQ(held_first.size(), 4u); // by the seed, each of them sometimes
}

// One table, whose rows have labels and contents, in this order. Returns which rows, as made, are held out.
std::vector<bool> held_rows(const std::vector<uint32_t>& labels, const std::vector<uint64_t>& contents,
                            const std::vector<size_t>& order, double fraction, uint64_t seed, RunContext& context) {
    relational::Table table;
    table.rows = order.size();
    table.content.emplace(context.memory(), "a test", order.size());
    DataColumn target{"y",
                      DataColumn::Kind::number,
                      Buffer<double>(context.memory(), "a test", order.size()),
                      Buffer<uint32_t>(context.memory(), "a test"),
                      {}};
    for (size_t i = 0; i < order.size(); i++) {
        target.numbers[i] = labels[order[i]];
        (*table.content)[i] = contents[order[i]];
    }
    table.columns.push_back(std::move(target));
    std::vector<relational::Table> tables;
    tables.push_back(std::move(table));
    Join join(std::move(tables), {}, context);
    DatasetPlan plan{};
    plan.target = {0, 0};
    plan.labels = {"x", "y", "z"};
    hold_out(join, plan, {fraction, seed}, context);
    std::vector<bool> held(order.size());
    for (size_t i = 0; i < order.size(); i++) held[order[i]] = column_at(join, *plan.holdout).numbers[i] != 0;
    return held;
}

TEST(HeldFraction, IsOfRowsByTheirContentsAlikeInLabels) {
    size_t differ = 0;
    for (uint64_t seed = 0; seed < 300; seed++) {
        QuietContext context;
        RandomStream random(seed, 3);
        const size_t rows = 2 + random.below(200);
        std::vector<uint32_t> labels;
        std::vector<uint64_t> contents;
        std::vector<size_t> order(rows);
        std::iota(order.begin(), order.end(), 0);
        for (size_t i = 0; i < rows; i++) {
            labels.push_back(static_cast<uint32_t>(std::min(random.below(3), random.below(3))));
            contents.push_back(random_bits(seed, 4, i));
        }
        const double fraction = fraction_of(seed);
        const std::vector<bool> held = held_rows(labels, contents, order, fraction, seed, context);
        const auto all = static_cast<double>(rows);
        const double expected = std::clamp(std::round(fraction * all), 1.0, all - 1);
        EXPECT_EQ(static_cast<double>(std::count(held.begin(), held.end(), true)), expected);
        for (uint32_t label = 0; label < 3; label++) {
            double of_label = 0, held_of_label = 0;
            for (size_t i = 0; i < rows; i++) {
                of_label += labels[i] == label;
                held_of_label += labels[i] == label && held[i];
            }
            EXPECT_NEAR(held_of_label, of_label * expected / all, 1 + 1e-9) << seed;
        }
        for (size_t i = rows; i > 1; i--) std::swap(order[i - 1], order[random.below(i)]);
        EXPECT_EQ(held_rows(labels, contents, order, fraction, seed, context), held);
        differ += held_rows(labels, contents, order, fraction, seed + 1000, context) != held;
    }
    EXPECT_GT(differ, 250u);
}

TEST(HeldFraction, NeedsTwoOfWhatItTakes) {
    QuietContext context;
    EXPECT_EQ(caught([&] { held_rows({0}, {5}, {0}, 0.5, 0, context); }).message,
              "holdout_fraction needs two rows of the target's table or more");
    for (const double odd : {std::nan(""), HUGE_VAL, null_number}) {
        Case of = make_case(5, false, context);
        for (double& number : column_at(of.join, of.plan.divider->place).numbers) number = odd;
        const auto error = caught([&] { hold_out(of.join, of.plan, {0.5, 0, Division::order_by}, context); });
        EXPECT_EQ(error.message, is_null(odd)      ? "order_by \"made\" is NULL in a row"
                                 : std::isnan(odd) ? "order_by \"made\" is NaN in a row"
                                                   : "order_by \"made\" is infinite in a row");
    }
    Case of = make_case(5, true, context);
    for (uint32_t& code : column_at(of.join, of.plan.divider->place).codes) code = DataColumn::null_code;
    EXPECT_EQ(caught([&] {
                  hold_out(of.join, of.plan, {0.5, 0, Division::group_by}, context);
              }).message,
              "group_by \"made\" is NULL in a row");
}

// Rows of weight 0 may have no value, and change nothing of what is held out.
TEST(HeldFraction, LeavesOutWhatWeighsNothing) {
    size_t odd = 0;
    for (uint64_t seed = 0; seed < 300; seed += 3) { // with weights
        QuietContext context;
        const bool is_grouped = seed % 2;
        const auto held = [&](bool is_odd) {
            Case of = make_case(seed, is_grouped, context);
            const uint64_t rows = of.join.tables()[static_cast<size_t>(of.table)].rows;
            std::vector<bool> weighed(rows, false);
            std::map<int, uint64_t> place;
            for (uint64_t row = 0; row < rows; row++) place[original_row(of.join, of.table, row)] = row;
            for (const Tuple& tuple : of.rows)
                if (of.weight(tuple) > 0) weighed[place.at(tuple[static_cast<size_t>(of.table)])] = true;
            DataColumn& column = column_at(of.join, of.plan.divider->place);
            for (uint64_t row = 0; is_odd && row < rows; row++) {
                if (weighed[row]) continue;
                if (is_grouped)
                    column.codes[row] = DataColumn::null_code;
                else
                    column.numbers[row] = null_number;
                odd++;
            }
            std::vector<bool> flags;
            const auto error = caught([&] {
                hold_out(of.join, of.plan, {0.3, seed, is_grouped ? Division::group_by : Division::order_by}, context);
                for (uint64_t row = 0; row < rows; row++)
                    if (weighed[row]) flags.push_back(column_at(of.join, *of.plan.holdout).numbers[row] != 0);
            });
            return std::pair(error.message, flags);
        };
        EXPECT_EQ(held(true), held(false)) << seed;
    }
    EXPECT_GT(odd, 30u);
}

} // namespace
} // namespace btml::validation
