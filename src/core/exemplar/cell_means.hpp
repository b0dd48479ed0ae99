// Takes the means of a whole stream of rows in the cells of a k-means clustering, and brings a sample of the rows in
// line with them: what is left to chance in the sample is its spread within cells.
#pragma once

#include "core/exemplar/dissimilarities.hpp"

namespace btml::exemplar {

// For an exemplar e of a cell, Σ |x − e|² is the cell's spread plus its weight times |mean − e|². So a sample whose
// cells have the means of all rows, rather than of its own few, says more of where exemplars belong (calibration of a
// sample to known totals: Deville, Särndal: Calibration Estimators in Survey Sampling, 1992). It takes the
// memory of `cells` × width numbers and a batch of rows, whatever the number of rows.
class CellMeans {
  public:
    // Makes cells around at most so many centres that a few steps of Lloyd's algorithm find for `first_rows`, which
    // must not be empty and are added. They are the same whatever the number of threads.
    CellMeans(const PointSet& first_rows, size_t cells, ThreadTeam& team, RunContext& context);

    // Returns the bytes that it takes for rows of `width` coordinates.
    static uint64_t memory(uint64_t cells, uint64_t width);

    void add(const Point& point);
    // Moves the rows of each cell of `sample` together, so that their mean is that of all rows added. A cell stays as
    // it is where that is farther than its rows are from each other: such a cell holds several groups of rows, which
    // would end up where no rows are.
    void correct(PointSet& sample);

  private:
    struct Cells {
        Cells(size_t count, size_t width, MemoryBudget& budget)
            : weights(budget, "cell means", count, 0.0), means(budget, "cell means", count * width, 0.0) {}
        void add(size_t cell, double weight, std::span<const double> x);

        Buffer<double> weights, means;
    };

    void set_centres(const double* centres);
    template <class Found>
    void add_rows(const PointSet& points, Cells& to, Found&& found);
    void add_rows(const PointSet& points, Cells& to);
    double spacing(const PointSet& sample, std::span<const uint32_t> rows) const;

    ThreadTeam& team_;
    RunContext& context_;
    const size_t count_, width_;
    PointSet batch_;
    std::unique_ptr<Dissimilarities> to_centres_; // takes the centres for its rows
    Buffer<float> distances_;
    Cells all_;
};

} // namespace btml::exemplar
