// Races: the decisions of all validation rows by a part of them.
#include "caught.hpp"
#include "exemplar_data.hpp"

#include "core/exemplar/racing.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

using namespace btml;
using namespace btml::exemplar;
using namespace btml::exemplar::test;
using btml::test::caught;

namespace {

TEST(ExemplarRacing, SizesDoubleUpToAllRows) {
    const auto sizes = [](size_t population) {
        const RaceBounds bounds(population, 1, 0.9);
        std::vector<size_t> result;
        for (size_t size = 0; size < population;) result.push_back(size = bounds.next_size(size));
        return result;
    };
    EXPECT_EQ(sizes(5), (std::vector<size_t>{5}));
    EXPECT_EQ(sizes(300), (std::vector<size_t>{300}));
    EXPECT_EQ(sizes(3000), (std::vector<size_t>{256, 512, 1024, 2048, 3000}));
    EXPECT_EQ(sizes(2600), (std::vector<size_t>{256, 512, 1024, 2600}));
}

DrawnNumbers first_of(const std::vector<double>& numbers, size_t count) {
    DrawnNumbers drawn{static_cast<double>(count), 0, 0, 1};
    for (size_t i = 0; i < count; i++) drawn.sum += numbers[i], drawn.sum_of_squares += numbers[i] * numbers[i];
    return drawn;
}

// At none of its looks is the mean of a sample farther off than the bound, as often as was asked for, and the bound is
// of use: well before the end it is a small part of the range.
TEST(ExemplarRacing, BoundsHoldAtAllLooksTogether) {
    const size_t population = 6000;
    const double confidence = 0.8;
    int failures = 0;
    const int trials = 300;
    for (int trial = 0; trial < trials; trial++) {
        RandomStream random(static_cast<uint64_t>(trial), 3);
        // From even to rare large numbers.
        const double power = std::pow(2, trial % 6);
        std::vector<double> numbers(population);
        for (double& x : numbers) x = std::pow(random.unit(), power);
        const double mean = std::accumulate(numbers.begin(), numbers.end(), 0.0) / static_cast<double>(population);
        const RaceBounds bounds(population, 1, confidence);
        bool held = true;
        for (size_t size = 0; size < population;) {
            size = bounds.next_size(size);
            const DrawnNumbers drawn = first_of(numbers, size);
            const double deviation = bounds.deviation(drawn);
            held = held && std::abs(drawn.sum / drawn.count - mean) <= deviation + 1e-12;
            if (size == 2048) {
                EXPECT_LT(deviation, 0.04);
            }
            if (size == population) {
                EXPECT_EQ(deviation, 0);
            }
        }
        failures += !held;
    }
    EXPECT_LE(failures, trials * (1 - confidence));
    // More races, or more confidence: wider.
    const DrawnNumbers drawn = first_of(std::vector<double>(6000, 0.5), 1024);
    EXPECT_GT(RaceBounds(population, 1000, 0.8).deviation(drawn), RaceBounds(population, 1, 0.8).deviation(drawn));
    EXPECT_GT(RaceBounds(population, 1, 0.99).deviation(drawn), RaceBounds(population, 1, 0.8).deviation(drawn));
}

std::vector<Row> blobs(size_t count, size_t blobs, uint64_t seed) {
    RandomStream random(seed, 9);
    std::vector<Row> rows(count);
    for (Row& row : rows) {
        const auto c = static_cast<double>(random.below(blobs));
        row.x = {9 * std::cos(c), 9 * std::sin(c), 2 * c};
        for (double& x : row.x) x += 2 * random.unit() - 1;
        row.weight = 1 + random.unit();
    }
    return rows;
}

struct Verdicts {
    int wrong = 0, swaps = 0, kept = 0;
};

// Races for the swaps of all but the first rows of `block`, which are the exemplars, and what all validation rows say
// of each: a swap that is made gains more than eta, one that is not would not have.
Verdicts race(const ObjectiveInput& input, const PointSet& block, ThreadTeam& team, RunContext& context) {
    const auto exemplars = static_cast<size_t>(input.options.exemplars);
    Options without = input.options;
    without.racing = false;
    const ObjectiveInput all_rows{without, input.validation, input.has_all, input.reference, nullptr, nullptr};
    const auto made = [&](const ObjectiveInput& of, size_t slot, size_t candidate) {
        auto objective = make_objective(of, team, context);
        objective->load(block, team);
        for (size_t s = 0; s < exemplars; s++) objective->apply(s == slot ? candidate : s, s, team);
        return objective;
    };
    const auto full = made(all_rows, 0, 0), raced = made(input, 0, 0);
    std::vector<Change> changes(block.size()), verdicts(block.size());
    full->score(exemplars, block.size(), false, changes, team);
    raced->score(exemplars, block.size(), false, verdicts, team);
    Verdicts result;
    const double error = 1e-6 * std::abs(full->utility());
    for (size_t c = exemplars; c < block.size(); c++) {
        if (verdicts[c].slot == Change::nothing) {
            result.wrong += changes[c].gain > without.eta + error;
            result.kept++;
            continue;
        }
        const double gain = made(all_rows, verdicts[c].slot, c)->utility() - full->utility();
        result.wrong += gain <= without.eta - error;
        EXPECT_LE(gain, changes[c].gain + 1e-4 + error);
        result.swaps++;
    }
    return result;
}

// Every verdict of a race is that of all validation rows.
TEST(ExemplarRacing, DecidesAsAllRowsDo) {
    Verdicts all;
    for (uint64_t seed = 0; seed < 12; seed++) {
        QuietContext context(2);
        ThreadTeam team(context);
        const PointSet validation = points_of(blobs(4000, 6, seed), context.memory());
        const PointSet block = points_of(blobs(60, 6, seed + 100), context.memory(), 10000);
        PointSet reference(PointSet::Keep::sample, context.memory());
        reference.append(validation[0]);
        Options options;
        options.exemplars = 6;
        options.confidence = 0.9;
        options.eta = seed % 2 == 0 ? 0 : 2;
        options.racing = true;
        if (seed % 3 == 0) options.phantom = PhantomKind::random;
        const Verdicts verdicts =
            race({options, validation, true, &reference, nullptr, nullptr, block.size()}, block, team, context);
        all.wrong += verdicts.wrong, all.swaps += verdicts.swaps, all.kept += verdicts.kept;
    }
    EXPECT_EQ(all.wrong, 0);
    EXPECT_GT(all.swaps, 20);
    EXPECT_GT(all.kept, 20);
}

// Blobs of 8,000 rows, of which three in a place of their own have half of all weight.
std::vector<Row> with_heavy_rows(uint64_t seed) {
    std::vector<Row> rows = blobs(8'000, 6, seed);
    for (size_t i = 0; i < 3; i++) {
        Row& row = rows[777 + 2'000 * i];
        row.weight = 4'000;
        row.x = {0, 0, 20 + random_unit(seed, 6, i)};
    }
    return rows;
}

Verdicts race_with_heavy_rows(uint64_t seed, size_t capacity, bool know_them) {
    QuietContext context(2);
    ThreadTeam team(context);
    const std::vector<Row> rows = with_heavy_rows(seed);
    Options options;
    options.exemplars = 6;
    options.confidence = 0.9;
    options.eta = 1;
    options.racing = true;
    SizeMeasure measure(options);
    Reservoir sample(capacity, seed, 1, context.memory());
    for (size_t i = 0; i < rows.size(); i++) {
        const Point point = point_of(rows[i], i);
        sample.offer(point, measure.of(point));
    }
    sample.finish();
    const size_t large = sample.shuffle(context);
    EXPECT_GE(large, 3U);
    EXPECT_LE(large, 3 + capacity / 4);
    PointSet points(PointSet::Keep::sample, context.memory());
    for (size_t i = 0; i < sample.points().size(); i++) points.append(sample.points()[i]);
    if (!know_them) // they may be anywhere
        for (size_t i = 0; i < large; i++) points.swap(i, random_bits(seed, 5, i) % points.size());
    std::vector<Row> candidates = blobs(30, 6, seed + 100);
    candidates[0].x = {0, 0, 20};
    const PointSet block = points_of(candidates, context.memory(), 100'000);
    PointSet reference(PointSet::Keep::sample, context.memory());
    reference.append(block[0]);
    return race({options, points, sample.has_all(), &reference, nullptr, nullptr, block.size(), know_them ? large : 0},
                block, team, context);
}

// Rows that count for much decide, seen or unseen: they are in every race, and then its verdicts are wrong no more
// often than the confidence allows, whether the rows are a sample or all.
TEST(ExemplarRacing, HeavyRowsAreInEveryRace) {
    for (const size_t capacity : {2'000, 8'000}) {
        int failures = 0, failures_without = 0, swaps = 0, kept = 0;
        const int trials = 20;
        for (uint64_t seed = 0; seed < trials; seed++) {
            const Verdicts verdicts = race_with_heavy_rows(seed, capacity, true);
            failures += verdicts.wrong > 0;
            swaps += verdicts.swaps, kept += verdicts.kept;
            failures_without += race_with_heavy_rows(seed, capacity, false).wrong > 0;
        }
        EXPECT_LE(failures, trials / 10) << "confidence 0.9";
        EXPECT_GT(failures_without, trials / 5);
        EXPECT_GT(swaps, 20);
        EXPECT_GT(kept, 20);
    }
}

class CountingDistance : public DissimilarityFunction {
  public:
    double operator()(std::span<const std::byte> row, std::span<const std::byte> exemplar) override {
        calls++;
        double sum = 0;
        for (size_t f = 0; f < row.size() / sizeof(double); f++) {
            double a, b;
            std::memcpy(&a, row.data() + f * sizeof(a), sizeof(a));
            std::memcpy(&b, exemplar.data() + f * sizeof(b), sizeof(b));
            sum += (a - b) * (a - b);
        }
        return sum;
    }
    uint64_t calls = 0;
};

Selection select_by_function(const std::vector<Row>& rows, const Options& options, CountingDistance& distance) {
    QuietContext context;
    StreamGreedy greedy(options, &distance, context);
    const auto point = [&](size_t i) {
        Point result = point_of(rows[i], i);
        result.value = std::as_bytes(std::span(rows[i].x));
        return result;
    };
    for (size_t i = 0; i < rows.size(); i++) greedy.sample(point(i));
    greedy.start();
    for (size_t i = 0; i < rows.size() && greedy.offer(point(i)); i++) {
    }
    greedy.finish_pass();
    return greedy.finish();
}

double loss_of(const Selection& selection) {
    double sum = 0, members = 0;
    for (const Exemplar& exemplar : selection.exemplars) {
        sum += exemplar.members * exemplar.mean_dissimilarity.value_or(0);
        members += exemplar.members;
    }
    return sum / members;
}

// Where clusters are clear, a part of the validation rows decides, and what is chosen is worth about the same.
TEST(ExemplarRacing, TakesFewerRows) {
    const std::vector<Row> rows = blobs(20000, 5, 77);
    Options options;
    options.exemplars = 5;
    options.metric = Metric::function;
    options.validation = 15000;
    options.max_candidates = 100;
    options.batch = 5;
    options.eta = 0.5;
    CountingDistance all, raced;
    const Selection full = select_by_function(rows, options, all);
    options.racing = true;
    const Selection selection = select_by_function(rows, options, raced);
    EXPECT_LT(raced.calls, all.calls / 2) << all.calls;
    EXPECT_LT(loss_of(selection), 1.1 * loss_of(full));
    EXPECT_GT(selection.swaps, 0U);
}

// A sample that one look takes in whole is decided on as without races. Only its order is another one.
TEST(ExemplarRacing, OfFewRowsIsNone) {
    const std::vector<Row> rows = random_rows(2000, 3, 5);
    Options options;
    options.exemplars = 7;
    options.validation = 200;
    QuietContext context(2);
    const std::vector<size_t> without = chosen(select(rows, options, context));
    options.racing = true;
    EXPECT_EQ(chosen(select(rows, options, context)), without);
}

TEST(ExemplarRacing, ThreadsAndRepetitionDoNotMatter) {
    const std::vector<Row> rows = blobs(2000, 6, 3);
    Options options;
    options.exemplars = 6;
    options.validation = 1000;
    options.racing = true;
    options.seed = 4;
    std::vector<size_t> first;
    for (const int threads : {1, 2, 3, 1}) {
        QuietContext context(threads);
        const std::vector<size_t> rows_chosen = chosen(select(rows, options, context));
        if (first.empty()) first = rows_chosen;
        EXPECT_EQ(rows_chosen, first);
    }
}

// Every order of the rows is as likely as any other: that of the first place, at least.
TEST(ExemplarRacing, ShuffledPointsAreInAnyOrder) {
    MemoryBudget budget(1 << 20);
    QuietContext context;
    std::vector<int> counts(8);
    for (uint64_t seed = 0; seed < 4000; seed++) {
        Reservoir reservoir(8, seed, 1, budget);
        for (uint64_t i = 0; i < 8; i++)
            reservoir.offer(point_of({{static_cast<double>(i), 7.0}, 2.0 * static_cast<double>(i)}, i), 1);
        reservoir.finish();
        reservoir.shuffle(context);
        std::vector<bool> seen(8);
        for (size_t i = 0; i < 8; i++) {
            const Point point = reservoir.points()[i];
            EXPECT_EQ(point.x[0], static_cast<double>(point.number));
            EXPECT_EQ(point.target, 2 * point.x[0]);
            seen[point.number] = true;
        }
        EXPECT_EQ(std::count(seen.begin(), seen.end(), true), 8);
        counts[reservoir.points().number(0)]++;
    }
    for (const int count : counts) EXPECT_NEAR(count, 500, 100);
}

// However much some rows weigh, the others are raced.
TEST(ExemplarRacing, LargeRowsComeFirst) {
    QuietContext context;
    Reservoir reservoir(2000, 1, 1, context.memory());
    for (uint64_t i = 0; i < 1000; i++)
        reservoir.offer(point_of({{static_cast<double>(i)}}, i), i % 300 == 7 ? 1e30 : 1 + static_cast<double>(i % 2));
    reservoir.finish();
    ASSERT_EQ(reservoir.shuffle(context), 4U);
    std::vector<uint64_t> first;
    for (size_t i = 0; i < 4; i++) first.push_back(reservoir.points().number(i));
    std::sort(first.begin(), first.end());
    EXPECT_EQ(first, (std::vector<uint64_t>{7, 307, 607, 907}));
}

TEST(ExemplarRacing, IsForClustering) {
    const std::pair<ObjectiveKind, std::string> others[] = {{ObjectiveKind::information, "information"},
                                                            {ObjectiveKind::variance, "variance"},
                                                            {ObjectiveKind::prediction, "prediction"}};
    for (const auto& [kind, name] : others) {
        Options options;
        options.exemplars = 3;
        options.objective = kind;
        options.racing = true;
        const auto error = caught([&] { options.validate(); });
        EXPECT_EQ(error.message, "objective => '" + name + "' takes no racing");
        EXPECT_EQ(error.hint, "Use objective => 'clustering', or leave out racing.");
    }
}

} // namespace
