#include "core/boosting/training_sample.hpp"

#include "boosting_data.hpp"
#include "caught.hpp"
#include "core/boosting/booster.hpp"
#include "core/boosting/strategy.hpp"
#include "relational/random_join.hpp"

#include <gtest/gtest.h>

#include <map>

namespace btml::boosting::test {
namespace {

using namespace relational;
using relational::test::Column;
using relational::test::PlainJoin;

// A random join whose rows have contents. Each table gets a category and the features are that and the row's number;
// the target is the factor of table 0, the holdout a column of the last table.
struct SampledTraining {
    QuietContext context;
    DatasetPlan plan;
    Join join;

    explicit SampledTraining(uint64_t seed, bool holdout, uint64_t limit = uint64_t{1} << 40)
        : SampledTraining(relational::test::random_join(seed, {.max_rows = 14, .empty_table = 0}), holdout, limit) {}

    SampledTraining(const PlainJoin& plain, bool holdout, uint64_t limit = uint64_t{1} << 40)
        : context(1, limit), join(relational::test::columnar(with_contents(plain), context)) {
        for (int t = 0; t < join.relations(); t++) {
            plan.features.push_back({{t, 0}, "integer"});
            plan.features.push_back({{t, add_category(t)}, "text"});
        }
        plan.target = {0, 2};
        if (holdout) plan.holdout = ColumnRef{join.relations() - 1, add_holdout(join.relations() - 1)};
    }

    static PlainJoin with_contents(PlainJoin plain) {
        for (size_t t = 0; t < plain.tables.size(); t++)
            for (int row = 0; row < plain.tables[t].rows; row++)
                plain.tables[t].content.push_back(random_bits(t, 3, static_cast<uint64_t>(row)));
        return plain;
    }

    DataColumn& add_column(int t, const char* name, DataColumn::Kind kind) {
        MemoryBudget& memory = context.memory();
        std::vector<DataColumn>& columns = join.tables()[static_cast<size_t>(t)].columns;
        columns.push_back({name, kind, Buffer<double>(memory, name), Buffer<uint32_t>(memory, name), {}});
        return columns.back();
    }

    int add_category(int t) {
        DataColumn& column = add_column(t, "kind", DataColumn::Kind::category);
        column.categories = {"a", "b", "c", "d", "e", "f", "g"};
        const uint64_t rows = join.tables()[static_cast<size_t>(t)].rows;
        for (uint64_t row = 0; row < rows; row++)
            column.codes.push_back(row % 8 == 7 ? DataColumn::null_code : static_cast<uint32_t>(row % 8));
        return static_cast<int>(join.tables()[static_cast<size_t>(t)].columns.size()) - 1;
    }

    int add_holdout(int t) {
        DataColumn& column = add_column(t, "held out", DataColumn::Kind::number);
        const uint64_t rows = join.tables()[static_cast<size_t>(t)].rows;
        for (uint64_t row = 0; row < rows; row++)
            column.numbers.push_back(row % 4 == 1 ? null_number : row % 4 == 2 ? 1.0 : 0.0);
        return static_cast<int>(join.tables()[static_cast<size_t>(t)].columns.size()) - 1;
    }

    const DataColumn& column(const ColumnRef& place) const {
        return join.tables()[static_cast<size_t>(place.table)].columns[static_cast<size_t>(place.column)];
    }

    std::optional<TrainingSample> draw(const Options& options) {
        return draw_training_sample(join, plan, options, context);
    }
};

Options some_options(int64_t sample_rows, int64_t seed = 0) {
    Options options;
    options.trees = 3;
    options.learning_rate = 0.5;
    options.max_leaves = 5;
    options.min_leaf_rows = 1;
    options.strategy = Strategy::sample;
    options.sample_rows = sample_rows;
    options.seed = seed;
    return options;
}

// The sampled rows written out as one table.
Dataset materialise(const SampledTraining& training, const JoinRows& rows, RunContext& context) {
    const auto row = [&](const ColumnRef& place, uint64_t i) {
        return rows.row_ids[static_cast<size_t>(place.table)][i];
    };
    Dataset dataset(context.memory(), rows.rows);
    dataset.holdout_table = training.plan.holdout ? 0 : -1;
    dataset.add_table(rows.rows);
    for (uint64_t i = 0; i < rows.rows; i++) {
        dataset.target.push_back(training.column(training.plan.target).numbers[row(training.plan.target, i)]);
        if (!training.plan.holdout) continue;
        const double flag = training.column(*training.plan.holdout).numbers[row(*training.plan.holdout, i)];
        dataset.holdout.push_back(!is_null(flag) && flag != 0);
    }
    for (const FeatureRef& feature : training.plan.features) {
        const DataColumn& from = training.column(feature.place);
        const bool category = from.kind == DataColumn::Kind::category;
        FeatureColumn to(context.memory(), {from.name, feature.type, category, {}}, 0);
        std::map<std::string, uint32_t> labels; // those that occur
        const auto code = [&](uint64_t i) { return from.codes[row(feature.place, i)]; };
        for (uint64_t i = 0; i < rows.rows && category; i++)
            if (code(i) != DataColumn::null_code) labels[from.categories[code(i)]] = 0;
        for (auto& [label, number] : labels) {
            number = static_cast<uint32_t>(to.categories.size());
            to.categories.push_back(label);
        }
        for (uint64_t i = 0; i < rows.rows; i++) {
            if (!category)
                to.numbers.push_back(from.numbers[row(feature.place, i)]);
            else
                to.codes.push_back(code(i) == DataColumn::null_code ? DataColumn::null_code
                                                                    : labels[from.categories[code(i)]]);
        }
        dataset.features.push_back(std::move(to));
    }
    return dataset;
}

// The model's bytes, or what keeps it from being trained: all rows may be held out.
std::string fitted(Dataset& dataset, const Options& options, RunContext& context) {
    std::string bytes;
    const btml::test::Caught error =
        btml::test::caught([&] { bytes = bytes_of(fit(std::move(dataset), options, context).model); });
    return error.thrown ? error.message + error.detail : bytes;
}

TEST(TrainingSample, TrainsAsItsMaterialisationDoes) {
    int compared = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        SCOPED_TRACE(seed);
        SampledTraining training(seed + 300, seed % 2 == 1);
        const uint64_t count = training.join.count(training.context);
        if (count < 4) continue;
        const Options options = some_options(static_cast<int64_t>(count / 2), static_cast<int64_t>(seed));
        std::optional<TrainingSample> sample = training.draw(options);
        ASSERT_TRUE(sample);
        QuietContext context(3);
        Dataset written = materialise(training, sample->rows, context);
        keep_rows_of(training.join, sample->rows, training.context);
        Dataset held = make_dataset(std::move(training.join), std::move(sample->rows), training.plan, training.context);
        EXPECT_EQ(fitted(held, options, training.context), fitted(written, options, context));
        compared++;
        if (testing::Test::HasFailure()) return;
    }
    EXPECT_GT(compared, 120);
}

PlainJoin random_join_of_positive(uint64_t seed) {
    relational::test::RandomShape shape =
        seed % 5 == 0 ? relational::test::cyclic_shape : relational::test::RandomShape{};
    shape.max_rows = 14;
    shape.empty_table = 0;
    shape.signed_factors = false;
    return relational::test::random_join(seed, shape);
}

void weigh_target_rows(SampledTraining& training) {
    DataColumn& weight = training.add_column(0, "w", DataColumn::Kind::number);
    const uint64_t rows = training.join.tables()[0].rows;
    for (uint64_t row = 0; row < rows; row++) weight.numbers.push_back(static_cast<double>(row * 7 % 4));
    training.plan.weight = ColumnRef{0, static_cast<int>(training.join.tables()[0].columns.size()) - 1};
}

JoinRows enumerate_with_ids(const Join& join, RunContext& context) {
    JoinRows rows = enumerate(join, context);
    for (int t = 0; t < join.relations(); t++) {
        Buffer<RowId>& row_ids = rows.row_ids[static_cast<size_t>(t)];
        if (row_ids.empty())
            for (uint64_t i = 0; i < rows.rows; i++) row_ids.push_back(static_cast<RowId>(i));
    }
    return rows;
}

// What each of these rows of the join weighs, by counting the repeats of its row of the target's table among all.
Buffer<double> shares_of(const SampledTraining& training, const JoinRows& rows, const JoinRows& all,
                         RunContext& context) {
    std::map<RowId, double> repeats;
    for (uint64_t i = 0; i < all.rows; i++) repeats[all.row_ids[0][i]]++;
    Buffer<double> shares(context.memory(), "weights");
    for (uint64_t i = 0; i < rows.rows; i++) {
        const RowId row = rows.row_ids[0][i];
        const double weight = training.plan.weight ? training.column(*training.plan.weight).numbers[row] : 1;
        shares.push_back(weight / repeats[row]);
    }
    return shares;
}

// All rows or a sample of them, with any objective.
TEST(TrainingSample, RepeatsShareTheWeightOfTheirRow) {
    static constexpr ObjectiveNumber objectives[] = {ObjectiveNumber::squared, ObjectiveNumber::absolute,
                                                     ObjectiveNumber::huber,   ObjectiveNumber::quantile,
                                                     ObjectiveNumber::poisson, ObjectiveNumber::tweedie};
    int compared = 0, repeated = 0;
    for (uint64_t seed = 0; seed < 400; seed++) {
        SCOPED_TRACE(seed);
        SampledTraining training(random_join_of_positive(seed + 600), seed % 3 == 1);
        if (seed % 2 == 1) weigh_target_rows(training);
        const uint64_t count = training.join.count(training.context);
        if (count < 4) continue;
        Options options = some_options(static_cast<int64_t>(count / 2), static_cast<int64_t>(seed));
        options.objective = objectives[seed % std::size(objectives)];
        QuietContext context(1 + static_cast<int>(seed % 3));
        const JoinRows all = enumerate_with_ids(training.join, training.context);
        const uint64_t target_rows = training.join.tables()[0].rows;
        const bool is_sampled = seed % 4 == 3;
        JoinRows rows =
            is_sampled ? std::move(training.draw(options)->rows) : enumerate_with_ids(training.join, training.context);
        Dataset written = materialise(training, rows, context);
        written.weight = shares_of(training, rows, all, context);
        share_weights(training.join, training.plan, repeats_of_rows(training.join, 0, context), context);
        if (is_sampled) keep_rows_of(training.join, rows, training.context);
        Dataset held = make_dataset(std::move(training.join), std::move(rows), training.plan, training.context);
        EXPECT_EQ(fitted(held, options, training.context), fitted(written, options, context));
        compared++;
        repeated += count > target_rows;
        if (testing::Test::HasFailure()) return;
    }
    EXPECT_GT(compared, 250);
    EXPECT_GT(repeated, 200);
}

// As large a part of the held-out rows as of the others, and no row twice.
TEST(TrainingSample, SamplesTheHoldoutApart) {
    const PlainJoin plain{{{{0}, {Column(40, 1)}, 40, std::vector<double>(40, 1)},
                           {{0}, {Column(60, 1)}, 60, std::vector<double>(60, 1)}},
                          {}};
    for (const int64_t rows : {1, 2, 3, 4, 100, 101, 1'000, 2'399}) {
        SampledTraining training(plain, true);
        const std::optional<TrainingSample> sample = training.draw(some_options(rows, rows));
        ASSERT_TRUE(sample);
        EXPECT_TRUE(sample->report.join_rows == 2'400);
        EXPECT_EQ(sample->report.sample_rows, static_cast<uint64_t>(rows));
        EXPECT_EQ(sample->rows.rows, static_cast<uint64_t>(rows));
        EXPECT_FALSE(sample->limited);
        std::set<std::pair<RowId, RowId>> distinct;
        int64_t held_out = 0;
        for (uint64_t i = 0; i < sample->rows.rows; i++) {
            const RowId last = sample->rows.row_ids[1][i];
            distinct.insert({sample->rows.row_ids[0][i], last});
            held_out += training.column(*training.plan.holdout).numbers[last] == 1;
        }
        EXPECT_EQ(distinct.size(), static_cast<size_t>(rows));
        EXPECT_NEAR(static_cast<double>(held_out), static_cast<double>(rows) / 4, rows == 2 ? 0.5 : 0.51);
        EXPECT_LT(held_out, rows);
    }
}

TEST(TrainingSample, OfAllRowsIsNone) {
    SampledTraining training(5 + 300, true);
    const auto count = static_cast<int64_t>(training.join.count(training.context));
    EXPECT_FALSE(training.draw(some_options(count)));
    EXPECT_FALSE(training.draw(some_options(count + 1)));
    EXPECT_FALSE(training.draw(some_options(0)));
    EXPECT_TRUE(training.draw(some_options(count - 1)));
}

PlainJoin product_of(int tables, int rows) {
    PlainJoin plain;
    for (int t = 0; t < tables; t++)
        plain.tables.push_back(
            {{0}, {Column(static_cast<size_t>(rows), 0)}, rows, std::vector<double>(static_cast<size_t>(rows), 1)});
    for (int row = 0; row < rows; row++) plain.tables[0].factors[static_cast<size_t>(row)] = row % 13;
    return plain;
}

TEST(TrainingSample, OfJoinsThatCannotBeHeld) {
    SampledTraining training(product_of(18, 100), false);
    EXPECT_EQ(choose_strategy(training.join, {}, some_options(500), training.context).strategy, Strategy::sample);
    const std::optional<TrainingSample> sample = training.draw(some_options(500));
    ASSERT_TRUE(sample);
    EXPECT_EQ(decimal(sample->report.join_rows), "1" + std::string(36, '0'));
}

// By default as many rows as fit, and those fit indeed.
TEST(TrainingSample, FitsIntoMemory) {
    std::set<uint64_t> sizes;
    for (const uint64_t megabytes : {2, 3, 5, 9, 17, 33, 65}) {
        SCOPED_TRACE(megabytes);
        SampledTraining training(product_of(3, 1'000), false, megabytes << 20);
        const Options options = some_options(0);
        std::optional<TrainingSample> sample = training.draw(options);
        ASSERT_TRUE(sample);
        const uint64_t rows = sample->report.sample_rows;
        EXPECT_EQ(rows % 10'000, 0U);
        EXPECT_EQ((rows / 10'000) & (rows / 10'000 - 1), 0U);
        EXPECT_TRUE(sample->limited);
        EXPECT_GT(80 * rows, megabytes << 20); // nearly as many as possible
        sizes.insert(rows);
        keep_rows_of(training.join, sample->rows, training.context);
        Dataset dataset =
            make_dataset(std::move(training.join), std::move(sample->rows), training.plan, training.context);
        EXPECT_EQ(fit(std::move(dataset), options, training.context).model.rows, rows);
    }
    EXPECT_GT(sizes.size(), 4U);
}

TEST(TrainingSample, HasTenMillionRowsWhereTheyFit) {
    SampledTraining training(product_of(2, 4'000), false);
    const std::optional<TrainingSample> sample = training.draw(some_options(0));
    ASSERT_TRUE(sample);
    EXPECT_EQ(sample->report.sample_rows, 10'000'000U);
    EXPECT_FALSE(sample->limited);
}

TEST(TrainingSample, CanBeCancelledAnywhere) {
    SampledTraining training(product_of(3, 300), true);
    uint64_t polls = 0;
    for (bool finished = false; !finished; polls++) {
        btml::test::ImpatientContext context(polls);
        try {
            draw_training_sample(training.join, training.plan, some_options(100'000), context);
            finished = true;
        } catch (const Cancelled&) {
        }
        EXPECT_EQ(context.memory().used(), 0U);
    }
    EXPECT_GT(polls, 10U);
}

} // namespace
} // namespace btml::boosting::test
