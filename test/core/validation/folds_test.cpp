// Folds against their definition, on random data.
#include "boosting/boosting_data.hpp"
#include "caught.hpp"

#include "core/validation/folds.hpp"

#include <cmath>
#include <map>
#include <set>

namespace btml::validation {
namespace {

using boosting::test::DataShape;
using boosting::test::PlainData;
using boosting::test::Random;
using boosting::test::to_buffer;
using boosting::test::to_dataset;
using btml::test::caught;

std::vector<uint64_t> random_contents(size_t rows, uint64_t seed, size_t distinct) {
    Random random(seed);
    std::vector<uint64_t> contents;
    for (size_t i = 0; i < rows; i++) contents.push_back(random_bits(seed, 5, random.below(distinct)));
    return contents;
}

PlainData some_data(uint64_t seed, bool labels, bool fact_ids) {
    DataShape shape;
    shape.rows = 300;
    shape.fact_ids = fact_ids;
    PlainData data = boosting::test::random_data(shape, seed);
    if (!labels) return data;
    Random random(seed);
    data.labels = 3;
    for (double& y : data.target) y = static_cast<double>(std::min(random.below(3), random.below(3)));
    return data;
}

Folds folds_of(const PlainData& data, const std::vector<uint64_t>& contents, int count, uint64_t seed,
               RunContext& context) {
    return assign_folds(to_dataset(data, context), to_buffer(contents, context), count, seed, context);
}

TEST(Folds, AreOfOneSizeAlsoWithinLabelsAndCutNoRow) {
    for (uint64_t seed = 0; seed < 60; seed++) {
        QuietContext context;
        const bool labels = seed % 2, fact_ids = seed % 3 == 0;
        PlainData data = some_data(seed, labels, fact_ids);
        const size_t target_rows = data.target.size();
        if (target_rows < 30) continue;
        const int count = 2 + static_cast<int>(seed % 7);
        const auto contents = random_contents(target_rows, seed, seed % 5 == 0 ? 10 : 1000000);
        const Folds folds = folds_of(data, contents, count, seed, context);
        ASSERT_EQ(folds.size(), static_cast<size_t>(count));
        std::map<uint32_t, uint16_t> of_target; // of those that some row of the join is made of
        std::vector<uint64_t> rows(folds.size(), 0);
        for (size_t row = 0; row < data.rows; row++) {
            const uint16_t fold = folds.of_row[row];
            ASSERT_LT(fold, folds.size());
            rows[fold]++;
            const auto [found, is_new] = of_target.emplace(data.row_of(0, row), fold);
            ASSERT_EQ(found->second, fold);
        }
        EXPECT_EQ(rows, folds.rows);
        std::map<std::pair<double, uint16_t>, int> sizes;
        for (const auto& [row, fold] : of_target) sizes[{labels ? data.target[row] : 0, fold}]++;
        for (double label = 0; label < 3; label++) {
            int least = INT32_MAX, most = 0;
            for (uint16_t fold = 0; fold < count; fold++) {
                least = std::min(least, sizes[{label, fold}]);
                most = std::max(most, sizes[{label, fold}]);
            }
            EXPECT_LE(most - least, 1) << seed;
        }
    }
}

TEST(Folds, GoByContentsAndTheSeed) {
    QuietContext context;
    const PlainData data = materialise(some_data(1, true, false));
    const auto contents = random_contents(data.rows, 9, 1000000);
    const auto order = boosting::test::random_order(data.rows, 5);
    const PlainData other = reorder(data, order);
    std::vector<uint64_t> others;
    for (const size_t row : order) others.push_back(contents[row]);
    const Folds folds = folds_of(data, contents, 5, 3, context), same = folds_of(other, others, 5, 3, context);
    for (size_t i = 0; i < order.size(); i++) EXPECT_EQ(same.of_row[i], folds.of_row[order[i]]);
    const Folds different = folds_of(data, contents, 5, 4, context);
    size_t equal = 0;
    for (size_t i = 0; i < data.rows; i++) equal += different.of_row[i] == folds.of_row[i];
    EXPECT_GT(equal, data.rows / 10); // about a fifth, by chance
    EXPECT_LT(equal, data.rows * 3 / 10);
}

TEST(Folds, KeepQueriesWhole) {
    for (uint64_t seed = 0; seed < 20; seed++) {
        QuietContext context;
        PlainData data = some_data(seed, false, false);
        Random random(seed);
        for (size_t i = 0; i < data.target.size(); i++) data.query.push_back(static_cast<uint32_t>(random.below(12)));
        const Folds folds = folds_of(data, random_contents(data.target.size(), seed, 1000), 4, seed, context);
        std::map<uint32_t, uint16_t> of_query;
        std::vector<int> queries(4, 0);
        for (size_t row = 0; row < data.rows; row++) {
            const auto [found, is_new] = of_query.emplace(data.query[row], folds.of_row[row]);
            EXPECT_EQ(found->second, folds.of_row[row]);
            queries[found->second] += is_new;
        }
        EXPECT_EQ(std::set<int>(queries.begin(), queries.end()).size(), 1u);
    }
}

TEST(Folds, LeaveOutRowsWithheldAndRowsOfNoWeight) {
    for (uint64_t seed = 0; seed < 20; seed++) {
        QuietContext context;
        DataShape shape;
        shape.weights = shape.holdout = true;
        const PlainData data = boosting::test::random_data(shape, seed);
        const Folds folds = folds_of(data, random_contents(data.target.size(), seed, 1000), 3, seed, context);
        uint64_t withheld = 0, used = 0;
        for (size_t row = 0; row < data.rows; row++) {
            EXPECT_EQ(data.held_out(row), folds.of_row[row] == Folds::withheld);
            withheld += data.held_out(row);
            used += !data.held_out(row) && data.weight_of(row) > 0;
        }
        EXPECT_EQ(folds.withheld_rows, withheld);
        EXPECT_EQ(folds.rows[0] + folds.rows[1] + folds.rows[2], used);
        const Buffer<uint8_t> roles = folds.roles(1, context), last = folds.final_roles(true, context);
        for (size_t row = 0; row < data.rows; row++) {
            EXPECT_EQ(roles[row], data.held_out(row) ? 2 : folds.of_row[row] == 1);
            EXPECT_EQ(last[row], data.held_out(row));
        }
    }
}

FeatureColumn fold_column(const std::vector<uint32_t>& codes, std::vector<std::string> names, RunContext& context) {
    FeatureColumn column(context.memory(), {"part", "text", true, std::move(names)}, 0);
    column.codes = to_buffer(codes, context);
    return column;
}

TEST(Folds, AreTheValuesOfAColumn) {
    QuietContext context;
    const PlainData data = materialise(some_data(1, false, false));
    Dataset dataset = to_dataset(data, context);
    const uint32_t none = FeatureColumn::null_code;
    std::vector<uint32_t> codes;
    for (size_t row = 0; row < data.rows; row++) codes.push_back(row % 4 == 3 ? none : static_cast<uint32_t>(row % 4));
    dataset.divider = fold_column(codes, {"x", "y", "z", "nobody's"}, context);
    const Folds folds = assign_folds(dataset, to_buffer<uint64_t>({}, context), 5, 0, context);
    EXPECT_EQ(folds.names, (std::vector<std::string>{"x", "y", "z"}));
    EXPECT_EQ(folds.rows, (std::vector<uint64_t>{75, 75, 75}));
    EXPECT_EQ(folds.trained_rows, 75u);
    for (size_t row = 0; row < data.rows; row++) EXPECT_EQ(folds.of_row[row], row % 4 == 3 ? Folds::always : row % 4);
}

// A column of another table may not have a row of the target's table in two folds.
TEST(Folds, CutNoRowOfTheTargetsTable) {
    int cut = 0, whole = 0;
    for (uint64_t seed = 0; seed < 30; seed++) {
        QuietContext context;
        const PlainData data = some_data(seed, false, true);
        Random random(seed);
        Dataset dataset = to_dataset(data, context);
        const int table = static_cast<int>(seed % 3);
        std::vector<uint32_t> codes;
        for (size_t i = 0; i < data.tables[static_cast<size_t>(table)].rows; i++)
            codes.push_back(static_cast<uint32_t>(i % 2));
        dataset.divider = fold_column(codes, {"x", "y"}, context);
        dataset.divider->table = table;
        std::map<uint32_t, uint32_t> fold_of;
        bool is_cut = false;
        for (size_t row = 0; row < data.rows; row++) {
            const uint32_t fold = codes[data.row_of(table, row)];
            is_cut = is_cut || fold_of.emplace(data.row_of(0, row), fold).first->second != fold;
        }
        const auto error = caught([&] { assign_folds(dataset, to_buffer<uint64_t>({}, context), 5, 0, context); });
        if (data.tables[static_cast<size_t>(table)].rows < 2 || data.target.size() < 2) continue;
        EXPECT_EQ(error.message == "fold \"part\" cuts a row of the target's table in two", is_cut) << seed;
        EXPECT_EQ(error.thrown, is_cut);
        (is_cut ? cut : whole)++;
    }
    EXPECT_GT(cut, 3);
    EXPECT_GT(whole, 3);
}

// Nor may rows held out, whether the folds are of a column or made.
TEST(Folds, RowsHeldOutCutNoRowOfTheTargetsTable) {
    size_t cut = 0, whole = 0;
    for (uint64_t seed = 0; seed < 60; seed++) {
        QuietContext context;
        PlainData data = some_data(seed, false, true);
        Random random(seed);
        const int table = static_cast<int>(seed % 3);
        if (data.tables[static_cast<size_t>(table)].rows < 2 || data.target.size() < 20) continue;
        data.holdout_table = table;
        for (size_t i = 0; i < data.tables[static_cast<size_t>(table)].rows; i++)
            data.holdout.push_back(i > 0 && random.chance(seed % 2 ? 0.02 : 0.3));
        data.holdout[data.row_of(table, 0)] = 0;
        std::map<uint32_t, bool> held;
        bool is_cut = false;
        for (size_t row = 0; row < data.rows; row++)
            is_cut =
                is_cut || held.emplace(data.row_of(0, row), data.held_out(row)).first->second != data.held_out(row);
        (is_cut ? cut : whole)++;
        Dataset dataset = to_dataset(data, context);
        const auto contents = to_buffer(random_contents(data.target.size(), seed, 1000), context);
        if (seed % 4 < 2) { // folds that cut nothing
            std::vector<uint32_t> codes;
            for (size_t i = 0; i < data.target.size(); i++) codes.push_back(static_cast<uint32_t>(i % 3));
            dataset.divider = fold_column(codes, {"x", "y", "z"}, context);
        }
        const auto error = caught([&] { assign_folds(dataset, contents, 3, 0, context); });
        EXPECT_EQ(error.message, is_cut ? "holdout cuts a row of the target's table in two" : "") << seed;
    }
    EXPECT_GT(cut, 5u);
    EXPECT_GT(whole, 5u);
}

// Numbers with ties, one for each row of a table; of another than the target's, each row of that is in one of its rows.
struct OrderedCase {
    PlainData data;
    int table;
    std::vector<double> values;

    double value_of(size_t row) const { return values[data.row_of(table, row)]; }
};

OrderedCase ordered_case(uint64_t seed) {
    DataShape shape;
    shape.rows = 300;
    shape.weights = seed % 2;
    shape.holdout = seed % 5 == 0;
    shape.fact_ids = seed % 3 == 0;
    OrderedCase made{boosting::test::random_data(shape, seed), static_cast<int>(seed % 4 == 3 ? 1 : 0), {}};
    if (shape.fact_ids) { // a dimension of the target's table
        made.data.holdout_table = -1;
        made.table = 0;
    }
    Random random(seed);
    const size_t distinct = 1 + random.below(200);
    for (size_t i = 0; i < made.data.tables[static_cast<size_t>(made.table)].rows; i++)
        made.values.push_back(0.5 * static_cast<double>(random.below(distinct)) - 20);
    return made;
}

Dataset dataset_of(const OrderedCase& of, RunContext& context) {
    Dataset dataset = to_dataset(of.data, context);
    dataset.divider = FeatureColumn(context.memory(), {"at", "float8", false, {}}, of.table);
    dataset.divider->numbers = to_buffer(of.values, context);
    return dataset;
}

bool is_used(const PlainData& data, size_t row) {
    return !data.held_out(row) && data.weight_of(row) > 0;
}

TEST(Folds, InOrderTrainOnWhatIsBeforeTheGap) {
    size_t tried = 0, left_out = 0, too_few = 0, too_long = 0;
    for (uint64_t seed = 0; seed < 400; seed++) {
        QuietContext context;
        const OrderedCase of = ordered_case(seed);
        const auto count = 2 + static_cast<size_t>(seed % 6);
        const double gap = seed % 3 == 1 ? 0.5 * static_cast<double>(seed % 40) : 0;
        const DivisionRule rule{Division::order_by, [=](double first) { return first - gap; }};
        std::map<double, size_t> values; // rows of each
        for (size_t row = 0; row < of.data.rows; row++)
            if (is_used(of.data, row)) values[of.value_of(row)]++;
        std::optional<Folds> folds;
        const auto error = caught([&] {
            folds = assign_folds(dataset_of(of, context), to_buffer<uint64_t>({}, context), static_cast<int>(count), 0,
                                 context, "", rule);
        });
        if (values.size() < count + 1) {
            EXPECT_EQ(error.message, format("order_by \"at\" has %zu value%s, %zu folds need %zu", values.size(),
                                            values.size() == 1 ? "" : "s", count, count + 1));
            too_few++;
            continue;
        }
        if (error.thrown) {
            EXPECT_EQ(error.message, "gap leaves no rows to train on before fold \"1\"");
            EXPECT_GT(gap, 0);
            too_long++;
            continue;
        }
        tried++;
        ASSERT_EQ(folds->size(), count);
        std::vector<double> first(count, HUGE_VAL), last(count, -HUGE_VAL);
        std::vector<uint64_t> rows(count, 0);
        uint64_t before = 0;
        double last_before = -HUGE_VAL;
        for (size_t row = 0; row < of.data.rows; row++) {
            const uint16_t fold = folds->of_row[row];
            EXPECT_EQ(fold == Folds::withheld, of.data.held_out(row));
            if (!is_used(of.data, row)) continue;
            if (fold == Folds::always) {
                before++;
                last_before = std::max(last_before, of.value_of(row));
                continue;
            }
            rows[fold]++; // each row is scored once, or comes before all folds
            first[fold] = std::min(first[fold], of.value_of(row));
            last[fold] = std::max(last[fold], of.value_of(row));
        }
        EXPECT_EQ(rows, folds->rows);
        EXPECT_EQ(before, folds->trained_rows);
        EXPECT_GT(before, 0u);
        for (size_t fold = 0; fold < count; fold++) { // parts follow each other and share no value
            EXPECT_GT(rows[fold], 0u);
            EXPECT_GT(first[fold], fold == 0 ? last_before : last[fold - 1]);
            const Buffer<uint8_t> roles = folds->roles(fold, context);
            for (size_t row = 0; row < of.data.rows; row++) {
                if (!is_used(of.data, row)) continue;
                const double value = of.value_of(row);
                const int expected = value >= first[fold] && value <= last[fold] ? 1
                                     : value < first[fold] - gap                 ? 0
                                                                                 : 2;
                EXPECT_EQ(roles[row], expected) << seed;
                left_out += value < first[fold] && expected == 2;
            }
        }
    }
    EXPECT_GT(tried, 200u);
    EXPECT_GT(left_out, 1000u);
    EXPECT_GT(too_few, 5u);
    EXPECT_GT(too_long, 5u);
}

TEST(Folds, InOrderAreOfAboutOneSize) {
    QuietContext context;
    const PlainData data = materialise(some_data(1, false, false));
    OrderedCase of{data, 0, {}};
    for (size_t row = 0; row < data.rows; row++) of.values.push_back(static_cast<double>(row * 7 % 300));
    const Folds folds = assign_folds(dataset_of(of, context), to_buffer<uint64_t>({}, context), 4, 0, context, "",
                                     {Division::order_by, {}});
    EXPECT_EQ(folds.rows, (std::vector<uint64_t>{60, 60, 60, 60}));
    EXPECT_EQ(folds.names, (std::vector<std::string>{"1", "2", "3", "4"}));
    EXPECT_EQ(folds.trained_rows, 60u);
    EXPECT_EQ(folds.final_roles(false, context)[0], 0);
}

// Rows of other tables may have several values where they are one target's.
TEST(Folds, InOrderOrOfGroupsCutNoRowOfTheTargetsTable) {
    QuietContext context;
    PlainData data;
    data.rows = 4;
    data.tables = {{2, {0, 0, 1, 1}}, {4, {}}};
    data.target = {1, 2};
    OrderedCase of{data, 1, {1, 2, 3, 4}};
    EXPECT_EQ(caught([&] {
                  assign_folds(dataset_of(of, context), to_buffer<uint64_t>({}, context), 2, 0, context, "",
                               {Division::order_by, {}});
              }).message,
              "order_by \"at\" cuts a row of the target's table in two");
    Dataset dataset = to_dataset(data, context);
    dataset.divider = fold_column({0, 1, 0, 1}, {"x", "y"}, context);
    dataset.divider->table = 1;
    EXPECT_EQ(caught([&] {
                  assign_folds(dataset, to_buffer<uint64_t>({}, context), 2, 0, context, "", {Division::group_by, {}});
              }).message,
              "group_by \"part\" cuts a row of the target's table in two");
}

TEST(Folds, DealWholeGroupsByTheirNames) {
    size_t refused = 0;
    for (uint64_t seed = 0; seed < 100; seed++) {
        QuietContext context;
        const PlainData data = some_data(seed, seed % 2, false);
        Random random(seed);
        const size_t groups = 1 + random.below(40);
        const int count = 2 + static_cast<int>(seed % 5);
        std::vector<uint32_t> codes, renumbered;
        std::vector<std::string> names, reversed;
        for (size_t row = 0; row < data.target.size(); row++)
            codes.push_back(static_cast<uint32_t>(random.below(groups)));
        for (size_t group = 0; group < groups; group++) names.push_back(format("customer %zu", group));
        for (const uint32_t code : codes) renumbered.push_back(static_cast<uint32_t>(groups) - 1 - code);
        reversed.assign(names.rbegin(), names.rend());
        const auto dealt = [&](const std::vector<uint32_t>& of, const std::vector<std::string>& called, uint64_t by) {
            Dataset dataset = to_dataset(data, context);
            dataset.divider = fold_column(of, called, context);
            return assign_folds(dataset, to_buffer<uint64_t>({}, context), count, by, context, "",
                                {Division::group_by, {}});
        };
        const std::set<uint32_t> met(codes.begin(), codes.end());
        if (met.size() < static_cast<size_t>(count)) {
            EXPECT_EQ(caught([&] { dealt(codes, names, seed); }).message,
                      format("there are more folds (%d) than groups of \"part\" (%zu)", count, met.size()));
            refused++;
            continue;
        }
        const Folds folds = dealt(codes, names, seed), same = dealt(renumbered, reversed, seed);
        std::map<uint32_t, uint16_t> of_group;
        std::vector<int> sizes(static_cast<size_t>(count), 0);
        for (size_t row = 0; row < data.rows; row++) {
            const auto [found, is_new] = of_group.emplace(codes[data.row_of(0, row)], folds.of_row[row]);
            ASSERT_EQ(found->second, folds.of_row[row]);
            EXPECT_EQ(same.of_row[row], folds.of_row[row]);
            sizes[found->second] += is_new;
        }
        EXPECT_LE(*std::max_element(sizes.begin(), sizes.end()) - *std::min_element(sizes.begin(), sizes.end()), 1);
    }
    EXPECT_GT(refused, 3u);
}

TEST(Folds, RefuseWhatCannotBeOrderedOrGrouped) {
    QuietContext context;
    OrderedCase of{materialise(some_data(1, false, false)), 0, {}};
    for (const double odd : {null_number, std::numeric_limits<double>::quiet_NaN(), HUGE_VAL}) {
        of.values.assign(of.data.rows, 1);
        of.values[7] = odd;
        EXPECT_EQ(caught([&] {
                      assign_folds(dataset_of(of, context), to_buffer<uint64_t>({}, context), 2, 0, context, "",
                                   {Division::order_by, {}});
                  }).message,
                  format("order_by \"at\" is %s in a row", is_null(odd)      ? "NULL"
                                                           : std::isnan(odd) ? "NaN"
                                                                             : "infinite"));
    }
    Dataset dataset = to_dataset(of.data, context);
    std::vector<uint32_t> codes(of.data.rows, 0);
    codes[3] = FeatureColumn::null_code;
    dataset.divider = fold_column(codes, {"x"}, context);
    EXPECT_EQ(caught([&] {
                  assign_folds(dataset, to_buffer<uint64_t>({}, context), 2, 0, context, "", {Division::group_by, {}});
              }).message,
              "group_by \"part\" is NULL in a row");
}

// Rows of weight 0 may have no value, and change no fold.
TEST(Folds, LeaveOutWhatWeighsNothing) {
    size_t odd = 0;
    for (uint64_t seed = 0; seed < 60; seed++) {
        QuietContext context;
        OrderedCase of = ordered_case(2 * seed + 1); // with weights
        const DivisionRule rule{seed % 2 ? Division::order_by : Division::group_by, {}};
        const auto assigned = [&](bool is_odd) {
            Dataset dataset = to_dataset(of.data, context);
            if (rule.division == Division::order_by) {
                dataset = dataset_of(of, context);
            } else {
                std::vector<uint32_t> codes;
                for (const double value : of.values) codes.push_back(static_cast<uint32_t>(value + 20) % 9);
                dataset.divider = fold_column(codes, {"a", "b", "c", "d", "e", "f", "g", "h", "i"}, context);
                dataset.divider->table = of.table;
            }
            std::vector<bool> weighed(of.values.size(), false);
            for (size_t row = 0; row < of.data.rows; row++)
                if (of.data.weight_of(row) > 0) weighed[of.data.row_of(of.table, row)] = true;
            for (size_t row = 0; is_odd && row < weighed.size(); row++) {
                if (weighed[row]) continue;
                if (dataset.divider->categorical)
                    dataset.divider->codes[row] = FeatureColumn::null_code;
                else
                    dataset.divider->numbers[row] = null_number;
                odd++;
            }
            std::vector<int> of_row;
            const auto error = caught([&] {
                const Folds folds = assign_folds(dataset, to_buffer<uint64_t>({}, context), 3, 0, context, "", rule);
                for (size_t row = 0; row < of.data.rows; row++)
                    if (of.data.weight_of(row) > 0) of_row.push_back(folds.of_row[row]);
            });
            return std::pair(error.message, of_row);
        };
        EXPECT_EQ(assigned(true), assigned(false)) << seed;
    }
    EXPECT_GT(odd, 500u);
}

TEST(Folds, ThatCannotBeAreRefused) {
    QuietContext context;
    PlainData data;
    data.rows = 3;
    data.tables = {{3, {}}};
    data.target = {1, 2, 3};
    const auto contents = std::vector<uint64_t>{5, 6, 7};
    EXPECT_EQ(caught([&] { folds_of(data, contents, 4, 0, context); }).message,
              "there are more folds (4) than rows (3)");
    Dataset dataset = to_dataset(data, context);
    const auto assigned = [&](const std::vector<uint32_t>& codes, std::vector<std::string> names) {
        dataset.divider = fold_column(codes, std::move(names), context);
        return caught([&] { assign_folds(dataset, to_buffer<uint64_t>({}, context), 5, 0, context); }).message;
    };
    const uint32_t none = FeatureColumn::null_code;
    EXPECT_EQ(assigned({none, none, none}, {}), "no row is in a fold");
    EXPECT_EQ(assigned({0, 0, 0}, {"all"}), "fold \"all\" leaves no rows to train on");
    EXPECT_EQ(assigned({0, 0, none}, {"all"}), "");
    EXPECT_EQ(assigned({0, 1, 2}, std::vector<std::string>(1001, "x")),
              "fold \"part\" has 1001 values, at most 1000 can be folds");
    data.holdout_table = 0;
    data.holdout = {1, 1, 1};
    EXPECT_EQ(caught([&] { folds_of(data, contents, 2, 0, context); }).message, "holdout leaves no rows for the folds");
}

} // namespace
} // namespace btml::validation
