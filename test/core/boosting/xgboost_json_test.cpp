#include "caught.hpp"
#include "core/boosting/exchange/xgboost_json.hpp"
#include "walking.hpp"

#include "core/boosting/objectives/link.hpp"
#include "core/boosting/trees/boosting_predictor.hpp"
#include "core/numbers/rng.hpp"

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
    EXPECT_EQ(refusal(model_text({.base_score = "1.5", .objective = "binary:logistic"})),
              "Its base_score is 1.5, which objective binary:logistic does not take.");
    EXPECT_EQ(refusal(model_text({.base_score = "-1", .objective = "count:poisson"})),
              "Its base_score is -1, which objective count:poisson does not take.");
    EXPECT_NE(refusal(model_text({.base_score = R"("\"1\"")"})), "");
    EXPECT_NE(refusal(model_text({.base_score = R"("[1")"})).find("base_score: Byte 3"), std::string::npos);
}

// XGBoost 3.2 gives these scores to models of one class.
TEST(XgboostJson, BaseScoresOfOneClassAndOfNoCounts) {
    for (const char* const objective : {"binary:logistic", "reg:logistic"}) {
        const auto base = [&](const char* score) {
            return static_cast<float>(read(model_text({.base_score = score, .objective = objective})).bases[0]);
        };
        for (const char* const zero : {"0", "-0.0", "1E-20", "1E-6"}) EXPECT_FLOAT_EQ(base(zero), -13.81551F) << zero;
        for (const char* const one : {"1", R"("[1E0]")", "0.99999999"}) EXPECT_FLOAT_EQ(base(one), 13.74516F) << one;
    }
    for (const char* const objective : {"count:poisson", "reg:tweedie", "reg:gamma", "survival:cox"}) {
        const Model model = read(model_text({.base_score = "0", .objective = objective}));
        EXPECT_EQ(model.bases[0], static_cast<double>(std::numeric_limits<float>::lowest())) << objective;
        EXPECT_LT(predict_by_walking(model, std::vector{1.0, 0.0}), 1e-300);
    }
}

TEST(XgboostJson, ToldWhatEarlyStoppingLeavesOut) {
    const auto read_best = [](const char* best, int trees, int parallel) {
        Form form{.attributes = std::string(R"({"best_iteration":")") + best + "\"}",
                  .more_of_model = format(R"(,"gbtree_model_param":{"num_parallel_tree":"%d"})", parallel)};
        form.trees = form.tree_info = "";
        for (int t = 0; t < trees; t++) {
            form.trees += (t ? "," : "") + stump();
            form.tree_info += t ? ",0" : "[0";
        }
        form.tree_info += "]";
        QuietContext context;
        ImportedModel imported = read_xgboost(model_text(form), "", context);
        return std::pair(imported.model.trees.size(), imported.notices.empty() ? "" : imported.notices[0].message);
    };
    EXPECT_EQ(read_best("0", 24, 1),
              std::pair(size_t{1}, std::string("23 of the XGBoost model's 24 iterations are left out")));
    EXPECT_EQ(read_best("1", 9, 3),
              std::pair(size_t{6}, std::string("1 of the XGBoost model's 3 iterations are left out")));
    for (const char* const best : {"23", "24", "4294967295"})
        EXPECT_EQ(read_best(best, 24, 1), std::pair(size_t{24}, std::string())) << best;
}

TEST(XgboostJson, FeaturesWithoutNamesAreFew) {
    EXPECT_EQ(read(model_text({.features = "65535"})).features.size(), 65535u);
    EXPECT_EQ(btml::test::caught([] { read(model_text({.features = "65536"})); }).code, ErrorCode::limit_exceeded);
    QuietContext small(1, 10000);
    EXPECT_EQ(btml::test::caught([&] { read_xgboost(model_text({.features = "65535"}), "", small); }).code,
              ErrorCode::memory_limit);
    EXPECT_EQ(small.memory().used(), 0u);
    btml::test::ImpatientContext impatient(3);
    EXPECT_THROW(read_xgboost(model_text({.features = "65535"}), "", impatient), Cancelled);
}

std::string json_of(const std::string& bytes) {
    QuietContext context;
    const Buffer<char> json = json_of_ubjson(bytes, context);
    return {json.data(), json.size()};
}

TEST(XgboostUbjson, EveryTypeOfValue) {
    using namespace std::string_literals;
    const std::pair<std::string, const char*> values[] = {
        {"Z", "null"},
        {"T", "true"},
        {"F", "false"},
        {"i\xff"s, "-1"},
        {"U\xff"s, "255"},
        {"I\x80\x00"s, "-32768"},
        {"l\x7f\xff\xff\xff"s, "2147483647"},
        {"L\x80\x00\x00\x00\x00\x00\x00\x00"s, "-9223372036854775808"},
        {"d\x3e\x99\x99\x9a"s, "0.3"}, // the nearest float, which is read as a float again
        {"D\x3f\xd3\x33\x33\x33\x33\x33\x33"s, "0.3"},
        {"d\x7f\xc0\x00\x00"s, "NaN"},
        {"d\xff\x80\x00\x00"s, "-Infinity"},
        {"Ca", R"("a")"},
        {"SU\x04\"\\\n\x00"s, R"("\"\\\u000a\u0000")"},
        {"[]", "[]"},
        {"[TF]", "[true,false]"},
        {"[#U\x02TF"s, "[true,false]"},
        {"[$U#U\x03\x00\x01\x02"s, "[0,1,2]"},
        {"[$[#U\x02]T]"s, "[[],[true]]"},
        {"{U\x01"
         "aTU\x01"
         "bF}"s,
         R"({"a":true,"b":false})"},
        {"{$S#i\x01U\x01kU\x01v"s, R"({"k":"v"})"},
        {" {\"a\": 1}", " {\"a\": 1}"}, // is JSON already
    };
    for (const auto& [bytes, json] : values) EXPECT_EQ(json_of(bytes), json) << json;
    EXPECT_EQ(std::bit_cast<uint32_t>(std::strtof(json_of("d\x00\x00\x00\x01"s).c_str(), nullptr)), 1u);
}

// Every beginning is refused, a count takes no memory, and a value of one type only cannot be long without bytes.
TEST(XgboostUbjson, RefusesWhatIsNone) {
    using namespace std::string_literals;
    const auto said = [](const std::string& bytes) { return btml::test::caught([&] { json_of(bytes); }).detail; };
    const std::string whole = "{U\x01[$d#U\x02\x3e\x99\x99\x9a\x3e\x99\x99\x9aU\x01kSI\x00\x01v}"s;
    const std::string array = "{U\x01k"s + whole.substr(3);
    json_of(array);
    // A bracket alone is left to the reader of JSON.
    for (size_t size = 0; size < array.size(); size++)
        EXPECT_EQ(said(array.substr(0, size)).empty(), size == 1) << size;
    EXPECT_EQ(said("[$T#L\x00\x00\x00\xff\xff\xff\xff\xff"s), "Byte 4: values of this type have no bytes.");
    EXPECT_EQ(said("[$i#L\x00\x00\x00\xff\xff\xff\xff\xff"s),
              "Byte 14: 1099511627775 values are claimed, 0 bytes are left.");
    EXPECT_EQ(said("[$i]"s), "Byte 4: a type without a count.");
    EXPECT_EQ(said("Si\xff"s), "Byte 4: a length is negative.");
    EXPECT_EQ(said("Hi\x01"
                   "1"s),
              "Byte 1: no integer begins here.");
    EXPECT_EQ(said("TT"s), "Byte 2: bytes follow the end.");
    EXPECT_EQ(said(std::string(100, '[')), "Byte 66: values are nested more than 64 deep.");
    QuietContext context;
    try {
        read_xgboost_ubjson("{]", "", context);
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.detail(), "In its JSON form: Byte 2: a string is missing.");
    }
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

// Every beginning of a text is refused.
TEST(XgboostJson, RefusesTruncatedTexts) {
    const std::string text = model_text({});
    for (size_t size = 0; size < text.size(); size++) EXPECT_NE(refusal(text.substr(0, size)), "") << size;
}

} // namespace
} // namespace btml::boosting::test
