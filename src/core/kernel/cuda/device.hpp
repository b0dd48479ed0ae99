// A CUDA device, by btml_cuda.so, which is loaded when it is first asked for.
#pragma once

#include "core/base/run_context.hpp"
#include "core/kernel/cuda/device_abi.h"

#include <string>

namespace btml::cuda {

class Device {
  public:
    // path: of btml_cuda.so. Error not_supported, saying why, where it or a device is missing or refuses the keys. The
    // keys are copied to the device, whose memory is not counted.
    Device(const std::string& path, const btml_cuda_keys& keys);
    ~Device();
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;

    // sums[query][column] of points[query][dimension], in float32 but for the sums. Error internal where the device
    // fails.
    void sums(size_t queries, const double* points, double* sums) const;

  private:
    struct Functions;

    const Functions* functions_;
    void* handle_ = nullptr;
};

} // namespace btml::cuda
