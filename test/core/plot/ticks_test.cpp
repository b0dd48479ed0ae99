#include "core/plot/canvas/ticks.hpp"

#include "core/numbers/rng.hpp"
#include "core/plot/canvas/scale.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <ctime>

namespace btml::plot {
namespace {

std::string labels(const std::vector<Tick>& ticks) {
    std::string text;
    for (const Tick& tick : ticks) text += (text.empty() ? "" : " ") + tick.label;
    return text;
}

TEST(PlotTicks, AreRoundNumbers) {
    EXPECT_EQ(labels(number_ticks(0, 1, 6)), "0 0.2 0.4 0.6 0.8 1.0");
    EXPECT_EQ(labels(number_ticks(-3, 8, 4)), "0 5");
    EXPECT_EQ(labels(number_ticks(-10, 10, 5)), "\xE2\x88\x92"
                                                "10 \xE2\x88\x92"
                                                "5 0 5 10");
    EXPECT_EQ(labels(number_ticks(0.5, 3.5, 9, true)), "1 2 3");
    EXPECT_EQ(labels(number_ticks(6.3, 7.7, 9, true)), "7");
    EXPECT_EQ(labels(number_ticks(1985, 2016, 8)), "1985 1990 1995 2000 2005 2010 2015");
    EXPECT_EQ(labels(number_ticks(0, 25000, 3)), "0 10,000 20,000");
    EXPECT_EQ(labels(number_ticks(0, 33'000'000, 4)), "0 10M 20M 30M");
    EXPECT_EQ(labels(number_ticks(0, 2.5e7, 6)), "0 5M 10M 15M 20M 25M");
    EXPECT_EQ(labels(number_ticks(0, 3e-8, 4)), "0 10\xE2\x81\xBB\xE2\x81\xB8 2\xC3\x97"
                                                "10\xE2\x81\xBB\xE2\x81\xB8 3\xC3\x97"
                                                "10\xE2\x81\xBB\xE2\x81\xB8");
    EXPECT_EQ(labels(number_ticks(1000000.0001, 1000000.0004, 3)), "1,000,000.0002 1,000,000.0004");
}

TEST(PlotTicks, LieWithinAnyRange) {
    for (uint64_t seed = 0; seed < 5000; seed++) {
        const double scale = power10(600 * random_unit(1, seed, 0) - 300);
        const double low = (random_unit(1, seed, 1) - 0.5) * scale;
        const double high = low + (0.001 + random_unit(1, seed, 2)) * scale;
        const size_t most = 2 + seed % 12;
        const std::vector<Tick> ticks = number_ticks(low, high, most);
        ASSERT_LE(ticks.size(), most);
        ASSERT_TRUE(most < 4 || !ticks.empty());
        const double slack = 1e-9 * std::max(std::fabs(low), std::fabs(high));
        for (size_t i = 0; i < ticks.size(); i++) {
            ASSERT_GE(ticks[i].value, low - slack);
            ASSERT_LE(ticks[i].value, high + slack);
            if (i > 0) {
                ASSERT_GT(ticks[i].value, ticks[i - 1].value);
                ASSERT_NE(ticks[i].label, ticks[i - 1].label);
            }
        }
    }
}

TEST(PlotTicks, OfLogarithms) {
    EXPECT_EQ(labels(log_ticks(0.001, 1000, 8)), "0.001 0.01 0.1 1 10 100 1000");
    EXPECT_EQ(labels(log_ticks(1, 100, 8)), "1 2 5 10 20 50 100");
    EXPECT_EQ(labels(log_ticks(1, 1e6, 4)), "1 100 10,000 1,000,000");
    EXPECT_EQ(labels(log_ticks(3, 4, 3)), "3.0 3.5 4.0");
    for (uint64_t seed = 0; seed < 500; seed++) {
        const double low = power10(500 * random_unit(2, seed, 0) - 300);
        const double high = low * power10(0.01 + 100 * random_unit(2, seed, 1));
        const std::vector<Tick> ticks = log_ticks(low, std::min(high, 8e307), 9);
        ASSERT_LE(ticks.size(), 9);
        ASSERT_GE(ticks.size(), 1);
    }
}

TEST(PlotTicks, OfTimes) {
    const auto at = [](int year, int month, int day, int hour = 0) {
        std::tm time = {};
        time.tm_year = year - 1900;
        time.tm_mon = month - 1;
        time.tm_mday = day;
        time.tm_hour = hour;
        return static_cast<double>(timegm(&time));
    };
    EXPECT_EQ(labels(time_ticks(at(2000, 5, 1), at(2010, 1, 1), 5, false)), "2002 2004 2006 2008 2010");
    EXPECT_EQ(labels(time_ticks(at(2019, 12, 1), at(2020, 4, 2), 6, false)), "2019-12 2020-01 2020-02 2020-03 2020-04");
    EXPECT_EQ(labels(time_ticks(at(2020, 2, 28), at(2020, 3, 2), 5, false)),
              "2020-02-28 2020-02-29 2020-03-01 2020-03-02");
    EXPECT_EQ(labels(time_ticks(at(2020, 3, 1), at(2020, 3, 2), 5, false)), "2020-03-01 06:00 12:00 18:00 2020-03-02");
    EXPECT_EQ(labels(time_ticks(0, 86400, 3, true)), "00:00 12:00 24:00");
    EXPECT_EQ(labels(time_ticks(0.1, 0.35, 4, true)), "00:00:00.1 00:00:00.2 00:00:00.3");
    EXPECT_EQ(labels(time_ticks(at(1950, 1, 1), at(1950, 1, 29), 5, false)),
              "1950-01-02 1950-01-09 1950-01-16 1950-01-23")
        << "Mondays";
    EXPECT_EQ(described_time(-62167219200.0 - 86400, false), "2 BC-12-31");
    EXPECT_EQ(date_context(at(2020, 3, 1, 8), at(2020, 3, 1, 20),
                           time_ticks(at(2020, 3, 1, 8), at(2020, 3, 1, 20), 5, false)),
              "2020-03-01");
    EXPECT_EQ(date_context(at(2020, 3, 1), at(2020, 3, 4), time_ticks(at(2020, 3, 1), at(2020, 3, 4), 5, false)), "");
}

TEST(PlotTicks, DaysAreThoseOfTheCalendar) {
    for (uint64_t seed = 0; seed < 3000; seed++) {
        const auto seconds = static_cast<time_t>((random_unit(3, seed, 0) - 0.1) * 3e11);
        std::tm time = {};
        gmtime_r(&seconds, &time);
        if (time.tm_year + 1900 < 1) continue;
        char text[40];
        std::snprintf(text, sizeof(text), "%04d-%02d-%02d %02d:%02d:%02d", time.tm_year + 1900, time.tm_mon + 1,
                      time.tm_mday, time.tm_hour, time.tm_min, time.tm_sec);
        EXPECT_EQ(described_time(static_cast<double>(seconds), false), text);
    }
}

TEST(PlotTicks, OfTimesLieWithinAnyRange) {
    for (uint64_t seed = 0; seed < 2000; seed++) {
        const double low = (random_unit(4, seed, 0) - 0.3) * 1e13;
        const double high = low + power10(random_unit(4, seed, 1) * 17 - 4);
        const size_t most = 3 + seed % 9;
        const std::vector<Tick> ticks = time_ticks(low, high, most, false);
        ASSERT_LE(ticks.size(), most);
        for (const Tick& tick : ticks) {
            ASSERT_GE(tick.value, low);
            ASSERT_LE(tick.value, high);
        }
    }
}

TEST(PlotScale, MapsBothEnds) {
    const Scale linear({ValueKind::number, false, -8e307, 8e307}, 300, 20);
    EXPECT_EQ(linear(-8e307), 300);
    EXPECT_EQ(linear(8e307), 20);
    EXPECT_EQ(linear(0), 160);
    EXPECT_EQ(linear(1.7e308), 20) << "within the axis";
    const Scale logarithmic({ValueKind::number, true, 0.01, 100}, 0, 100);
    EXPECT_NEAR(logarithmic(1), 50, 1e-12);
    EXPECT_NEAR(logarithm10(5e-324), std::log10(5e-324), 1e-12);
    EXPECT_NEAR(power10(-2), 0.01, 1e-15);
}

} // namespace
} // namespace btml::plot
