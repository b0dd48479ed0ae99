#include "linear_data.hpp"

#include "core/linear/coefficients.hpp"
#include "core/linear/linear_strategy.hpp"
#include "relational/random_join.hpp"

namespace btml::linear::test {
namespace {

using relational::ColumnRef;
using relational::DataColumn;
using relational::DatasetPlan;
using relational::Join;
using relational::Key;
using relational::test::PlainJoin;

// A random join, acyclic or not, whose tables carry features.
class JoinTraining {
  public:
    explicit JoinTraining(uint64_t seed) : seed_(seed), plain_(random_plain(seed)) {}

    bool has_rows() const { return brute_force(plain_).size() > 3; }
    bool has_holdout() const { return seed_ % 4 == 1; }
    Options options() const {
        Options options;
        options.family = Family::gaussian;
        if (seed_ % 3 == 1) options.penalty = 0.05;
        if (seed_ % 6 == 1) options.l1_ratio = 0.6;
        return options;
    }

    // shuffle: of the tables' rows and of the numbers of keys; 0: none.
    FitResult fit(bool factorised, RunContext& context, uint64_t shuffle = 0) const {
        DatasetPlan plan;
        Join join = make_join(plan, context, shuffle);
        if (factorised) return fit_factorised(std::move(join), plan, options(), context);
        relational::JoinRows rows = enumerate(join, context);
        return linear::fit(make_dataset(std::move(join), std::move(rows), plan, context), options(), context);
    }

    Join make_join(DatasetPlan& plan, RunContext& context, uint64_t shuffle = 0) const {
        Join join = columnar(shuffle == 0 ? plain_ : shuffled(shuffle), context);
        add_columns(join, plan, context);
        return join;
    }

  private:
    static PlainJoin random_plain(uint64_t seed) {
        relational::test::RandomShape shape =
            seed % 3 == 0 ? relational::test::cyclic_shape : relational::test::RandomShape{};
        shape.empty_table = 0;
        shape.max_rows = 16;
        PlainJoin plain = relational::test::random_join(seed, shape);
        for (relational::test::PlainTable& table : plain.tables) // numbers that rows keep wherever they lie
            for (size_t row = 0; row < table.factors.size(); row++) table.factors[row] = static_cast<double>(row);
        return plain;
    }

    static Key renamed(Key key, uint64_t shuffle) {
        return key == relational::null_key ? key : static_cast<Key>(mix64(key ^ shuffle) >> 33);
    }

    PlainJoin shuffled(uint64_t shuffle) const {
        PlainJoin join = plain_;
        relational::test::Random random(shuffle);
        std::vector<std::vector<size_t>> orders;
        for (relational::test::PlainTable& table : join.tables) {
            std::vector<size_t>& order = orders.emplace_back(table.factors.size());
            for (size_t i = 0; i < order.size(); i++) order[i] = i;
            for (size_t i = order.size(); i > 1; i--)
                std::swap(order[i - 1], order[static_cast<size_t>(random.below(static_cast<int>(i)))]);
            table.factors = in_order(table.factors, order);
            for (relational::test::Column& keys : table.keys) keys = renamed_in_order(keys, order, shuffle);
        }
        for (relational::test::PlainEdge& edge : join.edges) {
            for (auto& keys : edge.left_keys) keys = renamed_in_order(keys, orders[edge.left], shuffle);
            for (auto& keys : edge.right_keys) keys = renamed_in_order(keys, orders[edge.right], shuffle);
        }
        return join;
    }
    template <class T>
    static std::vector<T> in_order(const std::vector<T>& values, const std::vector<size_t>& order) {
        std::vector<T> ordered;
        for (const size_t i : order) ordered.push_back(values[i]);
        return ordered;
    }
    static relational::test::Column renamed_in_order(const relational::test::Column& keys,
                                                     const std::vector<size_t>& order, uint64_t shuffle) {
        relational::test::Column ordered = in_order(keys, order);
        for (Key& key : ordered) key = renamed(key, shuffle);
        return ordered;
    }

    double unit(uint64_t a, uint64_t b, uint64_t c = 0) const { return random_unit(seed_ + 1000 * c, a, b); }
    bool chance(double probability, uint64_t a, uint64_t b = 0) const { return unit(a, b, 7) < probability; }

    static DataColumn& add_column(relational::Table& table, const std::string& name, DataColumn::Kind kind,
                                  RunContext& context) {
        table.columns.push_back(
            {name, kind, Buffer<double>(context.memory(), "a test"), Buffer<uint32_t>(context.memory(), "a test"), {}});
        return table.columns.back();
    }
    template <class NumberOf>
    static ColumnRef add_numbers(Join& join, int table, const std::string& name, RunContext& context,
                                 const NumberOf& number_of) {
        relational::Table& to = join.tables()[static_cast<size_t>(table)];
        DataColumn& column = add_column(to, name, DataColumn::Kind::number, context);
        // The third column has the number of the row as made.
        for (uint64_t row = 0; row < to.rows; row++)
            column.numbers.push_back(number_of(static_cast<uint64_t>(to.columns[2].numbers[row] * 2)));
        return {table, static_cast<int>(to.columns.size()) - 1};
    }

    void add_columns(Join& join, DatasetPlan& plan, RunContext& context) const {
        for (relational::Table& table : join.tables()) // which say where rows lie
            if (!table.columns.empty()) {
                std::fill(table.columns[0].numbers.begin(), table.columns[0].numbers.end(), 0);
                std::fill(table.columns[1].codes.begin(), table.columns[1].codes.end(), 0);
            }
        std::vector<bool> is_right(plain_.tables.size());
        for (const relational::test::PlainEdge& edge : plain_.edges) is_right[static_cast<size_t>(edge.right)] = true;
        int target = 0;
        while (is_right[static_cast<size_t>(target)]) target++;
        for (int t = 0; t < static_cast<int>(plain_.tables.size()); t++)
            for (uint64_t f = 0; f < (t == target ? 2 : static_cast<uint64_t>(unit(9, t) * 3)); f++)
                plan.features.push_back(add_feature(join, t, f, context));
        plan.target = add_numbers(join, target, "y", context, [&](uint64_t row) {
            return (seed_ % 5 == 0 ? 1e6 : 0) + unit(3, row) + (row % 3 == 0 ? 2 : 0);
        });
        if (seed_ % 2)
            plan.weight = add_numbers(join, target, "w", context,
                                      [&](uint64_t row) { return row % 4 == 3 ? 0 : 0.5 + unit(4, row); });
        if (has_holdout())
            plan.holdout = add_numbers(join, static_cast<int>(plain_.tables.size()) - 1, "held", context,
                                       [&](uint64_t row) { return row % 3 == 1; });
    }

    relational::FeatureRef add_feature(Join& join, int t, uint64_t f, RunContext& context) const {
        const uint64_t id = static_cast<uint64_t>(t) * 10 + f;
        const std::string name = format("x%d_%d", t, static_cast<int>(f));
        if (!chance(0.3, id)) {
            const double far = chance(0.3, id, 2) ? 1e5 : 0, missing = chance(0.4, id, 3) ? 0.2 : 0;
            return {add_numbers(join, t, name, context,
                                [&](uint64_t row) {
                                    return chance(missing, id, 100 + row) ? null_number : far + unit(id + 20, row);
                                }),
                    "double precision"};
        }
        relational::Table& table = join.tables()[static_cast<size_t>(t)];
        DataColumn& column = add_column(table, name, DataColumn::Kind::category, context);
        column.categories = {"a", "b", "c", "d"};
        for (uint64_t row = 0; row < table.rows; row++) {
            const auto code =
                static_cast<uint32_t>(5 * unit(id + 20, static_cast<uint64_t>(2 * table.columns[2].numbers[row])));
            column.codes.push_back(code == 4 ? DataColumn::null_code : code);
        }
        return {{t, static_cast<int>(table.columns.size()) - 1}, "text"};
    }

    const uint64_t seed_;
    const PlainJoin plain_;
};

// Returns the message of a fit's error, or its model.
template <class Fit>
std::string outcome(const Fit& fit, Model& model) {
    try {
        model = fit().model;
        return "";
    } catch (const Error& error) {
        return error.what();
    }
}

void expect_near(double a, double b, double tolerance, uint64_t seed, const char* what) {
    EXPECT_NEAR(a, b, tolerance * (1 + std::fabs(b))) << what << " of seed " << seed;
}

TEST(JoinFit, IsTheFitToTheRows) {
    size_t fitted = 0, held = 0, cyclic = 0;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        const JoinTraining training(seed);
        if (!training.has_rows()) continue;
        QuietContext context(2);
        Model rows, tables;
        const std::string error = outcome([&] { return training.fit(false, context); }, rows);
        EXPECT_EQ(outcome([&] { return training.fit(true, context); }, tables), error) << seed;
        if (!error.empty() || tables.columns.empty()) continue;
        fitted++;
        held += rows.holdout_rows > 0;
        cyclic += seed % 3 == 0;
        EXPECT_EQ(tables.rows, rows.rows) << seed;
        EXPECT_EQ(tables.holdout_rows, rows.holdout_rows) << seed;
        EXPECT_EQ(tables.missing, rows.missing) << seed;
        EXPECT_EQ(tables.references, rows.references) << seed;
        ASSERT_EQ(tables.columns.size(), rows.columns.size()) << seed;
        const double scale = std::sqrt(rows.statistics.null_deviance / rows.statistics.weight);
        const double rounding =
            1e-12 * rows.statistics.null_deviance + 1e-18 * rows.statistics.weight * rows.centre * rows.centre;
        const bool is_perfect = rows.statistics.deviance < rounding;
        for (size_t c = 0; c < rows.columns.size(); c++) {
            EXPECT_EQ(tables.columns[c].state, rows.columns[c].state) << seed << " column " << c;
            EXPECT_NEAR(tables.columns[c].mean, rows.columns[c].mean, 1e-12 * (1 + std::fabs(rows.columns[c].mean)));
            EXPECT_NEAR(tables.columns[c].estimate * rows.columns[c].scale,
                        rows.columns[c].estimate * rows.columns[c].scale, 1e-8 * scale)
                << seed << " column " << c;
            if (!is_perfect) {
                EXPECT_NEAR(tables.columns[c].std_error, rows.columns[c].std_error, 1e-7 * rows.columns[c].std_error)
                    << seed << " column " << c;
            }
        }
        expect_near(tables.centre, rows.centre, 1e-10, seed, "centre");
        expect_near(tables.intercept, rows.intercept, 1e-8, seed, "intercept");
        expect_near(tables.statistics.weight, rows.statistics.weight, 1e-12, seed, "weight");
        expect_near(tables.statistics.null_deviance, rows.statistics.null_deviance, 1e-10, seed, "null deviance");
        // Coordinates of an elastic net stop at 1e-13 of the largest of them.
        expect_near(tables.statistics.deviance, rows.statistics.deviance, training.options().l1_ratio > 0 ? 1e-8 : 1e-9,
                    seed, "deviance");
        EXPECT_EQ(tables.statistics.r_squared.has_value(), rows.statistics.r_squared.has_value());
        if (!is_perfect)
            expect_near(*tables.statistics.log_likelihood, *rows.statistics.log_likelihood, 1e-8, seed,
                        "log likelihood");
        EXPECT_EQ(tables.statistics.holdout_deviance.has_value(), rows.statistics.holdout_deviance.has_value());
        if (rows.statistics.holdout_deviance)
            expect_near(*tables.statistics.holdout_deviance, *rows.statistics.holdout_deviance, 1e-8, seed,
                        "held-out deviance");
    }
    EXPECT_GT(fitted, 150U) << fitted;
    EXPECT_GT(held, 20U);
    EXPECT_GT(cyclic, 20U);
}

TEST(JoinFit, RowOrderKeysAndThreadsChangeNothing) {
    for (uint64_t seed = 1; seed <= 150; seed++) {
        const JoinTraining training(seed);
        if (!training.has_rows()) continue;
        Model model;
        QuietContext one(1);
        if (!outcome([&] { return training.fit(true, one); }, model).empty()) continue;
        for (const int threads : {1, 2, 5}) {
            QuietContext context(threads);
            const Model again = training.fit(true, context, seed + static_cast<uint64_t>(threads)).model;
            EXPECT_TRUE(bytes_of(again) == bytes_of(model)) << seed << ", " << threads << " threads";
        }
    }
}

// Keys of two rows each: what one key has in the first table, another one has in the second.
Join mirrored_tables(bool backwards, DatasetPlan& plan, RunContext& context) {
    static constexpr Key keys = 40;
    std::vector<relational::Table> tables(2);
    for (int t = 0; t < 2; t++) {
        relational::Table& table = tables[static_cast<size_t>(t)];
        table.name = format("t%d", t);
        table.rows = 2 * keys;
        table.keys.push_back({0, Buffer<Key>(context.memory(), "a test")});
        table.columns.push_back({"x",
                                 DataColumn::Kind::number,
                                 Buffer<double>(context.memory(), "a test"),
                                 Buffer<uint32_t>(context.memory(), "a test"),
                                 {}});
        for (Key i = 0; i < 2 * keys; i++) {
            const Key row = backwards ? 2 * keys - 1 - i : i, key = row / 2;
            const Key mirrored = t == 0 ? key : keys - 1 - key;
            table.keys[0].values.push_back(key);
            table.columns[0].numbers.push_back(1e3 * random_unit(1, row % 2, mirrored));
        }
    }
    plan.target = {0, 0};
    plan.features = {{{1, 0}, "double precision"}};
    return Join(std::move(tables), {}, context);
}

TEST(JoinFit, EqualValuesOfTwoTablesAreToldApart) {
    QuietContext context;
    std::vector<std::string> bytes;
    for (const bool backwards : {false, true}) {
        DatasetPlan plan;
        Join join = mirrored_tables(backwards, plan, context);
        bytes.push_back(bytes_of(fit_factorised(std::move(join), plan, options_of(Family::gaussian), context).model));
    }
    EXPECT_TRUE(bytes[0] == bytes[1]);
}

// Two tables of so many rows, and as many keys. Targets are below `size`.
Join two_tables(uint64_t rows, uint64_t keys, DatasetPlan& plan, RunContext& context, double size = 1) {
    std::vector<relational::Table> tables(2);
    for (int t = 0; t < 2; t++) {
        relational::Table& table = tables[static_cast<size_t>(t)];
        table.name = format("t%d", t);
        table.rows = rows;
        table.keys.push_back({0, Buffer<Key>(context.memory(), "a test")});
        table.columns.push_back({"x",
                                 DataColumn::Kind::number,
                                 Buffer<double>(context.memory(), "a test"),
                                 Buffer<uint32_t>(context.memory(), "a test"),
                                 {}});
        for (uint64_t row = 0; row < rows; row++) {
            table.keys[0].values.push_back(static_cast<Key>(row % keys));
            table.columns[0].numbers.push_back((t == 0 ? size : 1) * random_unit(1, static_cast<uint64_t>(t), row));
        }
    }
    plan.target = {0, 0};
    plan.features = {{{1, 0}, "double precision"}};
    return Join(std::move(tables), {}, context);
}

TEST(JoinFit, NoFeaturesAreRefused) {
    QuietContext context;
    DatasetPlan plan;
    Join join = two_tables(10, 5, plan, context);
    plan.features.clear();
    const auto fit_join = [&] { fit_factorised(std::move(join), plan, options_of(Family::gaussian), context); };
    EXPECT_EQ(btml::test::caught(fit_join).message, "there are no features to fit");
}

TEST(JoinFit, TargetsMayBeAsLargeAsInRows) {
    QuietContext context;
    for (const double size : {1e-150, 1e-140, 1e140, 1e150}) {
        DatasetPlan plan;
        Join join = two_tables(1'000, 10, plan, context, size), same = two_tables(1'000, 10, plan, context, size);
        relational::JoinRows rows = enumerate(same, context);
        const Options options = options_of(Family::gaussian);
        const Model of_rows =
            fit(make_dataset(std::move(same), std::move(rows), plan, context), options, context).model;
        const Model model = fit_factorised(std::move(join), plan, options, context).model;
        EXPECT_NEAR(model.statistics.deviance / of_rows.statistics.deviance, 1, 1e-9) << size;
        EXPECT_NEAR(model.statistics.null_deviance / of_rows.statistics.null_deviance, 1, 1e-9) << size;
        EXPECT_NEAR(model.columns[0].std_error / of_rows.columns[0].std_error, 1, 1e-9) << size;
    }
}

TEST(LinearStrategy, GoesByTheCheaper) {
    QuietContext context;
    DatasetPlan plan;
    const Join many = two_tables(10'000, 100, plan, context), one = two_tables(10'000, 10'000, plan, context);
    Options options = options_of(Family::gaussian);
    EXPECT_TRUE(choose_strategy(many, plan, options, context).factorises);
    EXPECT_EQ(choose_strategy(many, plan, options, context).reason, "the join has 1000000 rows, its tables have 20000");
    EXPECT_FALSE(choose_strategy(one, plan, options, context).factorises);
    for (const Family family : {Family::binomial, Family::poisson, Family::gamma})
        EXPECT_FALSE(choose_strategy(many, plan, options_of(family), context).factorises);
    options.std_error = StdError::robust;
    EXPECT_FALSE(choose_strategy(many, plan, options, context).factorises);
}

TEST(LinearStrategy, TakesWhatFits) {
    DatasetPlan plan;
    QuietContext context;
    const Join join = two_tables(3'000, 1'500, plan, context);
    const Options options = options_of(Family::gaussian);
    EXPECT_FALSE(choose_strategy(join, plan, options, context).factorises);
    const uint64_t of_rows = enumeration_bytes(join, context);
    {
        const Reservation others(context.memory(), "a test", context.memory().left() - of_rows);
        EXPECT_EQ(choose_strategy(join, plan, options, context).reason,
                  "the tables' sums do not fit into btml.memory_limit");
    }
    const Reservation others(context.memory(), "a test", context.memory().left() - of_rows + 1);
    EXPECT_TRUE(choose_strategy(join, plan, options, context).factorises);
}

TEST(JoinFit, MemoryIsBounded) {
    int fitted = 0, refused = 0;
    for (uint64_t limit = 400'000; limit < 4'000'000; limit += 100'000) {
        QuietContext context(2, limit);
        DatasetPlan plan;
        try {
            const FitResult result =
                fit_factorised(two_tables(5'000, 40, plan, context), plan, options_of(Family::gaussian), context);
            EXPECT_EQ(result.model.rows, 625'000U);
            fitted++;
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::memory_limit) << error.what();
            refused++;
        }
        EXPECT_EQ(context.memory().used(), 0U) << limit;
    }
    EXPECT_GT(fitted, 5);
    EXPECT_GT(refused, 0);
}

} // namespace
} // namespace btml::linear::test
