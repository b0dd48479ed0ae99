#include "boosting_data.hpp"
#include "boosting_reference.hpp"
#include "caught.hpp"
#include "core/boosting/factorised/factorised_set.hpp"
#include "core/boosting/strategy.hpp"
#include "core/data/source_arguments.hpp"
#include "core/relational/join/join_dataset.hpp"
#include "relational/random_join.hpp"

#include <gtest/gtest.h>

#include <set>

namespace btml::boosting::test {
namespace {

using factorised::Way;
using relational::ColumnRef;
using relational::DataColumn;
using relational::DatasetPlan;
using relational::GroupedJoin;
using relational::Join;

// A random join whose tables carry features, and its training set either way.
class RandomTraining {
  public:
    explicit RandomTraining(uint64_t seed, int max_tables = 5, Unit unit = Unit::join)
        : seed_(seed), max_tables_(max_tables), unit_(unit) {}

    Model fit_either(bool factorised, const Options& options, int threads, std::optional<Model> start = {},
                     Way way = Way::automatic) {
        QuietContext context(threads);
        return fit_either(factorised, options, context, std::move(start), way);
    }

    Model fit_either(bool factorised, const Options& options, RunContext& context, std::optional<Model> start = {},
                     Way way = Way::automatic) {
        DatasetPlan plan;
        Join join = make_join(context, plan);
        if (join.count(context) < 2) return {};
        FitResult result;
        if (factorised) {
            GroupedJoin grouped(join, context);
            Dataset dataset = make_dataset(std::move(join), grouped, plan, context);
            result = fit_factorised(std::move(dataset), std::move(grouped), options, context, std::move(start),
                                    {.way = way});
        } else {
            relational::JoinRows rows = enumerate(join, context);
            result = fit(make_dataset(std::move(join), std::move(rows), plan, context), options, context, false,
                         std::move(start));
        }
        return std::move(result.model);
    }

  private:
    friend class EqualRows;

    Join make_join(RunContext& context, DatasetPlan& plan) const {
        relational::test::RandomShape shape;
        shape.empty_table = 0;
        shape.max_rows = 14;
        shape.max_tables = max_tables_;
        Join join = relational::test::columnar(relational::test::random_join(seed_, shape), context);
        Random random(seed_ + 1);
        const bool repeats = random.chance(0.4);
        const size_t tables = join.tables().size();
        for (size_t t = 0; t < tables; t++) {
            relational::Table& table = join.tables()[t];
            table.columns.clear();
            for (uint64_t f = random.below(4) + (t == 0); f > 0; f--)
                add_feature(table, random, repeats ? 2 : 9, context);
            for (size_t f = 0; f < table.columns.size(); f++)
                plan.features.push_back({{static_cast<int>(t), static_cast<int>(f)}, "double precision"});
        }
        const auto target_table = static_cast<int>(random.below(tables));
        plan.target = {target_table, add_number(join, target_table, "y", context, [&] {
                           return repeats ? static_cast<double>(random.below(3)) : random.unit() * 4;
                       })};
        if (random.chance(0.3))
            plan.weight = ColumnRef{target_table, add_number(join, target_table, "w", context,
                                                             [&] { return static_cast<double>(random.below(4)); })};
        if (random.chance(0.3)) {
            const auto table = static_cast<int>(random.below(tables));
            plan.holdout = ColumnRef{
                table, add_number(join, table, "held_out", context, [&] { return random.chance(0.3) ? 1.0 : 0.0; })};
        }
        if (unit_ == Unit::target)
            share_weights(join, plan, relational::repeats_of_rows(join, target_table, context), context);
        return join;
    }

    static void add_feature(relational::Table& table, Random& random, size_t values, RunContext& context) {
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
                column.codes.push_back(null ? DataColumn::null_code
                                            : static_cast<uint32_t>(random.below(std::min<size_t>(values, 5))));
            else
                column.numbers.push_back(null ? null_number : static_cast<double>(random.below(values)));
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
    int max_tables_;
    Unit unit_;
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

// rounding: of the base, which is exact where weights are whole.
void expect_same_model(const Model& a, const Model& b, double rounding = 0) {
    EXPECT_EQ(a.rows, b.rows);
    EXPECT_EQ(a.holdout_rows, b.holdout_rows);
    EXPECT_NEAR(a.bases[0], b.bases[0], rounding);
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

class FactorisedBy : public testing::TestWithParam<Unit> {};
INSTANTIATE_TEST_SUITE_P(AnyUnit, FactorisedBy, testing::Values(Unit::join, Unit::target));

TEST_P(FactorisedBy, EqualsEnumerated) {
    int fitted = 0;
    for (uint64_t seed = 0; seed < 400; seed++) {
        SCOPED_TRACE(format("seed %d", static_cast<int>(seed)));
        RandomTraining training(seed + 900'000, 5, GetParam());
        const Options options = options_of(seed);
        Model enumerated, factorised;
        try {
            enumerated = training.fit_either(false, options, 1);
        } catch (const Error& error) {
            try {
                training.fit_either(true, options, 1);
                ADD_FAILURE() << "no error, where the rows of the join give: " << error.what();
            } catch (const Error& other) {
                EXPECT_STREQ(error.what(), other.what());
            }
            continue;
        }
        for (const Way way : {Way::cells, Way::queries}) {
            factorised = training.fit_either(true, options, 1 + static_cast<int>(seed % 3), {}, way);
            expect_same_model(enumerated, factorised, GetParam() == Unit::join ? 0 : 1e-12);
        }
        fitted += !enumerated.trees.empty() && enumerated.trees[0].size() > 1;
        if (HasFailure()) return;
    }
    EXPECT_GT(fitted, 150);
}

// Leaves whose errors are next to nothing beside those of the first tree.
TEST(Factorised, ContinuesAsIfItHadNotStopped) {
    int fitted = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        SCOPED_TRACE(format("seed %d", static_cast<int>(seed)));
        RandomTraining training(seed + 970'000);
        Options options = options_of(seed);
        options.early_stopping = 0;
        options.trees = 5;
        Options first = options;
        first.trees = 1 + static_cast<int>(seed % 4);
        try {
            const Model model = training.fit_either(true, options, 1);
            const Model start = training.fit_either(true, first, 1);
            if (start.trees.empty()) continue;
            EXPECT_TRUE(bytes_of(model) == bytes_of(training.fit_either(true, options, 2, start)));
            const Model queried = training.fit_either(true, first, 1, {}, Way::queries);
            expect_same_model(model, training.fit_either(true, options, 2, queried, Way::queries));
            fitted += model.trees[0].size() > 1;
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << error.what();
        }
    }
    EXPECT_GT(fitted, 60);
}

TEST(Factorised, EqualsEnumeratedDownToRounding) {
    int fitted = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        SCOPED_TRACE(format("seed %d", static_cast<int>(seed)));
        RandomTraining training(seed + 940'000);
        Options options;
        options.trees = 4;
        options.learning_rate = 1;
        options.max_leaves = 6;
        options.min_leaf_rows = 3;
        options.l2 = 0.5;
        options.criterion = Criterion::mse_sum;
        try {
            const Model enumerated = training.fit_either(false, options, 1);
            for (const Way way : {Way::cells, Way::queries})
                expect_same_model(enumerated, training.fit_either(true, options, 1, {}, way));
            fitted += !enumerated.trees.empty() && enumerated.trees[0].size() > 1;
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << error.what();
        }
    }
    EXPECT_GT(fitted, 80);
}

// Rows that a factorised set holds, against those that differ in keys, features or target.
class EqualRows {
  public:
    explicit EqualRows(uint64_t seed) : context_(2), join_(RandomTraining(seed).make_join(context_, plan_)) {}

    bool is_plain() { return !plan_.weight && !plan_.holdout && join_.count(context_) > 0; }
    uint64_t rows() const {
        uint64_t rows = 0;
        for (const relational::Table& table : join_.tables()) rows += table.rows;
        return rows;
    }
    uint64_t distinct() const {
        uint64_t rows = 0;
        for (size_t t = 0; t < join_.tables().size(); t++) {
            std::set<std::vector<double>> seen;
            for (size_t row = 0; row < join_.tables()[t].rows; row++) seen.insert(tuple(t, row));
            rows += seen.size();
        }
        return rows;
    }
    uint64_t held(double row_fraction) {
        Options options;
        options.row_fraction = row_fraction;
        ThreadTeam team(context_);
        GroupedJoin grouped(join_, context_);
        Dataset dataset = make_dataset(std::move(join_), grouped, plan_, context_);
        return FactorisedSet(dataset, grouped, options, team, context_).rows(0);
    }

  private:
    std::vector<double> tuple(size_t t, size_t row) const {
        std::vector<double> tuple;
        for (size_t other = 0; other < join_.tables().size(); other++) {
            const auto& node = join_.tree().nodes[t];
            const auto& children = node.children;
            if (node.parent == static_cast<int>(other) ||
                std::find(children.begin(), children.end(), static_cast<int>(other)) != children.end())
                tuple.push_back(join_.keys(static_cast<int>(t), static_cast<int>(other))[row]);
        }
        for (const DataColumn& column : join_.tables()[t].columns) {
            const double x = column.numbers.empty() ? column.codes[row] : column.numbers[row];
            tuple.push_back(std::isnan(x) ? -1 : x);
        }
        return tuple;
    }

    QuietContext context_;
    DatasetPlan plan_;
    Join join_;
};

TEST(Factorised, HoldsEqualRowsOnce) {
    int repeated = 0, sampled = 0;
    for (uint64_t seed = 920'000; seed < 920'100; seed++) {
        SCOPED_TRACE(format("seed %d", static_cast<int>(seed)));
        if (!EqualRows(seed).is_plain()) continue;
        EqualRows equal(seed);
        const uint64_t rows = equal.rows(), distinct = equal.distinct();
        repeated += distinct < rows;
        EXPECT_EQ(equal.held(1), distinct);
        sampled += EqualRows(seed).held(0.5) > distinct; // the target's rows are then held one by one
    }
    EXPECT_GT(repeated, 20);
    EXPECT_GT(sampled, 3);
}

// Tables of so many rows that meet on few keys. The target depends on a number of each table: the less, the later the
// table.
class StarTraining {
  public:
    StarTraining(int tables, int rows, int keys, int values)
        : tables_(tables), rows_(rows), keys_(keys), values_(values) {}

    FitResult fit(const Options& options, RunContext& context, Way way,
                  double max_nanoseconds = std::numeric_limits<double>::infinity(), double far = 0) const {
        Random random(3);
        relational::test::PlainJoin plain;
        const auto count = static_cast<size_t>(rows_);
        for (int t = 0; t < tables_; t++) {
            relational::test::Column keys;
            for (int i = 0; i < rows_; i++) keys.push_back(static_cast<relational::Key>(i % keys_));
            plain.tables.push_back({{0}, {keys}, rows_, std::vector<double>(count, 1)});
        }
        Join join = relational::test::columnar(plain, context);
        DatasetPlan plan;
        std::vector<double> of_key(static_cast<size_t>(keys_), 0); // what the other tables add
        for (int t = tables_ - 1; t >= 0; t--) {
            relational::Table& table = join.tables()[static_cast<size_t>(t)];
            table.columns.clear();
            const auto add = [&](const char* name) -> Buffer<double>& {
                table.columns.push_back({name,
                                         DataColumn::Kind::number,
                                         Buffer<double>(context.memory(), name),
                                         Buffer<uint32_t>(context.memory(), name),
                                         {}});
                return table.columns.back().numbers;
            };
            for (int i = 0; i < rows_; i++) {
                const double x = static_cast<double>(random.below(static_cast<size_t>(values_)));
                if (i == 0) add("x");
                table.columns[0].numbers.push_back(x);
                of_key[static_cast<size_t>(i % keys_)] += x / (values_ * (1.0 + 3 * t));
            }
            plan.features.push_back({{t, 0}, "double precision"});
            if (t > 0) continue;
            Buffer<double>& target = add("y");
            for (size_t i = 0; i < count; i++)
                target.push_back(5 * table.columns[0].numbers[i] / values_ + of_key[i % of_key.size()] + random.unit());
            target[0] += far;
            plan.target = {0, 1};
        }
        GroupedJoin grouped(join, context);
        Dataset dataset = make_dataset(std::move(join), grouped, plan, context);
        return fit_factorised(std::move(dataset), std::move(grouped), options, context, {},
                              {.way = way, .max_nanoseconds = max_nanoseconds});
    }

  private:
    int tables_, rows_, keys_, values_;
};

Options star_options() {
    Options options;
    options.trees = 12;
    options.max_leaves = 6;
    options.learning_rate = 0.5;
    return options;
}

// Bit by bit, as the order of sums does not depend on threads, and sums are of numbers that are held.
TEST(Factorised, CellsAndQueriesGiveTheSameTrees) {
    for (const Criterion criterion : {Criterion::variance, Criterion::mse_sum}) {
        Options options = star_options();
        options.criterion = criterion;
        if (criterion == Criterion::mse_sum) options.trees = 4;
        const StarTraining training(3, 300, 60, 7);
        QuietContext one(1), three(3);
        const FitResult cells = training.fit(options, one, Way::cells);
        EXPECT_EQ(bytes_of(cells.model), bytes_of(training.fit(options, three, Way::cells).model));
        const FitResult queries = training.fit(options, three, Way::queries);
        expect_same_model(cells.model, queries.model);
        EXPECT_NE(cells.residuals.find(" combinations of rows of 3 tables"), std::string::npos) << cells.residuals;
        EXPECT_EQ(queries.residuals, "residuals by pairs of leaves");
    }
}

// In the middle of training, conditions touch so many rows that cells cost more than queries.
TEST(Factorised, QueriesTakeOverFromCells) {
    const Options options = star_options();
    const StarTraining training(2, 1'500, 30, 400);
    QuietContext context(2);
    const FitResult cells = training.fit(options, context, Way::cells),
                    found = training.fit(options, context, Way::automatic);
    EXPECT_EQ(found.residuals, "residuals by pairs of leaves");
    expect_same_model(found.model, cells.model);
    Options fewer = options;
    fewer.trees = 2;
    EXPECT_NE(training.fit(fewer, context, Way::automatic).residuals, "residuals by pairs of leaves");
}

// Sums of doubles would lose usual targets beside a far one; rows that are held keep them.
TEST(Factorised, IsGivenUpWhereATargetIsFarFromAllOthers) {
    const Options options = star_options();
    const StarTraining training(2, 3'000, 300, 3);
    QuietContext context;
    const auto fit_beside = [&](double far) {
        return training.fit(options, context, Way::automatic, std::numeric_limits<double>::infinity(), far);
    };
    EXPECT_FALSE(fit_beside(1e4).model.trees.empty());
    for (const double far : {1e12, -1e30, 1e100}) EXPECT_THROW(fit_beside(far), factorised::NotWorthIt);
    EXPECT_EQ(context.memory().used(), 0u);
}

// What is given up in some time is given up in less, and leaves nothing behind; with enough time nothing changes.
TEST(Factorised, IsGivenUpWhereItTakesLongerThanAllowed) {
    const Options options = star_options();
    const StarTraining training(2, 3'000, 300, 3);
    QuietContext context(2);
    const FitResult unlimited = training.fit(options, context, Way::automatic);
    EXPECT_NE(unlimited.residuals, "residuals by pairs of leaves");
    int given_up = 0, fitted = 0;
    for (const double nanoseconds : {0.0, 1e5, 1e6, 3e6, 1e7, 3e7, 1e8, 1e9, 1e12}) {
        try {
            const FitResult result = training.fit(options, context, Way::automatic, nanoseconds);
            expect_same_model(result.model, unlimited.model);
            fitted++;
        } catch (const factorised::NotWorthIt& found) {
            EXPECT_EQ(fitted, 0) << "given up in " << nanoseconds << " ns, not in less";
            EXPECT_NE(found.reason.find(" of 12 trees: the others were estimated at "), std::string::npos)
                << found.reason;
            given_up++;
        }
        EXPECT_EQ(context.memory().used(), 0u);
    }
    EXPECT_GT(given_up, 1);
    EXPECT_GT(fitted, 1);
    for (const Way way : {Way::cells, Way::queries})
        expect_same_model(training.fit(options, context, way, 0).model, unlimited.model); // asked for
}

TEST(Factorised, QueriesTakeOverWhereMemoryIsShort) {
    const Options options = star_options();
    const StarTraining training(2, 3'000, 300, 3);
    QuietContext ample(2);
    const FitResult cells = training.fit(options, ample, Way::automatic);
    EXPECT_NE(cells.residuals, "residuals by pairs of leaves");
    int with_cells = 0, with_queries = 0;
    for (uint64_t limit = 1'000'000; limit < 20'000'000; limit += 250'000) {
        QuietContext context(2, limit);
        try {
            const FitResult result = training.fit(options, context, Way::automatic);
            expect_same_model(result.model, cells.model);
            (result.residuals == "residuals by pairs of leaves" ? with_queries : with_cells)++;
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::memory_limit);
            EXPECT_EQ(with_queries + with_cells, 0) << "an error at " << limit << ", though less was enough";
        }
        EXPECT_EQ(context.memory().used(), 0u);
    }
    EXPECT_GT(with_queries, 0);
    EXPECT_GT(with_cells, 0);
}

TEST(Factorised, CellsCanBeCancelled) {
    int cancelled = 0;
    for (uint64_t polls = 0; polls < 400; polls += 7) {
        btml::test::ImpatientContext context(polls);
        try {
            StarTraining(3, 200, 4, 50).fit(star_options(), context, Way::cells);
        } catch (const Cancelled&) {
            cancelled++;
        }
        EXPECT_EQ(context.memory().used(), 0u);
    }
    EXPECT_GT(cancelled, 5);
}

Options sketch_options(uint64_t seed) {
    Options options = options_of(seed);
    options.criterion = Criterion::mse_sum;
    options.sketch_residuals = true;
    options.feature_fraction = 1;
    options.verify = true;
    return options;
}

// The model, or nothing where there is nothing to train on.
std::optional<Model> sketched(RandomTraining& training, const Options& options, int threads = 1) {
    try {
        Model model = training.fit_either(true, options, threads);
        return model.trees.empty() ? std::nullopt : std::optional(std::move(model));
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << error.what();
        return std::nullopt;
    }
}

// Sums over roots are within epsilon with probability 1 − delta.
TEST(Factorised, SketchedSumsAreWithinThePromise) {
    int fitted = 0, beyond = 0;
    for (uint64_t seed = 0; seed < 140; seed++) {
        Options options = sketch_options(seed);
        options.trees = 2;
        options.max_leaves = 2; // only roots are split
        options.epsilon = 0.5;
        options.delta = 0.2;
        RandomTraining training(seed + 910'000, 3);
        const std::optional<Model> model = sketched(training, options);
        if (!model) continue;
        ASSERT_TRUE(model->sketch && model->sketch->error);
        fitted++;
        beyond += *model->sketch->error > options.epsilon;
    }
    EXPECT_GE(fitted, 100);
    EXPECT_LE(beyond, 0.2 * fitted);
}

// A small sketch is off, but unbiased: the size makes a difference.
TEST(Factorised, LargerSketchesAreCloser) {
    double errors[2] = {0, 0};
    for (uint64_t seed = 0; seed < 60; seed++)
        for (int large = 0; large < 2; large++) {
            Options options = sketch_options(seed);
            options.trees = 1;
            options.max_leaves = 2;
            options.sketch_size = large ? 400 : 4;
            RandomTraining training(seed + 910'000, 3);
            const std::optional<Model> model = sketched(training, options);
            if (!model) continue;
            EXPECT_EQ(model->sketch->size, static_cast<uint64_t>(options.sketch_size));
            EXPECT_EQ(model->sketch->sketches, 1);
            errors[large] += *model->sketch->error;
        }
    EXPECT_GT(errors[0], 3 * errors[1]);
}

TEST(Factorised, LargeSketchesGiveTheExactTrees) {
    int trees = 0, equal = 0;
    for (uint64_t seed = 0; seed < 120; seed++) {
        Options options = sketch_options(seed);
        options.trees = 1;
        options.max_leaves = 5;
        options.max_depth = 0;
        options.sketch_size = 5'000;
        RandomTraining training(seed + 920'000, 3);
        const std::optional<Model> model = sketched(training, options, 1 + static_cast<int>(seed % 2));
        options.sketch_residuals = false;
        if (!model || model->trees[0].size() == 1) continue;
        const Tree exact = training.fit_either(true, options, 1).trees[0];
        const Tree& tree = model->trees[0];
        trees++;
        equal += std::equal(tree.begin(), tree.end(), exact.begin(), exact.end(), [](const Node& a, const Node& b) {
            return a.left == b.left && a.feature == b.feature && same_number(a.threshold, b.threshold) &&
                   a.categories == b.categories && a.null_left == b.null_left;
        });
    }
    EXPECT_GE(trees, 60);
    EXPECT_GE(equal, 0.9 * trees);
}

// Neither the number of threads nor chance changes a model; estimates far too large are no harm.
TEST(Factorised, SketchedModelsAreDeterministic) {
    int fitted = 0;
    for (uint64_t seed = 0; seed < 40; seed++)
        for (const int size : {1, 50}) {
            Options options = sketch_options(seed);
            options.sketch_size = size;
            RandomTraining training(seed + 930'000, 4);
            const std::optional<Model> model = sketched(training, options, 1);
            if (!model) continue;
            EXPECT_EQ(bytes_of(*model), bytes_of(*sketched(training, options, 3)));
            fitted++;
        }
    EXPECT_GT(fitted, 30);
}

TEST(Factorised, VarianceNeedsNoSketch) {
    RandomTraining training(900'004);
    Options options = options_of(4);
    const Model exact = training.fit_either(true, options, 1);
    options.sketch_residuals = true;
    const Model model = training.fit_either(true, options, 1);
    EXPECT_FALSE(model.sketch);
    expect_same_model(model, exact);
}

TEST(Factorised, SketchesThatAreTooLargeAreRefused) {
    RandomTraining training(910'001, 3);
    Options options = sketch_options(1);
    options.epsilon = 1e-5;
    const auto error = btml::test::caught([&] { training.fit_either(true, options, 1); });
    EXPECT_EQ(error.code, ErrorCode::limit_exceeded);
    EXPECT_EQ(error.hint, "Raise epsilon or delta, or give a sketch_size.");
    options.sketch_size = 1'000'000;
    QuietContext tight(1, 4'000'000);
    EXPECT_EQ(btml::test::caught([&] { training.fit_either(true, options, tight); }).code, ErrorCode::memory_limit);
}

TEST(Factorised, ForecastOfSketchesFollowsTheirSize) {
    QuietContext context, two_threads(2);
    const Join join = relational::test::columnar(relational::test::random_join(5), context);
    Options options = sketch_options(0);
    options.trees = 10;
    options.sketch_size = 16'000;
    const double seconds = sketching_seconds(join, options, context);
    EXPECT_GT(seconds, 0);
    EXPECT_DOUBLE_EQ(sketching_seconds(join, options, two_threads), seconds / 2);
    options.sketch_size *= 10;
    EXPECT_NEAR(sketching_seconds(join, options, context) / seconds, 10, 0.1);
    options.criterion = Criterion::variance;
    EXPECT_EQ(sketching_seconds(join, options, context), 0);
    options.criterion = Criterion::mse_sum;
    options.sketch_residuals = false;
    EXPECT_EQ(sketching_seconds(join, options, context), 0);
}

TEST(Factorised, SketchesCanBeCancelled) {
    Options options = sketch_options(1);
    options.sketch_size = 300;
    options.trees = 2;
    int cancelled = 0;
    for (uint64_t polls = 0; polls < 3000; polls += 97) {
        btml::test::ImpatientContext context(polls);
        try {
            RandomTraining(910'001, 3).fit_either(true, options, context);
        } catch (const Cancelled&) {
            cancelled++;
        }
        EXPECT_EQ(context.memory().used(), 0u);
    }
    EXPECT_GT(cancelled, 5);
}

} // namespace
} // namespace btml::boosting::test
