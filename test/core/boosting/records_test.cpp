#include "boosting_data.hpp"
#include "core/boosting/binning/bin_columns.hpp"
#include "core/boosting/growing/records.hpp"

#include <map>

namespace btml::boosting::test {
namespace {

PlainData data_of(uint64_t seed) {
    DataShape shape;
    shape.rows = 50 + 40 * (seed % 7);
    shape.dimensions = static_cast<int>(seed % 4);
    shape.features = 1 + static_cast<int>(seed * 7 % 40);
    shape.distinct = seed % 3 == 0 ? 0 : 9; // 0: so many bins that some take two bytes
    return random_data(shape, seed);
}

// Stats as narrow as the format asks for.
Stats random_stats(StatsFormat format, Random& random) {
    const bool full = format == StatsFormat::full;
    const double largest = format == StatsFormat::narrow ? 0x1p30 : 0x1p55;
    return {static_cast<int64_t>(largest * (2 * random.unit() - 1)),
            format == StatsFormat::unit_hessian ? 1 : static_cast<int64_t>((full ? 0x1p40 : 0x1p30) * random.unit())};
}

struct Recorded {
    QuietContext context;
    ThreadTeam team{context};
    Dataset dataset;
    TrainingRows training;
    BinnedData binned;

    explicit Recorded(const PlainData& data)
        : dataset(to_dataset(data, context)),
          training(dataset, team, context),
          binned(bin_features(dataset, training, 0, team, context)) {}

    // Where add() puts the sums of a feature that records hold.
    std::map<size_t, size_t> places() const {
        std::map<size_t, size_t> places;
        for (const BinGroup& group : binned.groups)
            if (Records::holds(group))
                for (const size_t feature : group.features) places.emplace(feature, places.size() * bin_stride);
        return places;
    }
};

TEST(Records, SumsOfSomeRowsAndFeatures) {
    size_t checked = 0;
    for (uint64_t seed = 0; seed < 300; seed++) {
        SCOPED_TRACE(format("seed %d", static_cast<int>(seed)));
        Random random(seed);
        Recorded data(data_of(seed));
        const auto format = static_cast<StatsFormat>(seed % 3); // histograms have tallied ones
        if (Records::bytes(data.binned, format) == 0) continue;
        const uint64_t before = data.context.memory().used();
        Records records(data.binned, format, data.team, data.context);
        EXPECT_EQ(data.context.memory().used() - before, Records::bytes(data.binned, format));

        std::vector<uint32_t> rows;
        std::vector<Stats> stats;
        for (uint32_t row = 0; row < data.binned.rows; row++)
            if (random.chance(0.4)) rows.push_back(row);
        for (size_t i = 0; i < rows.size(); i++) stats.push_back(random_stats(format, random));
        const RowList list{rows.data(), 0, rows.size(), 0};
        records.write(list, stats.data());

        std::vector<const FeatureBins*> selected;
        std::vector<size_t> features;
        const std::map<size_t, size_t> places = data.places();
        for (size_t g = 0; g < data.binned.groups.size(); g++)
            for (size_t slot = 0; slot < data.binned.groups[g].width; slot++)
                if (Records::holds(data.binned.groups[g]) && random.chance(0.6)) {
                    features.push_back(data.binned.groups[g].features[slot]);
                    selected.push_back(&data.binned.features[features.back()]);
                }
        records.select(selected);
        const Stats more{0, static_cast<int64_t>(seed)};
        std::vector<Stats> sums(Records::rounded_up(places.size()) * bin_stride);
        records.add(list, more, sums.data());

        for (const size_t feature : features) {
            std::vector<Stats> expected(bin_stride);
            const FeatureBins& bins = data.binned.features[feature];
            const RowIds ids = data.binned.tables[static_cast<size_t>(bins.table)].ids();
            with_bins(data.binned, bins, [&](const auto& bin_of) {
                for (size_t i = 0; i < rows.size(); i++) {
                    Stats& sum = expected[bin_of(ids[rows[i]])];
                    sum += stats[i];
                    sum += more;
                }
            });
            for (size_t bin = 0; bin < bins.size(); bin++) {
                const Stats& sum = sums[places.at(feature) + bin];
                ASSERT_EQ(sum.sum, expected[bin].sum);
                ASSERT_EQ(sum.hessian, expected[bin].hessian);
            }
            checked++;
        }
    }
    EXPECT_GT(checked, 1000u);
}

// Residuals of the largest magnitude, as many as a word takes, and both signs.
TEST(PackedSums, HoldWhatTheySayTheyDo) {
    EXPECT_EQ(Packing(30).max_rows, size_t{1} << 16);
    EXPECT_EQ(Packing(30).count_bit, 47);
    EXPECT_EQ(Packing(41).max_rows, 0u);
    EXPECT_EQ(Packing(64).max_rows, 0u);
    for (const Level level : {Level::baseline, Level::avx2, Level::avx512}) {
        if (level > best_level()) continue;
        choose_level(level);
        for (int bits = 0; bits <= 40; bits++) {
            const Packing packing(bits);
            ASSERT_GT(packing.max_rows, 0u);
            const int64_t largest = (int64_t{1} << bits) - 1, most = static_cast<int64_t>(packing.max_rows);
            for (const size_t count : {1, 7, 8, 19}) {
                std::vector<int64_t> packed(count);
                std::vector<Stats> sums(count, Stats{5, 3}), expected = sums;
                for (size_t i = 0; i < count; i++) {
                    const int64_t residual = i % 3 == 0 ? largest : i % 3 == 1 ? -largest : -(largest / 2);
                    const int64_t rows = i % 5 == 4 ? 0 : i % 2 ? 1 : most;
                    packed[i] = rows * (residual + packing.one_row());
                    expected[i] += {rows * residual, rows};
                }
                unpack_sums(packing.count_bit, count, packed.data(), sums.data());
                for (size_t i = 0; i < count; i++) {
                    EXPECT_EQ(packed[i], 0);
                    EXPECT_EQ(sums[i].sum, expected[i].sum) << bits;
                    EXPECT_EQ(sums[i].hessian, expected[i].hessian) << bits;
                }
            }
        }
    }
    choose_level(best_level());
}

TEST(Columns, HaveTheBinsOfFeaturesThatAreSplitBy) {
    size_t made = 0;
    for (uint64_t seed = 0; seed < 100; seed++) {
        SCOPED_TRACE(format("seed %d", static_cast<int>(seed)));
        Recorded data(data_of(seed));
        const uint64_t rows = data.binned.rows, room = rows * (seed % 5), before = data.context.memory().used();
        Columns columns(data.binned, room, data.team, data.context);
        uint64_t left = room;
        for (size_t f = 0; f < data.binned.features.size(); f++) {
            const FeatureBins& bins = data.binned.features[f];
            const BinGroup& group = data.binned.groups[bins.group];
            const RowIds ids = data.binned.tables[static_cast<size_t>(bins.table)].ids();
            const bool is_column = group.width == 1 && !ids, may_be = group.bytes == 1 && (is_column || left >= rows);
            EXPECT_EQ(columns.find(f, rows - 1) != nullptr, group.bytes == 1 && is_column);
            EXPECT_EQ(columns.find(f, 1) != nullptr, group.bytes == 1 && is_column);
            const uint8_t* column = columns.find(f, 1); // all rows have been split by it now
            ASSERT_EQ(column != nullptr, may_be);
            EXPECT_EQ(columns.find(f, 1), column);
            if (!may_be) continue;
            if (!is_column) left -= rows;
            with_bins(data.binned, bins, [&](const auto& bin_of) {
                for (uint32_t row = 0; row < rows; row++) ASSERT_EQ(column[row], bin_of(ids ? ids[row] : row));
            });
            made += !is_column;
        }
        EXPECT_EQ(data.context.memory().used() - before, room - left);
    }
    EXPECT_GT(made, 100u);
}

// Remembers the most memory that was held when a tree was begun.
class PeakContext : public QuietContext {
  public:
    explicit PeakContext(uint64_t limit) : QuietContext(2, limit) {}
    void progress(const char* phase, uint64_t, uint64_t) override {
        if (std::string_view(phase) == "growing trees") peak_ = std::max(peak_, memory().used());
    }
    uint64_t peak() const { return peak_; }

  private:
    uint64_t peak_ = 0;
};

// Fits under ever lower limits give the same bits, with records and without.
void expect_same_without_records(const PlainData& data, const Options& options, uint64_t bytes) {
    const std::string expected = bytes_of(fit_plain(data, options, 2));
    uint64_t most = 0, least = UINT64_MAX;
    for (uint64_t limit = uint64_t{1} << 26;; limit -= limit / 10) {
        PeakContext context(limit);
        try {
            EXPECT_EQ(bytes_of(fit(to_dataset(data, context), options, context).model), expected) << limit;
        } catch (const Error& error) {
            ASSERT_EQ(error.code(), ErrorCode::memory_limit);
            break;
        }
        most = std::max(most, context.peak());
        least = std::min(least, context.peak());
    }
    EXPECT_GE(most, least + bytes / 2);
}

TEST(Records, AreLeftOutWhereThereIsNoRoom) {
    DataShape shape;
    shape.rows = 70000;
    shape.features = 20;
    shape.distinct = 200;
    shape.fact_ids = true; // so that the tables are small beside the records
    const PlainData numbers = random_data(shape, 1);
    Options options;
    options.trees = 4;
    options.objective = ObjectiveNumber::squared;
    expect_same_without_records(numbers, options, 70000 * 32);
    options.criterion = Criterion::mse_sum;
    options.feature_fraction = 0.5;
    expect_same_without_records(numbers, options, 70000 * 32);

    PlainData labels = numbers;
    for (double& y : labels.target) y = y > 102;
    labels.labels = 2;
    options.objective = ObjectiveNumber::binary;
    options.criterion = Criterion::variance;
    options.row_fraction = 0.5;
    expect_same_without_records(labels, options, 70000 * 32);

    shape.weights = shape.holdout = true;
    options.objective = ObjectiveNumber::poisson;
    expect_same_without_records(random_data(shape, 2), options, 70000 * 64);
}

} // namespace
} // namespace btml::boosting::test
