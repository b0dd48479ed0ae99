// Which numbers of a column are far from all others, as sentinels such as 9999999 are. A mean and a deviation that had
// these in them would bring all others together at one point.
#pragma once

#include "core/numbers/sample_mean.hpp"
#include "core/numbers/weighted_quantile.hpp"

namespace btml {

// Returns the lower median. for_each_number(body) calls body(x, weight, worker) for every number, one at least.
template <class ForEachNumber>
double median_of(size_t workers, Peers* peers, const ForEachNumber& for_each_number) {
    return from_ordered_bits(weighted_quantile(0.5, 63, workers, peers, [&](const auto& visit) {
        for_each_number([&](double x, int64_t weight, int worker) { visit(ordered_bits(x), weight, worker); });
    }));
}

// for_each_number(body) calls body(x) for every number, one at least.
template <class ForEachNumber>
double median_of(const ForEachNumber& for_each_number) {
    return median_of(1, nullptr, [&](const auto& body) { for_each_number([&](double x) { body(x, 1, 0); }); });
}

struct UsualRange {
    double median = 0, reach = 0;

    double upper() const { return median + reach; }
    bool contains(double x) const { return std::abs(x - median) <= reach; }
};

// Says whether the numbers beyond a range are apart from the others: few, or mostly one number, as sentinels are.
// Others are a part of the column, as where a quantity is near 0 most of the time. for_each_number is as above.
template <class ForEachNumber>
bool has_apart(const UsualRange& range, size_t workers, Peers* peers, const ForEachNumber& for_each_number) {
    constexpr double few = 0.05; // of all numbers
    const auto weight_of = [&](const auto& counts) {
        TeamSums<int64_t> sums(workers, peers);
        for_each_number([&](double x, int64_t weight, int worker) { sums[worker] += counts(x) ? weight : 0; });
        return static_cast<double>(sums.total());
    };
    const double all = weight_of([](double) { return true; }),
                 beyond = weight_of([&](double x) { return !range.contains(x); });
    if (beyond <= few * all) return true;
    const double sentinel = median_of(workers, peers, [&](const auto& body) {
        for_each_number([&](double x, int64_t weight, int worker) {
            if (!range.contains(x)) body(x, weight, worker);
        });
    });
    return 2 * weight_of([&](double x) { return x == sentinel; }) >= beyond;
}

// The range reaches 1,000 times as far from the median as half of the numbers do that differ from it, or without end
// where those beyond it are not apart. So numbers with heavy tails are in it, as are few values beside many equal ones.
// for_each_number is as above.
template <class ForEachNumber>
UsualRange usual_range(size_t workers, Peers* peers, const ForEachNumber& for_each_number) {
    constexpr double far = 1000;
    const double median = median_of(workers, peers, for_each_number);
    const auto for_each_difference = [&](const auto& body) {
        for_each_number([&](double x, int64_t weight, int worker) {
            if (x != median) body(std::abs(x - median), weight, worker);
        });
    };
    TeamSums<int64_t> differing(workers, peers);
    for_each_difference([&](double, int64_t weight, int worker) { differing[worker] += weight; });
    if (differing.total() == 0) return {median, 0};
    const UsualRange range{median, far * median_of(workers, peers, for_each_difference)};
    if (has_apart(range, workers, peers, for_each_number)) return range;
    return {median, std::numeric_limits<double>::infinity()};
}

// for_each_number(body) calls body(x) for every number, one at least.
template <class ForEachNumber>
UsualRange usual_range(const ForEachNumber& for_each_number) {
    return usual_range(1, nullptr, [&](const auto& body) { for_each_number([&](double x) { body(x, 1, 0); }); });
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
