// What is found odd in columns, against its definition, and that nothing is where there is nothing.
#include "boosting_data.hpp"

namespace btml::boosting::test {
namespace {

using Names = std::vector<std::string>;

Findings findings_of(const PlainData& data, int max_bins = 255, const char* type = nullptr, int threads = 1) {
    QuietContext context(threads);
    Dataset dataset = to_dataset(data, context);
    if (type)
        for (FeatureColumn& feature : dataset.features) feature.type = type;
    ThreadTeam team(context);
    const TrainingRows training(dataset, team, context);
    const BinnedData bins = bin_features(dataset, training, max_bins, team, context);
    return examine(bins, dataset, training, context);
}

PlainData table_of(size_t rows, uint64_t seed) {
    Random random(seed);
    PlainData data;
    data.rows = rows;
    data.tables = {{rows, {}}};
    for (size_t i = 0; i < rows; i++) data.target.push_back(random.unit());
    return data;
}

PlainColumn numbers(const char* name, size_t rows, const std::function<double(size_t)>& value) {
    PlainColumn column{name, false, 0, {}, {}, 0, 0};
    for (size_t i = 0; i < rows; i++) column.numbers.push_back(value(i));
    return column;
}

TEST(Findings, ThereAreNoneInRandomColumns) {
    for (uint64_t seed = 0; seed < 150; seed++) {
        Random random(seed);
        const size_t rows = 100 + random.below(3000);
        PlainData data = table_of(rows, seed + 1000);
        data.labels = seed % 3 == 0 ? 0 : 1 + seed % 3;
        if (data.labels > 0) { // often one label is rare
            const double rare = seed % 2 ? 0.02 : 0.5;
            for (double& y : data.target) y = y < rare ? 1 : y > 0.9 ? static_cast<double>(data.labels - 1) : 0;
        }
        data.columns.push_back(numbers("continuous", rows, [&](size_t) { return random.unit(); }));
        data.columns.push_back(numbers("some", rows, [&](size_t) { return random.below(200); }));
        data.columns.push_back(numbers("few", rows, [&](size_t) { return random.below(3); }));
        PlainColumn text{"text", true, 0, {}, {}, 200, 0};
        for (size_t i = 0; i < rows; i++) text.codes.push_back(static_cast<uint32_t>(random.below(200)));
        data.columns.push_back(std::move(text));
        for (const int max_bins : {255, 16, 0}) {
            const Findings found = findings_of(data, max_bins);
            EXPECT_TRUE(found.explaining.empty() && found.constant.empty() && found.identifying.empty()) << seed;
            EXPECT_FALSE(found.constant_target);
        }
    }
}

TEST(Findings, ExplainWhereLittleIsLeft) {
    for (uint64_t seed = 0; seed < 40; seed++) {
        const size_t rows = 3000;
        Random random(seed);
        PlainData data = table_of(rows, seed);
        std::vector<double> x;
        for (size_t i = 0; i < rows; i++) x.push_back(random.unit());
        const bool leaks = seed % 2;
        const double noise = leaks ? 0.02 : 0.2; // R² near 0.9999 and 0.99, before the ranges
        for (size_t i = 0; i < rows; i++) data.target[i] = 5 * x[i] + noise * random.unit();
        data.columns.push_back(numbers("x", rows, [&](size_t i) { return std::exp(-x[i]); }));
        data.columns.push_back(numbers("z", rows, [&](size_t i) { return i % 7; }));
        EXPECT_EQ(findings_of(data).explaining, leaks ? Names{"x"} : Names{}) << seed;
        EXPECT_EQ(findings_of(data, 0).explaining, leaks ? Names{"x"} : Names{}) << seed;
        EXPECT_EQ(findings_of(data, 255, nullptr, 3).explaining, findings_of(data).explaining);
        // Two labels: by AUC.
        data.labels = 2;
        for (size_t i = 0; i < rows; i++) data.target[i] = x[i] > 0.6 || (!leaks && random.chance(0.02)) ? 1 : 0;
        EXPECT_EQ(findings_of(data).explaining, leaks ? Names{"x"} : Names{}) << seed;
        data.labels = 3;
        data.columns[1] = numbers("z", rows, [&](size_t i) { return 10 * data.target[i] - 3; });
        for (size_t i = 0; i < rows; i++) data.target[i] = static_cast<double>(i % 3);
        data.columns[1] = numbers("z", rows, [&](size_t i) { return leaks || i > 30 ? 9 - data.target[i] : 5; });
        EXPECT_EQ(findings_of(data).explaining, leaks ? Names{"z"} : Names{}) << seed;
    }
}

// Every second row, or every fourth, is no sample of a table that repeats itself.
TEST(Findings, ASampleIsNotTakenInWithARowsPlace) {
    for (const size_t period : {2, 4}) {
        const size_t rows = (period - 1) * max_sample_of_findings + 10;
        Random random(period);
        PlainData data = table_of(rows, period);
        data.columns.push_back(
            numbers("periodic", rows, [&](size_t i) { return i % period == 0 ? data.target[i] : random.unit(); }));
        EXPECT_TRUE(findings_of(data).explaining.empty()) << period;
    }
}

TEST(Findings, IdentifyingAndConstantColumns) {
    const size_t rows = 400;
    PlainData data = table_of(rows, 3);
    data.columns.push_back(numbers("id", rows, [](size_t i) { return static_cast<double>(i * 7919 % 400); }));
    data.columns.push_back(numbers("twice", rows, [](size_t i) { return static_cast<double>(i / 2); }));
    data.columns.push_back(
        numbers("nulls", rows, [](size_t i) { return i == 7 ? null_number : static_cast<double>(i); }));
    data.columns.push_back(numbers("one", rows, [](size_t) { return 3; }));
    data.columns.push_back(numbers("nothing", rows, [](size_t) { return null_number; }));
    data.columns.push_back(numbers("one or nothing", rows, [](size_t i) { return i % 2 ? null_number : 3; }));
    PlainColumn text{"text", true, 0, {}, {}, 400, 0}, same = text, some = text;
    for (uint32_t i = 0; i < rows; i++) {
        text.codes.push_back(399 - i);
        same.codes.push_back(0);
        some.codes.push_back(i == 0 ? 1 : i);
    }
    same.name = "same";
    same.categories = 1;
    some.name = "some";
    for (const PlainColumn& column : {text, same, some}) data.columns.push_back(column);
    const Findings found = findings_of(data, 255, "integer");
    EXPECT_EQ(found.identifying, (Names{"id", "text"}));
    EXPECT_EQ(found.constant, (Names{"one", "nothing", "same"}));
    EXPECT_EQ(findings_of(data, 255, "double precision").identifying, (Names{"text"}));
    data.target.assign(rows, 2.5);
    EXPECT_EQ(findings_of(data).constant_target, 2.5);
    data.target[399] = 2.6;
    EXPECT_FALSE(findings_of(data).constant_target);
    // Rows held out do not count.
    data.holdout_table = 0;
    data.holdout.assign(rows, 0);
    data.holdout[399] = 1;
    EXPECT_EQ(findings_of(data).constant_target, 2.5);
    for (size_t i = 99; i < rows; i++) data.holdout[i] = 1; // 99 rows are too few
    EXPECT_FALSE(findings_of(data).constant_target);
    EXPECT_TRUE(findings_of(data, 255, "integer").identifying.empty());
}

TEST(Findings, CategoriesOfHalfOfTheRowsNearlyIdentify) {
    const size_t rows = 400;
    for (const uint32_t values : {100U, 199U, 200U, 399U}) {
        PlainData data = table_of(rows, values);
        PlainColumn text{"text", true, 0, {}, {}, values, 0};
        for (uint32_t i = 0; i < rows; i++) text.codes.push_back(i % values);
        data.columns.push_back(text);
        data.columns.push_back(numbers("number", rows, [&](size_t i) { return static_cast<double>(i % values); }));
        const Findings found = findings_of(data, 255, "integer");
        EXPECT_EQ(found.nearly_identifying, values >= 200 ? Names{"text"} : Names{}) << values;
        EXPECT_TRUE(found.identifying.empty()) << values;
    }
}

TEST(Findings, KeysThatRowsOfAJoinShareDoNotIdentifyThem) {
    PlainData data = table_of(400, 3);
    PlainTable dimension{200, {}};
    for (uint32_t i = 0; i < 400; i++) dimension.ids.push_back(i / 2);
    data.tables.push_back(dimension);
    PlainColumn key = numbers("key", 200, [](size_t i) { return static_cast<double>(i); });
    key.table = 1;
    data.columns.push_back(key);
    EXPECT_TRUE(findings_of(data, 255, "integer").identifying.empty());
    for (uint32_t i = 0; i < 400; i++) data.tables[1].ids[i] = i % 200;
    data.holdout_table = 0;
    for (uint32_t i = 0; i < 400; i++) data.holdout.push_back(i >= 200);
    EXPECT_EQ(findings_of(data, 255, "integer").identifying, Names{"key"});
}

Model with_losses(ObjectiveNumber objective, uint64_t rows, double of_constant, double of_model) {
    Model model;
    model.options.objective = objective;
    model.holdout_rows = rows;
    model.baseline = LogEntry{1, of_constant, {}};
    model.trees.resize(2);
    model.log = {{1, of_constant, {}}, {1, of_model, {}}, {1, 100 * of_model, {}}}; // early stopping dropped a tree
    return model;
}

// Scores that say nothing of the target: the difference of losses is compared with its standard error itself.
TEST(WorseThanConstant, GoesByTwoStandardErrors) {
    int by_chance = 0, clearly = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        Random random(seed);
        const size_t rows = 100 + random.below(900);
        const double scale = std::exp(10 * random.unit() - 5), width = 12 * random.unit() / std::sqrt(rows);
        double of_constant = 0, sum = 0, squares = 0;
        for (size_t i = 0; i < rows; i++) {
            const double y = scale * (random.unit() - 0.5), score = scale * width * (random.unit() - 0.5);
            const double difference = (y - score) * (y - score) - y * y;
            of_constant += y * y / static_cast<double>(rows);
            sum += difference;
            squares += difference * difference;
        }
        const double mean = sum / static_cast<double>(rows);
        const double error = std::sqrt(squares / static_cast<double>(rows) - mean * mean) / std::sqrt(rows);
        const bool is_worse =
            is_worse_than_constant(with_losses(ObjectiveNumber::squared, rows, of_constant, of_constant + mean));
        by_chance += mean < error;
        clearly += mean > 4 * error;
        EXPECT_TRUE(mean >= error || !is_worse) << seed;
        EXPECT_TRUE(mean <= 4 * error || is_worse) << seed;
    }
    EXPECT_TRUE(by_chance > 20 && clearly > 20);
}

TEST(WorseThanConstant, TakesTheUnitOfTheLoss) {
    using enum ObjectiveNumber;
    for (const ObjectiveNumber objective : {squared, absolute, huber, quantile, tweedie}) {
        EXPECT_TRUE(is_worse_than_constant(with_losses(objective, 100, 1e6, 1.17e6)));
        EXPECT_FALSE(is_worse_than_constant(with_losses(objective, 100, 1e6, 1.15e6)));
        EXPECT_FALSE(is_worse_than_constant(with_losses(objective, 1'000'000, 1e-6, 1.009e-6)));
    }
    for (const ObjectiveNumber objective : {binary, multiclass, poisson, gamma}) {
        EXPECT_TRUE(is_worse_than_constant(with_losses(objective, 100, 0.1, 0.19)));
        EXPECT_FALSE(is_worse_than_constant(with_losses(objective, 100, -0.1, -0.03)));
    }
    EXPECT_FALSE(is_worse_than_constant(with_losses(rank, 100, 0.1, 0.9)));
    EXPECT_FALSE(is_worse_than_constant(with_losses(squared, 100, 1, 0.5)));
    EXPECT_FALSE(is_worse_than_constant({}));
}

} // namespace
} // namespace btml::boosting::test
