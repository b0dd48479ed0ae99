#include "core/gp/sparse/device_process.hpp"

#include <algorithm>
#include <cmath>

namespace btml::gp {

DeviceProcess::DeviceProcess(const device::Library& library, const SmoothKernel& kernel,
                             std::span<const double> inducing, RunContext& context)
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
    const btml_cuda_process process{static_cast<uint32_t>(kernel.kind),
                                    kernel.inverse_lengths.size(),
                                    width,
                                    count_,
                                    kernel.penalties.data(),
                                    kernel.signal,
                                    scaled.data()};
    const device::SignalsBlocked blocked;
    if (const char* const failure = library.open_process(&process, &handle_))
        throw Error(ErrorCode::not_supported, failure);
}

DeviceProcess::~DeviceProcess() {
    library_.close_process(handle_);
}

std::unique_ptr<DeviceProcess> DeviceProcess::worth_it(const SmoothKernel& kernel, std::span<const double> inducing,
                                                       size_t rows, RunContext& context) {
    constexpr double least = 4e9; // multiplications: tenths of a second of a processor, and of opening a device
    const auto count = static_cast<double>(inducing.size() / kernel.width());
    if (static_cast<double>(rows) * count * count < least) return nullptr;
    return device::opened(context, [&](const device::Library& library) {
        return std::make_unique<DeviceProcess>(library, kernel, inducing, context);
    });
}

btml_cuda_rows DeviceProcess::load(const SmoothRows& rows, size_t begin, size_t end) {
    const size_t width = kernel_.width(), count = end - begin;
    points_.resize(count * width);
    roots_.resize(count);
    targets_.resize(count);
    for (size_t i = 0; i < count; i++) {
        kernel_.scale(rows.point(begin + i), points_.data() + i * width);
        roots_[i] = std::sqrt(rows.weight(begin + i));
        targets_[i] = roots_[i] * rows.targets[begin + i];
    }
    return {count, points_.data(), roots_.data()};
}

void DeviceProcess::add_moments(const algebra::Cholesky& factor, const SmoothRows& rows, Moments& moments) {
    constexpr size_t work = 20'000'000'000, max_rows = 16'384; // well under 200 ms on any device
    const size_t at_once = std::clamp<size_t>(work / (count_ * count_), 256, max_rows);
    device::check(library_.begin_moments(handle_, factor.factor()));
    for (size_t begin = 0; begin < rows.size(); begin += at_once) {
        context_.poll();
        context_.share_progress("summing covariances", begin, rows.size());
        const btml_cuda_rows some = load(rows, begin, std::min(begin + at_once, rows.size()));
        device::check(library_.add_moments(handle_, &some, targets_.data()));
    }
    device::check(library_.take_moments(handle_, moments.products.data(), moments.projections.data()));
}

void DeviceProcess::begin_forms(std::span<const double> solution, std::span<const double* const> matrices) {
    device::check(library_.begin_forms(handle_, solution.data(), matrices.size(), matrices.data()));
}

void DeviceProcess::take_forms(const SmoothRows& rows, size_t begin, size_t end, double* means, double* forms) {
    const btml_cuda_rows some = load(rows, begin, end);
    device::check(library_.take_forms(handle_, &some, means, forms));
}

} // namespace btml::gp
