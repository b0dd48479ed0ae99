// Exact sums of a kernel on a CUDA device.
#pragma once

#include "core/kernel/cuda/device.hpp"
#include "core/kernel/key_set.hpp"

namespace btml::kernel {

class DeviceSums {
  public:
    // path: of btml_cuda.so. Error not_supported as of cuda::Device.
    DeviceSums(const std::string& path, const KeySet& keys, RunContext& context);

    // As exact_sums(), in float32 but for the sums. Error internal where the device fails.
    Buffer<double> sums(const Points& queries) const;

  private:
    const KeySet& keys_;
    RunContext& context_;
    cuda::Device device_;
};

} // namespace btml::kernel
