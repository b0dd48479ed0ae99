// Computes dissimilarities of many rows to a few points at once.
#pragma once

#include "core/base/threads.hpp"
#include "core/exemplar/exemplar_options.hpp"
#include "core/exemplar/exemplar_points.hpp"

#include <limits>

namespace btml::exemplar {

// Numbers are in single precision: coordinates are taken relative to the rows' mean and in units of about their spread
// (for `cosine`, of unit vectors), and a dissimilarity in units of unit(), where it cannot overflow.
class Dissimilarities {
  public:
    static constexpr size_t lanes = 16, points_per_group = 8;

    virtual ~Dissimilarities() = default;

    size_t rows() const { return rows_; }
    // Returns rows(), rounded up to whole vectors: the distance in memory from one point's numbers to the next point's.
    size_t stride() const { return (rows_ + lanes - 1) / lanes * lanes; }
    double unit() const { return unit_; }
    size_t room(size_t count) const {
        return (count + points_per_group - 1) / points_per_group * points_per_group * stride();
    }

    // Stands for rows first ≤ i < last; both are multiples of `lanes`.
    struct Rows {
        size_t first, last;
    };
    // Puts the dissimilarity of these rows i to points[first + c], for c < count, into to[c * stride() + i]. What
    // follows row rows() − 1 is undefined. There must be room for whole groups of points, room(count) numbers. Throws
    // invalid_argument for another number of coordinates, and for `cosine` for a point without a direction.
    virtual void compute(const PointSet& points, size_t first, size_t count, Rows rows, float* to,
                         ThreadTeam& team) const = 0;
    void compute(const PointSet& points, size_t first, size_t count, float* to, ThreadTeam& team) const {
        compute(points, first, count, {0, stride()}, to, team);
    }

  protected:
    explicit Dissimilarities(size_t rows) : rows_(rows) {}

    const size_t rows_;
    double unit_ = 1;
};

// `rows` must not be empty; `function` is used with Metric::function and outlives the result. `rows` do as well.
std::unique_ptr<Dissimilarities> make_dissimilarities(Metric metric, const PointSet& rows,
                                                      DissimilarityFunction* function, RunContext& context);

} // namespace btml::exemplar
