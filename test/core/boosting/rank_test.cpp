#include "boosting_data.hpp"
#include "caught.hpp"
#include "walking.hpp"

#include "core/boosting/rows/row_hash.hpp"
#include "core/boosting/trees/boosting_predictor.hpp"
#include "core/metrics/ranked_rows.hpp"

#include <map>

namespace btml::boosting::test {
namespace {

using btml::test::caught;

PlainData ranked_data(uint64_t seed, bool holdout = false) {
    DataShape shape;
    shape.rows = 150 + 40 * (seed % 5);
    shape.dimensions = static_cast<int>(seed % 3);
    shape.holdout = holdout;
    shape.distinct = seed % 2 ? 0 : 9;
    PlainData data = random_data(shape, seed);
    Random random(seed);
    for (double& y : data.target) {
        y = std::clamp(std::floor((y - 100) / 2 + random.unit()), 0.0, 4.0);
        data.query.push_back(static_cast<uint32_t>(random.below(9)));
    }
    return data;
}

Options rank_options() {
    Options options;
    options.objective = ObjectiveNumber::rank;
    options.trees = 10;
    options.min_leaf_rows = 5;
    return options;
}

using Queries = std::map<uint32_t, std::vector<size_t>>;

Queries queries_of(const PlainData& data, bool held_out) {
    Queries queries;
    for (size_t row = 0; row < data.rows; row++)
        if (data.held_out(row) == held_out) queries[data.query[data.row_of(data.target_table, row)]].push_back(row);
    return queries;
}

double mean_ndcg(const PlainData& data, const Model& model, bool held_out) {
    QuietContext context;
    double sum = 0, count = 0;
    for (const auto& [query, rows] : queries_of(data, held_out)) {
        metrics::RankedRows ranked(context.memory());
        ranked.set_k(30);
        for (const size_t row : rows)
            ranked.add(data.target_of(row), scores_by_walking(model, data.features_of(row))[0]);
        const auto ndcg = ranked.ndcg(context);
        if (!ndcg) continue;
        sum += *ndcg;
        count++;
    }
    return sum / count;
}

// The gradients of all pairs of a query, by the definition.
void add_lambdas(const PlainData& data, const std::vector<size_t>& rows, const std::vector<double>& scores,
                 const std::vector<uint64_t>& hashes, std::vector<double>& residuals, std::vector<double>& hessians) {
    const size_t n = rows.size();
    const auto gain = [&](size_t i) { return std::pow(2, data.target_of(rows[i])) - 1; };
    const auto discount = [](size_t rank) { return 1 / std::log2(static_cast<double>(rank) + 2); };
    std::vector<size_t> order(n), ideal(n);
    std::iota(order.begin(), order.end(), 0);
    ideal = order;
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
        const size_t x = rows[a], y = rows[b];
        return scores[x] != scores[y] ? scores[x] > scores[y] : hashes[x] < hashes[y];
    });
    std::sort(ideal.begin(), ideal.end(), [&](size_t a, size_t b) { return gain(a) > gain(b); });
    double best = 0, total = 0;
    for (size_t i = 0; i < std::min<size_t>(30, n); i++) best += gain(ideal[i]) * discount(i);
    if (best == 0) return;
    std::vector<double> r(n, 0), h(n, 0);
    const bool spread = scores[rows[order.front()]] != scores[rows[order.back()]];
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            if (std::min(i, j) >= 30 || gain(order[i]) <= gain(order[j])) continue;
            const size_t high = order[i], low = order[j];
            const double difference = scores[rows[high]] - scores[rows[low]];
            double change = (gain(high) - gain(low)) * std::fabs(discount(i) - discount(j)) / best;
            if (spread) change /= 0.01 + std::fabs(difference);
            const double p = 1 / (1 + std::exp(difference));
            r[high] += p * change;
            r[low] -= p * change;
            h[high] += p * (1 - p) * change;
            h[low] += p * (1 - p) * change;
            total += 2 * p * change;
        }
    for (size_t i = 0; i < n; i++) {
        residuals[rows[i]] += total > 0 ? r[i] * std::log2(1 + total) / total : 0;
        hessians[rows[i]] += total > 0 ? h[i] * std::log2(1 + total) / total : 0;
    }
}

std::vector<uint64_t> hashes_of(const PlainData& data, const Options& options) {
    QuietContext context;
    ThreadTeam team(context);
    const Buffer<uint64_t> hashes =
        hash_rows(to_dataset(data, context), static_cast<uint64_t>(options.seed), team, context);
    return {hashes.begin(), hashes.end()};
}

// Every leaf of every tree is the Newton step of its rows' gradients at the scores before it.
TEST(Rank, LeavesAreNewtonSteps) {
    for (uint64_t seed = 0; seed < 40; seed++) {
        SCOPED_TRACE(format("seed %d", static_cast<int>(seed)));
        const PlainData data = ranked_data(seed);
        Options options = rank_options();
        options.trees = 4;
        options.learning_rate = 1;
        const Model model = fit_plain(data, options);
        const std::vector<uint64_t> hashes = hashes_of(data, options);
        Model before = model;
        for (size_t tree = 0; tree < model.trees.size(); tree++) {
            before.trees.assign(model.trees.begin(), model.trees.begin() + static_cast<std::ptrdiff_t>(tree));
            Model after = before;
            after.trees.push_back(model.trees[tree]);
            std::vector<double> scores, residuals(data.rows, 0), hessians(data.rows, 0);
            for (size_t row = 0; row < data.rows; row++)
                scores.push_back(scores_by_walking(before, data.features_of(row))[0]);
            for (const auto& [query, rows] : queries_of(data, false))
                add_lambdas(data, rows, scores, hashes, residuals, hessians);
            std::map<double, std::pair<double, double>> by_leaf;
            for (size_t row = 0; row < data.rows; row++) {
                const double value = scores_by_walking(after, data.features_of(row))[0] - scores[row];
                auto& sums = by_leaf[std::round(value * 1e9)];
                sums.first += residuals[row];
                sums.second += hessians[row];
            }
            EXPECT_GT(by_leaf.size(), 1u);
            for (const auto& [value, sums] : by_leaf)
                EXPECT_NEAR(value * 1e-9, sums.first / sums.second, 1e-5 * std::max(1.0, std::fabs(value * 1e-9)));
        }
        if (HasFailure()) return;
    }
}

TEST(Rank, LearnsAnOrder) {
    for (uint64_t seed = 0; seed < 12; seed++) {
        SCOPED_TRACE(format("seed %d", static_cast<int>(seed)));
        const PlainData data = ranked_data(seed, true);
        if (queries_of(data, true).empty()) continue;
        Options options = rank_options();
        options.metric = HoldoutMetric::ndcg;
        const Model model = fit_plain(data, options);
        EXPECT_NEAR(model.log.back().train_loss, 1 - mean_ndcg(data, model, false), 1e-9);
        EXPECT_NEAR(*model.log.back().holdout_metric, mean_ndcg(data, model, true), 1e-9);
        EXPECT_LT(model.log.back().train_loss, 0.7 * model.baseline->train_loss);
    }
}

TEST(Rank, LayoutOrderAndThreadsChangeNoBit) {
    for (uint64_t seed = 0; seed < 30; seed++) {
        SCOPED_TRACE(format("seed %d", static_cast<int>(seed)));
        const PlainData data = ranked_data(seed, seed % 3 == 0);
        const Options options = rank_options();
        const std::string bytes = bytes_of(fit_plain(data, options));
        const PlainData flat = materialise(data);
        EXPECT_TRUE(bytes == bytes_of(fit_plain(flat, options)));
        EXPECT_TRUE(bytes == bytes_of(fit_plain(reorder(flat, random_order(flat.rows, seed)), options)));
        EXPECT_TRUE(bytes == bytes_of(fit_plain(data, options, 3)));
    }
}

PlainData long_queries(size_t rows, size_t queries) {
    const PlainData data = ranked_data(1);
    std::vector<size_t> order(rows);
    for (size_t i = 0; i < rows; i++) order[i] = i % data.rows;
    PlainData longer = reorder(materialise(data), order);
    for (size_t i = 0; i < rows; i++) longer.query[i] = static_cast<uint32_t>(i % queries);
    return longer;
}

// What lists of queries and the rows of the largest take is part of what is asked for before the work.
TEST(Rank, MemoryIsRefusedBeforeTheWork) {
    for (const size_t queries : {1, 7, 5000}) {
        const PlainData data = long_queries(20000, queries);
        bool fits = false;
        size_t refused = 0;
        for (uint64_t limit = 900 << 10; !fits; limit += limit / 20) {
            QuietContext context(2, limit);
            const btml::test::Caught error = caught([&] { fit(to_dataset(data, context), rank_options(), context); });
            EXPECT_EQ(context.memory().used(), 0u);
            fits = !error.thrown;
            if (fits) break;
            refused++;
            EXPECT_EQ(error.code, ErrorCode::memory_limit);
            for (const char* late : {"rows of a query", "queries", "rows by query", "scores", "derivatives"})
                EXPECT_NE(error.detail, format("The memory was to hold %s.", late)) << limit;
        }
        EXPECT_GT(refused, 3u);
    }
}

// The pairs of a large query are many polls' work, and so is each pass over its rows.
TEST(Rank, LargeQueriesPoll) {
    const PlainData data = long_queries(200000, 1);
    Options options = rank_options();
    options.trees = 1;
    btml::test::ImpatientContext context;
    fit(to_dataset(data, context), options, context);
    const uint64_t pairs = 2 * 30 * data.rows;
    EXPECT_GT(context.polls, pairs / 70'000);
}

TEST(Rank, TargetsAreRelevances) {
    PlainData data = ranked_data(1);
    data.target[0] = 3.5;
    data.target[1] = 2.5;
    EXPECT_EQ(caught([&] { fit_plain(data, rank_options()); }).message,
              "target value 2.5 is not valid with objective => 'rank'");
    std::fill(data.target.begin(), data.target.end(), 0);
    EXPECT_EQ(caught([&] { fit_plain(data, rank_options()); }).message, "all rows to train on have the relevance 0");
}

} // namespace
} // namespace btml::boosting::test
