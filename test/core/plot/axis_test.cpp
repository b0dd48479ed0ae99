#include "core/plot/axis.hpp"

#include "core/numbers/rng.hpp"

#include <gtest/gtest.h>

namespace btml::plot {
namespace {

// Labels along a horizontal axis leave room between each other, whatever the range.
TEST(PlotAxis, LabelsDoNotOverlap) {
    for (uint64_t seed = 0; seed < 3000; seed++) {
        const auto unit = [&](uint64_t i) { return random_unit(1, seed, i); };
        Domain domain{seed % 3 == 0 ? ValueKind::time : ValueKind::number, seed % 3 == 1};
        const double scale = domain.kind == ValueKind::time ? 1e9 : power10(20 * unit(0) - 10);
        domain.low = domain.logarithmic ? scale : (unit(1) - 0.5) * scale;
        domain.high =
            domain.logarithmic ? scale * power10(0.1 + 10 * unit(2)) : domain.low + scale * power10(-6 * unit(2));
        const double length = 100 + 900 * unit(3);
        Axis axis(domain, false, {});
        axis.fit(length, 100);
        const Scale place(domain, 0, length);
        if (axis.ticks().size() == 2) continue; // fewer there are not
        for (size_t i = 1; i < axis.ticks().size(); i++) {
            const Tick &a = axis.ticks()[i - 1], &b = axis.ticks()[i];
            const double room = place(b.value) - place(a.value);
            EXPECT_GE(room, (text_width(a.label, tick_font) + text_width(b.label, tick_font)) / 2) << seed;
        }
    }
}

TEST(PlotAxis, ManyCategoriesAreTurnedAndThinned) {
    const auto axis_of = [](size_t count, bool vertical, double length) {
        std::vector<std::string> names(count, "a category of some length");
        Axis axis({ValueKind::category, false, -0.5, static_cast<double>(count) - 0.5}, vertical, names);
        axis.fit(length, 100);
        return axis;
    };
    EXPECT_EQ(axis_of(3, false, 600).ticks().size(), 3);
    EXPECT_EQ(axis_of(3, false, 600).thickness(), axis_of(1, false, 600).thickness());
    EXPECT_EQ(axis_of(30, false, 600).ticks().size(), 30);
    EXPECT_GT(axis_of(30, false, 600).thickness(), 60);
    EXPECT_LE(axis_of(30, false, 600).thickness(), 110);
    EXPECT_LE(axis_of(1000, false, 600).ticks().size(), 600 / 14 + 1);
    EXPECT_LE(axis_of(1000, true, 300).ticks().size(), 300 / 14 + 1);
    EXPECT_LE(axis_of(5, true, 300).thickness(), 100);
}

} // namespace
} // namespace btml::plot
