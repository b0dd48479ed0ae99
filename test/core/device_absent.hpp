// Tells a machine without a CUDA device or its driver from one whose device fails, which tests must not pass over.
#pragma once

#include <string>

namespace btml::test {

// Takes the failure of a DeviceRequest, and looks for CUDA's own words.
inline bool is_device_absent(const std::string& failure) {
    for (const char* const words : {"no CUDA-capable device", "driver version is insufficient", "driver is a stub"})
        if (failure.find(words) != std::string::npos) return true;
    return false;
}

} // namespace btml::test
