// Which numbers of a column are far from all others, as sentinels such as 9999999 are. A mean and a deviation that had
// these in them would bring all others together at one point.
#pragma once

#include "core/base/sample_mean.hpp"
#include "core/base/weighted_quantile.hpp"

namespace btml {

// Returns the lower median. for_each_number(body) calls body(x) for every number, one at least.
template <class ForEachNumber>
double median_of(const ForEachNumber& for_each_number) {
    return from_ordered_bits(weighted_quantile(0.5, 63, 1, nullptr, [&](const auto& visit) {
        for_each_number([&](double x) { visit(ordered_bits(x), 1, 0); });
    }));
}

struct UsualRange {
    double median = 0, reach = 0;

    bool contains(double x) const { return std::abs(x - median) <= reach; }
};

// Says whether the numbers beyond a range are apart from the others: few, or mostly one number, as sentinels are.
// Others are a part of the column, as where a quantity is near 0 most of the time.
template <class ForEachNumber>
bool has_apart(const UsualRange& range, const ForEachNumber& for_each_number) {
    constexpr double few = 0.05; // of all numbers
    const auto for_each_beyond = [&](const auto& body) {
        for_each_number([&](double x) {
            if (!range.contains(x)) body(x);
        });
    };
    double all = 0, beyond = 0, equal = 0;
    for_each_number([&](double x) {
        all++;
        beyond += !range.contains(x);
    });
    if (beyond <= few * all) return true;
    const double sentinel = median_of(for_each_beyond);
    for_each_beyond([&](double x) { equal += x == sentinel; });
    return 2 * equal >= beyond;
}

// The range reaches 1,000 times as far from the median as half of the numbers do that differ from it, or without end
// where those beyond it are not apart. So numbers with heavy tails are in it, as are few values beside many equal ones.
template <class ForEachNumber>
UsualRange usual_range(const ForEachNumber& for_each_number) {
    constexpr double far = 1000;
    const double median = median_of(for_each_number);
    bool varies = false;
    for_each_number([&](double x) { varies = varies || x != median; });
    if (!varies) return {median, 0};
    const auto for_each_difference = [&](const auto& body) {
        for_each_number([&](double x) {
            if (x != median) body(std::abs(x - median));
        });
    };
    const UsualRange range{median, far * median_of(for_each_difference)};
    return has_apart(range, for_each_number) ? range : UsualRange{median, std::numeric_limits<double>::infinity()};
}

// Returns the mean of the numbers in their usual range, added up as they come.
template <class ForEachNumber>
SampleMean usual_mean(const ForEachNumber& for_each_number) {
    const UsualRange usual = usual_range(for_each_number);
    SampleMean mean;
    for_each_number([&](double x) {
        if (usual.contains(x)) mean.add(x);
    });
    return mean;
}

} // namespace btml
