#include "core/gp/sparse/moments.hpp"

#include "core/algebra/dense.hpp"
#include "core/gp/sparse/device_gp.hpp"

#include <cmath>

namespace btml::gp {

using algebra::Blocks;
using algebra::blocks_of;

CovarianceSlab::CovarianceSlab(const SmoothKernel& kernel, std::span<const double> inducing, const SmoothRows& rows,
                               ThreadTeam& team, RunContext& context)
    : kernel_(kernel),
      rows_(rows),
      team_(team),
      count_(inducing.size() / rows.width),
      width_(rows.width),
      inducing_(context.memory(), what, inducing.size()),
      groups_(context.memory(), what, max_rows * width_),
      values_(context.memory(), what, count_ * max_rows, 0.0),
      targets_(context.memory(), what, max_rows),
      roots_(context.memory(), what, max_rows),
      slopes_(context.memory(), what, max_rows * (width_ + 1)) {
    for (size_t u = 0; u < count_; u++) kernel.scale(inducing.data() + u * width_, inducing_.data() + u * width_);
}

uint64_t CovarianceSlab::bytes(size_t inducing_points, size_t width) {
    return sizeof(double) * (inducing_points * (width + max_rows) + max_rows * (2 * width + 3));
}

CovarianceTask CovarianceSlab::task(size_t group, double* values) const {
    return {kernel_.kind,
            kernel_.inverse_lengths.size(),
            width_,
            kernel_.penalties.data(),
            kernel_.signal,
            inducing_.data(),
            count_,
            groups_.data() + group * covariance_group * width_,
            values + group * covariance_group,
            max_rows};
}

void CovarianceSlab::load_group(size_t begin, size_t group) {
    double* const points = groups_.data() + group * covariance_group * width_;
    std::vector<double> point(width_), scaled(width_);
    for (size_t i = 0; i < covariance_group; i++) {
        const size_t place = group * covariance_group + i, row = begin + place;
        const bool is_row = row < rows_.size();
        rows_.read(is_row ? row : begin, point.data());
        kernel_.scale(point.data(), scaled.data());
        for (size_t c = 0; c < width_; c++) points[c * covariance_group + i] = scaled[c];
        roots_[place] = is_row ? std::sqrt(rows_.weight(row)) : 0;
        targets_[place] = is_row ? roots_[place] * rows_.targets[row] : 0;
    }
    find_covariances(task(group, values_.data()));
    double* const values = values_.data() + group * covariance_group;
    for (size_t u = 0; u < count_; u++)
        for (size_t i = 0; i < covariance_group; i++) values[u * max_rows + i] *= roots_[group * covariance_group + i];
}

void CovarianceSlab::load(size_t begin) {
    const size_t groups = (std::min(max_rows, rows_.size() - begin) + covariance_group - 1) / covariance_group;
    size_ = groups * covariance_group;
    team_.for_each(groups, [&](size_t group, int) { load_group(begin, group); });
}

void CovarianceSlab::add_slopes_of_groups(size_t begin, size_t end, double* derivatives, double* by_inducing) {
    const size_t each = (width_ + 1) * covariance_group;
    for (size_t group = begin; group < end; group++) {
        double* const own = derivatives + group * covariance_group;
        for (size_t u = 0; u < count_; u++)
            for (size_t i = 0; i < covariance_group; i++) own[u * max_rows + i] *= roots_[group * covariance_group + i];
        std::fill_n(slopes_.data() + group * each, each, 0.0);
        gp::add_slopes(task(group, derivatives), slopes_.data() + group * each, by_inducing);
    }
}

void CovarianceSlab::add_slopes(double* derivatives, std::span<double> slopes, std::span<double> by_inducing) {
    const size_t groups = size_ / covariance_group, each = (width_ + 1) * covariance_group;
    const size_t numbers = kernel_.inverse_lengths.size(), of_part = by_inducing.empty() ? 0 : count_ * numbers;
    Buffer<double> sums(values_.budget(), what, parts * of_part, 0.0);
    team_.for_each(parts, [&](size_t part, int) {
        add_slopes_of_groups(groups * part / parts, groups * (part + 1) / parts, derivatives,
                             of_part > 0 ? sums.data() + part * of_part : nullptr);
    });
    for (size_t group = 0; group < groups; group++)
        for (size_t p = 0; p <= width_; p++)
            for (size_t i = 0; i < covariance_group; i++) slopes[p] += slopes_[group * each + p * covariance_group + i];
    for (size_t part = 0; part < (of_part > 0 ? parts : 0); part++)
        for (size_t u = 0; u < count_; u++)
            for (size_t c = 0; c < numbers; c++)
                by_inducing[u * width_ + c] += kernel_.inverse_lengths[c] * sums[part * of_part + u * numbers + c];
}

namespace {

struct Pair {
    size_t i, j; // j ≤ i
};

// Subtracts the slab's products from those of each pair of blocks.
void subtract_products(const CovarianceSlab& slab, const std::vector<Pair>& pairs, double* products, ThreadTeam& team) {
    const Blocks covariances(slab.values(), slab.inducing_points(), slab.size(), CovarianceSlab::max_rows),
        to(products, slab.inducing_points(), slab.inducing_points());
    team.for_each(pairs.size(), [&](size_t pair, int) {
        const auto [i, j] = pairs[pair];
        for (size_t part = 0; part < blocks_of(slab.size()); part++)
            algebra::subtract_product_of_rows(covariances(i, part), covariances(j, part), to(i, j));
    });
}

void add_projections(const CovarianceSlab& slab, double* projections, ThreadTeam& team) {
    team.for_each(blocks_of(slab.inducing_points()), [&](size_t block, int) {
        const size_t first = block * algebra::block_side,
                     last = std::min(first + algebra::block_side, slab.inducing_points());
        for (size_t u = first; u < last; u++) {
            const double* const values = slab.values() + u * CovarianceSlab::max_rows;
            double sum = 0;
            for (size_t i = 0; i < slab.size(); i++) sum += values[i] * slab.target(i);
            projections[u] += sum;
        }
    });
}

void add_moments(const SmoothKernel& kernel, std::span<const double> inducing, const algebra::Cholesky& factor,
                 const SmoothRows& rows, Moments& moments, ThreadTeam& team, RunContext& context) {
    CovarianceSlab slab(kernel, inducing, rows, team, context);
    const size_t count = slab.inducing_points();
    std::vector<Pair> pairs;
    for (size_t i = 0; i < blocks_of(count); i++)
        for (size_t j = 0; j <= i; j++) pairs.push_back({i, j});
    std::fill(moments.products.begin(), moments.products.end(), 0.0);
    std::fill(moments.projections.begin(), moments.projections.end(), 0.0);
    for (size_t begin = 0; begin < rows.size(); begin += CovarianceSlab::max_rows) {
        slab.load(begin);
        slab.whiten(factor);
        subtract_products(slab, pairs, moments.products.data(), team);
        add_projections(slab, moments.projections.data(), team);
        context.share_progress("summing covariances", begin, rows.size());
    }
    for (double& product : moments.products) product = -product;
}

} // namespace

Moments sum_moments(const SmoothKernel& kernel, std::span<const double> inducing, const algebra::Cholesky& factor,
                    const SmoothRows& rows, ThreadTeam& team, RunContext& context) {
    Moments moments(inducing.size() / rows.width, context.memory());
    const auto device = DeviceGp::worth_it(kernel, inducing, rows.size(), context);
    if (!device || !device::attempt(context, [&] { device->find_moments(factor, rows, moments); }))
        add_moments(kernel, inducing, factor, rows, moments, team, context);
    moments.rows = rows.size();
    for (size_t row = 0; row < rows.size(); row++) {
        const double weight = rows.weight(row);
        moments.weights += weight;
        moments.log_weights += std::log(weight);
        moments.squares += weight * rows.targets[row] * rows.targets[row];
    }
    return moments;
}

void add_slopes_of_matrix(const SmoothKernel& kernel, std::span<const double> points, const Buffer<double>& derivatives,
                          std::span<double> slopes, std::span<double> by_inducing, ThreadTeam& team,
                          RunContext& context) {
    constexpr size_t stride = CovarianceSlab::max_rows;
    const size_t size = points.size() / kernel.width();
    const std::vector<double> targets(size);
    const SmoothRows rows(points, kernel.width(), targets);
    CovarianceSlab slab(kernel, points, rows, team, context);
    Buffer<double> of_slab(context.memory(), CovarianceSlab::what, size * stride, 0.0);
    for (size_t begin = 0; begin < size; begin += stride) {
        slab.load(begin);
        for (size_t u = 0; u < size; u++)
            std::copy_n(derivatives.data() + u * size + begin, std::min(stride, size - begin),
                        of_slab.data() + u * stride);
        slab.add_slopes(of_slab.data(), slopes, by_inducing);
    }
}

Buffer<double> covariance_matrix(const SmoothKernel& kernel, std::span<const double> points, ThreadTeam& team,
                                 RunContext& context) {
    const size_t width = kernel.width(), size = points.size() / width;
    const std::vector<double> targets(size);
    const SmoothRows rows(points, width, targets);
    CovarianceSlab slab(kernel, points, rows, team, context);
    Buffer<double> matrix(context.memory(), CovarianceSlab::what, size * size);
    for (size_t begin = 0; begin < size; begin += CovarianceSlab::max_rows) {
        slab.load(begin);
        const size_t some = std::min(CovarianceSlab::max_rows, size - begin);
        for (size_t u = 0; u < size; u++)
            std::copy_n(slab.values() + u * CovarianceSlab::max_rows, some, matrix.data() + u * size + begin);
    }
    return matrix;
}

} // namespace btml::gp
