// Folds against their definition, on random data.
#include "boosting/boosting_data.hpp"
#include "caught.hpp"

#include "core/validation/folds.hpp"

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
    dataset.fold = fold_column(codes, {"x", "y", "z", "nobody's"}, context);
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
        dataset.fold = fold_column(codes, {"x", "y"}, context);
        dataset.fold->table = table;
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
            dataset.fold = fold_column(codes, {"x", "y", "z"}, context);
        }
        const auto error = caught([&] { assign_folds(dataset, contents, 3, 0, context); });
        EXPECT_EQ(error.message, is_cut ? "holdout cuts a row of the target's table in two" : "") << seed;
    }
    EXPECT_GT(cut, 5u);
    EXPECT_GT(whole, 5u);
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
        dataset.fold = fold_column(codes, std::move(names), context);
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
