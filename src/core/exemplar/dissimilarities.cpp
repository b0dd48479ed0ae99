#include "core/exemplar/dissimilarities.hpp"

#include "core/numbers/usual_range.hpp"
#include "core/pairwise/distances.hpp"

#include <algorithm>
#include <cmath>

namespace btml::exemplar {

using pairwise::group_points, pairwise::tile_rows;

namespace {

constexpr size_t tiles_per_item = 64;
constexpr int unit_exponent = 800; // of the largest unit: sums of dissimilarities are numbers

// Built-in dissimilarities are functions of sums over transformed coordinates.
class CoordinateDissimilarities : public Dissimilarities {
  public:
    CoordinateDissimilarities(Metric metric, const PointSet& rows, RunContext& context)
        : Dissimilarities(rows.size()),
          context_(context),
          metric_(metric),
          width_(rows.width()),
          centre_(width_, 0.0),
          tiles_(context.memory(), "validation rows", stride() * width_, 0.0F) {
        if (metric != Metric::cosine) find_frame(rows);
        std::vector<float> transformed(width_);
        context_.for_each(rows.size(), units_of_row, [&](size_t i) {
            transform(rows, i, transformed);
            for (size_t f = 0; f < width_; f++)
                tiles_[((i / tile_rows) * width_ + f) * tile_rows + i % tile_rows] = transformed[f];
        });
        unit_ = metric == Metric::squared_euclidean ? 1 / (scale_ * scale_)
                : metric == Metric::cosine          ? 0.5
                                                    : 1 / scale_;
    }

    void compute(const PointSet& points, size_t first, size_t count, Rows rows, float* to,
                 ThreadTeam& team) const override {
        if (count == 0) return;
        const size_t groups = (count + group_points - 1) / group_points, group_size = group_points * width_;
        Buffer<float> packed(context_.memory(), "candidates", groups * group_size, 0.0F);
        std::vector<float> transformed(width_);
        for (size_t c = 0; c < count; c++) {
            transform(points, first + c, transformed);
            float* const group = packed.data() + c / group_points * group_size + c % group_points;
            for (size_t f = 0; f < width_; f++) group[f * group_points] = transformed[f];
        }
        const size_t first_tile = rows.first / tile_rows, last_tile = rows.last / tile_rows;
        const size_t parts = (last_tile - first_tile + tiles_per_item - 1) / tiles_per_item;
        // All points meet some rows before the next ones: these stay in the cache.
        team.for_each(groups * parts, [&](size_t item, int) {
            const size_t group = item % groups, tile = first_tile + item / groups * tiles_per_item;
            compute_part(packed.data() + group * group_size, tile, std::min(tile + tiles_per_item, last_tile),
                         to + group * group_points * stride());
        });
    }

  private:
    // Finds the median, from which a few far rows draw no others away, and a power of two that brings the largest
    // coordinate near 1: both only keep digits.
    void find_frame(const PointSet& rows) {
        for (size_t f = 0; f < width_ && rows.size() > 0; f++)
            centre_[f] = median_of([&](const auto& body) {
                context_.for_each(rows.size(), units_of_row, [&](size_t i) { body(rows.x(i)[f]); });
            });
        double largest = 0;
        context_.for_each(rows.size(), units_of_row, [&](size_t i) {
            for (size_t f = 0; f < width_; f++) largest = std::max(largest, std::abs(rows.x(i)[f] - centre_[f]));
        });
        const bool finite = std::ranges::all_of(centre_, [](double x) { return std::isfinite(x); });
        const int most = metric_ == Metric::squared_euclidean ? unit_exponent / 2 : unit_exponent;
        if (!finite || !(largest < std::ldexp(1.0, most)))
            throw Error(ErrorCode::out_of_range, "coordinates are too far from each other to take differences", "",
                        "Scale them.");
        if (largest > 0) scale_ = std::ldexp(1.0, std::min(-std::ilogb(largest), most));
    }

    void transform(const PointSet& points, size_t i, std::vector<float>& to) const {
        const std::span<const double> x = points.x(i);
        if (x.size() != width_)
            throw Error(ErrorCode::invalid_argument,
                        format("a point has %zu coordinates, the rows have %zu", x.size(), width_));
        double scale = scale_;
        if (metric_ == Metric::cosine) scale = 1 / length(x, points.number(i));
        for (size_t f = 0; f < width_; f++) to[f] = (x[f] - centre_[f]) * scale;
    }

    static double length(std::span<const double> x, uint64_t number) {
        double largest = 0, sum = 0;
        for (const double value : x) largest = std::max(largest, std::abs(value));
        if (largest == 0)
            throw Error(ErrorCode::invalid_argument,
                        format("row %" PRIu64 " of the points is zero, so it has no direction", number + 1), "",
                        "Leave such rows out with WHERE, or use another dissimilarity than \"cosine\".");
        for (const double value : x) sum += value / largest * (value / largest);
        return largest * std::sqrt(sum);
    }

    void compute_part(const float* group, size_t first_tile, size_t last_tile, float* to) const {
        const pairwise::TileSums sums{tiles_.data(), width_, first_tile, last_tile, group, to, stride()};
        metric_ == Metric::manhattan ? pairwise::sum_absolutes(sums) : pairwise::sum_squares(sums);
        if (metric_ != Metric::euclidean) return;
        for (size_t c = 0; c < group_points; c++)
            for (size_t i = first_tile * tile_rows; i < last_tile * tile_rows; i++)
                to[c * stride() + i] = std::sqrt(to[c * stride() + i]);
    }

    RunContext& context_;
    const Metric metric_;
    const size_t width_;
    std::vector<double> centre_;
    double scale_ = 1;
    Buffer<float> tiles_;
};

class FunctionDissimilarities : public Dissimilarities {
  public:
    FunctionDissimilarities(const PointSet& rows, DissimilarityFunction& function, RunContext& context)
        : Dissimilarities(rows.size()), points_(rows), function_(function), context_(context) {}

    void compute(const PointSet& points, size_t first, size_t count, Rows rows, float* to, ThreadTeam&) const override {
        for (size_t c = 0; c < count; c++)
            for (size_t i = rows.first; i < std::min(rows.last, rows_); i++) {
                context_.worked(units_of_row);
                const double d = function_(points_.value(i), points.value(first + c));
                to[c * stride() + i] = d;
            }
    }

  private:
    const PointSet& points_;
    DissimilarityFunction& function_;
    RunContext& context_;
};

} // namespace

std::unique_ptr<Dissimilarities> make_dissimilarities(Metric metric, const PointSet& rows,
                                                      DissimilarityFunction* function, RunContext& context) {
    if (metric == Metric::function) return std::make_unique<FunctionDissimilarities>(rows, *function, context);
    return std::make_unique<CoordinateDissimilarities>(metric, rows, context);
}

} // namespace btml::exemplar
