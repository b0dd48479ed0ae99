// btml_cuda.so, which does on a CUDA device what is large enough to pay, and is loaded when it is first asked for.
#pragma once

#include "core/base/run_context.hpp"
#include "core/device/device_abi.h"

#include <csignal>
#include <string>

namespace btml::device {

struct Library {
    decltype(&btml_cuda_open_sums) open_sums;
    decltype(&btml_cuda_sum) sum;
    decltype(&btml_cuda_close_sums) close_sums;
    decltype(&btml_cuda_open_process) open_process;
    decltype(&btml_cuda_begin_moments) begin_moments;
    decltype(&btml_cuda_add_moments) add_moments;
    decltype(&btml_cuda_take_moments) take_moments;
    decltype(&btml_cuda_begin_forms) begin_forms;
    decltype(&btml_cuda_take_forms) take_forms;
    decltype(&btml_cuda_close_process) close_process;

    // Stays loaded. Error not_supported, saying why, where it cannot be loaded.
    static const Library& at(const std::string& path);
};

// Returns what open(library) does, a pointer to what uses the device. Returns nothing where the host asked for no
// device, or none can be used, which the context then knows the reason of: the processor does the work.
template <class Open>
auto opened(RunContext& context, const Open& open) -> decltype(open(std::declval<const Library&>())) {
    DeviceRequest& request = context.device();
    if (request.library.empty() || !request.failure.empty()) return nullptr;
    try {
        return open(Library::at(request.library));
    } catch (const Error& error) {
        if (error.code() != ErrorCode::not_supported) throw;
        request.failure = error.message();
        return nullptr;
    }
}

// Threads that start while it lives take no signals: those are for the host's main thread. CUDA starts some.
class SignalsBlocked {
  public:
    SignalsBlocked() {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    SignalsBlocked(const SignalsBlocked&) = delete;
    SignalsBlocked& operator=(const SignalsBlocked&) = delete;

  private:
    sigset_t before_;
};

// Error internal where a function of the library failed once it was open.
void check(const char* failure);

} // namespace btml::device
