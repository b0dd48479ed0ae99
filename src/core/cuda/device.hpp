// Kernel sums on a CUDA device, by btml_cuda.so, which is loaded when it is first asked for.
#pragma once

#include "core/kernel/key_set.hpp"

namespace btml::cuda {

class Device {
  public:
    // path: of btml_cuda.so. Error not_supported, saying why, where it or a device is missing or refuses the keys. The
    // keys are copied to the device, whose memory is not counted.
    Device(const std::string& path, const kernel::KeySet& keys, RunContext& context);
    ~Device();
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;

    // As exact_sums(), in float32 but for the sums. Error internal where the device fails.
    Buffer<double> sums(const kernel::Points& queries);

  private:
    struct Functions;

    const kernel::KeySet& keys_;
    RunContext& context_;
    const Functions* functions_;
    void* handle_ = nullptr;
};

} // namespace btml::cuda
