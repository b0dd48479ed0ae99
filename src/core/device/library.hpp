// btml_cuda.so, which does on a CUDA device what is large enough to pay, and is loaded when it is first asked for.
#pragma once

#include "core/base/run_context.hpp"
#include "core/device/device_abi.h"

#include <string>

namespace btml::device {

struct Library {
    decltype(&btml_cuda_open_sums) open_sums;
    decltype(&btml_cuda_sum) sum;
    decltype(&btml_cuda_close_sums) close_sums;
    decltype(&btml_cuda_open_gp) open_gp;
    decltype(&btml_cuda_begin_moments) begin_moments;
    decltype(&btml_cuda_add_moments) add_moments;
    decltype(&btml_cuda_take_moments) take_moments;
    decltype(&btml_cuda_begin_forms) begin_forms;
    decltype(&btml_cuda_find_forms) find_forms;
    decltype(&btml_cuda_close_gp) close_gp;

    // Main thread only. Stays loaded. Error not_supported, saying why, where it cannot be loaded.
    static const Library& at(const std::string& path);
};

// Error not_supported where a function of the library failed.
void check(const char* failure);

// Does body(), which uses the device. Returns false where that is of no use, and the processor is to do the work: the
// context then has the reason, and no device any more.
template <class Body>
bool attempt(RunContext& context, const Body& body) {
    DeviceRequest& request = context.device();
    try {
        body();
        return true;
    } catch (const Error& error) {
        if (error.code() != ErrorCode::not_supported) throw;
        request.failure = error.message();
        return false;
    }
}

// Returns what open(library) does, a pointer to what uses the device; nothing where the host asked for none, or there
// is none that can be used.
template <class Open>
auto opened(RunContext& context, const Open& open) -> decltype(open(std::declval<const Library&>())) {
    const DeviceRequest& request = context.device();
    decltype(open(std::declval<const Library&>())) result = nullptr;
    if (!request.library.empty() && request.failure.empty())
        attempt(context, [&] { result = open(Library::at(request.library)); });
    return result;
}

} // namespace btml::device
