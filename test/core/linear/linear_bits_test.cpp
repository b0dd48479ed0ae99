#include "linear_data.hpp"

#include "core/linear/coefficients.hpp"

#include <algorithm>
#include <numeric>

namespace btml::linear::test {
namespace {

std::vector<size_t> shuffled(size_t count, uint64_t seed) {
    Random random(seed);
    std::vector<size_t> order(count);
    std::iota(order.begin(), order.end(), size_t{0});
    for (size_t i = count; i > 1; i--) std::swap(order[i - 1], order[random.below(i)]);
    return order;
}

Options random_options(uint64_t seed) {
    Options options = options_of(all_families[seed % 4]);
    if (seed % 3 == 1) options.penalty = 0.05;
    if (seed % 6 == 1) options.l1_ratio = 0.7;
    if (seed % 3 == 2) options.std_error = StdError::robust;
    return options;
}

TEST(LinearBits, RowOrderAndThreadsChangeNothing) {
    for (uint64_t seed = 1; seed <= 24; seed++) {
        const Options options = random_options(seed);
        PlainRows rows = random_rows(seed % 8 == 0 ? 20'000 : 400, seed, options.family);
        if (seed % 2) rows.clusters.clear();
        QuietContext one(1);
        const std::string bytes = bytes_of(fit_rows(rows, options, one).model);
        for (const int threads : {1, 2, 5}) {
            QuietContext context(threads);
            const std::vector<size_t> order = shuffled(rows.size(), seed + static_cast<uint64_t>(threads));
            EXPECT_EQ(bytes_of(fit_rows(rows, options, context, order).model), bytes) << seed << ", " << threads;
        }
    }
}

// A feature in a small table of its own is what it is in the rows of the join.
TEST(LinearBits, JoinsAreWhatTheirRowsAre) {
    QuietContext context(2);
    for (uint64_t seed = 1; seed <= 12; seed++) {
        const Options options = random_options(seed);
        PlainRows joined = random_rows(300, seed, options.family);
        Random random(seed + 100);
        const size_t table = seed % 2 ? 20 : 290;
        joined.ids.emplace_back();
        for (size_t i = 0; i < joined.size(); i++) joined.ids[0].push_back(static_cast<uint32_t>(random.below(table)));
        PlainRows flat = joined;
        flat.ids.clear();
        for (const size_t f : {size_t{1}, size_t{3}}) {
            joined.features[f].table = 1;
            joined.features[f].values.resize(table);
            for (size_t i = 0; i < joined.size(); i++) flat.features[f].values[i] = joined.value(f, i);
        }
        EXPECT_EQ(bytes_of(fit_rows(joined, options, context).model), bytes_of(fit_rows(flat, options, context).model));
    }
}

// A weight of 2 is two rows, but for degrees of freedom.
TEST(LinearBits, WeightsCountRows) {
    QuietContext context;
    for (const Family family : all_families) {
        PlainRows rows = random_rows(200, 7, family), copies = rows;
        for (size_t i = 0; i < rows.size(); i++) rows.weight[i] = static_cast<double>(i % 3);
        copies = {};
        for (const PlainFeature& feature : rows.features)
            copies.features.push_back({feature.name, {}, feature.categories});
        for (size_t i = 0; i < rows.size(); i++)
            for (size_t copy = 0; copy < i % 3; copy++) {
                for (size_t f = 0; f < rows.features.size(); f++)
                    copies.features[f].values.push_back(rows.features[f].values[i]);
                copies.target.push_back(rows.target[i]);
                copies.held_out.push_back(rows.held_out[i]);
            }
        const Model weighted = fit_rows(rows, options_of(family), context).model,
                    copied = fit_rows(copies, options_of(family), context).model;
        EXPECT_NEAR(weighted.statistics.deviance / copied.statistics.deviance, 1, 1e-10);
        EXPECT_NEAR(*weighted.statistics.holdout_deviance / *copied.statistics.holdout_deviance, 1, 1e-9);
        EXPECT_LT(weighted.statistics.degrees_of_freedom, copied.statistics.degrees_of_freedom);
        for (size_t c = 0; c < weighted.columns.size(); c++)
            EXPECT_NEAR(weighted.columns[c].estimate, copied.columns[c].estimate,
                        1e-9 * copied.columns[c].std_error + 1e-12);
    }
}

TEST(LinearBits, HeldOutRowsAreScored) {
    QuietContext context;
    const PlainRows rows = random_rows(500, 3, Family::gaussian);
    const Model model = fit_rows(rows, options_of(Family::gaussian), context).model;
    Predictor predictor(model);
    double sum = 0, weight = 0;
    uint64_t held_out = 0;
    for (size_t i = 0; i < rows.size(); i++) {
        if (!rows.held_out[i] || rows.weight[i] == 0) continue;
        const double off = rows.target[i] - predictor(rows.features_of(i));
        sum += rows.weight[i] * off * off;
        weight += rows.weight[i];
        held_out++;
    }
    EXPECT_EQ(model.holdout_rows, held_out);
    EXPECT_NEAR(*model.statistics.holdout_deviance, sum / weight, 1e-10);
}

} // namespace
} // namespace btml::linear::test
