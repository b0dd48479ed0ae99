#include "boosting_data.hpp"

#include "caught.hpp"

#include "core/boosting/cross_fitting.hpp"
#include "core/boosting/fold_trainings.hpp"

#include <limits>

namespace btml::boosting::test {
namespace {

using btml::test::caught;
using btml::test::ImpatientContext;

// A step of one feature, a slope of another, noise, and some weights of 0.
PlainData steps(size_t rows, uint64_t seed) {
    Random random(seed);
    PlainData data;
    data.rows = rows;
    data.tables = {{rows, {}}};
    data.columns = {{"x", false, 0, {}, {}}, {"z", false, 0, {}, {}}};
    for (size_t i = 0; i < rows; i++) {
        const double x = random.unit(), z = random.unit();
        data.columns[0].numbers.push_back(x);
        data.columns[1].numbers.push_back(z);
        data.target.push_back((x < 0.3) + z + random.unit());
        if (seed % 2) data.weight.push_back(static_cast<double>(random.below(3)));
    }
    return data;
}

Options options_of(int trees) {
    Options options;
    options.objective = ObjectiveNumber::squared;
    options.trees = trees;
    options.max_leaves = 6;
    options.min_leaf_rows = 5;
    options.learning_rate = 0.3;
    return completed(options, 0);
}

// What trainings share: folds and bins of the data.
struct Shared {
    Shared(const PlainData& plain, size_t folds, RunContext& context, size_t spared = 0)
        : team(context),
          dataset(to_dataset(plain, context)),
          fitting(dataset, folds, spared, 7, team, context),
          data(bin(dataset, team, context)) {}

    static BinnedData bin(Dataset& dataset, ThreadTeam& team, RunContext& context) {
        const TrainingRows rows(dataset, team, context);
        return bin_features(dataset, rows, 255, team, context);
    }

    ThreadTeam team;
    Dataset dataset;
    CrossFitting fitting;
    BinnedData data;
};

struct Found {
    size_t iterations;
    std::vector<std::string> models; // the first iterations of each

    friend bool operator==(const Found&, const Found&) = default;
};

Found found_of(size_t iterations, const std::vector<const Model*>& models) {
    Found found{iterations, {}};
    for (const Model* const model : models) {
        Model first = *model;
        first.trees.resize(iterations);
        first.log.resize(iterations);
        found.models.push_back(bytes_of(first));
    }
    return found;
}

Found find(const PlainData& plain, size_t folds, const Options& options, size_t patience, double min_progress,
           RunContext& context) {
    Shared shared(plain, folds, context);
    FoldTrainings trainings(
        folds, [&](size_t fold) { return shared.fitting.without(fold); }, options, shared.data, "trees", shared.team,
        context);
    std::vector<double> weights;
    for (size_t fold = 0; fold < folds; fold++)
        weights.push_back(static_cast<double>(shared.fitting.rows(fold).rows().size()));
    const size_t iterations =
        trainings.best_iterations({.patience = patience, .min_progress = min_progress, .weights = weights});
    std::vector<const Model*> models;
    for (size_t fold = 0; fold < folds; fold++) models.push_back(&trainings.model(fold));
    return found_of(iterations, models);
}

// Grows every training to the end, and looks at the losses afterwards.
Found find_after_all(const PlainData& plain, size_t folds, const Options& options, size_t patience,
                     double min_progress) {
    QuietContext context;
    Shared shared(plain, folds, context);
    std::vector<std::unique_ptr<Training>> trainings;
    std::vector<const Model*> models;
    const auto most = static_cast<size_t>(options.trees);
    size_t grown = most;
    for (size_t fold = 0; fold < folds; fold++) {
        trainings.push_back(std::make_unique<Training>(shared.fitting.without(fold), shared.data, options, shared.team,
                                                       context, "trees"));
        trainings.back()->grow(most);
        models.push_back(&trainings.back()->model());
        grown = std::min(grown, trainings.back()->log().size());
    }
    std::vector<double> losses(grown + 1, 0);
    for (size_t t = 0; t <= grown; t++)
        for (size_t fold = 0; fold < folds; fold++) {
            const Training& training = *trainings[fold];
            const LogEntry& entry = t == 0 ? *training.model().baseline : training.log()[t - 1];
            losses[t] += static_cast<double>(shared.fitting.rows(fold).rows().size()) * *entry.holdout_loss;
        }
    size_t best = 0, progressed = 0;
    double reference = losses[0];
    for (size_t t = 1; t <= std::min(grown, progressed + patience); t++) {
        if (losses[t] >= losses[best]) continue;
        best = t;
        if (losses[t] > reference * (1 - min_progress)) continue;
        reference = losses[t];
        progressed = t;
    }
    return found_of(best, models);
}

TEST(FoldTrainings, FindWhatOneAfterTheOtherFinds) {
    size_t early = 0;
    for (uint64_t seed = 0; seed < 12; seed++) {
        SCOPED_TRACE(seed);
        const PlainData data = steps(120 + 40 * (seed % 3), seed);
        const Options options = options_of(60);
        const size_t folds = 2 + seed % 4, patience = 1 + seed % 9;
        const double min_progress = seed % 3 == 2 ? 0.02 : 0;
        const Found expected = find_after_all(data, folds, options, patience, min_progress);
        early += expected.iterations < 60;
        for (const int threads : {1, 2, 3, 5, 8}) {
            QuietContext context(threads);
            EXPECT_TRUE(find(data, folds, options, patience, min_progress, context) == expected)
                << threads << " threads, expected " << expected.iterations << " iterations";
            EXPECT_EQ(context.memory().used(), 0u);
        }
    }
    EXPECT_GT(early, 0u);
}

TEST(CrossFitting, SparedRowsAreInNoFold) {
    QuietContext context;
    size_t trained = 0;
    for (size_t fold = 0; fold < 3; fold++)
        trained += Shared(steps(200, 3), 3, context).fitting.rows(fold).rows().size();
    for (const size_t spared : {size_t{0}, size_t{1}, size_t{25}, trained - 3}) {
        Shared shared(steps(200, 3), 3, context, spared);
        std::vector<size_t> part_of(200, 3); // what is not trained on is ignored, too
        for (size_t part = 0; part < shared.fitting.parts().size(); part++)
            for (const uint32_t row : shared.fitting.parts()[part].rows()) part_of[row] = part;
        EXPECT_EQ(shared.fitting.spared().rows().size(), spared);
        EXPECT_EQ(std::count(part_of.begin(), part_of.end(), 3), static_cast<ptrdiff_t>(200 - trained + spared));
        for (size_t fold = 0; fold < 3; fold++) {
            EXPECT_NEAR(static_cast<double>(shared.fitting.rows(fold).rows().size()),
                        static_cast<double>(trained - spared) / 3, 1);
            const Dataset without = shared.fitting.without(fold);
            for (size_t row = 0; row < 200; row++)
                EXPECT_EQ(static_cast<Role>(without.holdout[row]), part_of[row] == fold ? Role::holdout
                                                                   : part_of[row] == 3  ? Role::ignored
                                                                                        : Role::train);
        }
    }
    EXPECT_EQ(caught([&] { Shared(steps(200, 3), 3, context, trained - 2); }).code, ErrorCode::invalid_argument);
}

TEST(FoldTrainings, TheirMeanPredictsTheMean) {
    QuietContext context;
    Shared shared(steps(300, 4), 3, context, 40);
    Options options;
    options.trees = 20;
    FoldTrainings trainings(
        3, [&](size_t fold) { return shared.fitting.without(fold); }, options, shared.data, "trees", shared.team,
        context);
    trainings.grow_all();
    const Model mean = trainings.mean(7, shared.fitting.all_rows());
    EXPECT_EQ(mean.trees.size(), 21u);
    EXPECT_EQ(mean.rows, trainings.model(0).rows + shared.fitting.rows(0).rows().size() + 40);
    const auto residuals = [&](const Model& model, std::span<const Tree> trees) {
        return shared.fitting.spared().residuals(model, trees, shared.data, shared.team, context);
    };
    std::vector<double> expected(40, 0.0);
    double gain = 0, of_folds = 0;
    for (const Tree& tree : mean.trees) gain += tree[0].gain / static_cast<double>(mean.rows);
    for (size_t fold = 0; fold < 3; fold++) {
        const Model& model = trainings.model(fold);
        const Buffer<double> of_fold = residuals(model, first_trees(model, 7));
        for (size_t i = 0; i < 40; i++) expected[i] += of_fold[i] / 3;
        for (const Tree& tree : first_trees(model, 7)) of_folds += tree[0].gain / static_cast<double>(model.rows) / 3;
    }
    const Buffer<double> found = residuals(mean, mean.trees);
    for (size_t i = 0; i < 40; i++) EXPECT_NEAR(found[i], expected[i], 1e-12);
    EXPECT_NEAR(gain, of_folds, 1e-12 * of_folds);
}

// A training comes to rest once its leaves have the mean of their rows and are never split.
TEST(FoldTrainings, OneMayHaveNothingLeftToLearn) {
    PlainData data = steps(200, 2);
    for (double& y : data.target) y = 3;
    for (const int threads : {1, 4}) {
        QuietContext context(threads);
        EXPECT_EQ(find(data, 3, options_of(50), 10, 0, context).iterations, 0u);
    }
}

TEST(FoldTrainings, MemoryMayBeTooLittle) {
    const PlainData data = steps(3000, 1);
    QuietContext plenty;
    const Found expected = find(data, 3, options_of(4), 10, 0, plenty);
    size_t refused = 0;
    for (uint64_t limit = 20'000; limit < (uint64_t{64} << 20); limit += limit / 6) {
        QuietContext context(3, limit);
        std::optional<Found> found;
        const auto error = caught([&] { found = find(data, 3, options_of(4), 10, 0, context); });
        EXPECT_EQ(context.memory().used(), 0u);
        if (error.thrown) {
            EXPECT_EQ(error.code, ErrorCode::memory_limit);
            refused++;
        } else {
            EXPECT_TRUE(*found == expected);
        }
    }
    EXPECT_GT(refused, 3u);
}

TEST(FoldTrainings, CanBeCancelled) {
    const PlainData data = steps(5000, 3);
    for (const int threads : {1, 3}) {
        size_t cancelled = 0;
        bool finished = false;
        for (uint64_t polls = 0; !finished; polls += 1 + polls / 4) {
            ImpatientContext context(polls, threads);
            try {
                find(data, 3, options_of(10), 10, 0, context);
                finished = true;
            } catch (const Cancelled&) {
                cancelled++;
            }
            EXPECT_EQ(context.memory().used(), 0u);
        }
        EXPECT_GT(cancelled, 10u);
    }
}

} // namespace
} // namespace btml::boosting::test
