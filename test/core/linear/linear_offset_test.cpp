// Offsets against fits that are the same by algebra, and against the conditions of an optimum.
#include "linear_data.hpp"

#include "core/linear/coefficients.hpp"

#include <algorithm>

namespace btml::linear::test {
namespace {

using btml::test::caught;
using btml::test::Caught;

// Puts rows in this order; all of them, in their own, where it is empty. Gives them an offset.
Dataset with_offset(const PlainRows& rows, const std::vector<double>& offset, RunContext& context,
                    std::vector<size_t> order = {}) {
    if (order.empty())
        for (size_t i = 0; i < rows.size(); i++) order.push_back(i);
    Dataset data = dataset_of(rows, context, order);
    data.offset.emplace(context.memory(), Feature{"o", "double precision", false, {}}, 0);
    for (const size_t i : order) data.offset->numbers.push_back(offset[i]);
    return data;
}

std::vector<double> random_offset(size_t count, uint64_t seed) {
    Random random(1000 + seed);
    std::vector<double> offset;
    for (size_t i = 0; i < count; i++) offset.push_back(5 + 2 * random.normal());
    return offset;
}

void expect_same(const Model& model, const Model& expected) {
    const std::vector<Coefficient> found = coefficients(model, {}), others = coefficients(expected, {});
    ASSERT_EQ(found.size(), others.size());
    for (size_t k = 0; k < found.size(); k++) {
        EXPECT_EQ(found[k].feature, others[k].feature);
        ASSERT_EQ(found[k].estimate.has_value(), others[k].estimate.has_value());
        if (!found[k].estimate) continue;
        const double size = std::fabs(*others[k].estimate) + others[k].std_error.value_or(0);
        EXPECT_NEAR(*found[k].estimate, *others[k].estimate, 1e-9 * size) << found[k].feature;
        ASSERT_EQ(found[k].std_error.has_value(), others[k].std_error.has_value());
        EXPECT_NEAR(found[k].std_error.value_or(0), others[k].std_error.value_or(0), 1e-8 * size);
    }
}

// Of a gaussian the target less the offset is fitted, of gamma the target over its exp, and of poisson the rate with
// the exposure as its weight. Deviances are the same, also those without features.
TEST(LinearOffset, IsAnotherTargetOrWeight) {
    QuietContext context;
    for (uint64_t seed = 0; seed < 36; seed++) {
        const Family family = std::vector{Family::gaussian, Family::gamma, Family::poisson}[seed % 3];
        SCOPED_TRACE(format("%s, seed %d", name_of(family), static_cast<int>(seed)));
        PlainRows rows = random_rows(150, seed, family);
        if (seed % 8 != 2) rows.clusters.clear();
        Options options = options_of(family);
        if (seed % 4 == 2) options.std_error = StdError::robust;
        if (seed % 4 == 1) options.penalty = 0.1, options.l1_ratio = seed % 8 == 1 ? 0.5 : 0;
        const std::vector<double> offset = random_offset(rows.size(), seed);
        PlainRows other = rows;
        for (size_t i = 0; i < rows.size(); i++) {
            const double exposure = std::exp(offset[i]);
            if (family == Family::gaussian) rows.target[i] += offset[i];
            if (family == Family::gamma) rows.target[i] *= exposure;
            if (family == Family::poisson) {
                rows.target[i] = std::floor(rows.target[i] * exposure / 100);
                rows.weight[i] = rows.weight[i] > 0;
                other.target[i] = rows.target[i] / exposure;
                other.weight[i] = rows.weight[i] * exposure;
            }
        }
        if (family == Family::poisson) options.penalty = options.l1_ratio = 0; // whose scale the weights change
        const Model model = fit(with_offset(rows, offset, context), options, context).model;
        const Model expected = fit_rows(other, options, context).model;
        // Weights choose the category of reference and the mean that counts for what is missing.
        const bool has_other_weights = family == Family::poisson;
        const Statistics &found = model.statistics, &same = expected.statistics;
        EXPECT_NEAR(found.deviance, same.deviance, 1e-9 * same.null_deviance);
        EXPECT_NEAR(found.null_deviance, same.null_deviance, 1e-9 * same.null_deviance);
        if (!has_other_weights) expect_same(model, expected);
        Predictor predict(model), other_predict(expected);
        for (size_t i = 0; i < rows.size(); i++) {
            std::vector<double> point = rows.features_of(i);
            const double alone = other_predict(point);
            point.push_back(offset[i]);
            const double with = predict(point);
            EXPECT_NEAR(family == Family::gaussian ? with - offset[i] : with / std::exp(offset[i]), alone,
                        1e-8 * (1 + std::fabs(alone)));
        }
    }
}

// The slopes of a binomial's deviance are 0 with the offset, and without features at the null deviance.
TEST(LinearOffset, BinomialIsAtItsOptimum) {
    QuietContext context;
    for (uint64_t seed = 0; seed < 20; seed++) {
        PlainRows rows = random_rows(400, seed, Family::binomial);
        rows.held_out.clear();
        rows.weight.clear();
        rows.clusters.clear();
        const std::vector<double> offset = random_offset(rows.size(), seed);
        Random random(seed);
        for (size_t i = 0; i < rows.size(); i++)
            rows.target[i] = random.chance(1 / (1 + std::exp(5 - offset[i] - (rows.features[4].values[i] == 1))));
        const Model model = fit(with_offset(rows, offset, context), options_of(Family::binomial), context).model;
        Predictor predict(model);
        double sum = 0, by_x = 0, deviance = 0;
        for (size_t i = 0; i < rows.size(); i++) {
            std::vector<double> point = rows.features_of(i);
            point.push_back(offset[i]);
            const double p = predict(point), y = rows.target[i];
            sum += y - p;
            by_x += (y - p) * (rows.features[0].values[i] - 1000);
            deviance -= 2 * std::log(y > 0 ? p : 1 - p);
        }
        EXPECT_NEAR(sum, 0, 1e-9);
        EXPECT_NEAR(by_x, 0, 1e-9);
        EXPECT_NEAR(model.statistics.deviance, deviance, 1e-9 * deviance);
        // The intercept alone, by halving.
        double min = -100, max = 100;
        const auto slope = [&](double c) {
            double s = 0;
            for (size_t i = 0; i < rows.size(); i++) s += rows.target[i] - 1 / (1 + std::exp(-c - offset[i]));
            return s;
        };
        for (int i = 0; i < 80; i++) (slope((min + max) / 2) > 0 ? min : max) = (min + max) / 2;
        double null_deviance = 0;
        for (size_t i = 0; i < rows.size(); i++) {
            const double score = min + offset[i];
            null_deviance += 2 * std::log1p(std::exp(rows.target[i] > 0 ? -score : score));
        }
        EXPECT_NEAR(model.statistics.null_deviance, null_deviance, 1e-9 * null_deviance);
    }
}

// Offsets far from each other have a start, and one that is the same in all rows changes the intercept alone.
TEST(LinearOffset, OfAllSizes) {
    QuietContext context;
    for (uint64_t seed = 0; seed < 20; seed++)
        for (const Family family : all_families) {
            SCOPED_TRACE(format("%s, seed %d", name_of(family), static_cast<int>(seed)));
            PlainRows rows = random_rows(200, seed, family);
            rows.clusters.clear();
            const Model without = fit_rows(rows, options_of(family), context).model;
            const std::vector<double> same(rows.size(), 300);
            const Model model = fit(with_offset(rows, same, context), options_of(family), context).model;
            EXPECT_NEAR(model.intercept, without.intercept - 300, 1e-7 * std::fabs(without.intercept) + 1e-7);
            EXPECT_NEAR(model.columns[1].estimate, without.columns[1].estimate, 1e-9);
            EXPECT_NEAR(model.statistics.null_deviance, without.statistics.null_deviance,
                        1e-9 * without.statistics.null_deviance);
            if (family == Family::binomial) continue;
            std::vector<double> offset;
            Random random(seed);
            for (size_t i = 0; i < rows.size(); i++) {
                offset.push_back((family == Family::poisson ? 10 : 300) * random.unit());
                if (family == Family::gaussian) continue;
                rows.target[i] = std::exp(offset.back()) * (0.5 + random.unit());
            }
            const Model wide = fit(with_offset(rows, offset, context), options_of(family), context).model;
            EXPECT_TRUE(std::isfinite(wide.intercept));
        }
}

TEST(LinearOffset, SameBitsForAnyOrderAndThreads) {
    for (uint64_t seed = 0; seed < 8; seed++) {
        const PlainRows rows = random_rows(3000, seed, all_families[seed % 4]);
        const std::vector<double> offset = random_offset(rows.size(), seed);
        std::vector<size_t> order(rows.size());
        for (size_t i = 0; i < order.size(); i++) order[i] = i * 1009 % order.size();
        Options options = options_of(all_families[seed % 4]);
        options.penalty = 0.01;
        QuietContext one(1), four(4);
        EXPECT_EQ(bytes_of(fit(with_offset(rows, offset, one), options, one).model),
                  bytes_of(fit(with_offset(rows, offset, four, order), options, four).model));
    }
}

TEST(LinearOffset, StoredAndExplained) {
    QuietContext context;
    PlainRows rows = random_rows(150, 7, Family::poisson);
    const std::vector<double> offset = random_offset(rows.size(), 7);
    const Model fitted = fit(with_offset(rows, offset, context), options_of(Family::poisson), context).model;
    const std::string bytes = bytes_of(fitted);
    const Model model = model_of(bytes, context);
    EXPECT_EQ(bytes_of(model), bytes);
    ASSERT_TRUE(model.has_offset());
    Predictor predict(model);
    std::vector<double> adds(model.features.size());
    std::vector<double> point = rows.features_of(3);
    point.push_back(2);
    const double at_two = predict.score(point);
    predict.contributions(point, adds);
    double sum = predict.base();
    for (const double each : adds) sum += each;
    EXPECT_EQ(sum, at_two);
    EXPECT_EQ(adds.back(), 2);
    EXPECT_GT(predict.standard_error(point), 0);
    point.back() = 3.5;
    EXPECT_NEAR(predict.score(point), at_two + 1.5, 1e-12);
    for (const Coefficient& row : coefficients(model, {})) EXPECT_NE(row.feature, "o");
    point.back() = null_number;
    const Caught of_null = caught([&] { predict(point); });
    EXPECT_EQ(of_null.code, ErrorCode::null_value);
    EXPECT_EQ(of_null.message, "offset \"o\" is NULL in a row");
    point.back() = HUGE_VAL;
    EXPECT_EQ(caught([&] { predict(point); }).code, ErrorCode::out_of_range);
}

TEST(LinearOffset, BadOffsets) {
    QuietContext context;
    const PlainRows rows = random_rows(50, 3, Family::poisson);
    std::vector<double> offset = random_offset(rows.size(), 3);
    const auto refused_with = [&](double value, Family family) {
        offset[4] = value;
        return caught([&] { fit(with_offset(rows, offset, context), options_of(family), context); });
    };
    EXPECT_EQ(refused_with(null_number, Family::poisson).message, "offset is NULL in a row");
    EXPECT_EQ(refused_with(HUGE_VAL, Family::poisson).message, "offset is infinite in a row");
    EXPECT_EQ(refused_with(-701, Family::poisson).message,
              "offset is 701 in magnitude in a row, family => 'poisson' takes at most 700");
    EXPECT_FALSE(refused_with(-701, Family::gaussian).thrown);
    EXPECT_EQ(refused_with(1e200, Family::gaussian).message, "offset is 1e+200 in a row");
}

} // namespace
} // namespace btml::linear::test
