// STREAMGREEDY as a whole.
#include "caught.hpp"
#include "exemplar_data.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

using namespace btml;
using namespace btml::exemplar;
using namespace btml::exemplar::test;
using btml::test::Caught;
using btml::test::caught;

namespace {

Options options_for(int exemplars) {
    Options options;
    options.exemplars = exemplars;
    return options;
}

// Kernels are given, since learning takes its time under sanitizers.
Options options_for(int exemplars, ObjectiveKind objective, size_t width) {
    Options options = options_for(exemplars);
    options.objective = objective;
    options.validation = 300;
    if (!options.is_gp()) return options;
    options.length_scales.emplace(width, 2.0);
    options.signal = 1, options.noise = 0.01;
    return options;
}

std::vector<Row> clusters(size_t count, size_t rows_each, uint64_t seed) {
    RandomStream random(seed, 5);
    std::vector<Row> rows;
    for (size_t i = 0; i < count * rows_each; i++) {
        const auto c = static_cast<double>(i / rows_each);
        rows.push_back({{20 * std::cos(c), 20 * std::sin(c), 3 * c}});
        for (double& x : rows.back().x) x += 0.5 * random.unit();
    }
    return rows;
}

// Proposition 2: with well-separated clusters two passes find the best set. The rows come cluster by cluster, so the
// first exemplars are all of one. Every row is a validation row, and the best set has the medoid of each cluster.
TEST(ExemplarStream, TwoPassesFindSeparatedClusters) {
    for (uint64_t seed = 0; seed < 5; seed++) {
        const size_t each = 30, count = 8;
        const std::vector<Row> rows = clusters(count, each, seed);
        std::set<size_t> medoids;
        for (size_t c = 0; c < count; c++) {
            size_t best = 0;
            double least = std::numeric_limits<double>::infinity();
            for (size_t i = c * each; i < (c + 1) * each; i++) {
                double sum = 0;
                for (size_t j = c * each; j < (c + 1) * each; j++)
                    for (size_t f = 0; f < 3; f++) sum += std::pow(rows[i].x[f] - rows[j].x[f], 2);
                if (sum < least) least = sum, best = i;
            }
            medoids.insert(best);
        }
        Options options = options_for(static_cast<int>(count));
        options.passes = 2;
        options.batch = 10;
        QuietContext context;
        const std::vector<size_t> rows_chosen = chosen(select(rows, options, context));
        EXPECT_EQ(std::set<size_t>(rows_chosen.begin(), rows_chosen.end()), medoids) << "seed " << seed;
    }
}

TEST(ExemplarStream, ThreadsAndRepetitionDoNotMatter) {
    const std::vector<Row> rows = random_rows(3000, 5, 1);
    for (const ObjectiveKind kind :
         {ObjectiveKind::clustering, ObjectiveKind::information, ObjectiveKind::variance, ObjectiveKind::prediction}) {
        Options options = options_for(12, kind, 5);
        options.seed = 4;
        std::vector<size_t> first;
        double utility = 0;
        for (const int threads : {1, 2, 3, 1}) {
            QuietContext context(threads);
            const Selection selection = select(rows, options, context);
            if (first.empty()) first = chosen(selection), utility = selection.utility;
            EXPECT_EQ(chosen(selection), first);
            EXPECT_EQ(selection.utility, utility);
        }
        options.seed = 5;
        QuietContext context;
        // The seed draws the validation rows, of which information has none.
        EXPECT_EQ(chosen(select(rows, options, context)) == first, kind == ObjectiveKind::information);
    }
}

TEST(ExemplarStream, FewerDistinctRowsThanExemplars) {
    std::vector<Row> rows;
    for (size_t i = 0; i < 400; i++) rows.push_back({{static_cast<double>(i % 3), 1.0}});
    QuietContext context;
    Options options = options_for(10);
    const Selection selection = select(rows, options, context);
    EXPECT_EQ(selection.exemplars.size(), 3U);
    EXPECT_EQ(selection.swaps, 0U);
    double members = 0;
    for (const Exemplar& exemplar : selection.exemplars) {
        members += exemplar.members;
        EXPECT_EQ(exemplar.mean_dissimilarity, 0);
    }
    EXPECT_EQ(members, 400);
    EXPECT_EQ(select({{{1.0, 2.0}}}, options, context).exemplars.size(), 1U);
    EXPECT_EQ(select({}, options, context).exemplars.size(), 0U);
}

// A row is an exemplar once at most, also in later passes and for objectives that gain from duplicates.
TEST(ExemplarStream, NoRowTwice) {
    const std::vector<Row> rows = random_rows(40, 2, 8);
    Options options = options_for(30);
    options.passes = 4;
    for (const ObjectiveKind kind : {ObjectiveKind::clustering, ObjectiveKind::information}) {
        options.objective = kind;
        if (options.is_gp()) options.length_scales.emplace(2, 1.0), options.signal = options.noise = 1;
        QuietContext context;
        const std::vector<size_t> rows_chosen = chosen(select(rows, options, context));
        EXPECT_EQ(std::set<size_t>(rows_chosen.begin(), rows_chosen.end()).size(), 30U);
    }
}

// With all rows in the sample, the utility is that of the whole source, and certain.
TEST(ExemplarStream, UtilityOfASmallSourceIsExact) {
    const std::vector<Row> rows = random_rows(200, 2, 9);
    Options options = options_for(5);
    options.phantom = PhantomKind::origin;
    QuietContext context;
    const Selection selection = select(rows, options, context);
    double utility = 0;
    for (const Row& row : rows) {
        double alone = 0, least = std::numeric_limits<double>::infinity();
        for (const double x : row.x) alone += x * x;
        for (const Exemplar& exemplar : selection.exemplars)
            least = std::min(least, std::pow(row.x[0] - exemplar.x[0], 2) + std::pow(row.x[1] - exemplar.x[1], 2));
        utility += (alone - std::min(alone, least)) / static_cast<double>(rows.size());
    }
    EXPECT_NEAR(selection.utility, utility, 1e-5);
    EXPECT_EQ(selection.utility_std_error, 0);
}

// The reported standard error is that of the estimate: over seeds, about nineteen in twenty true utilities lie within
// two standard errors.
TEST(ExemplarStream, StandardErrorIsHonest) {
    const std::vector<Row> rows = random_rows(5000, 3, 10);
    int within = 0;
    for (uint64_t seed = 0; seed < 40; seed++) {
        Options options = options_for(6);
        options.phantom = PhantomKind::origin;
        options.validation = 200;
        options.max_candidates = 600;
        options.seed = seed;
        QuietContext context;
        const Selection selection = select(rows, options, context);
        double utility = 0;
        for (const Row& row : rows) {
            double alone = 0;
            for (const double x : row.x) alone += x * x;
            double least = alone;
            for (const Exemplar& exemplar : selection.exemplars) {
                double d = 0;
                for (size_t f = 0; f < 3; f++) d += std::pow(row.x[f] - exemplar.x[f], 2);
                least = std::min(least, d);
            }
            utility += (alone - least) / static_cast<double>(rows.size());
        }
        within += std::abs(selection.utility - utility) < 2 * selection.utility_std_error;
    }
    EXPECT_GE(within, 35);
    EXPECT_LE(within, 40);
}

// Exemplars do not count for predictions, so one row may be left of a sample of two.
TEST(ExemplarStream, OneSampledRowHasNoStandardError) {
    Options options = options_for(1, ObjectiveKind::prediction, 2);
    options.validation = 2;
    int unknown = 0;
    for (options.seed = 0; options.seed < 30; options.seed++) {
        QuietContext context;
        const double error = select(random_rows(6, 2, 1), options, context).utility_std_error;
        EXPECT_TRUE(std::isnan(error) || error > 0) << error;
        unknown += std::isnan(error);
    }
    EXPECT_GT(unknown, 0);
    options.validation = 2;
    QuietContext context;
    EXPECT_EQ(select(random_rows(2, 2, 1), options, context).utility_std_error, 0); // all rows are in the sample
}

TEST(ExemplarStream, CandidatesAreLimitedAndSpread) {
    const std::vector<Row> rows = random_rows(10000, 2, 11);
    Options options = options_for(20);
    options.validation = 100;
    options.batch = 5;
    options.max_candidates = 200;
    QuietContext context;
    const Selection selection = select(rows, options, context);
    EXPECT_EQ(selection.candidates, 200U);
    const std::vector<size_t> rows_chosen = chosen(selection);
    EXPECT_TRUE(std::any_of(rows_chosen.begin(), rows_chosen.end(), [](size_t row) { return row > 5000; }));
    EXPECT_TRUE(std::any_of(rows_chosen.begin(), rows_chosen.end(), [](size_t row) { return row < 5000; }));
}

// Also where whole passes go by without a candidate.
TEST(ExemplarStream, FewCandidatesOfManyPasses) {
    const std::vector<Row> rows = random_rows(50, 2, 11);
    Options options = options_for(4);
    options.passes = 5;
    for (int64_t most = 1; most <= 8; most++)
        for (options.seed = 0; options.seed < 20; options.seed++) {
            options.max_candidates = most;
            QuietContext context;
            const Selection selection = select(rows, options, context);
            EXPECT_EQ(selection.candidates, static_cast<uint64_t>(most));
            EXPECT_GE(selection.exemplars.size(), 1U);
        }
}

// A source may have rows for the first scan alone.
TEST(ExemplarStream, NoCandidates) {
    const std::vector<Row> rows = random_rows(50, 2, 11);
    for (const ObjectiveKind kind : {ObjectiveKind::clustering, ObjectiveKind::information}) {
        const Options options = options_for(4, kind, 2);
        QuietContext context;
        StreamGreedy greedy(options, nullptr, context);
        for (size_t i = 0; i < rows.size(); i++) greedy.sample(point_of(rows[i], i));
        ASSERT_TRUE(greedy.start());
        greedy.finish_pass();
        EXPECT_EQ(greedy.finish().exemplars.size(), 0U);
    }
}

// Rows without weight take no room in the samples: those of some weight are all in them, few as they are.
TEST(ExemplarStream, RowsOfNoWeight) {
    std::vector<Row> rows = random_rows(5000, 2, 11);
    double weights = 0;
    for (size_t i = 0; i < rows.size(); i++) weights += rows[i].weight = i % 500 == 7 ? 2 : 0;
    for (const ObjectiveKind kind : {ObjectiveKind::clustering, ObjectiveKind::variance}) {
        Options options = options_for(4, kind, 2);
        options.validation = 20;
        QuietContext context;
        const Selection selection = select(rows, options, context);
        EXPECT_EQ(selection.candidates, rows.size());
        EXPECT_EQ(selection.utility_std_error, 0);
        double members = 0;
        for (const Exemplar& exemplar : selection.exemplars) members += exemplar.members;
        EXPECT_EQ(members, weights);
    }
}

// A row of the sample that is an exemplar is no reason to choose another one that is equal to it.
TEST(ExemplarStream, NoTwins) {
    for (uint64_t seed = 0; seed < 30; seed++) {
        std::vector<Row> rows = random_rows(1500, 2, seed);
        RandomStream random(seed, 9);
        for (size_t i = 0; i < 30; i++) rows[random.below(rows.size())].x = {100.0 * static_cast<double>(i % 7), 50};
        Options options = options_for(12);
        options.validation = 150;
        options.passes = 3;
        options.seed = seed;
        options.racing = seed % 2 == 1;
        QuietContext context;
        std::set<std::vector<double>> points;
        const std::vector<size_t> rows_chosen = chosen(select(rows, options, context));
        for (const size_t row : rows_chosen) points.insert(rows[row].x);
        EXPECT_EQ(points.size(), rows_chosen.size()) << "seed " << seed;
    }
}

// Once a pass has brought nothing, further ones are not made.
TEST(ExemplarStream, StopsWhenNothingChanges) {
    const std::vector<Row> rows = random_rows(100, 2, 12);
    Options options = options_for(4);
    options.passes = 1000;
    QuietContext context;
    EXPECT_LT(select(rows, options, context).candidates, 1500U);
    options.eta = 1e9;
    EXPECT_EQ(select(rows, options, context).swaps, 0U);
}

TEST(ExemplarStream, MoreExemplarsAreWorthMore) {
    const std::vector<Row> rows = random_rows(2000, 3, 13);
    for (const ObjectiveKind kind :
         {ObjectiveKind::clustering, ObjectiveKind::information, ObjectiveKind::variance, ObjectiveKind::prediction}) {
        double last = -1e9;
        for (const int k : {2, 8, 32}) {
            QuietContext context(2);
            const Selection selection = select(rows, options_for(k, kind, 3), context);
            EXPECT_GT(selection.utility, last) << "objective " << static_cast<int>(kind) << ", k = " << k;
            last = selection.utility;
        }
    }
}

// Exemplars chosen are worth more than the first rows, which are as good as any.
TEST(ExemplarStream, ChoosingPays) {
    const std::vector<Row> rows = random_rows(3000, 3, 15);
    for (const ObjectiveKind kind :
         {ObjectiveKind::clustering, ObjectiveKind::information, ObjectiveKind::variance, ObjectiveKind::prediction}) {
        Options options = options_for(15, kind, 3);
        QuietContext context(2);
        const double utility = select(rows, options, context).utility;
        options.batch = 15;
        options.max_candidates = 15;
        const double of_random_rows = select(rows, options, context).utility;
        EXPECT_GT(utility, of_random_rows) << "objective " << static_cast<int>(kind);
    }
}

TEST(ExemplarStream, CosineHasNoUseForZero) {
    Options options = options_for(2);
    options.metric = Metric::cosine;
    QuietContext context;
    const auto error = caught([&] { select({{{1.0, 0.0}}, {{0.0, 0.0}}, {{0.0, 1.0}}}, options, context); });
    EXPECT_EQ(error.message, "row 2 of the points is zero, so it has no direction");
    options.phantom = PhantomKind::origin;
    EXPECT_EQ(caught([&] {
                  select({{{1.0, 0.0}}}, options, context);
              }).message,
              "the phantom exemplar is zero, so it has no direction");
    // A mean of zero is no reason to fail.
    options.phantom = PhantomKind::none;
    EXPECT_EQ(select({{{1.0, 0.0}}, {{-1.0, 0.0}}}, options, context).exemplars.size(), 2U);
}

TEST(ExemplarStream, ErrorsOfRows) {
    QuietContext context;
    Options options = options_for(2);
    EXPECT_EQ(caught([&] {
                  select({{{1.0}, 0, -1}}, options, context);
              }).message,
              "row 1 of the points has the weight -1");
    EXPECT_EQ(caught([&] {
                  select({{{1.0}, 0, 0}}, options, context);
              }).message,
              "the weights of the points add up to zero");
    options.phantom = PhantomKind::point;
    options.phantom_point = {1, 2};
    EXPECT_EQ(caught([&] { select({{{1.0}}}, options, context); }).message,
              "the phantom exemplar has 2 coordinates, the points have 1");
    options = options_for(2);
    options.objective = ObjectiveKind::variance;
    EXPECT_EQ(caught([&] {
                  select({{{1.0}, 3}, {{2.0}, 3}}, options, context);
              }).message,
              "the kernel cannot be learned from targets that are all the same");
    options.length_scales = {1, 2};
    EXPECT_EQ(caught([&] {
                  select({{{1.0}, 3}, {{2.0}, 4}}, options, context);
              }).message,
              "the length of option \"length_scales\" is 2, that of the points is 1");
}

TEST(ExemplarStream, MemoryIsRefusedBeforehand) {
    QuietContext context(1, 1 << 20);
    const Caught error = caught([&] { select(random_rows(1000, 2, 1), options_for(1000), context); });
    EXPECT_EQ(error.code, ErrorCode::memory_limit);
    EXPECT_EQ(error.detail, "The memory was to hold the choice of exemplars.");
    EXPECT_EQ(context.memory().used(), 0U);
    // It goes by the rows that there are.
    EXPECT_EQ(select(random_rows(10, 2, 1), options_for(1000), context).exemplars.size(), 10U);
}

TEST(ExemplarStream, CanBeCancelled) {
    const std::vector<Row> rows = random_rows(2000, 5, 1);
    for (const ObjectiveKind kind : {ObjectiveKind::clustering, ObjectiveKind::prediction}) {
        const Options options = options_for(10, kind, 5);
        btml::test::ImpatientContext context(20);
        EXPECT_THROW(select(rows, options, context), Cancelled);
    }
}

// Each loop over rows polls every 64 of them: the mean, its frame (3) before and after, a change and the members.
TEST(ExemplarStream, EveryLoopOverRowsPolls) {
    Options options = options_for(1);
    options.validation = 12800;
    options.max_candidates = 1;
    CountingContext context;
    select(random_rows(12800, 2, 1), options, context);
    EXPECT_GE(context.polls("preparing"), 4 * 200U);
    EXPECT_GE(context.polls("choosing exemplars"), 200U);
    EXPECT_GE(context.polls("measuring"), 5 * 200U);
}

TEST(ExemplarStream, NumbersTooLarge) {
    QuietContext context;
    const std::string too_far = "coordinates are too far from each other to take differences";
    for (const std::vector<double>& x : {std::vector<double>{0, 1, 1e200}, {-1.7e308, 1.7e308, 1.7e308}}) {
        std::vector<Row> rows(3);
        for (size_t i = 0; i < 3; i++) rows[i].x = {x[i]};
        EXPECT_EQ(caught([&] { select(rows, options_for(2), context); }).message, too_far);
    }
    std::vector<Row> rows = random_rows(50, 3, 1);
    Options options = options_for(2);
    options.phantom = PhantomKind::point;
    options.phantom_point = {0, 0, 1e30};
    EXPECT_EQ(caught([&] { select(rows, options, context); }).message,
              "the phantom exemplar is too far from row 1 of the points");
    options.phantom_point = {0, 0, 1e15};
    EXPECT_NEAR(select(rows, options, context).utility / 1e30, 1, 1e-6);
    for (Row& row : rows) row.weight = 1e308;
    EXPECT_EQ(caught([&] { select(rows, options_for(2), context); }).message,
              "row 1 of the points has the weight 1e+308");
}

// Weights are relative, whatever their size.
TEST(ExemplarStream, StandardErrorOfLargeWeights) {
    std::vector<Row> rows = random_rows(500, 3, 1);
    Options options = options_for(3);
    options.validation = 100;
    QuietContext context;
    const Selection expected = select(rows, options, context);
    for (const double weight : {1e50, 1e-290}) {
        for (Row& row : rows) row.weight = weight;
        const Selection selection = select(rows, options, context);
        EXPECT_EQ(chosen(selection), chosen(expected));
        EXPECT_GT(selection.utility_std_error, 0);
        EXPECT_NEAR(selection.utility_std_error, expected.utility_std_error, 1e-9);
    }
}

// Of squares that are no numbers, too.
TEST(ExemplarStream, StandardErrorOfLargeCoordinates) {
    for (const auto& [metric, scale] : {std::pair{Metric::squared_euclidean, 1e100}, {Metric::euclidean, 1e200}}) {
        std::vector<Row> rows = random_rows(500, 3, 1);
        Options options = options_for(3);
        options.validation = 100;
        options.metric = metric;
        QuietContext context;
        const Selection expected = select(rows, options, context);
        for (Row& row : rows) {
            row.weight = 1e50;
            for (double& x : row.x) x *= scale;
        }
        const Selection selection = select(rows, options, context);
        const double unit = metric == Metric::euclidean ? scale : scale * scale;
        EXPECT_NEAR(selection.utility / unit, expected.utility, 0.2);
        EXPECT_NEAR(selection.utility_std_error / unit, expected.utility_std_error, 0.05);
    }
}

// Every row is in a sample of the size asked for with the same probability.
TEST(ExemplarPoints, ReservoirIsUniform) {
    std::map<uint64_t, int> counts;
    MemoryBudget budget(1 << 20);
    const int samples = 4000, capacity = 10, rows = 50;
    for (int s = 0; s < samples; s++) {
        Reservoir reservoir(capacity, static_cast<uint64_t>(s), 1, budget);
        const Row row{{1.0}};
        for (uint64_t i = 0; i < rows; i++) reservoir.offer(point_of(row, i), 1);
        EXPECT_EQ(reservoir.points().size(), static_cast<size_t>(capacity));
        EXPECT_FALSE(reservoir.has_all());
        for (size_t i = 0; i < capacity; i++) counts[reservoir.points().number(i)]++;
    }
    double chi_square = 0;
    const double expected = samples * capacity / static_cast<double>(rows);
    for (uint64_t i = 0; i < rows; i++) chi_square += std::pow(counts[i] - expected, 2) / expected;
    EXPECT_LT(chi_square, 85); // 49 degrees of freedom: 0.1 %
}

// Sums over the rows sampled, each counting for those that it stands for, are on average those over all rows.
TEST(ExemplarPoints, ReservoirsOfSizesEstimateSums) {
    MemoryBudget budget(1 << 20);
    const int samples = 3000, rows = 60;
    double exact = 0, sum = 0, squares = 0, variance = 0;
    for (int i = 0; i < rows; i++) exact += std::sqrt(1.0 + i);
    for (int s = 0; s < samples; s++) {
        Reservoir reservoir(15, static_cast<uint64_t>(s), 1, budget);
        for (uint64_t i = 0; i < rows; i++)
            reservoir.offer(point_of({{1.0}, 0, 1}, i), i % 20 == 0 ? 50 : 1 + 0.1 * static_cast<double>(i));
        reservoir.finish();
        double estimate = 0;
        for (size_t i = 0; i < reservoir.points().size(); i++) {
            const double value = std::sqrt(1.0 + static_cast<double>(reservoir.points().number(i)));
            const double term = reservoir.points().weight(i) * value;
            EXPECT_NEAR(reservoir.points().weight(i) * reservoir.probability(i), 1, 1e-12);
            estimate += term;
            variance += term * term * (1 - reservoir.probability(i)) / samples;
        }
        sum += estimate / samples;
        squares += (estimate - exact) * (estimate - exact) / samples;
    }
    EXPECT_NEAR(sum, exact, 4 * std::sqrt(squares / samples));
    EXPECT_NEAR(variance / squares, 1, 0.1);
}

double loss(const std::vector<Row>& rows, const Selection& selection) {
    double sum = 0;
    for (const Row& row : rows) {
        double nearest = std::numeric_limits<double>::infinity();
        for (const Exemplar& exemplar : selection.exemplars)
            nearest = std::min(nearest, std::pow(row.x[0] - exemplar.x[0], 2));
        sum += nearest;
    }
    return sum;
}

// One pass of swaps over all rows, scored on nothing but the sample.
Selection exemplars_by(Reservoir& sample, const std::vector<Row>& rows, const Options& options, RunContext& context) {
    sample.finish();
    ThreadTeam team(context);
    const PointSet reference = points_of({rows[0]}, context.memory());
    const auto objective =
        make_objective({options, sample.points(), sample.has_all(), &reference, nullptr, nullptr}, team, context);
    const auto k = static_cast<size_t>(options.exemplars);
    Selection selection;
    selection.exemplars.resize(k);
    for (size_t i = 0; i < rows.size(); i++) {
        const PointSet one = points_of({rows[i]}, context.memory(), i);
        objective->load(one, team);
        Change change{objective->size(), 0};
        if (objective->size() == k) objective->score(0, 1, false, {&change, 1}, team);
        if (objective->size() == k && !(change.gain > 1e-9)) continue;
        objective->apply(0, change.slot, team);
        selection.exemplars[change.slot].x = rows[i].x;
    }
    return selection;
}

std::vector<Row> with_heavy_tails(size_t count) {
    RandomStream random(4, 1);
    std::vector<Row> rows(count);
    for (Row& row : rows) row.x = {std::pow(1 - random.unit(), -0.4)};
    return rows;
}

// A few rows far out are most of the loss, and a sample must have enough of them: whatever the seed, a sample by
// distance does about as well, and a uniform one of the same size, used in the same way, does worse.
TEST(StreamGreedy, HeavyTailsNeedNoLuckWithTheSample) {
    QuietContext context(2);
    const std::vector<Row> rows = with_heavy_tails(20'000);
    double least = std::numeric_limits<double>::infinity(), most = 0;
    for (uint64_t seed = 0; seed < 3; seed++) {
        Options options = options_for(20);
        options.validation = 1'000;
        options.seed = seed;
        const double of_seed = loss(rows, select(rows, options, context));
        least = std::min(least, of_seed), most = std::max(most, of_seed);
        SizeMeasure measure(options);
        Reservoir sized(1'000, seed, 1, context.memory()), even(1'000, seed, 1, context.memory());
        for (size_t i = 0; i < rows.size(); i++) {
            const Point point = point_of(rows[i], i);
            sized.offer(point, measure.of(point));
            even.offer(point, 1);
        }
        const double of_sized = loss(rows, exemplars_by(sized, rows, options, context));
        const double of_even = loss(rows, exemplars_by(even, rows, options, context));
        EXPECT_LT(of_sized, 1.15 * least);
        EXPECT_GT(of_even, 2 * of_sized);
    }
    EXPECT_LT(most, 1.15 * least);
}

// Where rows are sampled with unequal probabilities, the standard error is that of the estimate as well: over many
// seeds, the true utility is about as often within two of it as that of a normal estimate.
TEST(StreamGreedy, StandardErrorOfUnequalProbabilitiesIsHonest) {
    std::vector<Row> rows = with_heavy_tails(4'000);
    RandomStream random(5, 1);
    double weight = 0;
    for (Row& row : rows) weight += row.weight = std::pow(1 - random.unit(), -0.5);
    Options options = options_for(3);
    options.phantom = PhantomKind::origin;
    options.validation = 250;
    options.max_candidates = 100;
    int within = 0;
    double squares = 0;
    const int seeds = 300;
    for (options.seed = 0; options.seed < seeds; options.seed++) {
        QuietContext context;
        const Selection selection = select(rows, options, context);
        double utility = 0;
        for (const Row& row : rows) {
            const double alone = row.x[0] * row.x[0];
            double least = alone;
            for (const Exemplar& exemplar : selection.exemplars)
                least = std::min(least, std::pow(row.x[0] - exemplar.x[0], 2));
            utility += row.weight / weight * (alone - least);
        }
        const double z = (selection.utility - utility) / selection.utility_std_error;
        within += std::abs(z) <= 2;
        squares += z * z / seeds;
    }
    EXPECT_GE(within, 0.90 * seeds);
    EXPECT_LE(within, 0.99 * seeds);
    EXPECT_NEAR(squares, 1, 0.3);
}

// One row of 20,000 has five sixths of the weight.
TEST(StreamGreedy, ARowWithMostOfTheWeightIsNotMissed) {
    QuietContext context(2);
    std::vector<Row> rows = random_rows(20'000, 1, 3);
    rows[12'345] = {{1000.0}, 0, 100'000};
    Options options = options_for(3);
    options.validation = 100;
    const Selection selection = select(rows, options, context);
    EXPECT_TRUE(std::any_of(selection.exemplars.begin(), selection.exemplars.end(),
                            [](const Exemplar& exemplar) { return exemplar.x[0] == 1000; }));
    EXPECT_NEAR(selection.utility, 1e6 * 5 / 36, 0.05 * 1e6); // 5/6 · 1/6 of the squared distance of the two means
}

TEST(ExemplarOptions, InvalidOnes) {
    const auto message = [](auto&& change) {
        Options options = options_for(3);
        change(options);
        return caught([&] { options.validate(); }).message;
    };
    EXPECT_EQ(message([](Options&) {}), "");
    EXPECT_EQ(message([](Options& o) { o.exemplars = 0; }), "invalid value for option \"k\": 0");
    EXPECT_EQ(message([](Options& o) { o.validation = 1; }), "invalid value for option \"validation\": 1");
    EXPECT_EQ(message([](Options& o) { o.passes = 0; }), "invalid value for option \"passes\": 0");
    EXPECT_EQ(message([](Options& o) { o.max_candidates = 0; }), "invalid value for option \"max_candidates\": 0");
    EXPECT_EQ(message([](Options& o) { o.batch = 0; }), "invalid value for option \"batch\": 0");
    EXPECT_EQ(message([](Options& o) { o.eta = -1; }), "invalid value for option \"eta\": -1");
    EXPECT_EQ(message([](Options& o) { o.confidence = 1; }), "invalid value for option \"confidence\": 1");
    EXPECT_EQ(message([](Options& o) { o.noise = 1; }), "objective => 'clustering' takes no noise");
    EXPECT_EQ(message([](Options& o) { o.objective = ObjectiveKind::variance, o.phantom = PhantomKind::mean; }),
              "objective => 'variance' takes no phantom");
    EXPECT_EQ(message([](Options& o) { o.objective = ObjectiveKind::variance, o.metric = Metric::cosine; }),
              "objective => 'variance' takes no dissimilarity");
    EXPECT_EQ(message([](Options& o) { o.objective = ObjectiveKind::variance, o.noise = 0; }),
              "invalid value for option \"noise\": 0");
    EXPECT_EQ(message([](Options& o) {
                  o.objective = ObjectiveKind::variance, o.length_scales = {1.0, -1.0};
              }),
              "invalid value for option \"length_scales\": an array with -1");
    EXPECT_EQ(message([](Options& o) { o.metric = Metric::function, o.phantom = PhantomKind::origin; }),
              "this phantom does not go with a function as dissimilarity");
}

} // namespace
