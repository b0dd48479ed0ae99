// Races decide by a part of a sample what all of it would decide (Gomes, Krause, Appendix II: adaptive stopping rule;
// Maron, Moore: Hoeffding Races, 1994).
#pragma once

#include <cstddef>
#include <cstdint>

namespace btml::exemplar {

// Sums up numbers that are drawn without replacement.
struct DrawnNumbers {
    double count, sum, sum_of_squares;
    double range; // is the largest less the smallest of the population
};

// Gives the sizes of the samples that races look at, and how far off their means may be.
class RaceBounds {
  public:
    // All bounds of at most `races` races hold together with the probability `confidence`.
    RaceBounds(size_t population, uint64_t races, double confidence);

    // Returns the size after this one: at first a few rows, then twice as many each time, `population` in the end.
    size_t next_size(size_t size) const;
    // Returns by how much the mean of the numbers drawn may exceed that of the population, or fall short of it; 0 when
    // they are all of it (Bardenet, Maillard: Concentration inequalities for sampling without replacement, 2015,
    // Theorem 4.3).
    double deviation(const DrawnNumbers& numbers) const;

  private:
    size_t looks() const;

    const size_t population_;
    const double log_term_;
};

} // namespace btml::exemplar
