// Samples of a stream of rows in which each row counts for those that it stands for.
#pragma once

#include "core/exemplar/options.hpp"
#include "core/exemplar/points.hpp"

namespace btml::exemplar {

// How likely a row should be sampled, relative to others: its weight and, where dissimilarities grow without bound, as
// much again for a row that is as far from the mean as rows are on average (lightweight coresets: Bachem, Lucic,
// Krause: Scalable k-Means Clustering via Lightweight Coresets, 2018). Few rows far out may be most of a loss, and a
// uniform sample has too few of them to say where exemplars belong. Mean and average are those of the rows before.
class SizeMeasure {
  public:
    explicit SizeMeasure(const Options& options);

    double of(const Point& point);

  private:
    double dissimilarity(std::span<const double> x) const;

    const bool by_distance_;
    const Metric metric_;
    double weights_ = 0, average_ = 0; // of the rows so far; their average dissimilarity from the mean
    std::vector<double> mean_;
};

// A sample of so many rows with probabilities in proportion to their sizes, or all rows while they fit (priority
// sampling: Duffield, Lund, Thorup: Priority sampling for estimation of arbitrary subset sums, 2007).
class Reservoir {
  public:
    Reservoir(size_t capacity, uint64_t seed, uint64_t stream, MemoryBudget& budget);

    // size: above 0, and not drawn from the same random numbers.
    void offer(const Point& point, double size);
    // Ends the sample: the weight of a row becomes what it was, over the probability to be sampled.
    void finish();
    // Puts the points in a random order: the first of them are a sample, too. After finish().
    void shuffle();
    uint64_t offered() const { return offered_; }
    bool has_all() const { return offered_ == points_.size(); }
    // That with which point i was sampled. After finish().
    double probability(size_t i) const { return std::min(1.0, sizes_[i] / threshold_); }
    const PointSet& points() const { return points_; }
    PointSet& points() { return points_; }

  private:
    struct Priority {
        double value;
        size_t place;

        bool operator<(const Priority& other) const { return value > other.value; } // the least is on top of a heap
    };

    const size_t capacity_;
    const uint64_t seed_, stream_;
    uint64_t offered_ = 0;
    double threshold_ = 0; // the largest priority of the rows left out
    PointSet points_;
    Buffer<double> sizes_;        // of the points
    Buffer<Priority> priorities_; // a heap
};

} // namespace btml::exemplar
