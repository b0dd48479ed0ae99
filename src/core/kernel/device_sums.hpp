// Exact sums of a kernel on a CUDA device, by btml_cuda.so, which is loaded when it is first asked for.
#pragma once

#include "core/kernel/key_set.hpp"

#include <string>

namespace btml::kernel {

class DeviceSums {
  public:
    // path: of btml_cuda.so. Error not_supported, saying why, where it or a device is missing or refuses the keys. The
    // keys are copied to the device, whose memory is not counted.
    DeviceSums(const std::string& path, const KeySet& keys, RunContext& context);
    ~DeviceSums();
    DeviceSums(const DeviceSums&) = delete;
    DeviceSums& operator=(const DeviceSums&) = delete;

    // Does what exact_sums() does, in float32 but for the sums. Error internal where the device fails.
    Buffer<double> sums(const Points& queries) const;

  private:
    struct Functions;

    const KeySet& keys_;
    RunContext& context_;
    const Functions& functions_;
    void* handle_ = nullptr;
};

} // namespace btml::kernel
