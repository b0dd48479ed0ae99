#include "boosting_data.hpp"
#include "boosting_reference.hpp"
#include "core/boosting/from_join.hpp"
#include "random_join.hpp"

#include <gtest/gtest.h>

namespace btml::boosting::test {
namespace {

using relational::DataColumn;
using relational::GroupedJoin;
using relational::Join;

// A random join whose tables carry features, and its training set either way.
class RandomTraining {
  public:
    explicit RandomTraining(uint64_t seed) : seed_(seed) {}

    Model fit_either(bool factorised, const Options& options, int threads) {
        QuietContext context(threads);
        DatasetPlan plan;
        Join join = make_join(context, plan);
        if (join.count(context) < 2) return {};
        FitResult result;
        if (factorised) {
            const GroupedJoin grouped(join, context);
            Dataset dataset = make_dataset(std::move(join), grouped, plan, context);
            result = fit_factorised(std::move(dataset), grouped, options, context);
        } else {
            relational::JoinRows rows = enumerate(join, context);
            result = fit(make_dataset(std::move(join), std::move(rows), plan), options, context);
        }
        return std::move(result.model);
    }

  private:
    Join make_join(RunContext& context, DatasetPlan& plan) const {
        relational::test::RandomShape shape;
        shape.empty_table = 0;
        shape.most_rows = 14;
        shape.most_tables = 5;
        Join join = relational::test::columnar(relational::test::random_join(seed_, shape), context);
        Random random(seed_ + 1);
        const size_t tables = join.tables().size();
        for (size_t t = 0; t < tables; t++) {
            relational::Table& table = join.tables()[t];
            table.columns.clear();
            for (uint64_t f = random.below(4) + (t == 0); f > 0; f--) add_feature(table, random, context);
            for (size_t f = 0; f < table.columns.size(); f++)
                plan.features.push_back({{static_cast<int>(t), static_cast<int>(f)}, "double precision"});
        }
        const auto target_table = static_cast<int>(random.below(tables));
        plan.target = {target_table, add_number(join, target_table, "y", context, [&] { return random.unit() * 4; })};
        if (random.chance(0.3))
            plan.weight = ColumnRef{target_table, add_number(join, target_table, "w", context,
                                                             [&] { return static_cast<double>(random.below(4)); })};
        if (random.chance(0.3)) {
            const auto table = static_cast<int>(random.below(tables));
            plan.holdout = ColumnRef{
                table, add_number(join, table, "held_out", context, [&] { return random.chance(0.3) ? 1.0 : 0.0; })};
        }
        return join;
    }

    static void add_feature(relational::Table& table, Random& random, RunContext& context) {
        const bool category = random.chance(0.3);
        DataColumn column{format("x%s%zu", table.name.c_str(), table.columns.size()),
                          category ? DataColumn::Kind::category : DataColumn::Kind::number,
                          Buffer<double>(context.memory(), "feature"),
                          Buffer<uint32_t>(context.memory(), "feature"),
                          {}};
        if (category) column.categories = {"a", "b", "c", "d", "e"};
        for (uint64_t row = 0; row < table.rows; row++) {
            const bool null = random.chance(0.1);
            if (category)
                column.codes.push_back(null ? DataColumn::null_code : static_cast<uint32_t>(random.below(5)));
            else
                column.numbers.push_back(null ? null_number : static_cast<double>(random.below(9)));
        }
        table.columns.push_back(std::move(column));
    }

    template <class Draw>
    static int add_number(Join& join, int number, const char* name, RunContext& context, const Draw& draw) {
        relational::Table& table = join.tables()[static_cast<size_t>(number)];
        DataColumn column{name,
                          DataColumn::Kind::number,
                          Buffer<double>(context.memory(), name),
                          Buffer<uint32_t>(context.memory(), name),
                          {}};
        for (uint64_t row = 0; row < table.rows; row++) column.numbers.push_back(draw());
        table.columns.push_back(std::move(column));
        return static_cast<int>(table.columns.size()) - 1;
    }

    uint64_t seed_;
};

Options options_of(uint64_t seed) {
    Options options;
    options.trees = 1 + static_cast<int>(seed % 6);
    options.learning_rate = seed % 2 ? 0.3 : 1;
    options.max_leaves = seed % 5 == 0 ? 0 : 2 + static_cast<int>(seed % 7);
    options.min_leaf_rows = static_cast<double>(1 + seed % 4);
    options.l2 = seed % 3 == 1 ? 1.5 : 0;
    options.min_gain = 1e-6;
    options.max_bins = seed % 4 == 2 ? 3 : 255;
    options.row_fraction = seed % 7 == 3 ? 0.7 : 1;
    options.feature_fraction = seed % 7 == 5 ? 0.6 : 1;
    options.criterion = seed % 8 == 1 ? Criterion::mse_sum : Criterion::variance;
    options.seed = static_cast<int64_t>(seed);
    return options;
}

void expect_same_model(const Model& a, const Model& b) {
    EXPECT_EQ(a.rows, b.rows);
    EXPECT_EQ(a.holdout_rows, b.holdout_rows);
    EXPECT_EQ(a.base, b.base);
    expect_same_trees(a, b);
    ASSERT_EQ(a.log.size(), b.log.size());
    for (size_t i = 0; i < a.log.size(); i++) {
        EXPECT_NEAR(a.log[i].train_loss, b.log[i].train_loss, 1e-9);
        ASSERT_EQ(a.log[i].holdout_loss.has_value(), b.log[i].holdout_loss.has_value());
        if (a.log[i].holdout_loss) {
            EXPECT_NEAR(*a.log[i].holdout_loss, *b.log[i].holdout_loss, 1e-9);
        }
    }
}

TEST(Factorised, EqualsEnumerated) {
    int fitted = 0;
    for (uint64_t seed = 0; seed < 400; seed++) {
        SCOPED_TRACE(format("seed %d", static_cast<int>(seed)));
        RandomTraining training(seed + 900'000);
        const Options options = options_of(seed);
        Model enumerated, factorised;
        try {
            enumerated = training.fit_either(false, options, 1);
        } catch (const Error& error) {
            EXPECT_THROW(training.fit_either(true, options, 1), Error) << error.what();
            continue;
        }
        factorised = training.fit_either(true, options, 1 + static_cast<int>(seed % 3));
        expect_same_model(enumerated, factorised);
        fitted += !enumerated.trees.empty() && enumerated.trees[0].size() > 1;
        if (HasFailure()) return;
    }
    EXPECT_GT(fitted, 150);
}

} // namespace
} // namespace btml::boosting::test
