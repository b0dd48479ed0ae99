#include "linear_data.hpp"

#include "core/linear/coefficients.hpp"
#include "core/linear/newton_step.hpp"

#include <numeric>

namespace btml::linear::test {
namespace {

using btml::test::Caught;
using btml::test::caught;
using btml::test::ImpatientContext;

Caught refused(const PlainRows& rows, const Options& options) {
    QuietContext context;
    return caught([&] { fit_rows(rows, options, context); });
}

void expect_refused(const PlainRows& rows, const Options& options, ErrorCode code, const char* message,
                    const char* hint = nullptr) {
    const Caught found = refused(rows, options);
    EXPECT_EQ(found.code, code) << message;
    EXPECT_EQ(found.message, message);
    EXPECT_EQ(found.hint, hint ? hint : found.hint);
}

const Column& column_of(const Model& model, const std::string& name) {
    for (const Column& column : model.columns)
        if (model.name_of(column) == name) return column;
    throw Error(ErrorCode::internal, "there is no column " + name);
}

// The number of a feature's values is that of the targets.
PlainRows plain_rows(std::vector<double> target, std::vector<PlainFeature> features) {
    PlainRows rows;
    rows.target = std::move(target);
    rows.features = std::move(features);
    return rows;
}

// The first of columns that follow from each other are kept, as R does.
TEST(LinearLimits, DependentColumnsAreDropped) {
    QuietContext context;
    for (uint64_t seed = 1; seed <= 20; seed++)
        for (const Family family : all_families) {
            PlainRows rows = random_rows(150, seed, family);
            const Model before = fit_rows(rows, options_of(family), context).model;
            PlainFeature sum{"sum", {}}, constant{"constant", {}}, is_a{"is_a", {}};
            for (size_t i = 0; i < rows.size(); i++) {
                sum.values.push_back(3 * rows.features[0].values[i] - 7 * rows.features[2].values[i] + 11);
                constant.values.push_back(0.1);
                is_a.values.push_back(rows.features[4].values[i] == 1);
            }
            rows.features.insert(rows.features.end(), {sum, constant, is_a});
            const FitResult result = fit_rows(rows, options_of(family), context);
            const Model& model = result.model;
            EXPECT_EQ(column_of(model, "\"sum\"").state, ColumnState::dependent);
            EXPECT_EQ(column_of(model, "\"constant\"").state, ColumnState::constant);
            EXPECT_EQ(column_of(model, "\"is_a\"").state, ColumnState::dependent);
            ASSERT_EQ(result.warnings.size(), 2u);
            EXPECT_EQ(result.warnings[0], "constant in all training rows, and without a coefficient: \"constant\"");
            EXPECT_EQ(result.warnings[1],
                      "without a coefficient, because they follow from features before them: \"sum\", \"is_a\"");
            for (size_t c = 0; c < before.columns.size(); c++) {
                EXPECT_NEAR(model.columns[c].estimate, before.columns[c].estimate, 1e-9 * before.columns[c].std_error);
                EXPECT_NEAR(model.columns[c].std_error / before.columns[c].std_error, 1, 1e-8);
            }
            const std::vector<Coefficient> found = coefficients(model, {});
            EXPECT_FALSE(found.back().estimate);
            EXPECT_FALSE(found.back().std_error);
            EXPECT_EQ(model.statistics.degrees_of_freedom, before.statistics.degrees_of_freedom);
        }
}

// Makes columns of which some are sums of three before them in this order, and notes their places; returns their
// products.
Buffer<double> products_of_columns(std::span<const size_t> order, std::vector<size_t>& dependent, uint64_t seed,
                                   RunContext& context) {
    const size_t size = order.size(), rows = size + 20;
    Random random(seed);
    std::vector<std::vector<double>> columns(size, std::vector<double>(rows));
    for (size_t k = 0; k < size; k++) {
        const bool is_dependent = k > 3 && random.below(10) == 0;
        if (is_dependent) dependent.push_back(order[k]);
        const size_t from[] = {order[random.below(k + 1)], order[random.below(k + 1)], order[random.below(k + 1)]};
        for (size_t row = 0; row < rows; row++) {
            double sum = 0;
            for (const size_t other : from) sum += other == order[k] ? 0 : columns[other][row];
            columns[order[k]][row] = is_dependent ? sum : random.normal();
        }
    }
    Buffer<double> matrix(context.memory(), "products", size * size, 0.0);
    for (size_t i = 0; i < size; i++)
        for (size_t j = 0; j <= i; j++)
            matrix[i * size + j] = std::inner_product(columns[i].begin(), columns[i].end(), columns[j].begin(), 0.0);
    return matrix;
}

TEST(LinearLimits, DependentColumnsAreFoundInAnyOrder) {
    QuietContext context;
    for (const size_t size : {1u, 5u, 100u, 128u, 129u, 300u})
        for (uint64_t seed = 1; seed <= 5; seed++) {
            std::vector<size_t> order(size), dependent;
            std::iota(order.begin(), order.end(), size_t{0});
            Random random(seed);
            for (size_t k = size; k > 1; k--) std::swap(order[k - 1], order[random.below(k)]);
            const Buffer<double> matrix = products_of_columns(order, dependent, seed, context);
            EXPECT_EQ(dependent_places(matrix, size, order, context), dependent) << size << ", seed " << seed;
        }
}

// Ridge needs no column to be dropped, and shares the coefficient of two that are equal.
TEST(LinearLimits, RidgeKeepsDependentColumns) {
    QuietContext context;
    PlainRows rows = random_rows(150, 5, Family::gaussian);
    rows.features.push_back(rows.features[0]);
    rows.features.back().name = "again";
    Options options = options_of(Family::gaussian);
    options.penalty = 0.1;
    const Model model = fit_rows(rows, options, context).model;
    EXPECT_NE(model.columns[0].estimate, 0);
    EXPECT_NEAR(model.columns[0].estimate, column_of(model, "\"again\"").estimate, 1e-12);
    EXPECT_FALSE(model.has_errors());
    EXPECT_FALSE(coefficients(model, {})[1].std_error);
    options.penalty = 1e-30;
    expect_refused(rows, options, ErrorCode::invalid_argument,
                   "features follow from each other, which penalty => 1e-30 does not make up for");
}

TEST(LinearLimits, FewRows) {
    QuietContext context;
    const PlainRows one = plain_rows({3}, {{"x", {2}}, {"kind", {0}, {"a"}}});
    const Model single = fit_rows(one, {}, context).model;
    EXPECT_EQ(single.intercept, 3);
    EXPECT_EQ(single.columns[0].state, ColumnState::constant);
    EXPECT_EQ(single.columns[1].state, ColumnState::constant);
    EXPECT_FALSE(single.statistics.r_squared);
    EXPECT_FALSE(coefficients(single, {})[0].std_error);
    EXPECT_EQ(Predictor(single)(std::vector<double>{1, null_number}), 3);

    PlainRows wide = plain_rows({1, 4, 2}, {});
    for (size_t f = 0; f < 6; f++)
        wide.features.push_back({format("x%zu", f), {mixed(0, f), mixed(1, f), mixed(2, f)}});
    const Model model = fit_rows(wide, {}, context).model;
    EXPECT_EQ(model.statistics.degrees_of_freedom, 0);
    EXPECT_EQ(model.columns[1].state, ColumnState::kept);
    EXPECT_EQ(model.columns[2].state, ColumnState::dependent);
    Predictor predictor(model);
    for (size_t i = 0; i < 3; i++) EXPECT_NEAR(predictor(wide.features_of(i)), wide.target[i], 1e-12);
    EXPECT_EQ(bytes_of(model_of(bytes_of(model), context)), bytes_of(model));
}

TEST(LinearLimits, MissingValues) {
    QuietContext context;
    const double no = null_number;
    // x is missing everywhere, y at times, and a category's NULL is a level of its own.
    const PlainRows rows =
        plain_rows({1, 2, 3, 4, 5, 6, 7, 8}, {{"x", {no, no, no, no, no, no, no, no}},
                                              {"y", {1, no, 2, no, 5, 5, 1, 2}},
                                              {"kind", {0, 1, no, 1, 0, no, 2, 1}, {"a", "b", "c", "d"}}});
    const Model model = fit_rows(rows, {}, context).model;
    EXPECT_EQ(column_of(model, "\"x\"").state, ColumnState::constant);
    EXPECT_EQ(column_of(model, "\"x\" = NULL").state, ColumnState::constant);
    EXPECT_EQ(column_of(model, "\"y\" = NULL").state, ColumnState::kept);
    EXPECT_EQ(column_of(model, "\"kind\" = NULL").kind, ColumnKind::missing);
    EXPECT_EQ(model.references, (std::vector<uint32_t>{0, 0, 1}));
    EXPECT_EQ(model.missing, (std::vector<uint64_t>{8, 2, 2}));
    EXPECT_EQ(model.columns.size(), 7u);
    Predictor predictor(model);
    // A category without training rows and one that is unknown are that of reference.
    for (const double unknown : {3.0, -1.0, 17.0})
        EXPECT_EQ(predictor(std::vector<double>{no, 1, unknown}), predictor(std::vector<double>{no, 1, 1}));
    EXPECT_NE(predictor(std::vector<double>{no, 1, no}), predictor(std::vector<double>{no, 1, 1}));
    // Of features without NULL in training, NULL is the mean or the category of reference.
    const Model whole =
        fit_rows(plain_rows({1, 2, 3, 5, 4}, {{"y", {1, 2, 3, 4, 6}}, {"kind", {0, 0, 1, 0, 1}, {"a", "b"}}}), {},
                 context)
            .model;
    Predictor other(whole);
    EXPECT_EQ(other(std::vector<double>{no, no}), other(std::vector<double>{3.2, 0}));
}

// Of equally many, the first by name.
TEST(LinearLimits, CategoriesOfReference) {
    QuietContext context;
    const Model model =
        fit_rows(plain_rows({1, 2, 3, 5, 4}, {{"kind", {2, 1, 0, 2, 1}, {"a", "b", "c"}}}), {}, context).model;
    EXPECT_EQ(model.references[0], 1u);
    EXPECT_EQ(coefficients(model, {})[1].category, "a");
    EXPECT_EQ(coefficients(model, {})[2].category, "c");
}

TEST(LinearLimits, SeparatedTargetsNeedAPenalty) {
    const char* const hint = "Give a penalty, as penalty => 0.01, or leave out the feature.";
    const std::vector<double> numbers = {1, 2, 3, 4, 5, 6, 7, 8};
    // The second is separated but for one value of x.
    for (const std::vector<double>& target :
         {std::vector<double>{0, 0, 0, 0, 1, 1, 1, 1}, std::vector<double>{0, 1, 0, 1, 0, 1, 1, 1}}) {
        PlainRows rows = plain_rows(target, {{"other", {1, 1, 2, 2, 1, 2, 1, 1}}, {"x", numbers}});
        if (target[1] == 1) rows.features[1] = {"x", {0, 0, 0, 0, 0, 1, 1, 1}};
        Options options = options_of(Family::binomial);
        expect_refused(rows, options, ErrorCode::invalid_argument,
                       "family => 'binomial' has no finite coefficient of feature \"x\"", hint);
        options.penalty = 0.01;
        QuietContext context;
        EXPECT_GT(fit_rows(rows, options, context).model.columns[1].estimate, 0);
    }
    const PlainRows counts = plain_rows({3, 1, 2, 0, 0, 4, 0, 2}, {{"kind", {0, 0, 0, 1, 1, 0, 1, 0}, {"a", "b"}}});
    expect_refused(counts, options_of(Family::poisson), ErrorCode::invalid_argument,
                   "family => 'poisson' has no finite coefficient of feature \"kind\"", hint);
}

TEST(LinearLimits, SeparationIsFoundOnRandomData) {
    QuietContext context;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        PlainRows rows = random_rows(200, seed, Family::binomial);
        fit_rows(rows, options_of(Family::binomial), context);
        // All rows of one category have one label.
        for (size_t i = 0; i < rows.size(); i++)
            if (rows.features[4].values[i] == static_cast<double>(seed % 3))
                rows.target[i] = static_cast<double>(seed % 2);
        const Caught found = refused(rows, options_of(Family::binomial));
        EXPECT_EQ(found.message, "family => 'binomial' has no finite coefficient of feature \"other\"") << seed;
    }
}

// What the budget of iterations leaves off says more of a separated target.
TEST(LinearLimits, SeparationIsFoundInFewIterations) {
    QuietContext context;
    PlainRows rows = random_rows(200, 8, Family::binomial);
    for (size_t i = 0; i < rows.size(); i++) rows.target[i] = rows.features[0].values[i] > 1000;
    Options options = options_of(Family::binomial);
    for (options.iterations = 16; options.iterations < 40; options.iterations += 4)
        EXPECT_EQ(refused(rows, options).message, "family => 'binomial' has no finite coefficient of feature \"x1\"");
}

// Rows far out have large scores, and no label is separated by them.
TEST(LinearLimits, LargeScoresAreNoSeparation) {
    QuietContext context;
    for (uint64_t seed = 1; seed <= 20; seed++)
        for (const Family family : {Family::binomial, Family::poisson})
            for (const double far : {30.0, 400.0, 1e4, 1e6}) {
                PlainRows rows = random_rows(300, seed, family);
                rows.features[0].values[0] = 1000 + (family == Family::binomial ? far : -far);
                rows.target[0] = family == Family::binomial ? 1 : 0;
                rows.held_out.clear();
                rows.weight.clear();
                const Model model = fit_rows(rows, options_of(family), context).model;
                EXPECT_GT(model.columns[0].estimate, 0) << seed;
            }
}

// Compares all coefficients but those of x1 and the intercept.
void expect_same_others(const Model& model, const Model& expected, double tolerance) {
    for (const Coefficient& is : coefficients(model, {}))
        for (const Coefficient& other : coefficients(expected, {})) {
            const bool is_same = is.feature == other.feature && is.category == other.category;
            if (!is_same || is.missing != other.missing || is.feature == "x1" || is.feature == "(intercept)") continue;
            EXPECT_NEAR(*is.estimate, *other.estimate, tolerance * *other.std_error) << is.feature;
        }
}

// A row whose value is far from the others has its label explained by that: the other coefficients are those of the
// other rows, without the feature where its label goes against it. What numbers cannot tell from separation is refused.
TEST(LinearLimits, OneValueFarFromTheOthers) {
    QuietContext context;
    for (uint64_t seed = 1; seed <= 20; seed++)
        for (const double far : {1e7, 1e8, 1e9, 1e10, 1e13})
            for (const bool is_against : {false, true}) {
                SCOPED_TRACE(format("seed %d, far %g, against %d", static_cast<int>(seed), far, is_against));
                PlainRows rows = random_rows(200, seed, Family::binomial);
                rows.held_out.clear();
                rows.clusters.clear();
                rows.weight.assign(rows.size(), 1);
                PlainRows others = rows;
                rows.features[0].values[0] = far;
                rows.target[0] = is_against ? 0 : 1;
                others.weight[0] = 0;
                if (is_against) others.features.erase(others.features.begin());
                std::optional<Model> model;
                const Caught found =
                    caught([&] { model = fit_rows(rows, options_of(Family::binomial), context).model; });
                if (model)
                    expect_same_others(*model, fit_rows(others, options_of(Family::binomial), context).model, 0.02);
                else
                    EXPECT_EQ(found.message, "family => 'binomial' has no finite coefficient of feature \"x1\"");
                EXPECT_TRUE(model || far > (is_against ? 1e10 : 1e8));
                // A category whose rows have one label is refused beside it.
                for (size_t i = 0; i < rows.size(); i++)
                    if (rows.features[4].values[i] == 1) rows.target[i] = is_against;
                EXPECT_EQ(
                    refused(rows, options_of(Family::binomial)).message.find("family => 'binomial' has no finite"), 0u);
            }
}

// Iterations that end before their limit do not ask for more of them.
TEST(LinearLimits, TargetsOfAllSizesNeedAPenalty) {
    PlainRows rows = random_rows(300, 3, Family::gamma);
    rows.target[0] = 1e25;
    Options options = options_of(Family::gamma);
    expect_refused(rows, options, ErrorCode::invalid_argument, "family => 'gamma' did not converge in 1 iterations",
                   "Give a penalty.");
    options.penalty = 0.1;
    QuietContext context;
    EXPECT_GT(fit_rows(rows, options, context).model.statistics.r_squared.value_or(0), 0);
}

// The deviance of rows that are met to the last digits is no rounding, by which steps would be judged.
TEST(LinearLimits, LargeTargetsThatAreMetConverge) {
    QuietContext context;
    for (uint64_t seed = 1; seed <= 20; seed++)
        for (const Family family : {Family::poisson, Family::gamma})
            for (const double size : {1.0, 5.0, 10.0, 13.0, 20.0, 40.0})
                for (const bool is_rounded : {false, true}) {
                    PlainRows rows = plain_rows({}, {{"x", {}}, {"z", {}}});
                    for (uint64_t i = 0; i < 200; i++) {
                        const double x = mixed(i, seed), z = mixed(i, seed + 100), y = std::exp(size * (x + 1) + z / 2);
                        rows.features[0].values.push_back(x);
                        rows.features[1].values.push_back(z);
                        rows.target.push_back(is_rounded ? std::ceil(y) : y);
                    }
                    const Model model = fit_rows(rows, options_of(family), context).model;
                    if (is_rounded) continue;
                    EXPECT_NEAR(model.columns[0].estimate, size, 1e-9 * size) << seed;
                    EXPECT_NEAR(model.columns[1].estimate, 0.5, 1e-9) << seed;
                    EXPECT_GE(model.statistics.deviance, 0) << seed;
                    EXPECT_LT(model.statistics.deviance, 1e-9 + 1e-20 * model.statistics.null_deviance) << seed;
                }
}

// No coefficients are worse than none.
TEST(LinearLimits, RSquaredIsNotNegative) {
    QuietContext context;
    for (uint64_t seed = 1; seed <= 20; seed++)
        for (const Family family : all_families) {
            Options options = options_of(family);
            options.penalty = 1e9;
            options.l1_ratio = 1;
            const Model model = fit_rows(random_rows(60, seed, family), options, context).model;
            EXPECT_GE(model.statistics.r_squared.value_or(-1), 0) << seed;
        }
}

TEST(LinearLimits, OneValue) {
    const auto rows = [](double y) { return plain_rows({y, y, y, y}, {{"x", {1, 2, 3, 4}}}); };
    expect_refused(rows(1), options_of(Family::binomial), ErrorCode::invalid_argument,
                   "family => 'binomial' has no finite coefficients: the target is 1 in all training rows");
    expect_refused(rows(0), options_of(Family::poisson), ErrorCode::invalid_argument,
                   "family => 'poisson' has no finite coefficients: the target is 0 in all training rows");
    PlainRows labels = rows(0);
    labels.labels = {"stays"};
    expect_refused(labels, {}, ErrorCode::invalid_argument,
                   "family => 'binomial' has no finite coefficients: the target is \"stays\" in all training rows");
    QuietContext context;
    for (const Family family : {Family::gaussian, Family::poisson, Family::gamma}) {
        EXPECT_FALSE(fit_rows(rows(0.1), options_of(family), context).model.statistics.r_squared);
        const Model model = fit_rows(rows(2), options_of(family), context).model;
        EXPECT_NEAR(Predictor(model)(std::vector<double>{7}), 2, 1e-12);
        EXPECT_NEAR(model.columns[0].estimate, 0, 1e-12);
        EXPECT_FALSE(model.statistics.r_squared);
        EXPECT_EQ(bytes_of(model_of(bytes_of(model), context)), bytes_of(model));
    }
}

TEST(LinearLimits, BadInput) {
    const PlainRows good = plain_rows({1, 2, 3, 1}, {{"x", {1, 2, 3, 5}}});
    const auto with = [&](const auto& change) {
        PlainRows rows = good;
        change(rows);
        return rows;
    };
    const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = HUGE_VAL;
    expect_refused(with([&](PlainRows& rows) { rows.features[0].values[1] = nan; }), {}, ErrorCode::out_of_range,
                   "feature \"x\" is NaN in a row");
    expect_refused(with([&](PlainRows& rows) { rows.features[0].values[1] = infinity; }), {}, ErrorCode::out_of_range,
                   "feature \"x\" is infinite in a row");
    expect_refused(with([&](PlainRows& rows) { rows.features[0].values[1] = 1e200; }), {}, ErrorCode::out_of_range,
                   "feature \"x\" is 1e+200 in a row");
    expect_refused(with([&](PlainRows& rows) { rows.target[0] = 1e200; }), {}, ErrorCode::out_of_range,
                   "target value of magnitude 1e+200 is out of range");
    expect_refused(with([&](PlainRows& rows) {
                       rows.weight = {1, 1, -1, 1};
                   }),
                   {}, ErrorCode::out_of_range, "weight is -1 in a row");
    expect_refused(with([&](PlainRows& rows) {
                       rows.weight = {0, 0, 0, 0};
                   }),
                   {}, ErrorCode::invalid_argument, "there are no rows to train on");
    expect_refused(plain_rows({}, {{"x", {}}}), {}, ErrorCode::invalid_argument, "there are no rows to train on");
    expect_refused(plain_rows({1, 2}, {}), {}, ErrorCode::invalid_argument, "there are no features to fit");
    expect_refused(with([&](PlainRows& rows) {
                       rows.labels = {"a", "b", "c"};
                   }),
                   {}, ErrorCode::invalid_argument, "the target has 3 labels, a linear model takes two");
    expect_refused(with([&](PlainRows& rows) {
                       rows.labels = {"a", "b"};
                   }),
                   options_of(Family::poisson), ErrorCode::wrong_type,
                   "the target has labels, family => 'poisson' needs numbers");
    expect_refused(good, options_of(Family::binomial), ErrorCode::out_of_range,
                   "target value 2 is out of range for family => 'binomial'");
    expect_refused(with([&](PlainRows& rows) { rows.target[0] = -0.5; }), options_of(Family::poisson),
                   ErrorCode::out_of_range, "target value -0.5 is out of range for family => 'poisson'");
    expect_refused(with([&](PlainRows& rows) { rows.target[0] = 0; }), options_of(Family::gamma),
                   ErrorCode::out_of_range, "target value 0 is out of range for family => 'gamma'");
    Options few = options_of(Family::poisson);
    few.iterations = 1;
    expect_refused(good, few, ErrorCode::invalid_argument, "family => 'poisson' did not converge in 1 iterations",
                   "Give more iterations, or a penalty.");
    Options robust;
    robust.std_error = StdError::robust;
    expect_refused(with([&](PlainRows& rows) {
                       rows.clusters = {3, 3, 3, 3};
                   }),
                   robust, ErrorCode::invalid_argument, "group_by \"g\" has one value in the training rows");
}

TEST(LinearLimits, GroupsOfNullAreRefused) {
    QuietContext context;
    Options robust;
    robust.std_error = StdError::robust;
    Dataset data = dataset_of(formula_rows(Family::gaussian, false), context);
    data.divider->codes[17] = FeatureColumn::null_code;
    const Caught found = caught([&] { fit(std::move(data), robust, context); });
    EXPECT_EQ(found.code, ErrorCode::null_value);
    EXPECT_EQ(found.message, "group_by \"g\" is NULL in a row");
}

TEST(LinearLimits, TooManyColumns) {
    PlainRows rows = plain_rows({}, {{"kind", {}}, {"x", {}}});
    for (size_t i = 0; i <= max_columns; i++) {
        rows.target.push_back(mixed(i, 1));
        rows.features[0].values.push_back(static_cast<double>(i));
        rows.features[0].categories.push_back(format("%06zu", i));
        rows.features[1].values.push_back(mixed(i, 2));
    }
    expect_refused(rows, {}, ErrorCode::limit_exceeded,
                   "a linear model of these features has 10001 columns, and at most 10000 are possible",
                   "Leave out features of many categories.");
    rows = plain_rows({1, 2, 3}, {});
    for (size_t f = 0; f <= max_columns; f++) rows.features.push_back({format("e[%zu]", f + 1), {1, 2, 4}});
    expect_refused(rows, {}, ErrorCode::limit_exceeded,
                   "a linear model of these features has 10001 columns, and at most 10000 are possible",
                   "Leave out features, or take fewer elements of arrays.");
}

// Coordinates of features that are all but equal take too many turns.
TEST(LinearLimits, CoordinatesThatDoNotConverge) {
    PlainRows rows = random_rows(100, 6, Family::gaussian);
    rows.features.resize(1);
    PlainFeature alike{"alike", {}};
    for (size_t i = 0; i < rows.size(); i++) {
        alike.values.push_back(rows.features[0].values[i] + 1e-3 * mixed(i, 3));
        rows.target[i] += 1e3 * mixed(i, 3);
    }
    rows.features.push_back(alike);
    Options options = options_of(Family::gaussian);
    options.penalty = 1e-9;
    options.l1_ratio = 1;
    expect_refused(rows, options, ErrorCode::invalid_argument, "an elastic net did not converge",
                   "Give a smaller l1_ratio, or a larger penalty.");
}

TEST(LinearLimits, BadOptions) {
    const auto expect_bad = [](const auto& change, const char* message) {
        Options options;
        change(options);
        expect_refused(formula_rows(Family::gaussian, false), options, ErrorCode::invalid_argument, message);
    };
    expect_bad([](Options& o) { o.penalty = -1; }, "invalid value for option \"penalty\": -1");
    expect_bad([](Options& o) { o.penalty = HUGE_VAL; }, "invalid value for option \"penalty\": Infinity");
    expect_bad([](Options& o) { o.l1_ratio = 1.5; }, "invalid value for option \"l1_ratio\": 1.5");
    expect_bad([](Options& o) { o.l1_ratio = 0.5; }, "penalty => 0 takes no l1_ratio");
    expect_bad([](Options& o) { o.iterations = 0; }, "invalid value for option \"iterations\": 0");
    expect_bad(
        [](Options& o) {
            o.penalty = 1;
            o.std_error = StdError::robust;
        },
        "penalty => 1 takes no std_error");
    QuietContext context;
    const Model model = fit_rows(formula_rows(Family::gaussian, false), {}, context).model;
    EXPECT_EQ(caught([&] { coefficients(model, {1.5}); }).message, "invalid value for option \"confidence\": 1.5");
}

TEST(LinearLimits, MemoryIsCountedAndWorkIsCancelled) {
    const PlainRows rows = random_rows(5000, 1, Family::binomial);
    QuietContext quiet;
    fit_rows(rows, options_of(Family::binomial), quiet);
    EXPECT_EQ(quiet.memory().used(), 0u);
    for (uint64_t limit = 1 << 16; limit < 1 << 19; limit += 1 << 16) {
        QuietContext narrow(1, limit);
        EXPECT_EQ(caught([&] { fit_rows(rows, options_of(Family::binomial), narrow); }).code, ErrorCode::memory_limit);
        EXPECT_EQ(narrow.memory().used(), 0u);
    }
    for (const uint64_t patience : {0, 1, 2, 5}) {
        ImpatientContext context(patience, 2);
        EXPECT_THROW(fit_rows(rows, options_of(Family::binomial), context), Cancelled) << patience;
    }
}

} // namespace
} // namespace btml::linear::test
