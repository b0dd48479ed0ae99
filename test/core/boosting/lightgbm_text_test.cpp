#include "boosting_data.hpp"
#include "caught.hpp"
#include "core/boosting/exchange/lightgbm_text.hpp"
#include "core/boosting/trees/boosting_predictor.hpp"
#include "walking.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace btml::boosting::test {
namespace {

using btml::test::Caught;
using btml::test::caught;
using btml::test::ImpatientContext;

const double nan = std::numeric_limits<double>::quiet_NaN();

// A stump by feature 0: x ≤ 1 → 1, else 2.
struct Form {
    std::string head = "version=v4\nnum_tree_per_iteration=1\nmax_feature_idx=1\nobjective=regression\n"
                       "feature_names=x y\nfeature_infos=[0:1] none\n";
    std::string num_leaves = "2", split_feature = "0", threshold = "1", decision_type = "2", left_child = "-1",
                right_child = "-2", leaf_value = "1 2", leaf_count = "3 4", more = "", rest = "";
};

std::string model_text(const Form& form) {
    return "tree\n" + form.head + "\nTree=0\nnum_leaves=" + form.num_leaves +
           "\nnum_cat=0\nsplit_feature=" + form.split_feature + "\nsplit_gain=5\nthreshold=" + form.threshold +
           "\ndecision_type=" + form.decision_type + "\nleft_child=" + form.left_child +
           "\nright_child=" + form.right_child + "\nleaf_value=" + form.leaf_value + "\nleaf_count=" + form.leaf_count +
           "\n" + form.more + "shrinkage=1\n\n\nend of trees\n\n" + form.rest;
}

Model read(const std::string& text, const std::string& categories = "") {
    QuietContext context;
    return read_lightgbm(text, categories, context).model;
}

Caught refusal(const std::string& text, const std::string& categories = "") {
    return caught([&] { read(text, categories); });
}

double score(const Model& model, double x, double y = 0) {
    const std::vector<double> row{x, y};
    QuietContext context;
    const double found = scores_by_walking(model, row)[0];
    EXPECT_EQ(Predictor(model, context).scores(row)[0], found);
    return found;
}

TEST(LightGbmText, AStump) {
    const Model model = read(model_text({}));
    EXPECT_EQ(score(model, 1), 1);
    EXPECT_EQ(score(model, std::nextafter(1.0, 2)), 2);
    EXPECT_EQ(model.trees[0][0].rows, 7);
    EXPECT_EQ(model.rows, 7u);
    EXPECT_EQ(model.trees[0][0].gain, 5);
    EXPECT_EQ(score(read("tree\r\n" + model_text({}).substr(5)), 1), 1);
}

// Of missing type none NaN is 0; of zero, numbers near 0 and NaN go to the default side; of NaN, NaN alone.
TEST(LightGbmText, MissingValues) {
    struct Case {
        const char *type, *threshold;
        double of_missing, of_zero;
    };
    for (const Case& c : {Case{"0", "1", 1, 1}, Case{"2", "1", 1, 1}, Case{"0", "-1", 2, 2}, Case{"2", "-1", 2, 2},
                          Case{"4", "1", 2, 2}, Case{"6", "1", 1, 1}, Case{"4", "-1", 2, 2}, Case{"6", "-1", 1, 1},
                          Case{"8", "1", 2, 1}, Case{"10", "1", 1, 1}, Case{"8", "-1", 2, 2}, Case{"10", "-1", 1, 2}}) {
        SCOPED_TRACE(std::string(c.type) + " " + c.threshold);
        const Model model = read(model_text({.threshold = c.threshold, .decision_type = c.type}));
        for (const double x : {null_number, nan}) EXPECT_EQ(score(model, x), c.of_missing);
        for (const double x : {0.0, -0.0, 1e-35, -1e-36}) EXPECT_EQ(score(model, x), c.of_zero);
        for (const double x : {-0.5, -2e-35}) EXPECT_EQ(score(model, x), *c.threshold == '1' ? 1 : 2);
        EXPECT_EQ(score(model, 5), 2);
        EXPECT_EQ(score(model, -5), 1);
    }
    EXPECT_EQ(refusal(model_text({.decision_type = "12"})).detail, "Line 9: decision_type 0 of the tree is 12.");
}

TEST(LightGbmText, ThresholdsThatAreNotFinite) {
    static constexpr double infinity = std::numeric_limits<double>::infinity();
    const Model all = read(model_text({.threshold = "inf", .decision_type = "8"})),
                none = read(model_text({.threshold = "nan", .decision_type = "10"})),
                least = read(model_text({.threshold = "-inf", .decision_type = "8"}));
    for (const double x : {-infinity, 0.0, infinity}) {
        EXPECT_EQ(score(all, x), 1);
        EXPECT_EQ(score(none, x), 2);
        EXPECT_EQ(score(least, x), x == -infinity ? 1 : 2);
    }
    EXPECT_EQ(score(all, null_number), 2);
    EXPECT_EQ(score(none, null_number), 1);
}

// Two stumps of one feature, whose zeros are missing in the first.
Caught mixed(const std::string& type, const std::string& threshold) {
    std::string text = model_text({.decision_type = "4"});
    const std::string other = model_text({.threshold = threshold, .decision_type = type});
    const size_t begin = other.find("Tree="), end = other.find("end of trees");
    text.insert(text.find("end of trees"), other.substr(begin, end - begin));
    return refusal(text);
}

TEST(LightGbmText, ZerosAreMissingEverywhereOrNowhere) {
    EXPECT_FALSE(mixed("0", "1").thrown); // NaN and zeros go the same way
    EXPECT_FALSE(mixed("10", "1").thrown);
    EXPECT_EQ(mixed("8", "1").code, ErrorCode::not_supported);
    EXPECT_EQ(mixed("0", "1e-36").code, ErrorCode::not_supported);
}

Form categorical() {
    Form form;
    form.threshold = "0";
    form.decision_type = "1";
    form.more = "cat_boundaries=0 2\ncat_threshold=6 1\n"; // 1, 2 and 32
    return form;
}

std::string with_sets(std::string text) {
    return text.replace(text.find("num_cat=0"), 9, "num_cat=1");
}

TEST(LightGbmText, Categories) {
    const std::string text = with_sets(model_text(categorical()));
    const Model model = read(text);
    EXPECT_EQ(model.features[0].categories, (std::vector<std::string>{"1", "2", "32"}));
    EXPECT_EQ(model.features[0].type, "bigint");
    for (const double code : {0.0, 1.0, 2.0}) EXPECT_EQ(score(model, code), 1);
    for (const double code : {-1.0, 3.0, null_number}) EXPECT_EQ(score(model, code), 2);
    std::string names = R"({"x": [)";
    for (int i = 0; i < 33; i++) names += format("%s\"n%02d\"", i ? "," : "", 99 - i);
    const Model named = read(text, names + "]}");
    EXPECT_EQ(named.features[0].categories[0], "n67"); // of code 32
    EXPECT_EQ(named.trees[0][0].categories, (std::vector<uint32_t>{0, 30, 31}));
    EXPECT_EQ(named.features[0].type, "text");
    EXPECT_EQ(refusal(text, R"({"x": ["a", "b"]})").message,
              "feature \"x\" has 2 categories, the model splits by one of the code 32");
    EXPECT_EQ(refusal(text, names + R"(], "z": []})").message, "model has no feature \"z\"");
    EXPECT_EQ(refusal(text, names + R"(], "x": [[]]})").message, "invalid categories");
    EXPECT_EQ(refusal(text, "[]").detail, "Byte 1: an object is missing.");
    EXPECT_EQ(refusal(text, names + ", \"n98\"]}").message, "feature \"x\" has the category \"n98\" twice");
}

TEST(LightGbmText, TypesOfCategories) {
    const std::string text = with_sets(model_text(categorical()));
    const auto type = [&](const std::string& first) {
        std::string names = R"({"x": [)" + first;
        for (int i = 1; i < 33; i++) names += "," + std::to_string(i);
        return read(text, names + "]}").features[0].type;
    };
    EXPECT_EQ(type("-7"), "bigint");
    EXPECT_EQ(type("0.5"), "double precision");
    EXPECT_EQ(type("\"a\""), "text");
    EXPECT_EQ(type("true"), "text");
    EXPECT_EQ(read(text, R"({"y": [false, true]})").features[1].type, "boolean");
}

// An array of LightGBM's codes predicts what it does there, with more than ten of them as well.
TEST(LightGbmText, CodesAreThose) {
    Form form = categorical();
    form.more = "cat_boundaries=0 1\ncat_threshold=1540\n"; // 2, 9 and 10
    form.head.replace(form.head.find("[0:1]"), 5, "-1:11:3:0:1:2:4:5:6:7:8:9:10");
    const Model model = read(with_sets(model_text(form)));
    for (const double code : {0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0})
        EXPECT_EQ(score(model, code), code == 2 || code == 9 || code == 10 ? 1 : 2) << code;
}

TEST(LightGbmText, PandasCategories) {
    Form form = categorical();
    form.more = "cat_boundaries=0 1\ncat_threshold=2\n";
    form.rest = "parameters:\n[categorical_feature: 0]\nend of parameters\n\npandas_categorical:[[\"b\", \"a\"]]\n";
    const Model model = read(with_sets(model_text(form)));
    EXPECT_EQ(model.features[0].categories, (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(score(model, 0), 1); // "a" is the code 1 there
    EXPECT_EQ(score(model, 1), 2);
    form.rest = "pandas_categorical:[[\"b\", \"a\"]]\n";
    EXPECT_EQ(refusal(with_sets(model_text(form))).message,
              "LightGBM model does not say whether feature \"x\" has one of its 1 lists of categories");
    EXPECT_FALSE(refusal(with_sets(model_text(form)), R"({"x": ["b", "a"]})").thrown);
    form.rest = "[categorical_feature: 7]\npandas_categorical:[[]]\n";
    EXPECT_EQ(refusal(with_sets(model_text(form))).detail, "Line 27: there is no feature 7.");
    form.rest = "pandas_categorical:[[\n";
    EXPECT_EQ(refusal(with_sets(model_text(form))).detail,
              "pandas_categorical: Byte 3: the text ends where a value is missing.");
}

// A model whose trees split feature `splits` as a category, with what training saw and what the end of the text says.
struct Naming {
    std::string infos, categorical, pandas, splits = "1", more_of_head = "";
};

ImportedModel read_naming(const Naming& naming, RunContext& context) {
    Form form;
    form.head = "version=v4\nnum_tree_per_iteration=1\nmax_feature_idx=2\nobjective=regression\nfeature_names=x y z\n"
                "feature_infos=" +
                naming.infos + "\n" + naming.more_of_head;
    form.rest = "[categorical_feature: " + naming.categorical + "]\npandas_categorical:" + naming.pandas + "\n";
    form.split_feature = naming.splits.empty() ? "0" : naming.splits;
    if (naming.splits.empty()) return read_lightgbm(model_text(form), "", context);
    form.threshold = "0";
    form.decision_type = "1";
    form.more = "cat_boundaries=0 1\ncat_threshold=2\n";
    return read_lightgbm(with_sets(model_text(form)), "", context);
}

// Returns the first category of each feature, or "-".
std::string first_names(const Naming& naming, bool told = false) {
    QuietContext context;
    try {
        const ImportedModel imported = read_naming(naming, context);
        EXPECT_EQ(!imported.notices.empty(), told);
        std::string names;
        for (const Feature& feature : imported.model.features)
            names += feature.categories.empty() ? "-" : feature.categories[0];
        return names;
    } catch (const Error& error) {
        return error.message();
    }
}

TEST(LightGbmText, ListsOfOrderedColumns) {
    const std::string uncertain =
        "LightGBM model does not say whether feature \"y\" has one of its 1 lists of categories";
    const std::string two = R"([["a", "b"]])", both = R"([["a", "b"], ["c", "d", "e"]])";
    // Trees that split numbers need no names, whatever the lists are.
    EXPECT_EQ(first_names({"[0:1] [0:9] [-2:2]", "", two, ""}), "---");
    EXPECT_EQ(first_names({"[-3:1] [0:9] [0:99]", "", both, ""}), "---");
    // Feature y alone can have the list, or x and y can have both in one way.
    EXPECT_EQ(first_names({"[-1.5:2] 0:1 [0:4]", "1", two}), "-a-");
    EXPECT_EQ(first_names({"[0:1] 0:1:2 [0:4]", "1", both}), "-c-");
    // Another might have it: where all categorical features have a list then, this is told; else it is refused.
    EXPECT_EQ(first_names({"[0:1] 0:1 [-1:1]", "1", two}, true), "-a-");
    EXPECT_EQ(first_names({"none 0:1 [-1:1]", "1", two}, true), "-a-");
    EXPECT_EQ(first_names({"[0:1] 0:1 0:1", "1,2", two}), uncertain);
    // More codes than names: y is a column of integers, and the list is of x.
    EXPECT_EQ(first_names({"[0:1] 0:1:2 [-1:1]", "1", two}), "-0-");
    EXPECT_EQ(first_names({"[0:1] 1:0:7 0:1:2", "1,2", both}), "-0c");
    // Lists that cannot be placed at all.
    EXPECT_EQ(first_names({"[0:9] 0:1:2 [0:9]", "1", two}), uncertain);
    // Texts from here say whose they are.
    EXPECT_EQ(first_names({"[0:1] 0:1 [0:1]", "1", two, "1", "pandas_features=1\n"}), "-a-");
    EXPECT_EQ(first_names({"[0:1] 0:1 [0:1]", "1", two, "1", "pandas_features=7\n"}), "invalid LightGBM model");
    EXPECT_EQ(first_names({"[0:1] 0:1 [0:1]", "1", two, "1", "pandas_features=1 2\n"}), "invalid LightGBM model");
}

TEST(LightGbmText, Objectives) {
    const auto with = [](const std::string& objective, const std::string& scores = "1") {
        Form form;
        form.head.replace(form.head.find("objective=regression"), 20, objective);
        form.head.replace(form.head.find("iteration=1"), 11, "iteration=" + scores);
        return model_text(form);
    };
    Model model = read(with("objective=binary sigmoid:0.5"));
    EXPECT_EQ(model.link(), Link::logistic);
    EXPECT_NEAR(predict_by_walking(model, std::vector{5.0, 0.0}), 1 / (1 + std::exp(-1.0)), 1e-15);
    EXPECT_EQ(model.labels, (std::vector<std::string>{"0", "1"}));
    model = read(with("objective=cross_entropy_lambda"));
    for (const double x : {1.0, 5.0})
        EXPECT_NEAR(predict_by_walking(model, std::vector{x, 0.0}), std::log1p(std::exp(x == 1 ? 1 : 2)), 1e-15);
    model = read(with("objective=regression sqrt"));
    EXPECT_EQ(predict_by_walking(model, std::vector{5.0, 0.0}), 4);
    model = read(with("unknown=1"));
    EXPECT_EQ(model.link(), Link::identity);
    EXPECT_EQ(model.imported->objective, "custom");
    EXPECT_EQ(refusal(with("objective=lottery")).code, ErrorCode::not_supported);
    EXPECT_EQ(refusal(with("objective=binary sigmoid:-1")).detail, "Line 5: sigmoid is not positive.");
    EXPECT_EQ(refusal(with("objective=regression", "2")).code, ErrorCode::not_supported);
    EXPECT_EQ(refusal(with("objective=multiclass num_class:1")).code, ErrorCode::not_supported);
    EXPECT_EQ(refusal(with("objective=multiclass num_class:2", "2")).detail,
              "It has 1 trees, which is no multiple of the 2 of an iteration.");
}

// ln(1 + e^x) within 4 units of the last place.
TEST(LightGbmText, SoftplusIsExact) {
    for (double x = -600; x < 700; x += 0.37) {
        const double exact = static_cast<double>(std::log1p(std::exp(static_cast<long double>(x))));
        EXPECT_NEAR(softplus(x), exact, 4 * (std::nextafter(exact, HUGE_VAL) - exact)) << x;
    }
}

TEST(LightGbmText, MeansOverIterations) {
    Form form;
    form.head += "average_output\n";
    std::string text = model_text(form);
    const std::string tree = text.substr(text.find("Tree="), text.find("end of trees") - text.find("Tree="));
    text.insert(text.find("end of trees"), tree + tree);
    const Model model = read(text);
    EXPECT_EQ(score(model, 5), 2);
    QuietContext context;
    EXPECT_EQ(Predictor(model, context).scores(std::vector{5.0, 0.0}, 1)[0], 2);
    EXPECT_EQ(Predictor(model, context).scores(std::vector{5.0, 0.0}, 0)[0], 0);
}

TEST(LightGbmText, RefusesWhatIsNoTree) {
    struct Case {
        Form form;
        const char* said;
    };
    const Case cases[] = {
        {{.num_leaves = "0"}, "Line 10: num_leaves is out of range."},
        {{.num_leaves = "3"}, "Line 18: leaf_value has 2 numbers, 3 are needed."},
        {{.num_leaves = "1000000000"}, "Line 18: leaf_value has 2 numbers, 1000000000 are needed."},
        {{.num_leaves = "99999999999999999999"},
         "Line 10: num_leaves has \"99999999999999999999\", which is no such number or out of range."},
        {{.num_leaves = "-1"}, "Line 10: num_leaves has \"-1\", which is no such number or out of range."},
        {{.split_feature = "2"}, "Line 9: node 0 of the tree splits feature 2 of 2."},
        {{.split_feature = "-1"}, "Line 9: node 0 of the tree splits feature -1 of 2."},
        {{.split_feature = "0 1"}, "Line 12: split_feature has more than 1 numbers."},
        {{.threshold = "x"}, "Line 14: threshold has \"x\", which is no such number or out of range."},
        {{.threshold = "1e999"}, "Line 14: threshold has \"1e999\", which is no such number or out of range."},
        {{.decision_type = "1"}, "Line 9: node 0 of the tree has no set of categories."},
        {{.left_child = "0"}, "Node 0 of tree 0 has two parents."},
        {{.left_child = "1"}, "Line 9: node 0 of the tree has a child with the number 1."},
        {{.left_child = "-3"}, "Line 9: node 0 of the tree has a child with the number -3."},
        {{.left_child = "-2147483648"}, "Line 9: node 0 of the tree has a child with the number -2147483648."},
        {{.left_child = "-2"}, "Node 2 of tree 0 has two parents."},
        {{.leaf_value = "1 nan"}, "Line 9: the value of leaf 1 of the tree is not finite."},
        {{.leaf_value = "1 \xff"}, "Line 18: leaf_value has \"\xff\", which is no such number or out of range."},
        {{.leaf_count = "1 -1"}, "Line 9: the count of leaf 1 of the tree is negative or too large."},
        {{.more = "is_linear=1\n"}, "A leaf of theirs is a function of features, not a number."},
    };
    for (const Case& c : cases) EXPECT_EQ(refusal(model_text(c.form)).detail, c.said);
    EXPECT_EQ(refusal(model_text({.more = "is_linear=1\n"})).message,
              "LightGBM model has linear trees, which are not supported");
    EXPECT_EQ(refusal(with_sets(model_text({}))).detail, "The tree of line 9 has no cat_boundaries.");
    const auto with_boundaries = [](const char* lines) {
        Form form = categorical();
        form.more = lines;
        return refusal(with_sets(model_text(form))).detail;
    };
    EXPECT_EQ(with_boundaries("cat_boundaries=1 2\ncat_threshold=1\n"),
              "Line 20: cat_boundaries do not ascend from 0.");
    EXPECT_EQ(with_boundaries("cat_boundaries=0 2\ncat_threshold=1\n"),
              "Line 21: cat_threshold has 1 numbers, 2 are needed.");
    EXPECT_EQ(with_boundaries("cat_boundaries=0 4294967295\ncat_threshold=1\n"),
              "Line 21: cat_threshold has 1 numbers, 4294967295 are needed.");
}

TEST(LightGbmText, RefusesHeaders) {
    const auto with = [](const std::string& from, const std::string& to) {
        std::string text = model_text({});
        return refusal(text.replace(text.find(from), from.size(), to)).detail;
    };
    EXPECT_EQ(refusal("").detail, "The first line is not \"tree\".");
    EXPECT_EQ(refusal("tree").detail, "The header has no version.");
    EXPECT_EQ(with("v4", "v5"), "Line 2: the version is \"v5\", not v2, v3 or v4.");
    EXPECT_EQ(with("iteration=1", "iteration=0"), "Line 3: num_tree_per_iteration is not between 1 and 1000.");
    EXPECT_EQ(with("iteration=1", "iteration=1000000000"), "Line 3: num_tree_per_iteration is not between 1 and 1000.");
    EXPECT_EQ(with("feature_names=x y", "feature_names=x"),
              "Line 6: there are 1 feature_names, max_feature_idx says 2.");
    EXPECT_EQ(with("max_feature_idx=1", "max_feature_idx=4294967295"),
              "Line 6: there are 2 feature_names, max_feature_idx says 4294967296.");
    EXPECT_EQ(with("feature_names=x y", "feature_named=x y"), "The header has no feature_names.");
    EXPECT_EQ(with("feature_names=x y", "feature_names=x x"), "Line 6: feature_names has \"x\" twice.");
    const std::string digits(2001, '1');
    EXPECT_EQ(with("max_feature_idx=1", "max_feature_idx=" + digits),
              "Line 4: max_feature_idx has a number of more than 2000 characters.");
    EXPECT_EQ(refusal(model_text({.rest = "[categorical_feature: 0,1,0]\npandas_categorical:[[\"a\"]]\n"})).detail,
              "Line 25: more features are categorical than there are.");
}

// Up to the trees' end every beginning is refused; none takes more memory than there is.
TEST(LightGbmText, RefusesTruncatedTexts) {
    const std::string text = model_text({});
    for (size_t size = 0; size < text.find("end of trees") + 12; size++)
        EXPECT_TRUE(refusal(text.substr(0, size)).thrown) << size;
    QuietContext small(1, 1000);
    EXPECT_EQ(caught([&] { read_lightgbm(text, "", small); }).code, ErrorCode::memory_limit);
    EXPECT_EQ(small.memory().used(), 0u);
}

std::string written(const Model& model) {
    QuietContext context;
    const Buffer<char> text = write_lightgbm(model, context);
    return {text.data(), text.size()};
}

// A NULL category cannot come back: LightGBM knows it by a code of its own.
TEST(LightGbmText, WritesWhatItReads) {
    for (uint64_t seed = 0; seed < 40; seed++) {
        SCOPED_TRACE(format("seed %d", static_cast<int>(seed)));
        DataShape shape;
        shape.odd_numbers = seed % 3 == 0;
        shape.weights = seed % 4 == 1;
        shape.distinct = seed % 2 ? 12 : 0;
        Options options;
        options.trees = 1 + static_cast<int>(seed % 12);
        options.max_leaves = 2 + static_cast<int>(3 * seed);
        options.min_leaf_rows = 1;
        Model model = fit_plain(random_data(shape, seed), options);
        if (seed == 5) model.trees.clear();
        const std::string text = written(model);
        const Model again = read(text);
        EXPECT_EQ(written(again).size() > 0, true);
        EXPECT_EQ(again.iterations(), std::max<size_t>(1, model.iterations()));
        Random random(seed);
        for (int i = 0; i < 300; i++) {
            std::vector<double> row, row_there;
            for (size_t f = 0; f < model.features.size(); f++) {
                const Feature& feature = model.features[f];
                double x =
                    feature.categorical ? std::floor(14 * random.unit()) - 2 : std::floor(28 * random.unit()) / 2 - 7;
                if (!feature.categorical && random.chance(0.3))
                    x = random.chance(0.5) ? null_number : random.chance(0.5) ? HUGE_VAL : -HUGE_VAL;
                if (feature.categorical && random.chance(0.1)) x = null_number;
                row.push_back(x);
                // The place of the category there.
                const std::vector<std::string>& names = again.features[f].categories;
                const auto code_there = [&](const std::string& name) {
                    const auto found = std::find(names.begin(), names.end(), name);
                    return found == names.end() ? -1.0 : static_cast<double>(found - names.begin());
                };
                if (feature.categorical && !is_null(x))
                    x = code_of(x, feature.categories.size()) < feature.categories.size()
                            ? code_there(feature.categories[static_cast<size_t>(x)])
                            : -1;
                row_there.push_back(x);
            }
            EXPECT_EQ(scores_by_walking(again, row_there), scores_by_walking(model, row));
        }
    }
}

// NULL has a code in LightGBM's model, which is no name here, whatever the names are.
TEST(LightGbmText, NullsAndTypesComeBack) {
    const std::pair<const char*, std::vector<std::string>> features[] = {{"boolean", {"false", "true"}},
                                                                         {"bigint", {"-1", "9", "10"}},
                                                                         {"text", {"(null)"}},
                                                                         {"text", {"((null))", "(null)"}},
                                                                         {"text", {"(null)", "a"}},
                                                                         {"boolean", {"true"}},
                                                                         {"text", {"(null", "a"}},
                                                                         {"double precision", {"-1e-07", "2", "10"}},
                                                                         {"double precision", {"9", "10"}}};
    for (const auto& [type, names] : features)
        for (const bool null_left : {true, false}) {
            Model model;
            model.features = {{"f", type, true, names}};
            model.bases = {0};
            Tree tree(3);
            tree[0].feature = 0, tree[0].left = 1, tree[0].right = 2, tree[0].rows = 2;
            tree[0].categories = {0}, tree[0].null_left = null_left;
            tree[1].parent = tree[2].parent = 0;
            tree[1].rows = tree[2].rows = 1;
            tree[1].value = 1, tree[2].value = 2;
            model.trees = {tree};
            const Model again = read(written(model));
            EXPECT_EQ(again.features[0].type, type);
            EXPECT_EQ(again.features[0].categories, names);
            for (const double x : {null_number, 0.0, 1.0, -1.0})
                EXPECT_EQ(scores_by_walking(again, std::vector{x}), scores_by_walking(model, std::vector{x})) << x;
        }
}

TEST(LightGbmText, WritesNamesThatLightGbmTakes) {
    Model model;
    model.features = {{"a b", "integer", false, {}},
                      {"a_b", "integer", false, {}},
                      {"{\"c\"}", "text", true, {"\n", "\"\\"}},
                      {"", "integer", false, {}}};
    const std::string text = written(model);
    EXPECT_NE(text.find("\nfeature_names=a_b a_b_2 __c__ _\n"), std::string::npos) << text;
    EXPECT_NE(text.find(R"(pandas_categorical:[["\u000a", "\"\\"]])"), std::string::npos) << text;
    EXPECT_EQ(read(text).features[2].categories, model.features[2].categories);
}

TEST(LightGbmText, CountsAreWholeNumbers) {
    Form form;
    form.leaf_count = "3e9 1e9";
    EXPECT_NE(written(read(model_text(form))).find("leaf_count=750000000 250000000\ninternal_count=1000000000\n"),
              std::string::npos);
    form.leaf_count = "0.5 0.25";
    EXPECT_NE(written(read(model_text(form))).find("leaf_count=666666667 333333333\n"), std::string::npos);
    form.leaf_count = "0 7";
    EXPECT_NE(written(read(model_text(form))).find("leaf_count=1 7\n"), std::string::npos);
}

TEST(LightGbmText, WhatHasNoFormIsRefused) {
    Model model = read(model_text({}));
    model.imported->single_precision = true;
    EXPECT_EQ(caught([&] { written(model); }).code, ErrorCode::not_supported);
    model.imported.reset();
    model.offset = 1;
    EXPECT_EQ(caught([&] { written(model); }).code, ErrorCode::not_supported);
}

// One line of nothing but spaces, and one word, are polled within.
TEST(LightGbmText, LongLinesCanBeCancelled) {
    constexpr size_t size = 40000000;
    for (const char c : {' ', 'x'}) {
        const std::string text = model_text({.head = "objective=" + std::string(size, c) + "\n"});
        ImpatientContext context(20);
        EXPECT_THROW(read_lightgbm(text, "", context), Cancelled);
    }
    const std::string text = model_text({.threshold = std::string(size, ' ') + "1"});
    ImpatientContext patient;
    EXPECT_EQ(read_lightgbm(text, "", patient).model.trees.size(), 1u);
    EXPECT_GT(patient.polls, 150u); // once to find the line's end, once to find the number
}

TEST(LightGbmText, ReadingCanBeCancelled) {
    std::string text = model_text({});
    const std::string tree = text.substr(text.find("Tree="), text.find("end of trees") - text.find("Tree="));
    std::string many;
    for (int i = 0; i < 20000; i++) many += tree;
    text.insert(text.find("end of trees"), many);
    ImpatientContext patient;
    read_lightgbm(text, "", patient);
    EXPECT_GT(patient.polls, 10u);
    for (uint64_t patience = 0; patience < patient.polls; patience += 5) {
        ImpatientContext context(patience);
        EXPECT_THROW(read_lightgbm(text, "", context), Cancelled);
        EXPECT_EQ(context.memory().used(), 0u);
    }
}

} // namespace
} // namespace btml::boosting::test
