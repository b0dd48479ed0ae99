#include "core/numbers/rng.hpp"
#include "core/uncertainty/calibration.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace btml::uncertainty {
namespace {

class Random {
  public:
    explicit Random(uint64_t seed) : seed_(seed) {}
    double unit() { return random_unit(seed_, 7, next_++); }
    double normal() {
        const double radius = std::sqrt(-2 * std::log(1 - unit()));
        return radius * std::cos(2 * M_PI * unit());
    }

  private:
    uint64_t seed_, next_ = 0;
};

// Deviations that a model tells, and errors whose variances are factor · told + floor.
struct Sample {
    std::vector<double> errors, deviations;

    Sample(size_t rows, double factor, double floor, Random& random) {
        for (size_t i = 0; i < rows; i++) {
            deviations.push_back(std::exp(3 * random.unit() - 3));
            errors.push_back(std::sqrt(factor * deviations[i] * deviations[i] + floor) * random.normal());
        }
    }
    VarianceCalibration likeliest() const {
        QuietContext context;
        return likeliest_variances(errors, deviations, context);
    }
    double nll(const VarianceCalibration& calibration) const {
        QuietContext context;
        return mean_nll_normal(errors, deviations, calibration, context);
    }
};

TEST(VarianceCalibration, FindsTheLikeliestOfManyTried) {
    for (uint64_t seed = 0; seed < 20; seed++) {
        Random random(seed);
        const Sample sample(400, 4 * random.unit() + 2, 0.3 * random.unit(), random);
        const VarianceCalibration found = sample.likeliest();
        ASSERT_FALSE(found.is_identity());
        for (int tried = 0; tried < 2000; tried++) {
            const double width = tried % 2 ? 0.1 : 3;
            const VarianceCalibration other{found.factor * std::exp(width * random.normal()),
                                            found.floor * std::exp(width * random.normal())};
            EXPECT_LT(sample.nll(found), sample.nll(other) + 0.02) << other.factor << " " << other.floor;
        }
    }
}

TEST(VarianceCalibration, RecoversWhatErrorsWereMadeBy) {
    Random random(3);
    const VarianceCalibration found = Sample(100'000, 9, 0.04, random).likeliest();
    EXPECT_NEAR(found.factor, 9, 0.3);
    EXPECT_NEAR(found.floor, 0.04, 0.004);
}

// What is right stays as it is, whatever the chance: of few errors and of many.
TEST(VarianceCalibration, LeavesGoodVariancesAlone) {
    size_t changed = 0;
    for (uint64_t seed = 0; seed < 400; seed++) {
        Random random(seed);
        changed += !Sample(seed % 2 ? 100 : 1000, 1, 0, random).likeliest().is_identity();
    }
    EXPECT_LE(changed, 8u);
}

// One error in a hundred is 300 deviations: what two numbers save is most of the loss.
TEST(VarianceCalibration, FewErrorsThatAreFarOffDoNotRuinTheScore) {
    Random random(5);
    Sample sample(5000, 1, 0, random);
    for (size_t i = 0; i < sample.errors.size(); i += 100) sample.errors[i] *= 300;
    EXPECT_GT(sample.nll({}), 100);
    EXPECT_LT(sample.nll(sample.likeliest()), 4);
}

TEST(VarianceCalibration, OneFarErrorSaysNothingOfOtherRows) {
    Random random(8);
    for (const double far : {1e3, 1e9, 1e150}) {
        Sample right(200, 1, 0, random), wrong(200, 9, 0, random);
        right.errors[17] = wrong.errors[17] = far;
        EXPECT_TRUE(right.likeliest().is_identity()) << far;
        const VarianceCalibration found = wrong.likeliest();
        EXPECT_GT(found.factor, 5) << far;
        EXPECT_LT(found.factor + found.floor, 15) << far;
    }
}

// A far target spoils the predictions of a few rows beside it.
TEST(VarianceCalibration, NorDoSeveralFarErrors) {
    Random random(9);
    for (const double far : {1e6, 1e9, 1e150}) {
        Sample right(2000, 1, 0, random), wrong(2000, 9, 0, random);
        for (size_t i = 0; i < 20; i++) right.errors[17 * i] = wrong.errors[17 * i] = far / static_cast<double>(i + 1);
        EXPECT_TRUE(right.likeliest().is_identity()) << far;
        const VarianceCalibration found = wrong.likeliest();
        EXPECT_GT(found.factor, 5) << far;
        EXPECT_LT(found.factor + found.floor, 30) << far;
    }
}

// Variances that say nothing are hidden by a floor, and stay of its size.
TEST(VarianceCalibration, FactorsDoNotVanishBelowAFloor) {
    for (uint64_t seed = 0; seed < 20; seed++) {
        Random random(seed);
        Sample sample(400, 0, 4, random);
        const VarianceCalibration found = sample.likeliest();
        EXPECT_GT(found.factor, 0.01);
        EXPECT_GT(found.floor, 2);
    }
}

TEST(VarianceCalibration, DoesNotDependOnUnits) {
    Random random(6);
    const Sample sample(500, 5, 0.2, random);
    const VarianceCalibration plain = sample.likeliest();
    for (const double unit : {1e-140, 1e-9, 1e9, 1e140}) {
        Sample scaled = sample;
        for (double& error : scaled.errors) error *= unit;
        for (double& deviation : scaled.deviations) deviation *= unit;
        const VarianceCalibration found = scaled.likeliest();
        EXPECT_NEAR(found.factor / plain.factor, 1, 1e-6) << unit;
        EXPECT_NEAR(found.floor / unit / unit / plain.floor, 1, 1e-6) << unit;
    }
}

TEST(VarianceCalibration, DegenerateErrorsKeepTheIdentity) {
    QuietContext context;
    const std::vector<double> zeros(500, 0.0), ones(500, 1.0);
    EXPECT_TRUE(likeliest_variances(zeros, ones, context).is_identity());
    EXPECT_TRUE(likeliest_variances(zeros, zeros, context).is_identity());
    EXPECT_TRUE(likeliest_variances(ones, zeros, context).is_identity());
    EXPECT_TRUE(likeliest_variances(std::vector<double>(99, 9.0), std::vector<double>(99, 1.0), context).is_identity());
    EXPECT_FALSE(
        likeliest_variances(std::vector<double>(100, 9.0), std::vector<double>(100, 1.0), context).is_identity());
}

} // namespace
} // namespace btml::uncertainty
