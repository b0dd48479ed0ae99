// Exact sums of a kernel on a CUDA device.
#pragma once

#include "core/device/library.hpp"
#include "core/kernel/key_set.hpp"

namespace btml::kernel {

class DeviceSums {
  public:
    // Keeps a reference to the keys, which are copied to the device, whose memory is not counted. Error not_supported,
    // saying why, where there is no device, or it refuses them.
    DeviceSums(const device::Library& library, const KeySet& keys, RunContext& context);
    ~DeviceSums();
    DeviceSums(const DeviceSums&) = delete;
    DeviceSums& operator=(const DeviceSums&) = delete;

    // Does what exact_sums() does. Error internal where the device fails.
    Buffer<double> sums(const Points& queries, ThreadTeam& team) const;

  private:
    const device::Library& library_;
    const KeySet& keys_;
    RunContext& context_;
    void* handle_ = nullptr;
    double work_ = 0; // coordinates of pairs at a time
};

} // namespace btml::kernel
