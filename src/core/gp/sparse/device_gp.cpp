#include "core/gp/sparse/device_gp.hpp"

#include "core/base/signals_blocked.hpp"

#include <algorithm>
#include <cmath>

namespace btml::gp {

static_assert(static_cast<int>(KernelChoice::squared_exponential) == btml_cuda_squared_exponential &&
              static_cast<int>(KernelChoice::matern32) == btml_cuda_matern32 &&
              static_cast<int>(KernelChoice::matern52) == btml_cuda_matern52);

DeviceGp::DeviceGp(const device::Library& library, const SmoothKernel& kernel, std::span<const double> inducing,
                   RunContext& context)
    : library_(library),
      kernel_(kernel),
      context_(context),
      count_(inducing.size() / kernel.width()),
      points_(context.memory(), CovarianceSlab::what),
      roots_(context.memory(), CovarianceSlab::what),
      targets_(context.memory(), CovarianceSlab::what) {
    const size_t width = kernel.width();
    Buffer<double> scaled(context.memory(), CovarianceSlab::what, inducing.size());
    for (size_t u = 0; u < count_; u++) kernel.scale(inducing.data() + u * width, scaled.data() + u * width);
    const btml_cuda_gp as_c{static_cast<uint32_t>(kernel.kind),
                            kernel.inverse_lengths.size(),
                            width,
                            count_,
                            kernel.penalties.data(),
                            kernel.signal,
                            scaled.data()};
    uint64_t max_rows = 0;
    {
        const SignalsBlocked blocked; // CUDA starts threads of its own
        device::check(library.open_gp(&as_c, &handle_, &max_rows));
    }
    const uint64_t of_row = sizeof(double) * (width + 2);
    max_rows_ = std::min(max_rows, CovarianceSlab::bytes(count_, width) / of_row);
}

DeviceGp::~DeviceGp() {
    library_.close_gp(handle_);
}

std::unique_ptr<DeviceGp> DeviceGp::worth_it(const SmoothKernel& kernel, std::span<const double> inducing, size_t rows,
                                             RunContext& context) {
    constexpr double least = 4e9; // multiplications, which a processor takes about as long for as to open a device
    const auto count = static_cast<double>(inducing.size() / kernel.width());
    if (static_cast<double>(rows) * count * count < least) return nullptr;
    return device::opened(context, [&](const device::Library& library) {
        return std::make_unique<DeviceGp>(library, kernel, inducing, context);
    });
}

btml_cuda_rows DeviceGp::load(const SmoothRows& rows, size_t begin, size_t end) {
    const size_t width = kernel_.width(), count = end - begin;
    points_.resize(count * width);
    roots_.resize(count);
    targets_.resize(count);
    std::vector<double> point(width);
    for (size_t i = 0; i < count; i++) {
        rows.read(begin + i, point.data());
        kernel_.scale(point.data(), points_.data() + i * width);
        roots_[i] = std::sqrt(rows.weight(begin + i));
        targets_[i] = roots_[i] * rows.targets[begin + i];
    }
    return {count, points_.data(), roots_.data()};
}

void DeviceGp::find_moments(const algebra::Cholesky& factor, const SmoothRows& rows, Moments& moments) {
    device::check(library_.begin_moments(handle_, factor.factor()));
    for (size_t begin = 0; begin < rows.size(); begin += max_rows_) {
        context_.poll();
        context_.share_progress("summing covariances", begin, rows.size());
        const btml_cuda_rows some = load(rows, begin, std::min(begin + max_rows_, rows.size()));
        device::check(library_.add_moments(handle_, &some, targets_.data()));
    }
    device::check(library_.take_moments(handle_, moments.products.data(), moments.projections.data()));
}

void DeviceGp::begin_forms(std::span<const double> solution, std::span<const double* const> matrices) {
    device::check(library_.begin_forms(handle_, solution.data(), matrices.size(), matrices.data()));
}

void DeviceGp::find_forms(const SmoothRows& rows, size_t begin, size_t end, std::span<double> means,
                          std::span<double> forms) {
    const size_t all = end - begin, matrices = forms.size() / all;
    std::vector<double> some_forms;
    for (size_t first = begin; first < end; first += max_rows_) {
        context_.poll();
        const size_t last = std::min(end, first + max_rows_), count = last - first;
        const btml_cuda_rows some = load(rows, first, last);
        some_forms.resize(matrices * count);
        device::check(library_.find_forms(handle_, &some, means.data() + (first - begin), some_forms.data()));
        for (size_t matrix = 0; matrix < matrices; matrix++)
            std::copy_n(some_forms.begin() + static_cast<ptrdiff_t>(matrix * count), count,
                        forms.begin() + static_cast<ptrdiff_t>(matrix * all + (first - begin)));
    }
}

} // namespace btml::gp
