#include "boosting_data.hpp"
#include "core/base/radix_sort.hpp"
#include "core/boosting/binning/binning.hpp"

namespace btml::boosting::test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
const double nan_number = std::numeric_limits<double>::quiet_NaN();

PlainData one_column(std::vector<double> values) {
    PlainData data;
    data.rows = values.size();
    data.tables = {{values.size(), {}}};
    data.target.assign(values.size(), 1);
    data.columns = {{"x", false, 0, std::move(values), {}, 0}};
    return data;
}

struct Binned {
    QuietContext context;
    ThreadTeam team{context};
    Dataset dataset;
    TrainingRows training;
    BinnedData data;
    Binned(const PlainData& plain, int max_bins, int threads = 1)
        : context(threads),
          dataset(to_dataset(plain, context)),
          training(dataset, team, context),
          data(bin_features(dataset, training, max_bins, team, context)) {}
    std::vector<double> thresholds() const {
        const auto& cuts = data.features[0].thresholds;
        return {cuts.begin(), cuts.end()};
    }
    uint32_t bin(size_t feature, size_t row) const {
        const FeatureBins& bins = data.features[feature];
        const BinGroup& group = data.groups[bins.group];
        const size_t place = row * group.width + bins.slot;
        return group.bytes == 1   ? group.bins<uint8_t>()[place]
               : group.bytes == 2 ? group.bins<uint16_t>()[place]
                                  : group.bins<uint32_t>()[place];
    }
};

TEST(Binning, MidpointsLieBetweenNeighbours) {
    const double least = std::numeric_limits<double>::denorm_min(), most = std::numeric_limits<double>::max();
    const double values[] = {-infinity, -most, -1,       -least,    0, least, 1, std::nextafter(1.0, 2.0),
                             1e300,     most,  infinity, nan_number};
    for (size_t i = 0; i < std::size(values); i++)
        for (size_t j = i + 1; j < std::size(values); j++) {
            const double middle = midpoint(values[i], values[j]);
            EXPECT_TRUE(sql_less(values[i], middle)) << values[i] << " " << values[j];
            EXPECT_FALSE(sql_less(values[j], middle)) << values[i] << " " << values[j];
        }
    EXPECT_EQ(midpoint(1, 2), 1.5);
    EXPECT_EQ(midpoint(-most, most), 0);
}

// Values of more rows than a piece of work has, and others, and NULL.
TEST(Binning, ThreadsChangeNothing) {
    Random random(1);
    std::vector<double> values;
    for (size_t i = 0; i < 300'000; i++)
        values.push_back(random.chance(0.5)   ? 0.25
                         : random.chance(0.1) ? null_number
                         : random.chance(0.5) ? 0.75
                                              : random.unit());
    std::vector<double> distinct = values;
    std::erase_if(distinct, [](double x) { return is_null(x); });
    std::sort(distinct.begin(), distinct.end());
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    const PlainData data = one_column(values);
    for (const int max_bins : {0, 255}) {
        const Binned one(data, max_bins);
        const std::vector<double> cuts = one.thresholds();
        EXPECT_EQ(cuts.size() + 1, max_bins == 0 ? distinct.size() : 255);
        for (const int threads : {2, 5}) {
            const Binned more(data, max_bins, threads);
            EXPECT_EQ(more.thresholds(), cuts);
            for (size_t row = 0; row < values.size(); row++) {
                const auto expected =
                    is_null(values[row])
                        ? cuts.size() + 1
                        : static_cast<size_t>(std::upper_bound(cuts.begin(), cuts.end(), values[row]) - cuts.begin());
                ASSERT_EQ(one.bin(0, row), expected) << row;
                ASSERT_EQ(more.bin(0, row), expected) << row;
            }
        }
    }
}

TEST(Binning, OneBinPerDistinctValue) {
    const Binned binned(one_column({3, null_number, -0.0, 0.0, nan_number, -infinity, 3, infinity, 1}), 255);
    const std::vector<double> cuts = binned.thresholds();
    ASSERT_EQ(cuts.size(), 5u); // between −∞, 0, 1, 3, ∞ and NaN
    EXPECT_EQ(cuts[0], 0);
    EXPECT_EQ(cuts[1], 0.5);
    EXPECT_EQ(cuts[2], 2);
    EXPECT_EQ(cuts[3], infinity);
    EXPECT_TRUE(std::isnan(cuts[4]));
    const uint32_t expected[] = {3, 6, 1, 1, 5, 0, 3, 4, 2};
    for (size_t row = 0; row < 9; row++) EXPECT_EQ(binned.bin(0, row), expected[row]) << row;
}

TEST(Binning, OnlyNulls) {
    const Binned binned(one_column({null_number, null_number}), 255);
    EXPECT_TRUE(binned.thresholds().empty());
    EXPECT_EQ(binned.bin(0, 1), 1u);
}

// Bins agree with thresholds, in number and order; equal weights otherwise.
TEST(Binning, QuantilesAreFair) {
    for (uint64_t seed = 0; seed < 60; seed++) {
        SCOPED_TRACE(format("seed %d", static_cast<int>(seed)));
        Random random(seed);
        std::vector<double> values(3000);
        for (double& x : values) x = random.chance(0.05) ? null_number : random.chance(0.2) ? 0.5 : random.unit();
        const int max_bins = 2 + static_cast<int>(random.below(60));
        const Binned binned(one_column(values), max_bins);
        const std::vector<double> cuts = binned.thresholds();
        ASSERT_LT(cuts.size(), static_cast<size_t>(max_bins));
        std::vector<size_t> counts(cuts.size() + 2);
        for (size_t row = 0; row < values.size(); row++) {
            const uint32_t bin = binned.bin(0, row);
            counts[bin]++;
            if (is_null(values[row])) {
                EXPECT_EQ(bin, cuts.size() + 1);
                continue;
            }
            EXPECT_FALSE(bin > 0 && sql_less(values[row], cuts[bin - 1]));
            EXPECT_TRUE(bin == cuts.size() || sql_less(values[row], cuts[bin]));
        }
        if (max_bins < 10) continue;
        EXPECT_GE(cuts.size() + 4, static_cast<size_t>(max_bins) * 3 / 4);
        const size_t fair = 3000 / static_cast<size_t>(max_bins);
        const auto frequent = std::find(values.begin(), values.end(), 0.5) - values.begin();
        counts[binned.bin(0, static_cast<size_t>(frequent))] = 0;
        for (size_t bin = 0; bin <= cuts.size(); bin++) EXPECT_LE(counts[bin], 2 * fair);
    }
}

TEST(Binning, AFrequentValueIsAlone) {
    std::vector<double> values;
    for (int i = 0; i < 1000; i++) values.push_back(i % 2 ? 500.25 : i);
    const Binned binned(one_column(values), 10);
    const std::vector<double> cuts = binned.thresholds();
    EXPECT_NE(std::find(cuts.begin(), cuts.end(), (500 + 500.25) / 2), cuts.end());
    EXPECT_NE(std::find(cuts.begin(), cuts.end(), (502 + 500.25) / 2), cuts.end());
}

TEST(Binning, HeldOutRowsDoNotCount) {
    PlainData data = one_column({1, 2, 3, 4, 2.75});
    data.holdout_table = 0;
    data.holdout = {0, 0, 0, 0, 1};
    const Binned binned(data, 255);
    EXPECT_EQ(binned.thresholds(), (std::vector<double>{1.5, 2.5, 3.5}));
    EXPECT_EQ(binned.bin(0, 4), 2u);
}

TEST(Binning, TableRowsCountAsOftenAsTheyJoin) {
    PlainData data = one_column({1, 2, 3, 4});
    data.rows = 40;
    data.tables[0].ids.assign(40, 3);
    data.tables[0].ids[0] = 0;
    data.tables[0].ids[1] = 1;
    const Binned binned(data, 2); // row 2, the value 3, joins to nothing
    EXPECT_EQ(binned.thresholds(), std::vector<double>{3});
}

TEST(RadixSort, Sorts) {
    for (uint64_t seed = 0; seed < 40; seed++) {
        Random random(seed);
        QuietContext context(1 + static_cast<int>(seed % 3));
        ThreadTeam team(context);
        const size_t count = seed % 2 ? random.below(300) : 100000 + random.below(100000);
        Buffer<uint64_t> items(context.memory(), "items", count), spare(context.memory(), "items", count);
        const int shape = static_cast<int>(seed % 5);
        for (uint64_t& item : items) {
            const uint64_t bits = mix64(random.below(1u << 30));
            item = shape == 0   ? bits
                   : shape == 1 ? bits % 100
                   : shape == 2 ? (bits % 3) << 60 | bits % 1000 // the leading digits tell little apart
                   : shape == 3 ? bits << 40
                                : 7;
        }
        std::vector<uint64_t> expected(items.begin(), items.end());
        std::sort(expected.begin(), expected.end());
        radix_sort(items, spare, team, [](uint64_t item) { return item; });
        EXPECT_TRUE(std::equal(expected.begin(), expected.end(), items.begin())) << seed;
    }
}

} // namespace
} // namespace btml::boosting::test
