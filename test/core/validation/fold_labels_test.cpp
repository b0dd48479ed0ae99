// Labels of folds against their definition, on random data.
#include "boosting/boosting_data.hpp"
#include "caught.hpp"

#include "core/validation/folds.hpp"

#include <map>
#include <set>

namespace btml::validation {
namespace {

using boosting::HoldoutMetric;
using boosting::test::DataShape;
using boosting::test::PlainData;
using boosting::test::Random;
using boosting::test::to_dataset;
using btml::test::caught;

// Some rows are in no fold, or withheld, or weigh nothing.
struct Case {
    PlainData data;
    std::vector<uint16_t> of_row;
    size_t folds;
    std::map<size_t, std::set<size_t>> of_fold, others; // labels of the rows of a fold, and of those that train it
    std::vector<uint16_t> trains_from = {};             // where folds follow each other
};

Case random_case(uint64_t seed, size_t labels) {
    Random random(seed);
    DataShape shape;
    shape.rows = 3 + random.below(30);
    shape.weights = seed % 2;
    shape.fact_ids = seed % 3 == 0;
    const bool are_ordered = seed % 4 == 0;
    Case made{boosting::test::random_data(shape, seed), {}, 2 + random.below(4), {}, {}};
    PlainData& data = made.data;
    data.labels = labels;
    for (double& y : data.target) y = static_cast<double>(random.chance(0.7) ? 0 : random.below(labels));
    for (size_t row = 0; row < data.rows; row++) {
        const size_t drawn = random.below(made.folds + 2);
        const uint16_t fold = drawn < made.folds    ? static_cast<uint16_t>(drawn)
                              : drawn == made.folds ? Folds::always
                                                    : Folds::withheld;
        made.of_row.push_back(fold);
        // Now and then a gap keeps a row out of the fold that follows.
        if (are_ordered)
            made.trains_from.push_back(
                static_cast<uint16_t>((fold < made.folds ? fold + 1 : 0) + (random.chance(0.2) ? 1 : 0)));
        if (fold == Folds::withheld || data.weight_of(row) == 0) continue;
        const auto label = static_cast<size_t>(data.target[data.row_of(data.target_table, row)]);
        for (size_t other = 0; other < made.folds; other++) {
            if (other == fold)
                made.of_fold[other].insert(label);
            else if (!are_ordered || other >= made.trains_from[row])
                made.others[other].insert(label);
        }
    }
    return made;
}

Dataset dataset_of(const Case& of, RunContext& context) {
    Dataset dataset = to_dataset(of.data, context);
    dataset.labels.clear();
    for (size_t label = 0; label < of.data.labels; label++) dataset.labels.push_back(format("label %zu", label));
    return dataset;
}

Folds folds_of(const Case& of, RunContext& context) {
    Folds folds{{}, std::vector<uint64_t>(of.folds, 0), 0, 0, boosting::test::to_buffer(of.of_row, context)};
    for (size_t fold = 0; fold < of.folds; fold++) folds.names.push_back(format("fold %zu", fold));
    if (!of.trains_from.empty()) folds.trains_from = boosting::test::to_buffer(of.trains_from, context);
    return folds;
}

TEST(FoldLabels, OfTwoMustTrainAndBeScored) {
    std::map<std::string, int> seen;
    for (uint64_t seed = 0; seed < 400; seed++) {
        QuietContext context;
        Case of = random_case(seed, 2);
        std::set<size_t> all;
        for (const auto& labels : {of.of_fold, of.others})
            for (const auto& [fold, some] : labels) all.insert(some.begin(), some.end());
        if (all.size() < 2) continue;
        for (const HoldoutMetric metric :
             {HoldoutMetric::log_loss, HoldoutMetric::auc, HoldoutMetric::average_precision}) {
            std::string expected;
            for (size_t fold = of.folds; fold-- > 0;)
                if (of.others[fold].size() < 2)
                    expected = format("fold \"fold %zu\" leaves rows of one label to train on", fold);
            for (size_t fold = 0; expected.empty() && fold < of.folds; fold++) {
                const std::set<size_t>& labels = of.of_fold[fold];
                const bool is_defined = metric == HoldoutMetric::auc                 ? labels.size() == 2
                                        : metric == HoldoutMetric::average_precision ? labels.count(1) == 1
                                                                                     : true;
                if (!is_defined)
                    expected = format("metric '%s' is not defined for fold \"fold %zu\"",
                                      boosting::holdout_metric_names[static_cast<size_t>(metric)], fold);
            }
            const auto error =
                caught([&] { check_labels(dataset_of(of, context), folds_of(of, context), metric, context); });
            EXPECT_EQ(error.message, expected) << seed;
            EXPECT_EQ(error.hint.empty(), expected.empty());
            seen[expected.substr(0, 6)]++;
        }
    }
    EXPECT_GT(seen[""], 20);
    EXPECT_GT(seen["fold \""], 20);
    EXPECT_GT(seen["metric"], 20);
}

TEST(FoldLabels, InOneFoldAloneAreFound) {
    size_t found = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        QuietContext context;
        Case of = random_case(seed, 6);
        std::vector<std::string> expected, lone;
        for (size_t label = 0; label < 6; label++)
            for (size_t fold = 0; fold < of.folds; fold++)
                if (of.of_fold[fold].count(label) && !of.others[fold].count(label))
                    expected.push_back(format("label %zu in fold %zu", label, fold));
        for (const auto& [label, fold] :
             check_labels(dataset_of(of, context), folds_of(of, context), HoldoutMetric::log_loss, context))
            lone.push_back(label + " in " + fold);
        EXPECT_EQ(lone, expected) << seed;
        found += lone.size();
    }
    EXPECT_GT(found, 50u);
}

TEST(FoldLabels, NumbersHaveNone) {
    QuietContext context;
    Case of = random_case(1, 2);
    of.data.labels = 0;
    EXPECT_TRUE(check_labels(dataset_of(of, context), folds_of(of, context), HoldoutMetric::rmse, context).empty());
}

} // namespace
} // namespace btml::validation
