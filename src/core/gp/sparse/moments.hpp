// What a sparse gp knows of its rows: sums of products of their covariances with its inducing points.
#pragma once

#include "core/algebra/cholesky.hpp"
#include "core/base/buffer.hpp"
#include "core/base/threads.hpp"
#include "core/gp/sparse/coordinates.hpp"
#include "core/gp/sparse/covariances.hpp"

namespace btml::gp {

// Rows as a smooth kernel sees them, whose points are in memory or as columns have them. Targets are standardised.
struct SmoothRows {
    std::span<const double> points; // row by row; empty: they are in columns
    size_t width;                   // coordinates of each
    std::span<const double> targets;
    std::span<const double> weights; // empty: 1 each
    const Coordinates* coordinates = nullptr;
    const TrainingColumns* columns = nullptr; // of which the coordinates are; null: points are in memory

    SmoothRows(std::span<const double> its_points, size_t its_width, std::span<const double> its_targets = {},
               std::span<const double> its_weights = {})
        : points(its_points), width(its_width), targets(its_targets), weights(its_weights) {}
    // Keeps references to both.
    SmoothRows(const Coordinates& its_coordinates, const TrainingColumns& its_columns)
        : width(its_coordinates.width()),
          targets(its_columns.target.span()),
          weights(its_columns.weight.span()),
          coordinates(&its_coordinates),
          columns(&its_columns) {}

    size_t size() const { return targets.size(); }
    double weight(size_t row) const { return weights.empty() ? 1 : weights[row]; }
    // Writes the row's point.
    void read(size_t row, double* to) const {
        if (columns)
            coordinates->read(*columns, row, to);
        else
            std::copy_n(points.data() + row * width, width, to);
    }
};

// Covariances of all inducing points with the rows of a slab, in which a row and its target count √weight times.
class CovarianceSlab {
  public:
    static constexpr size_t max_rows = 1024;
    static constexpr const char* what = "covariances with the inducing points";

    // Keeps references to all; inducing: count × width coordinates, not in units of length scales.
    CovarianceSlab(const SmoothKernel& kernel, std::span<const double> inducing, const SmoothRows& rows,
                   ThreadTeam& team, RunContext& context);

    void load(size_t begin);
    // After load(): rows of the slab, a multiple of 8 with those that fill it up, whose covariances are 0.
    size_t size() const { return size_; }
    size_t inducing_points() const { return count_; }
    const double* values() const { return values_.data(); } // inducing point by inducing point, max_rows apart
    // Puts L⁻¹k in the place of the covariances k of each row, for the factor L of those of the inducing points.
    void whiten(const algebra::Cholesky& factor) { factor.solve_lower(values_.data(), max_rows, team_); }
    double target(size_t i) const { return targets_[i]; }

    // Adds to the slopes, by parameter (coordinates, then the signal), what a function changes by through the
    // covariances of the slab, given its derivatives by them, which lie as values() do and are overwritten.
    // by_inducing: empty, or what it changes by with each inducing point's coordinates (count × width, 0 for
    // categories).
    void add_slopes(double* derivatives, std::span<double> slopes, std::span<double> by_inducing = {});

    static uint64_t bytes(size_t inducing_points, size_t width);

  private:
    static constexpr size_t parts = 8; // of the slab: sums are made in each, on one thread

    void add_slopes_of_groups(size_t begin, size_t end, double* derivatives, double* by_inducing);
    CovarianceTask task(size_t group, double* values) const;
    void load_group(size_t begin, size_t group);

    const SmoothKernel& kernel_;
    const SmoothRows& rows_;
    ThreadTeam& team_;
    const size_t count_, width_;
    size_t size_ = 0;
    Buffer<double> inducing_; // scaled
    Buffer<double> groups_;   // points, group by group
    Buffer<double> values_, targets_, roots_;
    Buffer<double> slopes_; // of each group
};

// Of v = L⁻¹k, whose squares are at most the signal: sums of the covariances k themselves, multiplied by L⁻¹
// afterwards, would lose the noise in their rounding.
struct Moments {
    size_t rows = 0;
    double weights = 0, log_weights = 0; // Σ w, Σ ln w
    double squares = 0;                  // Σ w·y²
    Buffer<double> products;             // Σ w·v·v', the lower triangle of K × K numbers
    Buffer<double> projections;          // Σ w·y·v

    Moments(size_t inducing_points, MemoryBudget& budget)
        : products(budget, CovarianceSlab::what, inducing_points * inducing_points),
          projections(budget, CovarianceSlab::what, inducing_points) {}
};

// One pass over the rows: O(n·K²) for K inducing points, in K² + 1,024·K numbers of memory. The same bits for any
// number of threads, unless it is a device's: see DeviceGp.
Moments sum_moments(const SmoothKernel& kernel, std::span<const double> inducing, const algebra::Cholesky& factor,
                    const SmoothRows& rows, ThreadTeam& team, RunContext& context);

// Adds what a function changes by through the covariances of points with each other, given its derivatives by these
// (size × size): to slopes and by_inducing as CovarianceSlab::add_slopes(), the points being inducing ones.
void add_slopes_of_matrix(const SmoothKernel& kernel, std::span<const double> points, const Buffer<double>& derivatives,
                          std::span<double> slopes, std::span<double> by_inducing, ThreadTeam& team,
                          RunContext& context);

// The covariances of points with each other, size × size.
Buffer<double> covariance_matrix(const SmoothKernel& kernel, std::span<const double> points, ThreadTeam& team,
                                 RunContext& context);

} // namespace btml::gp
