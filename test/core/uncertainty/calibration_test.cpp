#include "caught.hpp"

#include "core/numbers/rng.hpp"
#include "core/uncertainty/calibration.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace btml::uncertainty {
namespace {

using test::Caught;
using test::caught;

constexpr double infinity = std::numeric_limits<double>::infinity();

class Random {
  public:
    explicit Random(uint64_t seed) : seed_(seed) {}
    double unit() { return random_unit(seed_, 5, next_++); }
    size_t below(size_t count) { return static_cast<size_t>(unit() * static_cast<double>(count)); }

  private:
    uint64_t seed_, next_ = 0;
};

StandardisedErrors errors_of(const std::vector<double>& z, RunContext& context) {
    StandardisedErrors errors(context);
    for (const double each : z) errors.add(each, 1);
    return errors;
}

Calibration calibrated(const std::vector<double>& z) {
    QuietContext context;
    return calibrate(Method::split_conformal, errors_of(z, context), {}, context);
}

// The numbers 1 … n in a random order: a number is its rank.
std::vector<double> ranks(size_t n, Random& random) {
    std::vector<double> z(n);
    for (size_t i = 0; i < n; i++) z[i] = static_cast<double>(i + 1);
    for (size_t i = n; i > 1; i--) std::swap(z[i - 1], z[random.below(i)]);
    return z;
}

// Ranks in whole numbers, for a quantile of so many thousandths.
TEST(Calibration, QuantilesAreTheRanksOfTheTheorem) {
    Random random(1);
    for (const size_t n : {1, 2, 3, 9, 10, 18, 19, 20, 99, 100, 199, 999, 1000, 2000, 2001}) {
        const Calibration calibration = calibrated(ranks(n, random));
        ASSERT_EQ(calibration.kept.size(), n);
        for (size_t thousandths = 1; thousandths < 1000; thousandths++) {
            const size_t product = (n + 1) * thousandths;
            double expected;
            if (thousandths < 500)
                expected = product < 1000 ? -infinity : static_cast<double>(product / 1000);
            else
                expected = (product + 999) / 1000 > n ? infinity : static_cast<double>((product + 999) / 1000);
            ASSERT_EQ(calibration.quantile(static_cast<double>(thousandths) / 1000), expected)
                << n << " rows, " << thousandths;
        }
    }
}

TEST(Calibration, OfManyRowsQuantilesAreRoundedOutwards) {
    Random random(2);
    for (const size_t n : {2002, 2500, 4001, 10'000, 123'457}) {
        const Calibration calibration = calibrated(ranks(n, random));
        ASSERT_EQ(calibration.kept.size(), Calibration::max_kept);
        EXPECT_EQ(calibration.kept.front(), 1);
        EXPECT_EQ(calibration.kept.back(), static_cast<double>(n));
        const double step = std::ceil(static_cast<double>(n) / 2000);
        for (size_t thousandths = 1; thousandths < 1000; thousandths++) {
            const size_t product = (n + 1) * thousandths;
            const double rank = static_cast<double>(thousandths < 500 ? product / 1000 : (product + 999) / 1000);
            const double found = calibration.quantile(static_cast<double>(thousandths) / 1000);
            const double outwards = thousandths < 500 ? rank - found : found - rank;
            ASSERT_TRUE(outwards >= 0 && outwards < step) << n << " rows, " << thousandths << ": " << found;
        }
    }
}

// Heavy tails, and ties of which some are on the ends.
TEST(Calibration, CoversAnotherRowAsOftenAsPromised) {
    constexpr int trials = 4000;
    for (const size_t n : {5, 19, 60, 400}) {
        for (const bool tied : {false, true}) {
            for (const double level : {0.5, 0.8, 0.9, 0.95}) {
                Random random(n * 10 + tied);
                const auto draw = [&] {
                    const double cauchy = std::tan(3 * (random.unit() - 0.5));
                    return tied ? std::clamp(std::floor(2 * cauchy), -2.0, 3.0) : cauchy;
                };
                int covered = 0;
                for (int trial = 0; trial < trials; trial++) {
                    std::vector<double> z(n);
                    for (double& each : z) each = draw();
                    std::sort(z.begin(), z.end());
                    Calibration calibration;
                    calibration.rows = n;
                    calibration.kept = z;
                    const double another = draw();
                    covered += another >= calibration.quantile((1 - level) / 2) &&
                               another <= calibration.quantile((1 + level) / 2);
                }
                const double share = static_cast<double>(covered) / trials;
                EXPECT_GE(share, level - 3 * std::sqrt(level * (1 - level) / trials)) << n << ' ' << tied;
                if (tied) continue;
                // And no more than ranks round up.
                EXPECT_LE(share, level + 2 / static_cast<double>(n + 1) + 3 * std::sqrt(level * (1 - level) / trials))
                    << n << ' ' << level;
            }
        }
    }
}

TEST(Calibration, RowsForAQuantile) {
    Random random(3);
    for (const double q : {0.5, 0.4, 0.25, 0.1, 0.05, 0.025, 0.01, 0.005, 0.0005, 0.99, 0.995, 0.9995}) {
        const size_t least = rows_for_quantile(q);
        const Calibration enough = calibrated(ranks(least, random));
        EXPECT_TRUE(std::isfinite(enough.quantile(q)) && std::isfinite(enough.quantile(1 - q))) << q;
        if (least == 1) continue;
        const Calibration fewer = calibrated(ranks(least - 1, random));
        EXPECT_TRUE(std::isinf(fewer.quantile(q))) << q;
    }
    EXPECT_EQ(rows_for_quantile(0.05), 19u);
    EXPECT_EQ(rows_for_quantile(0.99999), 99'999u);
}

std::string bytes_of(const Calibration& calibration) {
    QuietContext context;
    Writer writer(context);
    encode(calibration, writer);
    return {reinterpret_cast<const char*>(writer.bytes().data()), writer.bytes().size()};
}

Calibration decoded(const std::string& bytes) {
    QuietContext context;
    Reader reader(std::as_bytes(std::span(bytes.data(), bytes.size())), context);
    Calibration calibration = decode_calibration(reader);
    reader.finish();
    return calibration;
}

TEST(Calibration, RoundTrip) {
    Random random(4);
    for (const size_t n : {1, 7, 2001, 3000}) {
        std::vector<double> z(n);
        for (double& each : z) each = random.unit() - 0.4;
        QuietContext context;
        Calibration calibration = calibrate(Method::leave_one_out, errors_of(z, context), {}, context);
        calibration.updates = 3;
        const std::string bytes = bytes_of(calibration);
        const Calibration copy = decoded(bytes);
        EXPECT_EQ(bytes_of(copy), bytes);
        EXPECT_EQ(copy.method, Method::leave_one_out);
        EXPECT_EQ(copy.updates, 3u);
        EXPECT_EQ(copy.kept, calibration.kept);
        EXPECT_EQ(copy.student.df, calibration.student.df);
        EXPECT_EQ(copy.variance.factor, calibration.variance.factor);
        EXPECT_EQ(copy.variance.floor, calibration.variance.floor);
    }
}

TEST(Calibration, HostileBytes) {
    const Calibration good = calibrated({1, 2, 3});
    const auto detail = [&](const auto& change) {
        Calibration bad = good;
        change(bad);
        const auto refused = caught([&] { decoded(bytes_of(bad)); });
        return refused.detail.empty() ? refused.message : refused.detail;
    };
    EXPECT_EQ(detail([](Calibration& c) { c.method = static_cast<Method>(4); }), "Its calibration has the method 4.");
    EXPECT_EQ(detail([](Calibration& c) { c.rows = 0; }), "Its calibration has 0 rows.");
    EXPECT_EQ(detail([](Calibration& c) { c.rows = uint64_t{1} << 40; }), "Its calibration has 1099511627776 rows.");
    EXPECT_EQ(detail([](Calibration& c) { c.kept = {1, 3, 2}; }), "Its calibration is not in order.");
    EXPECT_EQ(detail([](Calibration& c) { c.student.df = 0.5; }),
              "The distribution of its calibration is out of range.");
    EXPECT_EQ(detail([](Calibration& c) { c.student.scale = -1; }),
              "The distribution of its calibration is out of range.");
    const char* const variances = "The variances of its calibration are out of range.";
    EXPECT_EQ(detail([](Calibration& c) { c.variance.factor = -1; }), variances);
    EXPECT_EQ(detail([](Calibration& c) { c.variance.floor = -1; }), variances);
    EXPECT_EQ(detail([](Calibration& c) { c.variance = {0, 0}; }), variances);
    EXPECT_EQ(detail([](Calibration& c) { c.kept[2] = infinity; }), "a number of the model is not finite");
    EXPECT_NE(detail([](Calibration& c) { c.kept.pop_back(); }), "");
}

TEST(Calibration, IsCancelledSoon) {
    std::vector<double> z(2'000'000);
    Random random(6);
    for (double& each : z) each = random.unit();
    btml::test::ImpatientContext context(3);
    const StandardisedErrors errors = errors_of(z, context);
    EXPECT_THROW(calibrate(Method::split_conformal, errors, {}, context), Cancelled);
}

} // namespace
} // namespace btml::uncertainty
