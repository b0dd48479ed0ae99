#include "core/kernel/cuda/device.hpp"

#include <csignal>
#include <dlfcn.h>

namespace btml::cuda {

struct Device::Functions {
    decltype(&btml_cuda_open) open;
    decltype(&btml_cuda_sums) sums;
    decltype(&btml_cuda_close) close;
};

namespace {

// Threads that start meanwhile take no signals: those are for the host's main thread.
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

template <class Function>
void find(void* library, const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(dlsym(library, name));
    if (!function) throw Error(ErrorCode::not_supported, format("btml_cuda.so has no function %s", name));
}

} // namespace

Device::Device(const std::string& path, const btml_cuda_keys& keys) {
    static Functions functions{};
    if (!functions.open) {
        void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (!library) throw Error(ErrorCode::not_supported, dlerror());
        find(library, "btml_cuda_sums", functions.sums);
        find(library, "btml_cuda_close", functions.close);
        find(library, "btml_cuda_open", functions.open);
    }
    functions_ = &functions;
    const SignalsBlocked blocked; // CUDA starts threads of its own
    if (const char* const failure = functions_->open(&keys, &handle_)) throw Error(ErrorCode::not_supported, failure);
}

Device::~Device() {
    if (handle_) functions_->close(handle_);
}

void Device::sums(size_t queries, const double* points, double* sums) const {
    if (const char* const failure = functions_->sums(handle_, queries, points, sums))
        throw Error(ErrorCode::internal, format("the CUDA device failed: %s", failure));
}

} // namespace btml::cuda
