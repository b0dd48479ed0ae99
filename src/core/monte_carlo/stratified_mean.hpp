// Estimates the mean of a finite population by stratified sampling in stages (Holmes, Gray, Isbell: Ultrafast Monte
// Carlo for Statistical Summations, NIPS 2007, Algorithms 1 and 3), for values that may themselves be noisy estimates.
//
// The stopping rule is theirs, corrected: z·s·(1 + ε) ≤ ε·|mean|, where the paper has (1 − ε), which stops too early.
#pragma once

#include "core/base/buffer.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace btml::monte_carlo {

// Returns the quantile of the standard normal distribution, 0 < p < 1.
double normal_quantile(double p);

struct SamplingOptions {
    double epsilon = 0.1;      // is a relative error, > 0
    bool is_logarithm = false; // says that what is summed is one: then epsilon is an absolute error
    double confidence = 0.95;  // is that of keeping to it, in (0, 1)
    double tolerance = 0;      // is an absolute error that also suffices
    uint64_t min_samples = 1000;
    int strata = 64;
    uint64_t seed = 0;
};

// One evaluation gives an unbiased estimate of the value, and an estimate of its variance (0 where it is exact).
struct Draw {
    double value = 0, noise = 0;
};

class StratifiedMean {
  public:
    static constexpr uint64_t min_draws = 10; // of a stratum, or all of its members

    // `sizes` are those of the strata, each at least 1. Strata next to each other should be alike.
    StratifiedMean(std::vector<uint64_t> sizes, const SamplingOptions& options);

    // Says how many draws each stratum should have before the next look: Neyman's allocation (proportional to size
    // times standard deviation) mixed with a proportional share, at least min_draws from each stratum, never fewer than
    // there are, and all of a stratum of which most are wanted. The same numbers as before say that nothing more can be
    // drawn.
    std::vector<uint64_t> plan() const;
    // Says how many draws in all the stopping rule will take, as far as those so far can tell; at most the population.
    uint64_t needed() const;
    // Takes a draw without replacement.
    void add(size_t stratum, const Draw& draw);

    double mean() const;
    // Returns that of mean(), with the finite-population correction; noise of the draws is not subject to it.
    double standard_error() const;
    // Returns what noise of the draws adds to standard_error()².
    double noise_variance() const;
    bool precise_enough() const;
    bool exhausted() const;
    uint64_t draws() const;

  private:
    struct Stratum {
        uint64_t size;
        uint64_t draws = 0;
        double mean = 0;               // is that of the values
        double squares = 0, noise = 0; // add up their squared deviations, and their noise

        double variance() const { return draws > 1 ? squares / (draws - 1) : 0; }
    };

    double weight(const Stratum& stratum) const { return stratum.size / population_; }
    double variance(const Stratum& stratum, double draws) const;
    double target_variance() const;
    uint64_t wanted(const Stratum& stratum, double scale) const;
    // Returns standard deviations for allocation: where draws are few, those of a stratum's neighbours.
    std::vector<double> deviations() const;
    // Returns the draws of each stratum where `total` are drawn in all, but for floors and ends.
    std::vector<uint64_t> allocate(double total) const;
    double total_needed() const;

    std::vector<Stratum> strata_;
    double population_ = 0;
    SamplingOptions options_;
    double quantile_;
};

} // namespace btml::monte_carlo
