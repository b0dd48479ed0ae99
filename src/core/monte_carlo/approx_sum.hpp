// Estimates the sum of a table's values from a sample of its pages (Holmes, Gray, Isbell: Ultrafast Monte Carlo for
// Statistical Summations, Algorithm 1). Rows of a page are alike, so that pages, not rows, are what is drawn: the sum
// is the number of pages times the mean of their totals, its error that of a sample of pages without replacement.
#pragma once

#include "core/base/options_table.hpp"

#include <algorithm>
#include <cstdint>
#include <span>

namespace btml::monte_carlo {

struct PageSampling {
    double epsilon = 0.01, confidence = 0.95;
    uint64_t seed = 0;
};

extern const OptionsTable<PageSampling> page_sampling_table;

struct PageEstimate {
    double sum, std_error;
    bool precise;    // the relative error is at most epsilon with this confidence, by the normal approximation, and the
                     // sample is large enough for that: at least 25 times the squared skewness of the totals (Cochran:
                     // Sampling Techniques, section 2.15), and so large that no page moves the sum by epsilon/16: else
                     // those not drawn that are as large, or larger, may be what the sum is made of. Totals nearer to
                     // 0 than the mean are bounded and count for neither: what pages without rows take from the sum
                     // stays below epsilon once as many pages are drawn as fewest_drawn() says
    double fraction; // where it is not, says what part of the pages to draw next; 1 if nothing short of all will do
};

inline constexpr uint64_t min_pages = 4'000; // make a table worth sampling: fewer are read in no time

// Pages of which a share of epsilon has no rows look full in a sample of m with the probability (1 − epsilon)^m: with
// fewer than this one could not be as confident as asked.
double fewest_drawn(const PageSampling& options);

inline double first_fraction(uint64_t pages, const PageSampling& options) {
    return std::max(0.02, 1.1 * std::max(200.0, fewest_drawn(options)) / pages);
}

// `totals` are those of the pages drawn, of `pages` in all. `largest_known` is a magnitude that some value of the table
// is known to have; it counts as if it were met.
PageEstimate estimate_sum(std::span<const double> totals, uint64_t pages, double largest_known,
                          const PageSampling& options);

// Returns the half width of the confidence interval.
double half_width(const PageEstimate& estimate, const PageSampling& options);

} // namespace btml::monte_carlo
