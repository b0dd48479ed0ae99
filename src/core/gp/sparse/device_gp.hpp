// A sparse Gaussian process's sums over rows on a CUDA device, in double precision: what CovarianceSlab serves on the
// processor.
#pragma once

#include "core/device/library.hpp"
#include "core/gp/sparse/moments.hpp"

#include <memory>

namespace btml::gp {

class DeviceGp {
  public:
    // Keeps a reference to the kernel. Takes inducing points as CovarianceSlab does. Error not_supported, saying why,
    // where there is no device, or it refuses them, as of all that follows. The device's memory is not counted, the
    // processor's is that of a CovarianceSlab at most.
    DeviceGp(const device::Library& library, const SmoothKernel& kernel, std::span<const double> inducing,
             RunContext& context);
    ~DeviceGp();
    DeviceGp(const DeviceGp&) = delete;
    DeviceGp& operator=(const DeviceGp&) = delete;

    // Returns one where the host asks for a device that can be used, and so many rows are worth the way there.
    static std::unique_ptr<DeviceGp> worth_it(const SmoothKernel& kernel, std::span<const double> inducing, size_t rows,
                                              RunContext& context);

    // Finds the sums of sum_moments() of which covariances are a part. Their last digits are the device's own.
    void find_moments(const algebra::Cholesky& factor, const SmoothRows& rows, Moments& moments);

    // Has find_forms() write k'solution of rows, k being a row's covariances times √weight, to means, and k'Ak for
    // symmetric matrices A of K × K numbers, matrix by matrix, to forms.
    void begin_forms(std::span<const double> solution, std::span<const double* const> matrices);
    void find_forms(const SmoothRows& rows, size_t begin, size_t end, std::span<double> means, std::span<double> forms);

  private:
    btml_cuda_rows load(const SmoothRows& rows, size_t begin, size_t end);

    const device::Library& library_;
    const SmoothKernel& kernel_;
    RunContext& context_;
    const size_t count_;
    size_t max_rows_ = 0;                     // at a time
    Buffer<double> points_, roots_, targets_; // of some rows
    void* handle_ = nullptr;
};

} // namespace btml::gp
