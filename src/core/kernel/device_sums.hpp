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

    // Does what exact_sums() does, in bytes() more. Error not_supported where the device fails.
    Buffer<double> sums(const Points& queries, ThreadTeam& team) const;
    static uint64_t bytes(size_t queries, size_t dimensions) {
        return sizeof(double) * queries_at_once(queries, dimensions) * dimensions;
    }

  private:
    static size_t queries_at_once(size_t queries, size_t dimensions);

    const device::Library& library_;
    const KeySet& keys_;
    RunContext& context_;
    void* handle_ = nullptr;
    uint64_t max_queries_ = 0;
};

} // namespace btml::kernel
