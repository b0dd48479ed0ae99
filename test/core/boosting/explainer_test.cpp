#include "boosting_data.hpp"
#include "caught.hpp"
#include "core/boosting/explanations/explainer.hpp"
#include "core/boosting/trees/boosting_predictor.hpp"
#include "walking.hpp"

#include <gtest/gtest.h>

namespace btml::boosting::test {
namespace {

using btml::test::caught;

struct TreeShape {
    int features = 4;
    size_t inner = 12;  // nodes of a tree
    bool chain = false; // each node splits the last one's child
    double no_cover = 0, nulls = 0.15;
};

double some_value(const Feature& feature, double nulls, Random& random) {
    if (random.chance(nulls)) return null_number;
    return feature.categorical ? std::floor(6 * random.unit()) - 1 : std::floor(16 * random.unit()) / 2;
}

// Splits a leaf, whose cover goes to its children.
void split_leaf(Tree& tree, size_t at, const Model& model, const TreeShape& shape, Random& random) {
    Node node = tree[at];
    node.feature = static_cast<int32_t>(random.below(model.features.size()));
    node.null_left = random.chance(0.5);
    node.threshold =
        random.chance(0.05) ? std::numeric_limits<double>::quiet_NaN() : std::floor(16 * random.unit()) / 2;
    if (model.features[node.feature].categorical)
        for (uint32_t code = 0; code < 4; code++)
            if (random.chance(0.5)) node.categories.push_back(code);
    Node left, right;
    left.parent = right.parent = static_cast<int32_t>(at);
    const double part = random.chance(shape.no_cover) ? (random.chance(0.5) ? 0 : 1) : random.unit();
    left.rows = node.rows * part;
    right.rows = node.rows - left.rows;
    left.value = 2 * random.unit() - 1;
    right.value = 2 * random.unit() - 1;
    node.left = static_cast<int32_t>(tree.size());
    node.right = node.left + 1;
    tree[at] = node;
    tree.push_back(left);
    tree.push_back(right);
}

Tree random_tree(const Model& model, const TreeShape& shape, Random& random) {
    Tree tree(1);
    tree[0].rows = 1000;
    tree[0].value = random.unit();
    for (size_t i = 0; i < shape.inner; i++) {
        size_t at = tree.size() - 1 - random.below(std::min<size_t>(2, tree.size()));
        if (!shape.chain) do
                at = random.below(tree.size());
            while (!tree[at].is_leaf());
        split_leaf(tree, at, model, shape, random);
    }
    return tree;
}

Model random_model(const TreeShape& shape, size_t trees, size_t scores, Random& random) {
    Model model;
    for (int f = 0; f < shape.features; f++) {
        Feature& feature = model.features.emplace_back(Feature{format("f%d", f), "double precision", f % 3 == 2, {}});
        if (feature.categorical) feature.categories = {"a", "b", "c", "d"};
    }
    model.bases.assign(scores, 0.25);
    for (size_t t = 0; t < trees; t++) model.trees.push_back(random_tree(model, shape, random));
    return model;
}

std::vector<double> random_row(const Model& model, const TreeShape& shape, Random& random) {
    std::vector<double> row;
    for (const Feature& feature : model.features) row.push_back(some_value(feature, shape.nulls, random));
    return row;
}

// What a coalition gets of a tree: a row goes both ways at a node whose feature is not in it, by covers.
double value_of(const Tree& tree, size_t at, const Model& model, std::span<const double> row, size_t coalition) {
    const Node& node = tree[at];
    if (node.is_leaf()) return node.value;
    const auto value = [&](int32_t child) { return value_of(tree, static_cast<size_t>(child), model, row, coalition); };
    if (coalition >> node.feature & 1)
        return value(node.rule(model.features).goes_left(row[static_cast<size_t>(node.feature)]) ? node.left
                                                                                                 : node.right);
    const double left = tree[node.left].rows, right = tree[node.right].rows;
    if (left + right == 0) return (value(node.left) + value(node.right)) / 2;
    return (left * value(node.left) + right * value(node.right)) / (left + right);
}

// By coalition.
std::vector<double> game_of(const Model& model, size_t score, std::span<const double> row) {
    std::vector<double> game(size_t{1} << model.features.size(), model.bases[score]);
    for (size_t t = score; t < model.trees.size(); t += model.scores())
        for (size_t coalition = 0; coalition < game.size(); coalition++)
            game[coalition] += value_of(model.trees[t], 0, model, row, coalition);
    return game;
}

double factorial(size_t n) {
    return n < 2 ? 1 : static_cast<double>(n) * factorial(n - 1);
}

double shapley_value(const std::vector<double>& game, size_t players, size_t i) {
    double value = 0;
    for (size_t s = 0; s < game.size(); s++) {
        if (s >> i & 1) continue;
        const auto others = static_cast<size_t>(std::popcount(s));
        const double weight = factorial(others) * factorial(players - others - 1) / factorial(players);
        value += weight * (game[s | size_t{1} << i] - game[s]);
    }
    return value;
}

// Half of the Shapley interaction index.
double shapley_interaction(const std::vector<double>& game, size_t players, size_t i, size_t j) {
    const size_t with_i = size_t{1} << i, with_j = size_t{1} << j;
    double value = 0;
    for (size_t s = 0; s < game.size(); s++) {
        if (s & (with_i | with_j)) continue;
        const auto others = static_cast<size_t>(std::popcount(s));
        const double weight = factorial(others) * factorial(players - others - 2) / factorial(players - 1);
        value += weight * (game[s | with_i | with_j] - game[s | with_i] - game[s | with_j] + game[s]);
    }
    return value / 2;
}

std::vector<double> contributions_of(Explainer& explainer, const Model& model, std::span<const double> row) {
    std::vector<double> found((model.features.size() + 1) * model.scores());
    explainer.contributions(row, found);
    return found;
}

double magnitude_of(std::span<const double> numbers) {
    double sum = 0;
    for (const double x : numbers) sum += std::abs(x);
    return sum;
}

// The promise is 1e-12 of the sum of magnitudes.
constexpr double promise = 1e-12;

void expect_brute_force(const TreeShape& shape, size_t scores, Random& random) {
    const Model model = random_model(shape, 2 * scores, scores, random);
    const size_t features = model.features.size();
    QuietContext quiet;
    Explainer explainer(model, quiet);
    const std::vector<double> row = random_row(model, shape, random);
    const std::vector<double> found = contributions_of(explainer, model, row);
    std::vector<double> pairs(features * features);
    for (size_t s = 0; s < scores; s++) {
        const std::vector<double> game = game_of(model, s, row);
        const std::span<const double> of_score = std::span(found).subspan(s * (features + 1), features + 1);
        const double tolerance = promise * magnitude_of(of_score);
        EXPECT_NEAR(of_score[features], game[0], tolerance);
        for (size_t f = 0; f < features; f++) EXPECT_NEAR(of_score[f], shapley_value(game, features, f), tolerance);
        explainer.interactions(row, s, pairs);
        for (size_t f = 0; f < features; f++)
            for (size_t g = 0; g < features; g++) {
                if (f == g) continue;
                EXPECT_NEAR(pairs[f * features + g], shapley_interaction(game, features, f, g), tolerance);
            }
    }
}

TEST(Explainer, EqualsShapleyValuesOverAllCoalitions) {
    for (uint64_t seed = 0; seed < 400; seed++) {
        SCOPED_TRACE(format("seed %d", static_cast<int>(seed)));
        Random random(seed);
        TreeShape shape;
        shape.features = 1 + static_cast<int>(seed % 9);
        shape.inner = seed % 31;
        shape.chain = seed % 2;
        shape.no_cover = seed % 3 == 0 ? 0.3 : 0;
        expect_brute_force(shape, seed % 5 == 4 ? 3 : 1, random);
    }
}

// Depth 30 and twelve features, most of which a path comes by again.
TEST(Explainer, EqualsShapleyValuesOfDeepTrees) {
    for (uint64_t seed = 0; seed < 12; seed++) {
        SCOPED_TRACE(format("seed %d", static_cast<int>(seed)));
        Random random(1000 + seed);
        TreeShape shape;
        shape.features = 12;
        shape.inner = 30;
        shape.chain = true;
        shape.no_cover = seed % 3 == 0 ? 0.1 : 0;
        expect_brute_force(shape, 1, random);
    }
}

// More features on a path than coalitions can be listed of.
TEST(Explainer, ContributionsAddUpToTheScore) {
    for (uint64_t seed = 0; seed < 60; seed++) {
        SCOPED_TRACE(format("seed %d", static_cast<int>(seed)));
        Random random(seed);
        TreeShape shape;
        shape.features = 1 + static_cast<int>(seed * 7 % 120);
        shape.inner = seed % 4 == 0 ? 254 : 10 + seed;
        shape.chain = seed % 3 == 0;
        const Model model = random_model(shape, 5, 1, random);
        QuietContext quiet;
        Explainer explainer(model, quiet);
        for (int i = 0; i < 20; i++) {
            const std::vector<double> row = random_row(model, shape, random);
            const std::vector<double> found = contributions_of(explainer, model, row);
            const double score = scores_by_walking(model, row)[0];
            EXPECT_NEAR(std::accumulate(found.begin(), found.end(), 0.0), score, promise * magnitude_of(found));
        }
    }
}

TEST(Explainer, RowsOfInteractionsAddUpToContributions) {
    for (uint64_t seed = 0; seed < 20; seed++) {
        Random random(seed);
        TreeShape shape;
        shape.features = 40;
        shape.inner = 60;
        shape.chain = seed % 2;
        const Model model = random_model(shape, 4, 2, random);
        QuietContext quiet;
        Explainer explainer(model, quiet);
        const std::vector<double> row = random_row(model, shape, random);
        const std::vector<double> found = contributions_of(explainer, model, row);
        std::vector<double> pairs(40 * 40);
        explainer.interactions(row, 1, pairs);
        for (size_t f = 0; f < 40; f++) {
            double across = 0, down = 0;
            for (size_t g = 0; g < 40; g++) {
                across += pairs[f * 40 + g];
                down += pairs[g * 40 + f];
                EXPECT_EQ(pairs[f * 40 + g], pairs[g * 40 + f]);
            }
            EXPECT_NEAR(across, found[41 + f], promise * magnitude_of(found));
            EXPECT_NEAR(down, found[41 + f], promise * magnitude_of(found));
        }
    }
}

TEST(Explainer, FeaturesOfOnePayoffShareAlike) {
    // x < 1 and y < 1 lead to 12, anything else to 0; each half of the rows.
    Model model;
    model.features = {{"x", "integer", false, {}}, {"y", "integer", false, {}}, {"z", "integer", false, {}}};
    Tree tree(5);
    const auto split = [&](size_t at, int feature, int left, double rows) {
        tree[at].feature = feature;
        tree[at].threshold = 1;
        tree[at].left = left;
        tree[at].right = left + 1;
        tree[at].rows = rows;
        tree[left].parent = tree[left + 1].parent = static_cast<int32_t>(at);
    };
    split(0, 0, 1, 8);
    split(1, 1, 3, 4);
    tree[2].rows = 4;
    tree[3].rows = tree[4].rows = 2;
    tree[3].value = 12;
    model.trees = {tree};
    QuietContext quiet;
    Explainer explainer(model, quiet);
    const std::vector<double> both = contributions_of(explainer, model, std::vector<double>{0, 0, 0});
    EXPECT_NEAR(both[0], 4.5, 1e-14); // from 3 on average to 12
    EXPECT_NEAR(both[1], 4.5, 1e-14);
    EXPECT_EQ(both[2], 0);
    EXPECT_EQ(both[3], 3);
    std::vector<double> pairs(9);
    explainer.interactions(std::vector<double>{0, 0, 0}, 0, pairs);
    EXPECT_NEAR(pairs[1], 1.5, 1e-14); // 12 − 6 − 6 + 3, in two places
    EXPECT_NEAR(pairs[0], 3, 1e-14);
}

// Covers are weights, of the rows that are trained on.
TEST(Explainer, TheBaseIsTheMeanScoreOfTheTrainingRows) {
    for (uint64_t seed = 0; seed < 12; seed++) {
        DataShape shape;
        shape.rows = 300;
        shape.weights = seed % 2;
        shape.holdout = seed % 3 == 0;
        const PlainData data = btml::boosting::test::random_data(shape, seed);
        Options options;
        options.trees = 8;
        options.min_leaf_rows = 2;
        const Model model = fit_plain(data, options);
        QuietContext quiet;
        Explainer explainer(model, quiet);
        double sum = 0, weight = 0;
        for (size_t row = 0; row < data.rows; row++) {
            if (data.held_out(row)) continue;
            sum += data.weight_of(row) * scores_by_walking(model, data.features_of(row))[0];
            weight += data.weight_of(row);
        }
        EXPECT_NEAR(contributions_of(explainer, model, data.features_of(0)).back(), sum / weight, 1e-7) << seed;
    }
}

TEST(Explainer, AnOffsetContributesItself) {
    Random random(3);
    TreeShape shape;
    Model model = random_model(shape, 3, 1, random);
    model.features.push_back({"exposure", "double precision", false, {}});
    model.offset = shape.features;
    QuietContext quiet;
    Explainer explainer(model, quiet);
    std::vector<double> row = random_row(model, {.features = 5, .nulls = 0}, random);
    row[4] = 2.5;
    const std::vector<double> found = contributions_of(explainer, model, row);
    EXPECT_EQ(found[4], 2.5);
    EXPECT_NEAR(std::accumulate(found.begin(), found.end(), 0.0), scores_by_walking(model, row)[0],
                promise * magnitude_of(found));
    row[4] = null_number;
    const auto null = caught([&] { contributions_of(explainer, model, row); });
    EXPECT_EQ(null.code, ErrorCode::null_value);
    row[4] = std::numeric_limits<double>::infinity();
    EXPECT_EQ(caught([&] { contributions_of(explainer, model, row); }).code, ErrorCode::out_of_range);
}

TEST(Explainer, NoTreesAndStumpsHaveABaseAlone) {
    Random random(4);
    for (const size_t trees : {0, 2}) {
        const Model model = random_model({.inner = 0}, trees, 1, random);
        QuietContext quiet;
        Explainer explainer(model, quiet);
        const std::vector<double> row = random_row(model, {}, random), found = contributions_of(explainer, model, row);
        for (size_t f = 0; f < 4; f++) EXPECT_EQ(found[f], 0);
        EXPECT_EQ(found[4], scores_by_walking(model, row)[0]);
    }
}

// Sums are in one order whatever the processor.
TEST(Explainer, EveryLevelGivesTheSameBits) {
    Random random(5);
    const TreeShape shape{.features = 30, .inner = 100};
    const Model model = random_model(shape, 10, 1, random);
    QuietContext quiet;
    Explainer explainer(model, quiet);
    const std::vector<double> row = random_row(model, shape, random);
    const Level best = best_level();
    choose_level(Level::baseline);
    const std::vector<double> baseline = contributions_of(explainer, model, row);
    for (const Level level : {Level::avx2, Level::avx512}) {
        if (level > best) continue;
        choose_level(level);
        EXPECT_EQ(contributions_of(explainer, model, row), baseline);
    }
    choose_level(best);
}

TEST(Explainer, CanBeCancelled) {
    Random random(7);
    const TreeShape shape{.features = 20, .inner = 150};
    const Model model = random_model(shape, 100, 1, random);
    const std::vector<double> row = random_row(model, shape, random);
    std::vector<double> pairs(20 * 20);
    const auto explain = [&](RunContext& context) {
        Explainer explainer(model, context);
        for (int i = 0; i < 10; i++) contributions_of(explainer, model, row);
        explainer.interactions(row, 0, pairs);
    };
    btml::test::ImpatientContext patient;
    explain(patient);
    EXPECT_GT(patient.polls, 5u);
    for (uint64_t polls = 0; polls < patient.polls; polls++) {
        btml::test::ImpatientContext impatient(polls);
        EXPECT_THROW(explain(impatient), Cancelled);
    }
}

// A chain over few features has long paths with little to do at each step; of one over many features, a leaf's pairs
// take many times what polls are apart.
TEST(Explainer, InteractionsPollWithinALeaf) {
    const auto polls_of = [](const TreeShape& shape, uint64_t min_polls) {
        Random random(8);
        const Model model = random_model(shape, 1, 1, random);
        const std::vector<double> row = random_row(model, shape, random);
        btml::test::ImpatientContext context;
        Explainer explainer(model, context);
        std::vector<double> pairs(model.features.size() * model.features.size());
        const uint64_t before = context.polls;
        explainer.interactions(row, 0, pairs);
        EXPECT_GT(context.polls - before, min_polls);
    };
    const size_t steps = 4000;
    polls_of({.features = 2, .inner = steps, .chain = true}, steps * steps / 4 >> 18);
    polls_of({.features = 400, .inner = 400, .chain = true}, 2 * 400);
}

// A session keeps its explainers.
TEST(Explainer, ACancelledOneGoesOn) {
    class Host : public QuietContext {
      public:
        bool keep_going() override { return patience-- > 0; }
        int patience = 1'000'000;
    };
    Random random(9);
    const TreeShape shape{.features = 3, .inner = 1500, .chain = true};
    const Model model = random_model(shape, 1, 1, random);
    const std::vector<double> row = random_row(model, shape, random);
    Host host;
    Explainer explainer(model, host);
    std::vector<double> expected(9), found(9);
    explainer.interactions(row, 0, expected);
    for (int polls = 0; polls < 4; polls++) {
        host.patience = polls;
        EXPECT_THROW(explainer.interactions(row, 0, found), Cancelled);
        host.patience = 1'000'000;
        explainer.interactions(row, 0, found);
        EXPECT_EQ(found, expected);
    }
}

TEST(Explainer, MemoryIsCheckedBeforeTheWorkAndGivenBack) {
    Random random(6);
    const Model model = random_model({.features = 20, .inner = 200}, 50, 1, random);
    QuietContext small(1, 100'000);
    EXPECT_EQ(caught([&] { const Explainer explainer(model, small); }).code, ErrorCode::memory_limit);
    EXPECT_EQ(small.memory().used(), 0u);
    QuietContext large;
    {
        const Explainer explainer(model, large);
        EXPECT_GT(large.memory().used(), 100'000u);
    }
    EXPECT_EQ(large.memory().used(), 0u);
}

} // namespace
} // namespace btml::boosting::test
