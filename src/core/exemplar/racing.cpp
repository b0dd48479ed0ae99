#include "core/exemplar/racing.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace btml::exemplar {

namespace {

constexpr size_t first_size = 256;
constexpr double range_factor = 7.0 / 3 + 3 / std::numbers::sqrt2;

} // namespace

// Each look at a race takes two bounds, either of which fails with five times what its logarithm is of.
RaceBounds::RaceBounds(size_t population, uint64_t races, double confidence)
    : population_(population),
      log_term_(std::log(10 * static_cast<double>(looks()) * static_cast<double>(std::max<uint64_t>(races, 1)) /
                         (1 - confidence))) {}

// Three quarters of the rows are as good as all: the last look may be at less than twice as many rows as the one
// before.
size_t RaceBounds::next_size(size_t size) const {
    const size_t next = std::max(first_size, 2 * size);
    return next > population_ / 4 * 3 ? population_ : next;
}

size_t RaceBounds::looks() const {
    size_t looks = 0;
    for (size_t size = 0; size < population_; size = next_size(size)) looks++;
    return looks;
}

double RaceBounds::deviation(const DrawnNumbers& numbers) const {
    const double n = numbers.count, all = static_cast<double>(population_), mean = numbers.sum / n;
    if (n >= all) return 0;
    const double variance = std::max(numbers.sum_of_squares / n - mean * mean, 0.0);
    const double left = n <= all / 2 ? 1 - (n - 1) / all : (1 - n / all) * (1 + 1 / n);
    return std::sqrt(2 * left * variance * log_term_ / n) + range_factor * numbers.range * log_term_ / n;
}

} // namespace btml::exemplar
