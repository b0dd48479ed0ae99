#include "core/monte_carlo/approx_sum.hpp"

#include "core/monte_carlo/stratified_mean.hpp"

#include <cmath>

namespace btml::monte_carlo {

static constexpr Option<PageSampling> page_sampling_rows[] = {
    option<&PageSampling::epsilon>("epsilon", inside(0, 1), "the relative error that the sum may have"),
    option<&PageSampling::confidence>("confidence", inside(0, 1), "the probability that it keeps to it"),
    option<&PageSampling::seed>("seed", any_number(), "of the sample"),
};
constinit const OptionsTable<PageSampling> page_sampling_table{page_sampling_rows};

namespace {

constexpr uint64_t min_drawn = 100;
constexpr double pages_per_squared_skewness = 25;
constexpr double max_influence = 1.0 / 16; // of epsilon: how far one page may move the sum
constexpr double max_fraction = 0.35;      // beyond it a sample, whose pages are read one by one, saves no time
constexpr double page_margin = 1.2;

} // namespace

double half_width(const PageEstimate& estimate, const PageSampling& options) {
    return normal_quantile((1 + options.confidence) / 2) * estimate.std_error;
}

double fewest_drawn(const PageSampling& options) {
    return std::max(static_cast<double>(min_drawn), -std::log(1 - options.confidence) / options.epsilon);
}

PageEstimate estimate_sum(std::span<const double> totals, uint64_t pages, double largest_known,
                          const PageSampling& options) {
    const double drawn = totals.size(), all = pages;
    double mean = 0, second = 0, third = 0, largest = largest_known;
    for (const double total : totals) mean += total / drawn;
    for (const double total : totals) {
        const double difference = total - mean;
        second += difference * difference;
        if (total * mean >= 0 && std::abs(total) <= std::abs(mean)) continue;
        third += difference * difference * difference;
        largest = std::max(largest, std::abs(difference));
    }
    const double variance = drawn > 1 ? second / (drawn - 1) : 0;
    const double skewness = second > 0 ? third / drawn / std::pow(second / drawn, 1.5) : 0;
    const double quantile = normal_quantile((1 + options.confidence) / 2);
    const double error = std::sqrt(variance / drawn * (1 - drawn / all));
    const double max_error = options.epsilon * std::abs(mean) / (1 + options.epsilon) / quantile;
    // Pages of nothing but zeros say nothing of what the others hold.
    const double pages_for_largest = mean != 0 ? largest / (max_influence * options.epsilon * std::abs(mean)) : all;
    const double least =
        std::max({fewest_drawn(options), pages_per_squared_skewness * skewness * skewness, pages_for_largest});
    PageEstimate estimate{mean * all, error * all, mean != 0 && drawn >= least && error <= max_error, 1};
    if (totals.size() < 2 || estimate.precise) return estimate;
    // m with variance/m·(1 − m/pages) = max_error².
    const double wanted = max_error > 0 ? variance / (max_error * max_error + variance / all) : all;
    const double fraction = page_margin * std::max(wanted, least) / all;
    // The same sample again would say the same.
    if (fraction <= max_fraction) estimate.fraction = std::max(fraction, 1.5 * drawn / all);
    return estimate;
}

} // namespace btml::monte_carlo
