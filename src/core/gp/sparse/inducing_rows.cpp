#include "core/gp/sparse/inducing_rows.hpp"

#include "core/algebra/dense.hpp"
#include "core/numbers/rng.hpp"

#include <cmath>
#include <numeric>

namespace btml::gp {

namespace {

constexpr const char* what_candidates = "rows that may be inducing points";

// A partial Cholesky factor of the covariances of some rows, which grows row by row.
class PivotedCholesky {
  public:
    PivotedCholesky(const SmoothKernel& kernel, Buffer<double> points, size_t count, ThreadTeam& team,
                    RunContext& context)
        : kernel_(kernel),
          width_(kernel.width()),
          size_(points.size() / width_),
          padded_((size_ + part - 1) / part * part),
          team_(team),
          points_(std::move(points)),
          groups_(context.memory(), what_candidates, padded_ * width_),
          factor_(context.memory(), what_candidates, count * padded_),
          variances_(context.memory(), what_candidates, padded_) {
        std::fill(variances_.begin(), variances_.end(), kernel.signal);
        std::fill(variances_.begin() + static_cast<long>(size_), variances_.end(), 0.0);
        for (size_t i = 0; i < size_; i++) {
            double* const point = points_.data() + i * width_;
            kernel.scale(point, point);
        }
        for (size_t i = 0; i < padded_; i++)
            for (size_t c = 0; c < width_; c++)
                groups_[(i / covariance_group * width_ + c) * covariance_group + i % covariance_group] =
                    points_[std::min(i, size_ - 1) * width_ + c];
    }

    // The row that varies most given the pivots.
    size_t next() const {
        return static_cast<size_t>(std::max_element(variances_.begin(), variances_.begin() + static_cast<long>(size_)) -
                                   variances_.begin());
    }
    double variance(size_t row) const { return variances_[row]; }

    void add(size_t pivot) {
        std::vector<double> of_pivot(rank_);
        for (size_t k = 0; k < rank_; k++) of_pivot[k] = factor_[k * padded_ + pivot];
        const double root = std::sqrt(variances_[pivot]);
        team_.for_each(padded_ / part, [&](size_t at, int) { extend(at * part, pivot, of_pivot, root); });
        variances_[pivot] = 0;
        rank_++;
    }

  private:
    static constexpr size_t part = algebra::block_side;

    void extend(size_t begin, size_t pivot, const std::vector<double>& of_pivot, double root) {
        double* const row = factor_.data() + rank_ * padded_ + begin;
        for (size_t i = 0; i < part; i += covariance_group)
            find_covariances({kernel_.kind, kernel_.inverse_lengths.size(), width_, kernel_.penalties.data(),
                              kernel_.signal, points_.data() + pivot * width_, 1, groups_.data() + (begin + i) * width_,
                              row + i, part});
        for (size_t k = 0; k < rank_; k += part) {
            const size_t some = std::min(part, rank_ - k);
            algebra::subtract_product({const_cast<double*>(of_pivot.data()) + k, 1, some, some},
                                      {factor_.data() + k * padded_ + begin, some, part, padded_},
                                      {row, 1, part, part});
        }
        for (size_t i = 0; i < part; i++) {
            row[i] /= root;
            variances_[begin + i] = std::max(0.0, variances_[begin + i] - row[i] * row[i]);
        }
    }

    const SmoothKernel& kernel_;
    const size_t width_, size_, padded_;
    ThreadTeam& team_;
    size_t rank_ = 0;
    Buffer<double> points_, groups_; // scaled, point by point and group by group
    Buffer<double> factor_;          // row by row
    Buffer<double> variances_;       // given the pivots
};

} // namespace

std::vector<uint32_t> spread_rows(size_t rows, size_t count, uint64_t seed) {
    constexpr uint64_t stream = 0x7370617273650000;
    std::vector<uint32_t> some(std::min(rows, count));
    if (count >= rows) {
        std::iota(some.begin(), some.end(), uint32_t{0});
        return some;
    }
    for (size_t i = 0; i < count; i++) {
        const size_t begin = i * rows / count, end = (i + 1) * rows / count;
        some[i] = static_cast<uint32_t>(begin + random_bits(seed, stream, i) % (end - begin));
    }
    return some;
}

Buffer<double> points_of(const SmoothRows& rows, std::span<const uint32_t> some, MemoryBudget& budget) {
    Buffer<double> points(budget, what_candidates, some.size() * rows.width);
    for (size_t i = 0; i < some.size(); i++) rows.read(some[i], points.data() + i * rows.width);
    return points;
}

std::vector<uint32_t> varied_rows(const SmoothKernel& kernel, const SmoothRows& rows, std::span<const uint32_t> among,
                                  size_t count, ThreadTeam& team, RunContext& context) {
    const double min_variance = std::min(1e-6 * kernel.signal, 1e-2 * kernel.noise);
    count = std::min(count, among.size());
    PivotedCholesky factor(kernel, points_of(rows, among, context.memory()), count, team, context);
    std::vector<uint32_t> chosen;
    while (chosen.size() < count) {
        const size_t pivot = factor.next();
        if (factor.variance(pivot) <= min_variance) break;
        factor.add(pivot);
        chosen.push_back(among[pivot]);
        context.share_progress("choosing inducing points", chosen.size(), count);
    }
    return chosen;
}

} // namespace btml::gp
