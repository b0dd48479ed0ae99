// Samples a stream of rows, so that each row of the sample counts for those that it stands for.
#pragma once

#include "core/exemplar/exemplar_options.hpp"
#include "core/exemplar/exemplar_points.hpp"

namespace btml::exemplar {

// Says how likely a row should be sampled, relative to others: by its weight and, where dissimilarities grow without
// bound, as much again for a row that is as far from the mean as rows are on average (lightweight coresets: Bachem,
// Lucic, Krause: Scalable k-Means Clustering via Lightweight Coresets, 2018). Few rows far out may be most of a loss,
// and a uniform sample has too few of them to say where exemplars belong. Mean and average are those of the rows
// before.
class SizeMeasure {
  public:
    explicit SizeMeasure(const Options& options);

    double of(const Point& point);

  private:
    double dissimilarity(std::span<const double> x) const;

    const bool by_distance_;
    const Metric metric_;
    double weights_ = 0; // adds up those of the rows so far
    double average_ = 0; // is their average dissimilarity from the mean
    std::vector<double> mean_;
};

// Holds so many rows, sampled with probabilities in proportion to their sizes, or all rows while they fit (priority
// sampling: Duffield, Lund, Thorup: Priority sampling for estimation of arbitrary subset sums, 2007).
class Reservoir {
  public:
    Reservoir(size_t capacity, uint64_t seed, uint64_t stream, MemoryBudget& budget);

    // `size` is above 0, and not drawn from the same random numbers.
    void offer(const Point& point, double size);
    // Ends the sample: the weight of a row becomes what it was, over the probability to be sampled.
    void finish();
    // Puts the points in a random order, after those that count for much more than the others, and returns how many
    // these are. The first of the others are a sample, too. To be called after finish().
    size_t shuffle(RunContext& context);
    uint64_t offered() const { return offered_; }
    bool has_all() const { return offered_ == points_.size(); }
    // Returns that with which point i was sampled, after finish().
    double probability(size_t i) const { return std::min(1.0, sizes_[i] / threshold_); }
    const PointSet& points() const { return points_; }

  private:
    struct Priority {
        double value;
        size_t place;

        bool operator<(const Priority& other) const { return value > other.value; } // puts the least on top of a heap
    };

    // Returns what point i counts for.
    double counted_size(size_t i) const { return std::max(sizes_[i], threshold_); }
    size_t put_large_first(RunContext& context);
    void swap(size_t i, size_t j);

    const size_t capacity_;
    const uint64_t seed_, stream_;
    uint64_t offered_ = 0;
    double threshold_ = 0; // is the largest priority of the rows left out
    PointSet points_;
    Buffer<double> sizes_;        // are those of the points
    Buffer<Priority> priorities_; // are a heap
};

} // namespace btml::exemplar
