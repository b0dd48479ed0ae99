#include "caught.hpp"
#include "core/boosting/exchange/xgboost_json.hpp"

#include "core/base/rng.hpp"
#include "core/boosting/objectives/link.hpp"
#include "core/boosting/predictor.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <random>

namespace btml::boosting::test {
namespace {

// A stump: x < 0.5 → 1, else 2; more of it may be given, later members count.
std::string stump(const std::string& more = "") {
    return R"({"left_children":[1,-1,-1],"right_children":[2,-1,-1],"split_indices":[0,0,0],)"
           R"("split_conditions":[5E-1,1E0,2E0],"default_left":[1,0,0],"sum_hessian":[3E0,1E0,2E0],"loss_changes":[7,0,0])" +
           more + "}";
}

struct Form {
    std::string trees = stump(), tree_info = "[0]", base_score = R"("0")", objective = "reg:squarederror",
                classes = R"("0")", attributes = "{}", more_of_model = "", features = R"("2")", targets = R"("1")";
};

std::string model_text(const Form& form) {
    return R"({"learner":{"attributes":)" + form.attributes + R"(,"feature_names":[],"feature_types":[],)" +
           R"("gradient_booster":{"model":{"trees":[)" + form.trees + R"(],"tree_info":)" + form.tree_info +
           form.more_of_model + R"(},"name":"gbtree"},"learner_model_param":{"base_score":)" + form.base_score +
           R"(,"num_class":)" + form.classes + R"(,"num_feature":)" + form.features + R"(,"num_target":)" +
           form.targets + R"(},"objective":{"name":")" + form.objective + R"("}},"version":[3,2,0]})";
}

Model read(const std::string& text, const std::string& categories = "") {
    QuietContext context;
    return read_xgboost(text, categories, context).model;
}

// Returns the error's detail, or its message where it has none.
std::string refusal(const std::string& text, const std::string& categories = "") {
    try {
        read(text, categories);
    } catch (const Error& error) {
        EXPECT_NE(error.code(), ErrorCode::internal);
        return error.detail().empty() ? error.message() : error.detail();
    }
    return "";
}

TEST(XgboostJson, AStump) {
    const Model model = read(model_text({}));
    EXPECT_EQ(model.features.size(), 2u);
    EXPECT_EQ(model.features[1].name, "f1");
    EXPECT_EQ(model.trees[0][0].rows, 3);
    EXPECT_EQ(model.trees[0][0].gain, 7);
    for (const auto& [x, score] : {std::pair{0.4, 1.0}, {0.5, 2.0}, {null_number, 1.0}, {std::nan(""), 1.0}})
        EXPECT_EQ(scores_by_walking(model, std::vector{x, 0.0})[0], score) << x;
}

// Rounding a double to a float and comparing floats is comparing doubles with this threshold.
TEST(XgboostJson, ThresholdsMakeUpForRounding) {
    std::mt19937_64 random(1);
    const auto check = [&](float threshold, double x) {
        EXPECT_EQ(static_cast<float>(x) < threshold, x < threshold_of_doubles(threshold)) << threshold << " " << x;
    };
    const auto check_near = [&](float threshold) {
        const double from = threshold_of_doubles(threshold);
        double below = from, above = from;
        for (int i = 0; i < 20; i++) {
            check(threshold, below);
            check(threshold, above);
            below = std::nextafter(below, -HUGE_VAL);
            above = std::nextafter(above, HUGE_VAL);
        }
        check(threshold, static_cast<double>(threshold));
    };
    for (int i = 0; i < 200000; i++) {
        const auto threshold = std::bit_cast<float>(static_cast<uint32_t>(random()));
        if (!std::isnan(threshold)) check_near(threshold);
        const auto x = std::bit_cast<double>(random());
        if (!std::isnan(threshold) && !std::isnan(x)) check(threshold, x);
    }
    for (const float odd : {0.0F, -0.0F, 1e-45F, -1e-45F, 3.4028235e38F, -3.4028235e38F, HUGE_VALF, -HUGE_VALF, 1.0F})
        for (const double x : {0.0, -0.0, 1e300, -1e300, HUGE_VAL, -HUGE_VAL, 3.4028235677973366e38, 7.0e-46, 1.0})
            check_near(odd), check(odd, x);
    EXPECT_EQ(threshold_of_doubles(std::nanf("")), -HUGE_VAL);
}

TEST(XgboostJson, BaseScoresAreOnTheScaleOfTheTarget) {
    for (const char* const base : {"0.25", R"("2.5E-1")", R"("[2.5E-1]")", "[0.25]"}) {
        EXPECT_EQ(read(model_text({.base_score = base})).bases[0], 0.25) << base;
        const Model logistic = read(model_text({.base_score = base, .objective = "binary:logistic"}));
        EXPECT_EQ(logistic.bases[0], static_cast<double>(-std::log(3.0F))) << base;
        EXPECT_EQ(logistic.labels, (std::vector<std::string>{"0", "1"}));
        EXPECT_EQ(read(model_text({.base_score = base, .objective = "count:poisson"})).bases[0],
                  static_cast<double>(std::log(0.25F)));
    }
    const Form classes{.trees = stump() + "," + stump(),
                       .tree_info = "[0,1]",
                       .base_score = R"("[1E0,2E0]")",
                       .objective = "multi:softprob",
                       .classes = R"("2")"};
    EXPECT_EQ(read(model_text(classes)).bases, (std::vector<double>{1, 2}));
    EXPECT_EQ(refusal(model_text({.base_score = "[1, 2]"})), "It has 2 base scores for 1 scores.");
    EXPECT_EQ(refusal(model_text({.base_score = "0", .objective = "binary:logistic"})),
              "Its base_score is 0, which objective binary:logistic does not take.");
    EXPECT_NE(refusal(model_text({.base_score = R"("\"1\"")"})), "");
    EXPECT_NE(refusal(model_text({.base_score = R"("[1")"})).find("base_score: Byte 3"), std::string::npos);
}

// Sums are of floats: 2^24 + 1 is 2^24.
TEST(XgboostJson, SumsAreRoundedToFloats) {
    const Model model = read(model_text({.base_score = "16777216"}));
    const std::vector<double> row{0, 0};
    EXPECT_EQ(scores_by_walking(model, row)[0], 16777216);
    QuietContext context;
    EXPECT_EQ(Predictor(model, context).scores(row)[0], 16777216);
}

// A category of the set goes right there; one never seen, and here NULL, go left.
TEST(XgboostJson, SetsOfCategoriesGoRight) {
    Form form;
    form.trees = stump(R"(,"split_type":[1,0,0],"categories":[2,10],"categories_nodes":[0],)"
                       R"("categories_segments":[0],"categories_sizes":[2])");
    const Model model = read(model_text(form));
    EXPECT_EQ(model.features[0].categories, (std::vector<std::string>{"2", "10"}));
    for (const auto& [code, score] : {std::pair{0.0, 2.0}, {1.0, 2.0}, {-1.0, 1.0}, {null_number, 1.0}})
        EXPECT_EQ(scores_by_walking(model, std::vector{code, 0.0})[0], score) << code;
    const Model named = read(model_text(form), R"({"f0": ["l","k","j","i","h","g","f","e","d","c","b","a"]})");
    EXPECT_EQ(named.features[0].categories[0], "a");
    EXPECT_EQ(named.features[0].type, "text");
    EXPECT_EQ(named.trees[0][0].categories, (std::vector<uint32_t>{1, 9})); // "b" and "j"
    EXPECT_EQ(refusal(model_text(form), R"({"f0": ["a", "b"]})"), "Codes count from 0.");
    EXPECT_NE(refusal(model_text({}), R"({"f0": ["a", "b"]})").find("it as a number"), std::string::npos);
    form.trees += "," + stump();
    form.tree_info = "[0,0]";
    EXPECT_EQ(refusal(model_text(form)), "A column has one type.");
}

// The model's file has "é" and "z" as the bytes 195 and 169: so many as there are characters.
TEST(XgboostJson, CategoriesThatAreCutAreRefused) {
    const auto with_names = [](const std::string& offsets, const std::string& bytes) {
        Form form;
        form.trees = stump(R"(,"split_type":[1,0,0],"categories":[1],"categories_nodes":[0],)"
                           R"("categories_segments":[0],"categories_sizes":[1])");
        form.more_of_model = R"(,"cats":{"enc":[{"offsets":)" + offsets + R"(,"values":)" + bytes + "}]}";
        return model_text(form);
    };
    const std::string ascii = with_names("[0,1,2]", "[122,97]"), cut = with_names("[0,1,2]", "[195,169]"),
                      negative = with_names("[0,1,2]", "[-61,122]");
    EXPECT_EQ(read(ascii).features[0].categories, (std::vector<std::string>{"a", "z"}));
    for (const std::string& text : {cut, negative}) {
        const btml::test::Caught error = btml::test::caught([&] { read(text); });
        EXPECT_EQ(error.code, ErrorCode::not_supported);
        EXPECT_EQ(error.message, "categories of feature \"f0\" are not ASCII, and XGBoost cuts such names");
        EXPECT_EQ(btml::test::caught([&] { read(text, R"({"f1": ["a"]})"); }).message, error.message);
        const Model given = read(text, R"({"f0": ["é", "z"]})");
        EXPECT_EQ(given.features[0].categories, (std::vector<std::string>{"z", "é"}));
        EXPECT_EQ(given.trees[0][0].categories, (std::vector<uint32_t>{0})); // "z", whose code is 1
    }
}

// Beyond 2^53 a double stands for several whole numbers.
TEST(XgboostJson, CategoriesThatAreLargeNumbersAreRefused) {
    const auto with_values = [](const std::string& values) {
        Form form;
        form.trees = stump(R"(,"split_type":[1,0,0],"categories":[1],"categories_nodes":[0],)"
                           R"("categories_segments":[0],"categories_sizes":[1])");
        form.more_of_model = R"(,"cats":{"enc":[{"values":)" + values + "}]}";
        return model_text(form);
    };
    EXPECT_EQ(read(with_values("[-9007199254740991,9007199254740991]")).features[0].categories,
              (std::vector<std::string>{"-9007199254740991", "9007199254740991"}));
    for (const char* const value : {"9007199254740992", "9007199254740993", "-9007199254740993", "1e300"})
        EXPECT_NE(refusal(with_values(std::string("[1,") + value + "]")).find("9007199254740991 is missing"),
                  std::string::npos)
            << value;
}

TEST(XgboostJson, NamesOfFeaturesAreDistinct) {
    const auto with_names = [](const std::string& names) {
        std::string text = model_text({.features = R"("3")"});
        return text.replace(text.find(R"("feature_names":[])"), strlen(R"("feature_names":[])"),
                            R"("feature_names":)" + names);
    };
    EXPECT_EQ(refusal(with_names(R"(["c","a","b"])")), "");
    EXPECT_EQ(refusal(with_names(R"(["a","b","a"])")), "feature_names has \"a\" twice.");
}

// With many features, finding those with given categories is no matter of both numbers' product.
TEST(XgboostJson, CategoriesOfManyFeatures) {
    constexpr size_t count = 30000;
    std::string given;
    for (size_t f = count; f-- > 0;) given += (given.empty() ? "{" : ",") + format("\"f%zu\":[\"x%zu\"]", f, f);
    const std::string text = model_text(
        {.trees = stump(R"(,"split_indices":[0,0,0],"left_children":[-1,-1,-1])"), .features = std::to_string(count)});
    btml::test::ImpatientContext context;
    const ImportedModel imported = read_xgboost(text, given + "}", context);
    for (size_t f = 0; f < count; f++)
        EXPECT_EQ(imported.model.features[f].categories, std::vector<std::string>{format("x%zu", f)});
    EXPECT_GT(context.polls, 10u);
    EXPECT_EQ(refusal(text, R"({"g": ["a"]})"), format("\"g\" is none of its %zu features.", count));
}

TEST(XgboostJson, TreesStandInTheOrderOfSums) {
    const auto leaf = [](const std::string& value) {
        return R"({"left_children":[-1],"right_children":[-1],"split_indices":[0],"split_conditions":[)" + value +
               R"(],"default_left":[0]})";
    };
    // Two classes, two trees of each in an iteration.
    Form form{.tree_info = "[0,0,1,1,0,0,1,1]", .objective = "multi:softmax", .classes = "\"2\""};
    form.trees = "";
    for (const char* const value : {"1", "2", "3", "4", "5", "6", "7", "8"})
        form.trees += (form.trees.empty() ? "" : ",") + leaf(value);
    form.more_of_model = R"(,"gbtree_model_param":{"num_parallel_tree":"2","num_trees":"8"})";
    const auto values = [](const Model& model) {
        std::vector<double> found;
        for (const Tree& tree : model.trees) found.push_back(tree[0].value);
        return found;
    };
    EXPECT_EQ(values(read(model_text(form))), (std::vector<double>{1, 3, 2, 4, 5, 7, 6, 8}));
    form.attributes = R"({"best_iteration":"0","best_score":"1"})";
    EXPECT_EQ(values(read(model_text(form))), (std::vector<double>{1, 3, 2, 4}));
    form.attributes = R"({"best_iteration":"7"})";
    EXPECT_EQ(read(model_text(form)).trees.size(), 8u);
    form.tree_info = "[0,0,0,1,0,0,1,1]";
    EXPECT_EQ(refusal(model_text(form)), "Its classes have different numbers of trees.");
    form.tree_info = "[0,0,9,1,0,0,1,1]";
    EXPECT_EQ(refusal(model_text(form)), "Tree 2 is of class 9, of 2.");
    form.tree_info = "[0]";
    EXPECT_EQ(refusal(model_text(form)), "It has 8 trees, and tree_info of 1.");
}

// XGBoost's own sums, written down plainly with the C library's function of floats.
TEST(XgboostJson, SoftmaxTakesDifferencesOfFloats) {
    double worst = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        RandomStream random(seed, 1);
        const size_t count = 2 + seed % 5;
        std::vector<double> scores;
        for (size_t i = 0; i < count; i++) scores.push_back(static_cast<float>(160 * random.unit() - 80));
        std::vector<float> expected(scores.begin(), scores.end());
        const float largest = *std::max_element(expected.begin(), expected.end());
        double sum = 0;
        for (float& x : expected) sum += x = std::exp(x - largest);
        for (float& x : expected) x /= static_cast<float>(sum);
        softmax(scores, true);
        for (size_t i = 0; i < count; i++) {
            if (expected[i] < 1e-37F) continue; // there floats have fewer digits
            const double ulp = std::ldexp(1.0, std::ilogb(expected[i]) - 23);
            worst = std::max(worst, std::fabs(scores[i] - expected[i]) / ulp);
        }
    }
    EXPECT_LT(worst, 4);
}

TEST(XgboostJson, WeightsOfDartAreInTheLeaves) {
    std::string text = model_text({});
    const auto replace = [&](const std::string& from, const std::string& to) {
        text.replace(text.find(from), from.size(), to);
    };
    replace(R"("gradient_booster":{)", R"("gradient_booster":{"gbtree":{)");
    replace(R"("name":"gbtree"})", R"("name":"gbtree"},"name":"dart","weight_drop":[3.3333334E-1]})");
    EXPECT_EQ(scores_by_walking(read(text), std::vector{1.0, 0.0})[0], static_cast<double>(2 * 3.3333334E-1F));
    replace("[3.3333334E-1]", "[]");
    EXPECT_EQ(refusal(text), "It has 0 weights of 1 trees.");
}

TEST(XgboostJson, RefusesByName) {
    const auto replaced = [](std::string text, const std::string& from, const std::string& to) {
        text.replace(text.find(from), from.size(), to);
        return text;
    };
    const std::string text = model_text({});
    EXPECT_EQ(refusal(replaced(text, R"("name":"gbtree")", R"("name":"gblinear")")), "It has no trees.");
    EXPECT_EQ(refusal(replaced(text, R"("name":"gbtree")", R"("name":"forest")")),
              "Its booster is neither gbtree nor dart.");
    EXPECT_EQ(refusal(model_text({.targets = "\"2\""})), "A prediction is one number.");
    EXPECT_EQ(refusal(model_text({.trees = stump(R"(,"tree_param":{"size_leaf_vector":"2"})")})),
              "A leaf of theirs has a number for each of several targets.");
    EXPECT_EQ(refusal(model_text({.objective = "binary:hinge"})), "Their link is not known.");
    EXPECT_EQ(refusal(model_text({.objective = "reg:squarederror", .classes = "\"3\""})),
              "It has 3 classes of objective reg:squarederror.");
    EXPECT_EQ(refusal("{}"), "It has no learner.");
    EXPECT_EQ(refusal("[]"), "Byte 1: an object is missing.");
    EXPECT_EQ(refusal(model_text({.features = "\"x\""})), "Byte 400: num_feature is no whole number.");
    EXPECT_EQ(refusal(model_text({.features = "0"})), "It has no num_feature, or 0.");
}

TEST(XgboostJson, RefusesTreesThatAreNone) {
    const std::pair<const char*, const char*> members[] = {
        {R"("left_children":[])", "Tree 0 has 0 left_children."},
        {R"("right_children":[2,-1])", "Tree 0 has 2 right_children for 3 nodes."},
        {R"("left_children":[0,-1,-1])", "Node 0 of tree 0 has two parents."},
        {R"("left_children":[-2,-1,-1])", "Tree 0 of 3 nodes has a child with the number -2."},
        {R"("left_children":[2,-1,-1])", "Node 2 of tree 0 has two parents."},
        {R"("left_children":[3,-1,-1])", "Tree 0 of 3 nodes has a child with the number 3."},
        {R"("right_children":[-7,-1,-1])", "Tree 0 of 3 nodes has a child with the number -7."},
        {R"("split_indices":[2,0,0])", "A tree splits feature 2 of 2."},
        {R"("split_indices":[2147483647,0,0])", "A tree splits feature 2147483647 of 2."},
        {R"("split_conditions":[1,NaN,2])", "The value of leaf 1 of tree 0 is not finite."},
        {R"("categories_nodes":[0])", "Tree 0 has 1 categories_nodes, 0 categories_segments and 0 categories_sizes."},
        {R"("categories_nodes":[9],"categories_segments":[0],"categories_sizes":[0])",
         "Tree 0 has a set of categories that is not there."},
        {R"("categories_nodes":[0],"categories_segments":[0],"categories_sizes":[5])",
         "Tree 0 has a set of categories that is not there."},
    };
    for (const auto& [member, said] : members)
        EXPECT_EQ(refusal(model_text({.trees = stump(std::string(",") + member)})), said) << member;
}

// Every beginning of a text is refused, and takes no more memory than there is.
TEST(XgboostJson, RefusesTruncatedTexts) {
    const std::string text = model_text({});
    for (size_t size = 0; size < text.size(); size++) EXPECT_NE(refusal(text.substr(0, size)), "") << size;
    QuietContext small(1, 10000);
    try {
        read_xgboost(model_text({.features = "4294967295"}), "", small);
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::memory_limit);
    }
    EXPECT_EQ(small.memory().used(), 0u);
}

} // namespace
} // namespace btml::boosting::test
