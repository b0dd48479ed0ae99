#include "boosting_data.hpp"
#include "caught.hpp"
#include "walking.hpp"

#include "core/boosting/explanations/explainer.hpp"
#include "core/boosting/trees/boosting_predictor.hpp"
#include "core/boosting/trees/to_sql.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace btml::boosting::test {
namespace {

using btml::test::caught;

Model some_model(uint64_t seed) {
    DataShape shape;
    shape.rows = 150;
    shape.odd_numbers = seed % 2;
    shape.holdout = seed % 3 == 0;
    Options options;
    options.trees = 4;
    options.min_leaf_rows = 3;
    options.max_leaves = 6;
    options.min_category_rows = 2.5;
    options.max_split_categories = 3;
    Model model = fit_plain(random_data(shape, seed), options);
    model.target = "y";
    model.strategy = "enumerate";
    model.strategy_reason = "the join is small";
    model.rows_skipped = 7;
    if (seed % 2) model.options.sketch_residuals = true;
    if (seed % 2) model.sketch = SketchReport{500, 3, seed % 4 == 1 ? std::optional(0.125) : std::nullopt};
    if (seed % 5 == 3) model.sample = SampleReport{(WideCount{5} << 64) + seed, 1'000};
    if (seed > 2 && seed % 4 == 0) {
        model.imported = Import{"LightGBM v4", "regression sqrt", Link::signed_square, 0.5, seed % 8 == 4, true};
        if (seed % 3 == 0) model.imported->zero_is_missing.assign(model.features.size(), 1);
    }
    return model;
}

Model decode_bytes(const std::string& bytes, RunContext& context) {
    Reader reader(std::as_bytes(std::span(bytes.data(), bytes.size())), context);
    Model model = decode(reader);
    reader.finish();
    return model;
}

Model decode_bytes(const std::string& bytes) {
    QuietContext quiet;
    return decode_bytes(bytes, quiet);
}

TEST(BoostedModel, RoundTrip) {
    for (uint64_t seed = 0; seed < 20; seed++) {
        const Model model = some_model(seed);
        const std::string bytes = bytes_of(model);
        const Model copy = decode_bytes(bytes);
        EXPECT_EQ(bytes_of(copy), bytes);
        EXPECT_EQ(copy.target, "y");
        EXPECT_EQ(copy.rows_skipped, 7u);
        EXPECT_EQ(copy.options.sketch_residuals, seed % 2 == 1);
        ASSERT_EQ(copy.sketch.has_value(), seed % 2 == 1);
        if (copy.sketch) {
            EXPECT_EQ(copy.sketch->size, 500u);
            EXPECT_EQ(copy.sketch->sketches, 3);
            EXPECT_EQ(copy.sketch->error, model.sketch->error);
        }
        ASSERT_EQ(copy.imported.has_value(), seed > 2 && seed % 4 == 0);
        if (copy.imported) {
            EXPECT_EQ(copy.imported->objective, "regression sqrt");
            EXPECT_EQ(copy.link(), Link::signed_square);
            EXPECT_EQ(copy.imported->steepness, 0.5);
            EXPECT_EQ(copy.imported->single_precision, seed % 8 == 4);
            EXPECT_TRUE(copy.imported->averages);
            EXPECT_EQ(copy.imported->zero_is_missing, model.imported->zero_is_missing);
        }
        ASSERT_EQ(copy.sample.has_value(), seed % 5 == 3);
        if (copy.sample) {
            EXPECT_EQ(decimal(copy.sample->join_rows), decimal(model.sample->join_rows));
            EXPECT_EQ(copy.sample->sample_rows, 1'000u);
        }
        ASSERT_EQ(copy.trees.size(), model.trees.size());
        for (size_t t = 0; t < model.trees.size(); t++)
            for (size_t i = 0; i < model.trees[t].size(); i++)
                EXPECT_EQ(copy.trees[t][i].parent, model.trees[t][i].parent);
    }
}

// Of a model whose sections are all required; one cut off before a section that may be missing is whole.
TEST(BoostedModel, EveryTruncationIsRefused) {
    const std::string bytes = bytes_of(some_model(2));
    for (size_t length = 0; length < bytes.size(); length++)
        EXPECT_EQ(caught([&] { decode_bytes(bytes.substr(0, length)); }).code, ErrorCode::corrupt_model) << length;
}

TEST(BoostedModel, OneWithoutFeaturesIsRefused) {
    Model model = some_model(2);
    model.trees.assign(1, Tree(1));
    EXPECT_EQ(decode_bytes(bytes_of(model)).features.size(), model.features.size());
    model.features.clear();
    EXPECT_EQ(caught([&] { decode_bytes(bytes_of(model)); }).code, ErrorCode::corrupt_model);
}

// Whatever decodes can be predicted with, shown and encoded.
class DamagedBytes : public testing::TestWithParam<uint64_t> {};

TEST_P(DamagedBytes, AreRefusedOrHarmless) {
    const Model model = some_model(GetParam());
    const std::string bytes = bytes_of(model);
    Random random(1);
    int accepted = 0;
    for (int round = 0; round < 20000; round++) {
        std::string damaged = bytes;
        for (size_t flips = 1 + random.below(3); flips > 0; flips--)
            damaged[random.below(damaged.size())] ^= static_cast<char>(1 << random.below(8));
        std::optional<Model> copy;
        const auto error = caught([&] { copy = decode_bytes(damaged); });
        EXPECT_TRUE(!error.thrown || error.code == ErrorCode::corrupt_model) << error.message;
        if (!copy) continue;
        accepted++;
        EXPECT_EQ(bytes_of(*copy).size(), damaged.size());
        std::vector<double> features(copy->features.size());
        for (double& x : features) x = random.chance(0.2) ? null_number : 9 * random.unit() - 2;
        const double walked = predict_by_walking(*copy, features);
        QuietContext quiet;
        EXPECT_EQ(Predictor(*copy, quiet)(features), walked);
        EXPECT_GT(to_sql(*copy, quiet).size(), 0u);
        feature_importance(*copy, quiet);
        std::vector<double> contributions((features.size() + 1) * copy->scores());
        const auto explained = caught([&] { Explainer(*copy, quiet).contributions(features, contributions); });
        EXPECT_TRUE(!explained.thrown || copy->offset) << explained.message;
    }
    EXPECT_GT(accepted, 1000);
}
INSTANTIATE_TEST_SUITE_P(OursAndImported, DamagedBytes, testing::Values(4, 6, 12));

// Numbers and categories; as many nodes and labels as it takes to poll several times.
Model large_model() {
    Model model;
    model.features = {{"x", "double precision", false, {}}, {"label", "text", true, {}}};
    for (int i = 0; i < 2000; i++) model.features[1].categories.push_back(format("%06d", i) + std::string(200, 'x'));
    for (int t = 0; t < 1000; t++) {
        Node number, category, leaf;
        number.left = 1;
        number.right = 2;
        number.feature = 0;
        number.threshold = t;
        category.left = 3;
        category.right = 4;
        category.feature = 1;
        for (uint32_t code = 0; code < 200; code++) category.categories.push_back(code);
        model.trees.push_back({number, category, leaf, leaf, leaf});
    }
    return model;
}

// Everything that reads a model stops when it is told to, and counts what it takes.
TEST(BoostedModel, LargeModelsCanBeCancelledAndCount) {
    const Model model = large_model();
    const std::string bytes = bytes_of(model);
    const auto use = [&](RunContext& context) {
        Reader reader(std::as_bytes(std::span(bytes.data(), bytes.size())), context);
        const Model copy = decode(reader);
        const uint64_t decoded = context.memory().used();
        EXPECT_GT(decoded, 1000 * (sizeof(Tree) + 5 * sizeof(Node) + 200 * sizeof(uint32_t)) + 2000 * 206);
        const Predictor predictor(copy, context);
        EXPECT_GT(context.memory().used(), decoded + 1000 * 3 * sizeof(double));
        to_sql(copy, context);
        return decoded;
    };
    QuietContext quiet;
    const uint64_t decoded = use(quiet);
    EXPECT_EQ(quiet.memory().used(), 0u);
    QuietContext small(1, decoded - 1);
    EXPECT_EQ(caught([&] { use(small); }).code, ErrorCode::memory_limit);
    // Cancels at the first polls, and some of the others; returns how many there are.
    const auto cancelled = [&](auto&& body) {
        btml::test::ImpatientContext patient;
        body(patient);
        for (uint64_t polls = 0; polls < patient.polls; polls += 1 + polls / 2) {
            btml::test::ImpatientContext impatient(polls);
            EXPECT_THROW(body(impatient), Cancelled);
        }
        return patient.polls;
    };
    EXPECT_GT(cancelled([&](RunContext& context) { decode_bytes(bytes, context); }), 3u);
    EXPECT_GT(cancelled([&](RunContext& context) { Predictor(model, context); }), 0u);
    EXPECT_GT(cancelled([&](RunContext& context) { to_sql(model, context); }), 100u);
}

struct Damage {
    const char* what;
    void (*apply)(Model&);
};

TEST(BoostedModel, ImpossibleTreesAreRefused) {
    static const Damage damages[] = {
        {"child before its parent", [](Model& m) { m.trees[0][0].left = 0; }},
        {"its own child",
         [](Model& m) {
             m.trees[0] = {m.trees[0][1], m.trees[0][0], m.trees[0][2]};
         }},
        {"child out of range", [](Model& m) { m.trees[0][0].right = 1000; }},
        {"negative child", [](Model& m) { m.trees[0][0].right = -7; }},
        {"two parents", [](Model& m) { m.trees[0][0].right = m.trees[0][0].left; }},
        {"threshold NULL", [](Model& m) { m.trees[0][0].threshold = null_number; }},
        {"infinite value", [](Model& m) { m.trees[0][1].value = std::numeric_limits<double>::infinity(); }},
        {"negative rows", [](Model& m) { m.trees[0][1].rows = -1; }},
        {"rows that are not the children's", [](Model& m) { m.trees[0][1].rows = 1; }},
        {"children of more rows than a number holds",
         [](Model& m) {
             m.trees[0][0].rows = m.trees[0][1].rows = m.trees[0][2].rows = std::numeric_limits<double>::max();
         }},
        {"rows NaN", [](Model& m) { m.trees[0][1].rows = std::nan(""); }},
        {"category out of range", [](Model& m) { m.trees[1][0].categories = {2}; }},
        {"categories not ascending",
         [](Model& m) {
             m.trees[1][0].categories = {1, 0};
         }},
        {"labels not ascending",
         [](Model& m) {
             m.features[1].categories = {"b", "a"};
         }},
        {"empty tree", [](Model& m) { m.trees[0].clear(); }},
        {"base not finite", [](Model& m) { m.bases[0] = std::nan(""); }},
        {"option out of range", [](Model& m) { m.options.learning_rate = 2; }},
        {"epsilon out of range", [](Model& m) { m.options.epsilon = 1; }},
        {"sketch of no numbers",
         [](Model& m) {
             m.sketch = SketchReport{0, 1, {}};
         }},
        {"no sketches",
         [](Model& m) {
             m.sketch = SketchReport{5, 0, {}};
         }},
        {"negative error",
         [](Model& m) {
             m.sketch = SketchReport{5, 1, -0.5};
         }},
        {"sample of no rows",
         [](Model& m) {
             m.sample = SampleReport{5, 0};
         }},
        {"sample of all rows",
         [](Model& m) {
             m.sample = SampleReport{5, 5};
         }},
        {"import with an offset",
         [](Model& m) {
             m.imported = Import{"", ""};
             m.offset = 0;
         }},
        {"import of a link that is none",
         [](Model& m) {
             m.imported = Import{"", "", static_cast<Link>(link_count)};
         }},
        {"import of a flat link",
         [](Model& m) {
             m.imported = Import{"", "", Link::identity, 0};
         }},
        {"import of a link by label",
         [](Model& m) {
             m.imported = Import{"", "", Link::one_vs_all};
         }},
        {"zeros of one feature of two",
         [](Model& m) {
             m.imported = Import{"", ""};
             m.imported->zero_is_missing = {1};
         }},
        {"label of a number", [](Model& m) { m.labels = {"a"}; }},
        {"one label of a probability",
         [](Model& m) {
             m.options.objective = ObjectiveNumber::binary;
             m.labels = {"a"};
         }},
        {"three labels of a probability",
         [](Model& m) {
             m.options.objective = ObjectiveNumber::binary;
             m.labels = {"a", "b", "c"};
         }},
    };
    Model model;
    model.features = {{"x", "integer", false, {}}, {"c", "text", true, {"a", "b"}}};
    Node leaf, number, category;
    leaf.value = 1;
    number.left = category.left = 1;
    number.right = category.right = 2;
    number.feature = 0;
    category.feature = 1;
    category.categories = {1};
    model.trees = {{number, leaf, leaf}, {category, leaf, leaf}};
    EXPECT_FALSE(caught([&] { decode_bytes(bytes_of(model)); }).thrown);
    for (const Damage& damage : damages) {
        Model damaged = model;
        damage.apply(damaged);
        std::string bytes;
        const auto unwritten = caught([&] { bytes = bytes_of(damaged); });
        if (unwritten.thrown)
            EXPECT_EQ(unwritten.code, ErrorCode::out_of_range) << damage.what;
        else
            EXPECT_EQ(caught([&] { decode_bytes(bytes); }).message, "invalid btml.model value") << damage.what;
    }
}

TEST(BoostedModel, UnknownFeaturesAreRefused) {
    Model model;
    model.features = {{"x", "integer", false, {}}};
    Node leaf, inner;
    inner.left = 0x01010101;
    inner.right = 0x02020202;
    inner.feature = 0;
    model.trees = {{inner, leaf, leaf}};
    std::string bytes = bytes_of(model);
    const size_t children = bytes.find(std::string(4, '\1') + std::string(4, '\2'));
    ASSERT_NE(children, std::string::npos);
    bytes[children + 8] = 1;
    EXPECT_EQ(caught([&] { decode_bytes(bytes); }).detail, "A node splits feature 1 of 1.");
    bytes[children + 11] = static_cast<char>(0x80);
    EXPECT_EQ(caught([&] { decode_bytes(bytes); }).detail, "A node splits feature -2147483647 of 1.");
}

TEST(BoostedModel, ImportanceAddsUp) {
    const Model model = some_model(1);
    double gain = 0, expected = 0;
    int64_t splits = 0, inner = 0;
    QuietContext quiet;
    for (const Importance& entry : feature_importance(model, quiet)) {
        gain += entry.gain;
        splits += entry.splits;
    }
    for (const Tree& tree : model.trees)
        for (const Node& node : tree) {
            expected += node.gain;
            inner += !node.is_leaf();
        }
    EXPECT_NEAR(gain, expected, 1e-9 * expected);
    EXPECT_EQ(splits, inner);
    EXPECT_GT(splits, 0);
}

} // namespace
} // namespace btml::boosting::test
