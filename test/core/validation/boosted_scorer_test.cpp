// Curves of folds against fits with the fold held out, on random joins.
#include "boosting/boosting_data.hpp"
#include "caught.hpp"

#include "core/boosting/growing/training_memory.hpp"
#include "core/validation/boosted_scorer.hpp"

#include <set>

namespace btml::validation {
namespace {

using boosting::HoldoutMetric;
using boosting::ObjectiveNumber;
using boosting::Options;
using boosting::test::DataShape;
using boosting::test::PlainData;
using boosting::test::Random;
using boosting::test::to_dataset;
using btml::test::caught;

struct Case {
    ObjectiveNumber objective;
    HoldoutMetric metric;
};
constexpr Case cases[] = {
    {ObjectiveNumber::squared, HoldoutMetric::rmse},
    {ObjectiveNumber::squared, HoldoutMetric::mae},
    {ObjectiveNumber::absolute, HoldoutMetric::mae},
    {ObjectiveNumber::quantile, HoldoutMetric::pinball},
    {ObjectiveNumber::poisson, HoldoutMetric::poisson_deviance},
    {ObjectiveNumber::binary, HoldoutMetric::auc},
    {ObjectiveNumber::binary, HoldoutMetric::log_loss},
    {ObjectiveNumber::multiclass, HoldoutMetric::accuracy},
    {ObjectiveNumber::rank, HoldoutMetric::ndcg},
};

PlainData data_for(const Case& of, const DataShape& shape, uint64_t seed) {
    PlainData data = boosting::test::random_data(shape, seed);
    Random random(seed + 1000);
    const bool labels = of.objective == ObjectiveNumber::binary || of.objective == ObjectiveNumber::multiclass;
    if (labels) data.labels = of.objective == ObjectiveNumber::binary ? 2 : 3;
    for (double& y : data.target) {
        if (labels)
            y = static_cast<double>(random.below(data.labels));
        else if (of.objective == ObjectiveNumber::poisson || of.objective == ObjectiveNumber::rank)
            y = static_cast<double>(random.below(5));
    }
    if (of.objective == ObjectiveNumber::rank)
        for (size_t i = 0; i < data.target.size(); i++) data.query.push_back(static_cast<uint32_t>(random.below(20)));
    else if (!labels && random.chance(0.3))
        for (size_t i = 0; i < data.target.size(); i++) data.offset.push_back(random.unit() - 0.5);
    return data;
}

Options options_for(const Case& of, uint64_t seed) {
    Options options;
    options.objective = of.objective;
    options.metric = of.metric;
    options.trees = 6;
    options.max_leaves = 6;
    options.min_leaf_rows = 4;
    options.max_bins = 0;
    options.row_fraction = seed % 3 == 0 ? 0.7 : 1;
    options.feature_fraction = seed % 4 == 0 ? 0.6 : 1;
    options.seed = static_cast<int64_t>(seed);
    return options;
}

// Folds by row of the target's table, or by query; some rows are in none.
std::vector<uint16_t> random_folds(const PlainData& data, size_t folds, uint64_t seed) {
    Random random(seed + 2000);
    std::vector<uint16_t> of_unit, of_target;
    for (size_t i = 0; i < data.target.size(); i++)
        of_unit.push_back(random.chance(0.1) ? Folds::always : static_cast<uint16_t>(random.below(folds)));
    for (size_t i = 0; i < data.target.size(); i++)
        of_target.push_back(of_unit[data.query.empty() ? i : data.query[i]]);
    return of_target;
}

Folds make_folds(const PlainData& data, const std::vector<uint16_t>& of_target, size_t count, RunContext& context) {
    Folds folds{{}, std::vector<uint64_t>(count, 0), 0, 0, Buffer<uint16_t>(context.memory(), "folds", data.rows)};
    for (size_t fold = 0; fold < count; fold++) folds.names.push_back(format("fold %zu", fold));
    for (size_t row = 0; row < data.rows; row++) {
        folds.of_row[row] = of_target[data.row_of(data.target_table, row)];
        if (folds.of_row[row] < count) folds.rows[folds.of_row[row]]++;
    }
    return folds;
}

// Bins agree where every value of a row that is scored is one of a row that is trained on.
bool bins_agree(const PlainData& data) {
    for (const auto& column : data.columns) {
        if (column.categorical) continue;
        std::set<double> all, trained;
        for (size_t row = 0; row < data.rows; row++) {
            const double x = column.numbers[data.row_of(column.table, row)];
            if (is_null(x) || data.weight_of(row) == 0) continue;
            all.insert(x);
            if (!data.held_out(row)) trained.insert(x);
        }
        if (all != trained) return false;
    }
    return true;
}

std::vector<double> plain_curve(PlainData data, const std::vector<uint16_t>& of_target, size_t fold,
                                const Options& options) {
    data.holdout_table = data.target_table;
    data.holdout.clear();
    for (const uint16_t of_row : of_target) data.holdout.push_back(of_row == fold);
    if (!bins_agree(data)) return {};
    std::vector<double> curve;
    for (const auto& entry : fit_plain(data, options).log) curve.push_back(*entry.holdout_metric);
    return curve;
}

TEST(BoostedScorer, CurvesAreThoseOfFitsWithTheFoldHeldOut) {
    size_t compared = 0;
    for (const Case& of : cases)
        for (uint64_t seed = 0; seed < 12; seed++) {
            DataShape shape;
            shape.rows = 400;
            shape.distinct = 4;
            shape.weights = seed % 2;
            shape.fact_ids = seed % 3 == 1 && of.objective != ObjectiveNumber::rank;
            const PlainData data = data_for(of, shape, seed);
            if (data.target.size() < 30) continue;
            const Options options = options_for(of, seed);
            const auto of_target = random_folds(data, 3, seed);
            QuietContext context(1 + static_cast<int>(seed % 3));
            const Folds folds = make_folds(data, of_target, 3, context);
            BoostedScorer scorer(to_dataset(data, context), folds, {options}, context);
            const std::vector<Curve> curves = scorer.curves(0, 0, 3, 1, "");
            for (size_t fold = 0; fold < 3; fold++) {
                const std::vector<double> plain = plain_curve(data, of_target, fold, options);
                if (plain.empty()) continue;
                compared++;
                EXPECT_EQ(curves[fold].values, plain) << name_of(of.objective) << seed << fold;
            }
        }
    EXPECT_GT(compared, 150u);
}

TEST(BoostedScorer, SomeFoldsAndFewerTreesAreThatPartOfAll) {
    DataShape shape;
    shape.rows = 300;
    const Case of = cases[0];
    const PlainData data = data_for(of, shape, 5);
    const Options options = options_for(of, 5);
    QuietContext context(2);
    const Folds folds = make_folds(data, random_folds(data, 4, 5), 4, context);
    BoostedScorer scorer(to_dataset(data, context), folds, {options}, context);
    const std::vector<Curve> all = scorer.curves(0, 0, 4, 1, ""), some = scorer.curves(0, 1, 3, 0.4, "");
    ASSERT_EQ(some.size(), 2u);
    for (size_t i = 0; i < 2; i++) {
        std::vector<double> part = all[1 + i].values;
        part.resize(3); // of 6 trees, rounded up
        EXPECT_EQ(some[i].values, part);
    }
}

// A row that is withheld is as one that is not there.
TEST(BoostedScorer, NoTrialSeesWhatIsWithheld) {
    int compared = 0;
    for (const Case& of : cases)
        for (uint64_t seed = 0; seed < 4; seed++) {
            DataShape shape;
            shape.rows = 400;
            shape.distinct = 4;
            shape.weights = seed % 2;
            const PlainData data = materialise(data_for(of, shape, seed));
            Options options = options_for(of, seed);
            options.row_fraction = 1; // which goes by the numbers of rows
            std::vector<uint16_t> of_target = random_folds(data, 3, seed), kept_folds;
            Random random(seed);
            std::vector<size_t> kept;
            std::vector<uint8_t> withheld_query(data.target.size(), 0);
            for (size_t i = 0; i < data.target.size(); i++) withheld_query[i] = random.chance(0.3);
            for (size_t row = 0; row < data.rows; row++) {
                if (withheld_query[data.query.empty() ? row : data.query[row]]) of_target[row] = Folds::withheld;
                if (of_target[row] == Folds::withheld) continue;
                kept.push_back(row);
                kept_folds.push_back(of_target[row]);
            }
            QuietContext context;
            const PlainData rest = reorder(data, kept);
            const Folds folds = make_folds(data, of_target, 3, context),
                        fewer = make_folds(rest, kept_folds, 3, context);
            BoostedScorer scorer(to_dataset(data, context), folds, {options}, context);
            BoostedScorer plain(to_dataset(rest, context), fewer, {options}, context);
            const auto curves = scorer.curves(0, 0, 3, 1, ""), expected = plain.curves(0, 0, 3, 1, "");
            for (size_t fold = 0; fold < 3; fold++)
                EXPECT_EQ(curves[fold].values, expected[fold].values) << name_of(of.objective) << seed;
            PlainData last = data;
            last.holdout_table = 0;
            last.holdout.clear();
            for (const uint16_t of_row : of_target) last.holdout.push_back(of_row == Folds::withheld);
            if (!bins_agree(last)) continue;
            options.trees = 4;
            EXPECT_EQ(scorer.withheld_score(0, 4), fit_plain(last, options).log.back().holdout_metric);
            compared++;
        }
    EXPECT_GT(compared, 5);
}

TEST(BoostedScorer, EarlyStoppingGoesByTheMean) {
    for (uint64_t seed = 0; seed < 15; seed++) {
        DataShape shape;
        shape.rows = 200;
        const Case of = cases[seed % 2];
        const PlainData data = data_for(of, shape, seed);
        Options options = options_for(of, seed);
        options.trees = 60;
        options.learning_rate = 0.5;
        Options stopping = options;
        stopping.early_stopping = 1 + static_cast<int>(seed % 4);
        QuietContext context;
        const Folds folds = make_folds(data, random_folds(data, 3, seed), 3, context);
        BoostedScorer scorer(to_dataset(data, context), folds, {options, stopping}, context);
        EXPECT_TRUE(scorer.folds_are_apart(0));
        EXPECT_FALSE(scorer.folds_are_apart(1));
        const auto all = scorer.curves(0, 0, 3, 1, ""), stopped = scorer.curves(1, 0, 3, 1, "");
        size_t end = 0, best = 0;
        double best_mean = 0;
        while (end < 60) {
            const double mean = (all[0].values[end] + all[1].values[end] + all[2].values[end]) / 3;
            end++;
            if (best == 0 || mean < best_mean) best = end, best_mean = mean;
            if (end - best >= static_cast<size_t>(stopping.early_stopping)) break;
        }
        for (size_t fold = 0; fold < 3; fold++) {
            const auto& curve = all[fold].values;
            EXPECT_EQ(stopped[fold].values,
                      std::vector<double>(curve.begin(), curve.begin() + static_cast<ptrdiff_t>(end)));
        }
        EXPECT_EQ(best_of_mean(stopped, scorer).trees, best);
    }
}

TEST(BoostedScorer, EachMaxBinsHasItsBinsAndThreadsChangeNothing) {
    DataShape shape;
    shape.rows = 500;
    shape.distinct = 0;
    const Case of = cases[0];
    const PlainData data = data_for(of, shape, 2);
    std::vector<Options> trials(3, options_for(of, 2));
    trials[0].max_bins = 4;
    trials[1].max_bins = 0;
    trials[2].max_bins = 16;
    std::vector<std::vector<double>> found[2];
    for (const int threads : {1, 4}) {
        QuietContext context(threads);
        const Folds folds = make_folds(data, random_folds(data, 2, 2), 2, context);
        BoostedScorer together(to_dataset(data, context), folds, trials, context);
        for (size_t trial = 0; trial < 3; trial++) {
            BoostedScorer alone(to_dataset(data, context), folds, {trials[trial]}, context);
            for (const Curve& curve : together.curves(trial, 0, 2, 1, "")) found[threads > 1].push_back(curve.values);
            EXPECT_EQ(alone.curves(0, 0, 1, 1, "")[0].values, found[threads > 1][2 * trial]);
        }
    }
    EXPECT_EQ(found[0], found[1]);
    EXPECT_NE(found[0][0], found[0][2]);
    EXPECT_NE(found[0][2], found[0][4]);
}

TEST(BoostedScorer, ErrorsNameTheFold) {
    PlainData data;
    data.rows = 8;
    data.tables = {{8, {}}};
    data.columns.push_back({"x", false, 0, {1, 2, 3, 4, 5, 6, 7, 8}, {}, 0, 0});
    data.target = {0, 0, 0, 0, 1, 0, 1, 0};
    data.labels = 2;
    Options options;
    options.objective = ObjectiveNumber::binary;
    options.metric = HoldoutMetric::auc;
    const auto message = [&](const std::vector<uint16_t>& of_target) {
        return caught([&] {
            QuietContext context;
            const Folds folds = make_folds(data, of_target, 2, context);
            BoostedScorer(to_dataset(data, context), folds, {options}, context).curves(0, 0, 2, 1, "");
        });
    };
    const auto undefined = message({0, 0, 0, 0, 1, 1, 1, 1});
    EXPECT_EQ(undefined.message, "metric 'auc' is not defined for the rows held out");
    EXPECT_EQ(undefined.detail, "They have one label only. It was fold \"fold 0\".");
    const auto degenerate = message({0, 0, 0, 1, 0, 1, 0, 1});
    EXPECT_EQ(degenerate.message, "all rows to train on have the label \"label 0\"");
    EXPECT_EQ(degenerate.detail, "It was fold \"fold 0\".");
}

// A host that counts how often progress was shown.
class WatchingContext : public QuietContext {
  public:
    using QuietContext::QuietContext;
    void progress(const char*, uint64_t, uint64_t) override { shown++; }
    uint64_t shown = 0;
};

// The memory holds the bins, and twice one training, but not twenty side by side.
TEST(BoostedScorer, TooLittleMemoryIsSaidBeforeTheWork) {
    constexpr size_t folds = 20;
    DataShape shape;
    shape.rows = 5000;
    const PlainData data = boosting::test::random_data(shape, 1);
    QuietContext plenty;
    Options options = options_for(cases[0], 1);
    const uint64_t limit = 2 * boosting::training_bytes(to_dataset(data, plenty), options, 1, 1, plenty);
    const auto of_target = random_folds(data, folds, 1);
    for (const int early_stopping : {0, 3}) {
        options.early_stopping = early_stopping;
        WatchingContext context(1, limit);
        const auto error = caught([&] {
            const Folds made = make_folds(data, of_target, folds, plenty);
            BoostedScorer scorer(to_dataset(data, plenty), made, {options}, context);
        });
        EXPECT_EQ(error.thrown, early_stopping > 0) << error.message;
        EXPECT_EQ(context.shown == 0, early_stopping > 0);
        if (early_stopping > 0) {
            EXPECT_EQ(error.code, ErrorCode::memory_limit);
        }
    }
}

} // namespace
} // namespace btml::validation
