#include "boosting_data.hpp"
#include "core/boosting/growing/histogram.hpp"
#include "core/boosting/growing/split.hpp"
#include "core/boosting/objectives/squared.hpp"

namespace btml::boosting::test {
namespace {

Candidate candidate(double score, int feature) {
    Candidate result;
    result.score = result.gain = score;
    result.feature = feature;
    return result;
}

TEST(Split, TheFirstOfATieWins) {
    Candidates found(1e-9, 0);
    for (const auto& [score, feature] : {std::pair(1.0, 0), {2.0, 1}, {2.0 * (1 + 5e-10), 2}, {1.5, 3}})
        found.add(candidate(score, feature));
    EXPECT_EQ(found.winner().feature, 1);
    found.add(candidate(2 * (1 + 12e-10), 4)); // within a tie of feature 2, not of feature 1
    EXPECT_EQ(found.winner().feature, 2);
    found.add(candidate(3, 5));
    EXPECT_EQ(found.winner().feature, 5);
}

// Joining lists gives what one list would.
TEST(Split, ListsOfCandidatesJoin) {
    for (uint64_t seed = 0; seed < 200; seed++) {
        Random random(seed);
        Candidates one(1e-9, 0), joined(1e-9, 0), part(1e-9, 0);
        for (int i = 0; i < 40; i++) {
            const Candidate next = candidate(1 + 1e-10 * static_cast<double>(random.below(60)), i);
            one.add(next);
            part.add(next);
            if (random.chance(0.2)) {
                joined.add(part);
                part = Candidates(1e-9, 0);
            }
        }
        joined.add(part);
        EXPECT_EQ(joined.winner().feature, one.winner().feature);
    }
}

struct Fitted {
    QuietContext context;
    ThreadTeam team{context};
    Dataset dataset;
    TrainingRows training;
    BinnedData data;
    Residuals residuals;
    RowIndex index;
    explicit Fitted(const PlainData& plain, int threads = 1)
        : context(threads),
          dataset(to_dataset(plain, context)),
          training(dataset, team, context),
          data(bin_features(dataset, training, 255, team, context)),
          residuals(training, std::move(dataset.target), 1, LossOptions{ObjectiveNumber::squared, 0, 1.5, false}, team,
                    context),
          index(training, team, context) {}
};

SumUnits without_noise(const Fitted& fitted) {
    SumUnits units = fitted.residuals.units();
    units.first_square = 0;
    return units;
}

TEST(Split, GainIsTheDecreaseOfTheSquaredError) {
    const Fitted fitted(random_data({}, 1));
    for (const double l2 : {0.0, 0.7, 30.0}) {
        Options options;
        options.l2 = l2;
        const SplitRules rules(options, without_noise(fitted));
        const Stats left{-700, 3}, right{900, 11};
        const double expected = 700.0 * 700 / (3 + l2) + 900.0 * 900 / (11 + l2) - 200.0 * 200 / (14 + l2);
        EXPECT_NEAR(rules.gain(left, right, {}), expected, 1e-9 * expected);
        EXPECT_EQ(rules.gain({1 << 20, 4}, {1 << 20, 4}, {}) > 0, false);
    }
    // Where the three terms are alike to 18 digits, the difference still counts.
    const SplitRules rules({}, without_noise(fitted));
    const int64_t large = int64_t{1} << 50;
    EXPECT_NEAR(rules.gain({large + 1, 1}, {large - 1, 1}, {}), 2, 1e-9);
}

// At every level, of random nodes: what SplitRules says of each split by itself.
TEST(Split, GainsSideBySide) {
    const Fitted fitted(random_data({}, 1));
    for (const Level level : {Level::baseline, Level::avx2, Level::avx512}) {
        if (level > best_level()) continue;
        choose_level(level);
        for (uint64_t seed = 0; seed < 200; seed++) {
            SCOPED_TRACE(format("level %d, seed %d", static_cast<int>(level), static_cast<int>(seed)));
            Random random(seed);
            const auto up_to = [&](int64_t most) { return static_cast<int64_t>(random.below(most)) + 1; };
            Options options;
            options.l2 = seed % 3 == 0 ? 0 : 20 * random.unit();
            options.min_leaf_rows = static_cast<double>(up_to(30));
            SplitRules split_rules(options, without_noise(fitted));
            split_rules.min_hessian = up_to(30);
            const NodeSums node({1000 - up_to(2000), 200}, {0, 180});
            const Bounds bounds = seed % 2 == 0 ? Bounds{} : Bounds{-9 * random.unit(), 9 * random.unit()};
            const GainRules rules{.sum = node.total.sum,
                                  .hessian = node.total.hessian,
                                  .count = node.count(),
                                  .min_hessian = split_rules.min_hessian,
                                  .min_count = split_rules.min_count,
                                  .hessian_unit = split_rules.hessian_unit,
                                  .l2 = split_rules.l2,
                                  .lower = bounds.lower,
                                  .upper = bounds.upper};
            GainBlock block;
            block.splits = random.below(gain_block + 1);
            for (size_t i = 0; i < block.splits; i++) {
                block.sums[i] = 1000 - up_to(2000);
                block.hessians[i] = up_to(199);
                block.counts[i] = up_to(179);
            }
            const double largest = find_gains(rules, block);
            double expected_largest = 0;
            for (size_t i = 0; i < block.splits; i++) {
                const NodeSums left({block.sums[i], block.hessians[i]}, {0, block.counts[i]}), right = node - left;
                const double gain = split_rules.gain(left.total, right.total, bounds);
                const auto is_bounded = [&](Stats sums) {
                    return bounds.clamp(split_rules.value(sums, {})) == split_rules.value(sums, {});
                };
                if (std::min(left.count(), right.count()) < split_rules.min_count ||
                    std::min(left.total.hessian, right.total.hessian) < split_rules.min_hessian) {
                    EXPECT_EQ(block.gains[i], -1);
                } else if (is_bounded(left.total) && is_bounded(right.total) && is_bounded(node.total)) {
                    EXPECT_NEAR(block.gains[i], gain, 1e-12 * std::fabs(gain) + 1e-9);
                    expected_largest = std::max(expected_largest, gain);
                } else {
                    EXPECT_TRUE(std::isinf(block.gains[i]));
                }
            }
            EXPECT_NEAR(largest, expected_largest, 1e-12 * expected_largest);
        }
    }
    choose_level(best_level());
}

TEST(Split, GainsOfRoundingAreNone) {
    const Fitted fitted(random_data({}, 1));
    const SumUnits units = fitted.residuals.units();
    const double loss = fitted.residuals.train_loss(), weight = 14 * units.hessian_unit;
    const double least = SplitRules({}, units).min_gain_of({0, 14});
    EXPECT_NEAR(least, 1e-18 * loss * std::ldexp(weight, 2 * units.grid), 1e-9 * least);
}

// So no tie of queries that cancel is decided by what they round, and no tree is grown of it.
TEST(Split, ErrorsAndMeansOfRoundingAreNone) {
    SumUnits units;
    units.grid = 40;
    const double loss = 7, unit = std::ldexp(1, 80);
    units.first_square = loss;
    const SplitRules rules({}, units);
    EXPECT_NEAR(rules.error_tie({{0, 4}, {4, 4}}), 1e-12 * loss * unit, 1e-9 * loss * unit * 1e-12);
    const int64_t squares = int64_t{1} << 62;
    units.first_square = 1e-6;
    const SplitRules fine({}, units);
    EXPECT_NEAR(fine.error_tie({{0, 4}, {squares, 4}}), 1e-9 * std::ldexp(1, 60), 1e-9 * 1e-9 * std::ldexp(1, 60));
    const auto edge = static_cast<int64_t>(1e-9 * std::sqrt(loss * unit) * 4);
    EXPECT_TRUE(rules.is_centred({edge - 1, 4}));
    EXPECT_FALSE(rules.is_centred({edge + 5, 4}));
}

// Many residuals of one size have few bits, so that their sums are packed; few of them, or ones far below the largest,
// have as many as sums allow.
TEST(Residuals, HaveFewBitsWhereThatWillDo) {
    DataShape shape;
    shape.rows = 70000;
    PlainData plain = random_data(shape, 1);
    const Fitted many(plain);
    EXPECT_GT(Packing(many.residuals.gathered_bits()).max_rows, 0u);
    plain.target[777] = 1e12;
    const Fitted outlier(plain);
    EXPECT_EQ(Packing(outlier.residuals.gathered_bits()).max_rows, 0u);
    EXPECT_GT(outlier.residuals.units().grid, 10);
    shape.rows = 60000;
    const Fitted few(random_data(shape, 1));
    EXPECT_EQ(Packing(few.residuals.gathered_bits()).max_rows, 0u);
    shape.rows = 70000;
    shape.weights = true;
    const Fitted weighted(random_data(shape, 1));
    EXPECT_EQ(Packing(weighted.residuals.gathered_bits()).max_rows, 0u);
}

// Returns the sums of some rows by bin of the layout.
std::vector<NodeSums> plain_histogram(const Fitted& fitted, const PlainData& plain, const HistogramLayout& layout,
                                      const std::vector<uint32_t>& rows) {
    std::vector<NodeSums> sums(layout.bins());
    for (const uint32_t row : rows) {
        NodeSums gathered;
        fitted.residuals.gather_tallied({&row, 0, 1, row}, &gathered);
        for (const int f : layout.selected()) {
            const FeatureBins& feature = fitted.data.features[static_cast<size_t>(f)];
            const BinGroup& group = fitted.data.groups[feature.group];
            const size_t place = plain.row_of(feature.table, row) * group.width + feature.slot;
            sums[layout.offset(f) +
                 (group.bytes == 1 ? group.bins<uint8_t>()[place] : group.bins<uint16_t>()[place])] += gathered;
        }
    }
    return sums;
}

void expect_histogram(HistogramBuilder& builder, const RowSet& set, const std::vector<NodeSums>& expected) {
    std::vector<Stats> sums(expected.size());
    std::vector<Tally> tallies(expected.size());
    if (builder.has_tallies())
        builder.build(set, sums.data(), tallies.data());
    else
        builder.build(set, 0, sums.data());
    for (size_t b = 0; b < expected.size(); b++) {
        ASSERT_EQ(sums[b].sum, expected[b].total.sum);
        ASSERT_EQ(sums[b].hessian, expected[b].total.hessian);
        if (!builder.has_tallies()) continue;
        ASSERT_EQ(tallies[b].squares, expected[b].tally.squares);
        ASSERT_EQ(tallies[b].count, expected[b].tally.count);
    }
}

TEST(Histogram, SumsEveryRowOnce) {
    for (uint64_t seed = 0; seed < 48; seed++) {
        SCOPED_TRACE(format("seed %d", static_cast<int>(seed)));
        const bool tallies = seed >= 24;
        DataShape shape;
        shape.rows = seed % 4 == 3 ? 70000 : 500 + 300 * (seed % 24);
        shape.features = 1 + static_cast<int>(seed % 24);
        shape.fact_ids = seed % 5 == 1;
        shape.weights = seed % 3 == 1;
        shape.holdout = seed % 2;
        const PlainData plain = random_data(shape, seed);
        Fitted fitted(plain, 1 + static_cast<int>(seed % 3));
        std::optional<Records> records;
        const StatsFormat stats_format = tallies ? StatsFormat::tallied : fitted.residuals.stats_format();
        if (seed % 2 && Records::bytes(fitted.data, stats_format) > 0)
            records.emplace(fitted.data, stats_format, fitted.team, fitted.context);
        HistogramBuilder builder(fitted.data, fitted.residuals, fitted.index, records ? &*records : nullptr, tallies,
                                 fitted.team, fitted.context);
        std::vector<int> features;
        for (int f = 0; f < shape.features; f++)
            if (seed % 3 != 2 || f % 3 != 1) features.push_back(f);
        builder.select(features);
        NodeRows root = fitted.index.root(1, 0, 0);
        std::vector<uint32_t> all, some;
        for (uint32_t row = 0; row < plain.rows; row++) {
            if (plain.held_out(row) || plain.weight_of(row) == 0) continue;
            all.push_back(row);
            if (row % 3 == 0) some.push_back(row);
        }
        expect_histogram(builder, root[in_bag], plain_histogram(fitted, plain, builder.layout(), all));
        const auto third = [](uint32_t row) -> size_t { return row % 3 == 0; };
        const auto nothing_read = [](uint32_t) -> const void* { return nullptr; };
        const RowSet left = fitted.index.partition(root[in_bag], third, nothing_read).first;
        expect_histogram(builder, left, plain_histogram(fitted, plain, builder.layout(), some));
    }
}

} // namespace
} // namespace btml::boosting::test
