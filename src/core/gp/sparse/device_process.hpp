// A sparse process's sums over rows on a CUDA device, in double precision: what CovarianceSlab serves on the processor.
#pragma once

#include "core/device/library.hpp"
#include "core/gp/sparse/moments.hpp"

#include <memory>

namespace btml::gp {

class DeviceProcess {
  public:
    // Takes inducing points as CovarianceSlab does. Error not_supported, saying why, where there is no device, or it
    // refuses them. The device's memory is not counted.
    DeviceProcess(const device::Library& library, const SmoothKernel& kernel, std::span<const double> inducing,
                  RunContext& context);
    ~DeviceProcess();
    DeviceProcess(const DeviceProcess&) = delete;
    DeviceProcess& operator=(const DeviceProcess&) = delete;

    // Returns one where the host asks for a device that can be used, and so many rows are worth the way there.
    static std::unique_ptr<DeviceProcess> worth_it(const SmoothKernel& kernel, std::span<const double> inducing,
                                                   size_t rows, RunContext& context);

    // Adds what sum_moments() says of the covariances. Error internal where the device fails, as of all that follows.
    void add_moments(const algebra::Cholesky& factor, const SmoothRows& rows, Moments& moments);

    // Has take_forms() write k'solution of rows, k being a row's covariances times √weight, to means, and k'Ak for
    // symmetric matrices A of K × K numbers, matrix by matrix, to forms.
    void begin_forms(std::span<const double> solution, std::span<const double* const> matrices);
    void take_forms(const SmoothRows& rows, size_t begin, size_t end, double* means, double* forms);

  private:
    btml_cuda_rows load(const SmoothRows& rows, size_t begin, size_t end);

    const device::Library& library_;
    const SmoothKernel& kernel_;
    RunContext& context_;
    const size_t count_;
    Buffer<double> points_, roots_, targets_; // of some rows
    void* handle_ = nullptr;
};

} // namespace btml::gp
