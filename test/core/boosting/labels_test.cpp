#include "core/boosting/target_labels.hpp"

#include "core/boosting/objectives/objective.hpp"
#include "core/numbers/rng.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

namespace btml::boosting::test {
namespace {

struct Found {
    Labels labels;
    ObjectiveNumber objective;
    std::vector<double> values;
};

Found find(std::vector<double> values, TargetKind kind, std::vector<std::string> names = {},
           ObjectiveNumber objective = ObjectiveNumber::automatic, const LabelRequest& request = {}) {
    QuietContext context;
    Buffer<double> column(context.memory(), "values", values.size());
    std::copy(values.begin(), values.end(), column.begin());
    Options options;
    options.objective = objective;
    Labels labels = find_labels({"y", kind, column, std::move(names)}, request, options, context);
    return {std::move(labels), options.objective, {column.begin(), column.end()}};
}

std::string message_of(const std::function<void()>& body) {
    try {
        body();
    } catch (const Error& error) {
        return error.message();
    }
    return "";
}

using Names = std::vector<std::string>;

TEST(Labels, ObjectiveFollowsFromTheTarget) {
    EXPECT_EQ(find({1, 2, 0.5}, TargetKind::number).objective, ObjectiveNumber::squared);
    EXPECT_EQ(find({1, 0}, TargetKind::boolean).objective, ObjectiveNumber::binary);
    EXPECT_EQ(find({1, 0}, TargetKind::label, {"a", "b"}).objective, ObjectiveNumber::binary);
    EXPECT_EQ(find({1, 0, 2}, TargetKind::label, {"a", "b", "c"}).objective, ObjectiveNumber::multiclass);
}

TEST(Labels, ZeroAndOneAreNumbersUnlessAskedFor) {
    const Found number = find({1, 0, 1}, TargetKind::number);
    EXPECT_EQ(number.objective, ObjectiveNumber::squared);
    EXPECT_TRUE(number.labels.names.empty());
    EXPECT_EQ(number.labels.notices.size(), 1u);
    EXPECT_TRUE(find({1, 1, 1}, TargetKind::number).labels.notices.empty());
    EXPECT_EQ(find({1, 0, 1}, TargetKind::number, {}, ObjectiveNumber::binary).labels.names, (Names{"0", "1"}));
    EXPECT_TRUE(find({1, 0, 0.5}, TargetKind::number, {}, ObjectiveNumber::binary).labels.names.empty());
}

TEST(Labels, WholeNumbersAreLabelsInTheirOrder) {
    for (uint64_t seed = 0; seed < 50; seed++) {
        std::vector<double> values;
        const uint64_t rows = 2 + random_bits(seed, 0, 0) % 200;
        for (uint64_t row = 0; row < rows; row++)
            values.push_back(static_cast<double>(random_bits(seed, 1, row) % 23) - 11);
        if (std::set<double>(values.begin(), values.end()).size() < 2) continue;
        const Found found = find(values, TargetKind::number, {}, ObjectiveNumber::multiclass);
        ASSERT_EQ(found.labels.names.size(), std::set<double>(values.begin(), values.end()).size());
        for (size_t row = 0; row < values.size(); row++)
            EXPECT_EQ(std::stod(found.labels.names[static_cast<size_t>(found.values[row])]), values[row]);
        for (size_t i = 1; i < found.labels.names.size(); i++)
            EXPECT_LT(std::stod(found.labels.names[i - 1]), std::stod(found.labels.names[i]));
    }
    EXPECT_EQ(find({-0.0, 1}, TargetKind::number, {}, ObjectiveNumber::multiclass).labels.names, (Names{"0", "1"}));
}

TEST(Labels, TheLeastInvalidNumberIsNamed) {
    EXPECT_NE(message_of([] {
                  find({1, 2.5, 1.25, 3}, TargetKind::number, {}, ObjectiveNumber::multiclass);
              }).find(" 1.25 "),
              std::string::npos);
    EXPECT_NE(message_of([] {
                  find({1, NAN}, TargetKind::number, {}, ObjectiveNumber::multiclass);
              }).find("NaN"),
              std::string::npos);
}

TEST(Labels, PositiveIsTheSecond) {
    LabelRequest request;
    request.positive = "a";
    const Found swapped = find({0, 1, 1}, TargetKind::label, {"a", "b"}, ObjectiveNumber::automatic, request);
    EXPECT_EQ(swapped.labels.names, (Names{"b", "a"}));
    EXPECT_EQ(swapped.values, (std::vector<double>{1, 0, 0}));
    EXPECT_TRUE(swapped.labels.notices.empty());
    request.positive = "b";
    EXPECT_EQ(find({0, 1, 1}, TargetKind::label, {"a", "b"}, ObjectiveNumber::automatic, request).values,
              (std::vector<double>{0, 1, 1}));
}

TEST(Labels, WeightsFollowTheirLabels) {
    LabelRequest request;
    request.positive = "a";
    request.weights = {{"a", 3}};
    EXPECT_EQ(find({0, 1}, TargetKind::label, {"a", "b"}, ObjectiveNumber::automatic, request).labels.weights,
              (std::vector<double>{1, 3}));
    for (const double weight : {-1.0, 1e-10, 1e10, std::nan("")}) {
        request.weights = {{"a", weight}};
        EXPECT_EQ(message_of([&] {
                      find({0, 1}, TargetKind::label, {"a", "b"}, ObjectiveNumber::automatic, request);
                  }),
                  "class_weights has " + shortest(weight) + " for the label \"a\"");
    }
}

TEST(Labels, ASingleLabelIsAConstantWhereItMayBe) {
    EXPECT_THROW(find({0, 0}, TargetKind::label, {"a"}), DegenerateTarget);
    LabelRequest request;
    request.is_of_group = true;
    request.positive = "b";
    const Found found = find({0, 0}, TargetKind::label, {"a"}, ObjectiveNumber::binary, request);
    EXPECT_EQ(found.objective, ObjectiveNumber::multiclass);
    EXPECT_EQ(found.labels.names, Names{"a"});
    // A boolean always has both.
    EXPECT_EQ(find({0, 0}, TargetKind::boolean).labels.names, (Names{"false", "true"}));
}

TEST(Labels, GroupsMayLackALabelThatHasAWeight) {
    LabelRequest request;
    request.weights = {{"c", 5}, {"b", 3}};
    EXPECT_EQ(message_of([&] {
                  find({0, 1}, TargetKind::label, {"a", "b"}, ObjectiveNumber::automatic, request);
              }),
              "class_weights names the label \"c\", which no row has");
    request.is_of_group = true;
    const Found found = find({0, 1}, TargetKind::label, {"a", "b"}, ObjectiveNumber::automatic, request);
    EXPECT_EQ(found.labels.weights, (std::vector<double>{1, 3}));
    const auto is_told = [](const Labels::Notice& notice) { return notice.about == Labels::About::weights; };
    EXPECT_EQ(std::count_if(found.labels.notices.begin(), found.labels.notices.end(), is_told), 1);
}

TEST(Labels, AThousandAtMost) {
    std::vector<double> values;
    for (int i = 0; i < 1000; i++) values.push_back(i);
    EXPECT_EQ(find(values, TargetKind::number, {}, ObjectiveNumber::multiclass).labels.names.size(), 1000u);
    values.push_back(1000);
    EXPECT_EQ(message_of([&] { find(values, TargetKind::number, {}, ObjectiveNumber::multiclass); }),
              "target \"y\" has more than 1000 labels");
}

} // namespace
} // namespace btml::boosting::test
