#include "boosting_reference.hpp"
#include "caught.hpp"
#include "random_fit.hpp"
#include "walking.hpp"

#include "core/boosting/trees/boosting_predictor.hpp"

namespace btml::boosting::test {
namespace {

using btml::test::caught;

class EveryObjective : public testing::TestWithParam<ObjectiveNumber> {};

// Neither the layout of the join nor the order of rows or threads changes a bit.
void expect_same_bytes(const Fit& fit, uint64_t seed) {
    const std::string bytes = bytes_of(fit_plain(fit.data, fit.options));
    const PlainData flat = materialise(fit.data);
    EXPECT_TRUE(bytes == bytes_of(fit_plain(flat, fit.options)));
    EXPECT_TRUE(bytes == bytes_of(fit_plain(reorder(flat, random_order(flat.rows, seed)), fit.options)));
    EXPECT_TRUE(bytes == bytes_of(fit_plain(fit.data, fit.options, 3)));
}

TEST_P(EveryObjective, EqualsPlainBoosting) {
    size_t splits = 0;
    for (uint64_t seed = 0; seed < 120; seed++) {
        SCOPED_TRACE(format("seed %d", static_cast<int>(seed)));
        const Fit fit(seed, GetParam());
        const Model model = fit_plain(fit.data, fit.options);
        expect_same_trees(model, reference_fit(fit.data, fit.options, all_thresholds(fit.data)), 1e-5);
        if (HasFailure()) return;
        for (const Tree& tree : model.trees) splits += tree.size() / 2;
    }
    EXPECT_GT(splits, 300u);
}

TEST_P(EveryObjective, LayoutOrderAndThreadsChangeNoBit) {
    for (uint64_t seed = 0; seed < 40; seed++) {
        SCOPED_TRACE(format("seed %d", static_cast<int>(seed)));
        const Fit fit(seed, GetParam());
        expect_same_bytes(fit, seed);
        if (HasFailure()) return;
    }
}

// A weight that is a whole number is so many copies of the row.
TEST_P(EveryObjective, WeightsAreCopies) {
    for (uint64_t seed = 2; seed < 60; seed += 7) {
        SCOPED_TRACE(format("seed %d", static_cast<int>(seed)));
        Fit fit(seed, GetParam());
        fit.options.balanced = false;   // its weights are no copies
        fit.options.early_stopping = 0; // copies are other halves of the rows held out
        fit.data = materialise(fit.data);
        std::vector<size_t> copies;
        for (size_t row = 0; row < fit.data.rows; row++)
            for (double w = 0; w < fit.data.weight_of(row); w++) copies.push_back(row);
        Fit copied = fit;
        copied.data = reorder(fit.data, copies);
        copied.data.weight.clear();
        Model a = fit_plain(fit.data, fit.options), b = fit_plain(copied.data, copied.options);
        a.rows = b.rows; // counted, not weighed
        a.holdout_rows = b.holdout_rows;
        EXPECT_TRUE(bytes_of(uncalibrated(std::move(a))) == bytes_of(uncalibrated(std::move(b))));
    }
}

// The scores that training ends with are those of prediction: so are the losses.
TEST_P(EveryObjective, LossesAreThoseOfPredictions) {
    for (uint64_t seed = 0; seed < 40; seed++) {
        SCOPED_TRACE(format("seed %d", static_cast<int>(seed)));
        const Fit fit(seed, GetParam());
        const Model model = fit_plain(fit.data, fit.options);
        std::vector<size_t> training;
        for (size_t row = 0; row < fit.data.rows; row++)
            if (!fit.data.held_out(row) && fit.data.weight_of(row) > 0) training.push_back(row);
        PlainLoss loss(fit.options, fit.data, training);
        std::vector<std::vector<double>> start(fit.data.rows, model.bases);
        loss.derivatives(start, 0); // of huber, the first delta
        double sum = 0, total = 0;
        for (const size_t row : training) {
            const double weight = fit.data.weight_of(row) * loss.label_weight(row);
            sum += weight * loss.loss(row, scores_by_walking(model, fit.data.features_of(row)));
            total += weight;
        }
        EXPECT_NEAR(model.log.back().train_loss, sum / total, 1e-6 * std::max(1.0, std::fabs(sum / total)));
    }
}

TEST_P(EveryObjective, MonotoneFeaturesAreMonotone) {
    if (GetParam() == ObjectiveNumber::multiclass) return;
    size_t moved = 0;
    for (uint64_t seed = 0; seed < 60; seed++) {
        SCOPED_TRACE(format("seed %d", static_cast<int>(seed)));
        Fit fit(seed, GetParam());
        fit.options.trees = 8;
        for (PlainColumn& column : fit.data.columns)
            if (!column.categorical) column.direction = seed % 2 ? 1 : -1;
        const Model model = fit_plain(fit.data, fit.options);
        for (size_t f = 0; f < fit.data.columns.size(); f++) {
            const int direction = fit.data.columns[f].direction;
            if (direction == 0) continue;
            for (size_t row = 0; row < fit.data.rows; row += 7) {
                std::vector<double> x = fit.data.features_of(row);
                double before = -std::numeric_limits<double>::infinity();
                for (double value = -8; value <= 8; value += 0.25) {
                    x[f] = direction * value;
                    const double score = scores_by_walking(model, x)[0];
                    ASSERT_GE(score, before - 1e-12);
                    moved += std::isfinite(before) && score > before;
                    before = score;
                }
            }
        }
    }
    EXPECT_GT(moved, 100u);
}

// What the leaves of a tree as deep as it has rows take is linear in their number, and counted.
TEST(Objectives, LeavesToRenewAreCounted) {
    PlainData data;
    data.rows = 3000;
    data.tables = {{data.rows, {}}};
    PlainColumn& x = data.columns.emplace_back();
    x.name = "x";
    x.direction = 1;
    for (size_t i = 0; i < data.rows; i++) {
        x.numbers.push_back(static_cast<double>(i));
        data.target.push_back(std::exp(0.01 * static_cast<double>(i))); // each split takes few rows off
    }
    Options options;
    options.objective = ObjectiveNumber::huber;
    options.trees = 1;
    options.max_leaves = options.max_bins = 0;
    options.min_leaf_rows = 1;
    const size_t leaves = (fit_plain(data, options).trees[0].size() + 1) / 2;
    EXPECT_GT(leaves, 1000u);
    bool counted = false;
    for (uint64_t limit = 300 << 10; !counted; limit += limit / 100) {
        QuietContext context(1, limit);
        const btml::test::Caught error = btml::test::caught([&] { fit(to_dataset(data, context), options, context); });
        ASSERT_TRUE(error.thrown) << limit;
        counted = error.detail == "The memory was to hold leaves to renew.";
        EXPECT_EQ(context.memory().used(), 0u);
    }
}

// Nor do they decide which of two middle targets is the median.
TEST(Objectives, EqualWeightsAreNoWeights) {
    for (const double weight : {0.1, 0.3, 0.7, 3.0, 1e-9, 1e9})
        for (uint64_t seed = 0; seed < 8; seed++) {
            Fit fit(seed, ObjectiveNumber::absolute);
            fit.data.weight.clear();
            fit.options.min_leaf_rows = 0;
            fit.options.min_category_rows = 0;
            fit.options.l1 = fit.options.l2 = fit.options.min_gain = 0;
            const Model plain = fit_plain(fit.data, fit.options);
            fit.data.weight.assign(fit.data.target.size(), weight);
            EXPECT_EQ(fit_plain(fit.data, fit.options).bases, plain.bases);
        }
}

// Weights of one are no weights: rows take no longer than without.
TEST_P(EveryObjective, WeightsOfOneAreNone) {
    for (uint64_t seed = 0; seed < 20; seed++) {
        Fit fit(seed, GetParam());
        fit.data.weight.clear();
        fit.options.early_stopping = 0; // the halves of held-out rows go by all columns
        const Model plain = fit_plain(fit.data, fit.options);
        fit.data.weight.assign(fit.data.target.size(), 1);
        Model weighted = fit_plain(fit.data, fit.options);
        EXPECT_TRUE(bytes_of(uncalibrated(std::move(weighted))) == bytes_of(uncalibrated(plain))) << seed;
        QuietContext context;
        ThreadTeam team(context);
        Dataset dataset = to_dataset(fit.data, context);
        EXPECT_FALSE(TrainingRows(dataset, team, context).weighted());
        fit.data.weight[0] = 2;
        Dataset other = to_dataset(fit.data, context);
        EXPECT_TRUE(TrainingRows(other, team, context).weighted());
    }
}

TEST(Objectives, LossesOfAnySizeAreKept) {
    for (const double factor : {1e-300, 1e-30, 1.0, 1e30, 1e140}) {
        Fit fit(0, ObjectiveNumber::absolute);
        for (double& y : fit.data.target) y *= factor;
        const Model model = fit_plain(fit.data, fit.options);
        EXPECT_GT(model.baseline->train_loss, 0);
        EXPECT_LT(model.log.back().train_loss, model.baseline->train_loss);
        EXPECT_LT(model.log.back().train_loss, 200 * factor);
    }
    Fit fit(0, ObjectiveNumber::poisson);
    fit.data.target[0] = 1e31;
    EXPECT_THROW(fit_plain(fit.data, fit.options), Error);
}

TEST(Objectives, OffsetsAreScoresOfTheirOwn) {
    for (const ObjectiveNumber objective :
         {ObjectiveNumber::poisson, ObjectiveNumber::gamma, ObjectiveNumber::tweedie, ObjectiveNumber::binary})
        for (uint64_t seed = 0; seed < 20; seed++) {
            SCOPED_TRACE(format("%s, seed %d", name_of(objective), static_cast<int>(seed)));
            Fit fit(seed, objective);
            Random random(seed);
            for (size_t i = 0; i < fit.data.target.size(); i++) fit.data.offset.push_back(2 * random.unit() - 1);
            fit.options.balanced = false;
            fit.data.label_weights.clear();
            const Model model = fit_plain(fit.data, fit.options);
            ASSERT_EQ(model.offset, static_cast<int32_t>(fit.data.columns.size()));
            // The base is where the sum of gradients is 0.
            double sum = 0, loss = 0, weight = 0;
            for (size_t row = 0; row < fit.data.rows; row++) {
                if (fit.data.held_out(row)) continue;
                PlainLoss plain(fit.options, fit.data, {});
                const double w = fit.data.weight_of(row);
                std::vector<double> x = fit.data.features_of(row);
                x.push_back(fit.data.offset_of(row));
                sum += w * plain.derivatives_of(row, {model.bases[0] + x.back()}).residual;
                loss += w * plain.loss(row, scores_by_walking(model, x));
                weight += w;
            }
            EXPECT_NEAR(sum / weight, 0, 1e-5);
            EXPECT_NEAR(model.log.back().train_loss, loss / weight, 1e-6 * std::max(1.0, std::fabs(loss / weight)));
        }
}

// Offsets alone tell the two labels apart, up to what doubles and floats distinguish; beyond exp they are refused.
TEST(Objectives, OffsetsMayBeLarge) {
    const auto fit_with = [](double offset) {
        PlainData data = materialise(random_data({.rows = 100, .dimensions = 0}, 1));
        for (size_t row = 0; row < data.rows; row++) {
            data.target[row] = row % 2;
            data.offset.push_back(row % 2 ? offset : -offset);
        }
        Options options;
        options.objective = ObjectiveNumber::binary;
        options.trees = 3;
        return fit_plain(data, options);
    };
    for (const double offset : {30.0, 300.0, 700.0}) {
        const Model model = fit_with(offset);
        EXPECT_TRUE(std::isfinite(model.bases[0]));
        EXPECT_NEAR(model.log.back().train_loss, 0, 1e-9);
    }
    EXPECT_EQ(caught([&] { fit_with(5e9); }).message,
              "offset is 5e+09 in magnitude in a row, objective => 'binary' takes at most 700");
}

TEST(Objectives, BasesFollowOffsetsFarAway) {
    for (const double offset : {-600.0, 400.0}) {
        PlainData data = materialise(random_data({.rows = 100, .dimensions = 0}, 1));
        double sum = 0;
        for (size_t row = 0; row < data.rows; row++) {
            sum += data.target[row] = static_cast<double>(row % 5);
            data.offset.push_back(offset);
        }
        Options options;
        options.objective = ObjectiveNumber::poisson;
        options.trees = 1;
        EXPECT_NEAR(fit_plain(data, options).bases[0], std::log(sum / static_cast<double>(data.rows)) - offset, 1e-6);
    }
}

TEST(Objectives, LossesMayBeBeyondFloats) {
    for (const ObjectiveNumber objective :
         {ObjectiveNumber::absolute, ObjectiveNumber::huber, ObjectiveNumber::quantile})
        for (uint64_t seed = 0; seed < 5; seed++) {
            constexpr int scale = 150;
            Options options;
            options.objective = objective;
            options.trees = 5;
            PlainData data = random_data({.rows = 200, .holdout = true}, seed);
            const Model small = fit_plain(data, options);
            for (double& y : data.target) y = std::ldexp(y, scale);
            const Model large = fit_plain(data, options);
            const int power = objective == ObjectiveNumber::huber ? 2 * scale : scale;
            EXPECT_EQ(large.log.back().train_loss, std::ldexp(small.log.back().train_loss, power));
            EXPECT_EQ(*large.log.back().holdout_loss, std::ldexp(*small.log.back().holdout_loss, power));
        }
}

// Mean absolute error over all rows but the first, the target of which is `far`.
double error_beside(double far, ObjectiveNumber objective, bool held_out) {
    PlainData data = materialise(random_data({.rows = 3000, .dimensions = 0, .features = 2, .categories = false}, 5));
    Random random(7);
    for (size_t row = 0; row < data.rows; row++) {
        for (PlainColumn& column : data.columns) column.numbers[row] = random.unit();
        data.target[row] = std::sin(6 * data.columns[0].numbers[row]) + data.columns[1].numbers[row];
    }
    data.weight.clear();
    data.holdout_table = held_out ? 0 : -1;
    data.holdout.assign(held_out ? data.rows : 0, 0);
    Options options;
    options.objective = objective;
    options.trees = 100;
    if (objective == ObjectiveNumber::quantile) options.alpha = 0.5;
    if (held_out) {
        for (size_t row = 0; row < data.rows; row += 10) data.holdout[row] = 1;
        options.early_stopping = 5;
    }
    const std::vector<double> plain = data.target;
    if (far != 0) data.target[0] = far;
    const Model model = fit_plain(data, options);
    double sum = 0;
    for (size_t row = 1; row < data.rows; row++)
        sum += std::fabs(predict_by_walking(model, data.features_of(row)) - plain[row]);
    return sum / static_cast<double>(data.rows - 1);
}

// Of far targets the sign of the residual counts, and others keep their precision, also where one is held out.
TEST(Objectives, FarTargetsCostOthersNothing) {
    for (const ObjectiveNumber objective :
         {ObjectiveNumber::absolute, ObjectiveNumber::huber, ObjectiveNumber::quantile})
        for (const bool held_out : {false, true}) {
            const double without = error_beside(0, objective, held_out);
            EXPECT_LT(without, 0.03);
            for (const double far : {1e6, -1e10, 1e15, 1e30, -1e100, 1e149}) {
                if (held_out && std::fabs(far) > 1e10) continue; // a mean loss of so much hides the others
                EXPECT_LT(error_beside(far, objective, held_out), 1.2 * without + 0.001)
                    << name_of(objective) << ' ' << far << ' ' << held_out;
            }
        }
}

// A far target is soon alone in its leaf, and what others gain does not pass for rounding beside it.
TEST(Objectives, FarTargetsLeaveTheSquaredLossOfOthers) {
    const auto others = [](double far, bool weighted) {
        PlainData data =
            materialise(random_data({.rows = 5000, .dimensions = 0, .features = 2, .categories = false}, 5));
        Random random(7);
        for (size_t row = 0; row < data.rows; row++) {
            for (PlainColumn& column : data.columns) column.numbers[row] = random.unit();
            data.target[row] = std::sin(6 * data.columns[0].numbers[row]) + data.columns[1].numbers[row];
        }
        data.holdout_table = -1;
        data.weight.clear();
        if (weighted) data.weight.assign(data.rows, 2.5);
        const std::vector<double> plain = data.target;
        if (far != 0) data.target[0] = far;
        Options options;
        options.trees = 100;
        options.learning_rate = 0.3;
        options.min_leaf_rows = 1;
        const Model model = fit_plain(data, options);
        double sum = 0;
        for (size_t row = 1; row < data.rows; row++)
            sum += std::fabs(predict_by_walking(model, data.features_of(row)) - plain[row]);
        return sum / static_cast<double>(data.rows - 1);
    };
    for (const bool weighted : {false, true}) {
        const double without = others(0, weighted);
        for (const double far : {1e6, 1e8, -1e10, 1e15, 1e30, -1e149})
            EXPECT_LT(others(far, weighted), 1.5 * without) << far;
    }
}

// Median error of the score over all rows but the first, the target of which is `far`, or the offset.
double error_of_logarithm_beside(double far, ObjectiveNumber objective, double offset, double far_offset = 0) {
    PlainData data = materialise(random_data({.rows = 2000, .dimensions = 0, .features = 2, .categories = false}, 5));
    Random random(7);
    data.holdout_table = -1;
    data.weight.clear();
    std::vector<double> scores;
    for (size_t row = 0; row < data.rows; row++) {
        for (PlainColumn& column : data.columns) column.numbers[row] = random.unit();
        scores.push_back(std::sin(6 * data.columns[0].numbers[row]) + data.columns[1].numbers[row]);
        const double own = offset != 0 ? offset + 0.1 * static_cast<double>(row % 5) : 0;
        data.target[row] = std::exp(scores[row] + own);
        if (offset != 0) data.offset.push_back(own);
    }
    if (far != 0) data.target[0] = far;
    if (far_offset != 0) data.offset[0] = far_offset;
    Options options;
    options.objective = objective;
    options.trees = 100;
    const Model model = fit_plain(data, options);
    std::vector<double> errors;
    for (size_t row = 1; row < data.rows; row++) {
        std::vector<double> features = data.features_of(row);
        if (!data.offset.empty()) features.push_back(0);
        errors.push_back(std::fabs(scores_by_walking(model, features)[0] - scores[row]));
    }
    std::ranges::nth_element(errors, errors.begin() + static_cast<ptrdiff_t>(errors.size() / 2));
    return errors[errors.size() / 2];
}

// The base is that of the other targets, and derivatives of other leaves' rows keep their precision.
TEST(Objectives, FarTargetsLeaveOtherMeans) {
    for (const ObjectiveNumber objective : {ObjectiveNumber::poisson, ObjectiveNumber::gamma, ObjectiveNumber::tweedie})
        for (const double offset : {0.0, 3.0}) {
            const double without = error_of_logarithm_beside(0, objective, offset);
            EXPECT_LT(without, 0.02) << name_of(objective);
            for (const double far : {1e6, 1e10, 1e15, 1e25})
                EXPECT_LT(error_of_logarithm_beside(far, objective, offset), 2 * without + 0.005)
                    << name_of(objective) << ' ' << far << ' ' << offset << ' ' << without;
            if (offset == 0) continue;
            for (const double far : {-700.0, -30.0, 30.0, 300.0, 700.0})
                EXPECT_LT(error_of_logarithm_beside(0, objective, offset, far), 2 * without + 0.005)
                    << name_of(objective) << ' ' << far << ' ' << without;
        }
}

// Returns the median error of the score over all rows but the first, which has this weight.
double error_beside_weight(double heavy, ObjectiveNumber objective) {
    PlainData data = materialise(random_data({.rows = 2000, .dimensions = 0, .features = 2, .categories = false}, 5));
    Random random(7);
    data.holdout_table = -1;
    data.weight.assign(data.rows, 1);
    data.weight[0] = heavy;
    std::vector<double> scores;
    for (size_t row = 0; row < data.rows; row++) {
        for (PlainColumn& column : data.columns) column.numbers[row] = random.unit();
        scores.push_back(std::sin(6 * data.columns[0].numbers[row]) + data.columns[1].numbers[row]);
        data.target[row] = objective == ObjectiveNumber::poisson ? std::exp(scores[row]) : scores[row];
    }
    Options options;
    options.objective = objective;
    options.trees = 100;
    const Model model = fit_plain(data, options);
    std::vector<double> errors;
    for (size_t row = 1; row < data.rows; row++)
        errors.push_back(std::fabs(scores_by_walking(model, data.features_of(row))[0] - scores[row]));
    std::ranges::nth_element(errors, errors.begin() + static_cast<ptrdiff_t>(errors.size() / 2));
    return errors[errors.size() / 2];
}

TEST(Objectives, OneRowWithMostOfTheWeightLeavesOthers) {
    for (const ObjectiveNumber objective :
         {ObjectiveNumber::squared, ObjectiveNumber::absolute, ObjectiveNumber::huber, ObjectiveNumber::poisson})
        for (const double heavy : {1e4, 1e6, 1e8, 1e10, 1e12})
            EXPECT_LT(error_beside_weight(heavy, objective), 1.5 * error_beside_weight(1, objective) + 0.003)
                << name_of(objective) << ' ' << heavy;
}

// Squared loss holds residuals in another way where few targets are far from all others.
TEST(Objectives, FarTargetsOfSquaredLossChangeNoPromise) {
    for (uint64_t seed = 0; seed < 40; seed++) {
        SCOPED_TRACE(format("seed %d", static_cast<int>(seed)));
        Fit fit(seed, ObjectiveNumber::squared);
        fit.data.target[seed % fit.data.target.size()] = seed % 2 ? 1e25 : -1e25;
        const Model model = fit_plain(fit.data, fit.options);
        const std::string bytes = bytes_of(model);
        const PlainData flat = materialise(fit.data);
        EXPECT_TRUE(bytes == bytes_of(fit_plain(flat, fit.options)));
        EXPECT_TRUE(bytes == bytes_of(fit_plain(reorder(flat, random_order(flat.rows, seed)), fit.options)));
        EXPECT_TRUE(bytes == bytes_of(fit_plain(fit.data, fit.options, 3)));
        double sum = 0, total = 0;
        for (size_t row = 0; row < flat.rows; row++) {
            if (flat.held_out(row)) continue;
            const double residual = flat.target[row] - scores_by_walking(model, flat.features_of(row))[0];
            sum += flat.weight_of(row) * residual * residual;
            total += flat.weight_of(row);
        }
        EXPECT_NEAR(model.log.back().train_loss, sum / total, 1e-6 * sum / total);
        if (HasFailure()) return;
    }
}

TEST(Objectives, FarTargetsOfMeansChangeNoPromise) {
    for (const ObjectiveNumber objective : {ObjectiveNumber::poisson, ObjectiveNumber::gamma, ObjectiveNumber::tweedie})
        for (uint64_t seed = 0; seed < 20; seed++) {
            SCOPED_TRACE(format("%s, seed %d", name_of(objective), static_cast<int>(seed)));
            Fit fit(seed, objective);
            fit.data.target[seed % fit.data.target.size()] = seed % 2 ? 1e25 : 1e12;
            expect_same_bytes(fit, seed);
            if (HasFailure()) return;
        }
}

TEST(Objectives, LeavesBesideFarTargetsFollowTheRule) {
    PlainData data = materialise(random_data({.rows = 1000, .dimensions = 0, .features = 1, .categories = false}, 3));
    data.holdout_table = -1;
    data.weight.assign(data.rows, 0.5);
    for (size_t row = 0; row < data.rows; row++) data.target[row] = static_cast<double>(row % 3);
    data.target[5] = 1e20;
    Options options;
    options.trees = 1;
    options.min_leaf_rows = 1000;
    options.learning_rate = 0.25;
    options.l1 = 1e19;
    options.l2 = 300;
    const Model model = fit_plain(data, options);
    EXPECT_EQ(model.bases[0], 1);
    EXPECT_DOUBLE_EQ(model.trees[0][0].value, 0.25 * (0.5e20 - 1e19) / (500 + 300));
    options.max_step = 7;
    EXPECT_DOUBLE_EQ(fit_plain(data, options).trees[0][0].value, 0.25 * 7);
}

// A few rows that differ from all others would have steps without end.
TEST(Objectives, StepsAreBounded) {
    const auto largest_step = [](ObjectiveNumber objective, double few, double others) {
        PlainData data =
            materialise(random_data({.rows = 20000, .dimensions = 0, .features = 1, .categories = false}, 1));
        for (size_t row = 0; row < data.rows; row++) {
            data.columns[0].numbers[row] = row < 30;
            data.target[row] = row < 30 ? few : others;
        }
        if (objective_of(objective).has_scores_by_label()) data.labels = 3;
        Options options;
        options.objective = objective;
        options.trees = 1;
        options.learning_rate = 1;
        double largest = 0;
        for (const Tree& tree : fit_plain(data, options).trees)
            for (const Node& node : tree) largest = std::max(largest, node.is_leaf() ? std::fabs(node.value) : 0);
        return largest;
    };
    EXPECT_NEAR(largest_step(ObjectiveNumber::binary, 1, 0), 4, 1e-9);
    EXPECT_NEAR(largest_step(ObjectiveNumber::multiclass, 2, 0), 8, 1e-9);
    EXPECT_NEAR(largest_step(ObjectiveNumber::poisson, 50, 1), 0.7, 1e-9);
    EXPECT_NEAR(largest_step(ObjectiveNumber::tweedie, 50, 1), 1.5, 1e-9);
    EXPECT_NEAR(largest_step(ObjectiveNumber::gamma, 0.01, 1), 1.5, 1e-9);
}

std::string name_of_objective(const testing::TestParamInfo<ObjectiveNumber>& info) {
    return name_of(info.param);
}
INSTANTIATE_TEST_SUITE_P(All, EveryObjective, testing::ValuesIn(newton_or_renewed), name_of_objective);

} // namespace
} // namespace btml::boosting::test
