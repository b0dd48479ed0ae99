#include "core/kernel/device_sums.hpp"

#include "core/kernel/cuda/device_abi.h"

#include <algorithm>
#include <csignal>
#include <dlfcn.h>

namespace btml::kernel {

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

struct DeviceSums::Functions {
    decltype(&btml_cuda_open) open;
    decltype(&btml_cuda_sums) sums;
    decltype(&btml_cuda_close) close;

    static const Functions& of_library(const std::string& path) {
        static Functions functions{};
        if (functions.open) return functions;
        void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (!library) throw Error(ErrorCode::not_supported, dlerror());
        find(library, "btml_cuda_sums", functions.sums);
        find(library, "btml_cuda_close", functions.close);
        find(library, "btml_cuda_open", functions.open);
        return functions;
    }
};

DeviceSums::DeviceSums(const std::string& path, const KeySet& keys, RunContext& context)
    : keys_(keys), context_(context), functions_(Functions::of_library(path)) {
    const size_t columns = keys.columns();
    Buffer<double> values(context.memory(), "values of keys", keys.rows() * columns);
    for (uint32_t i = 0; i < keys.rows(); i++)
        for (size_t c = 0; c < columns; c++) values[i * columns + c] = keys.value(i, c) / keys.values.scale(c);
    const btml_cuda_keys copied{keys.distinct.frame.kernel.name,   keys.rows(),
                                keys.distinct.points.dimensions(), columns,
                                keys.distinct.points.row(0),       values.data()};
    const SignalsBlocked blocked; // CUDA starts threads of its own
    if (const char* const failure = functions_.open(&copied, &handle_)) throw Error(ErrorCode::not_supported, failure);
}

DeviceSums::~DeviceSums() {
    functions_.close(handle_);
}

Buffer<double> DeviceSums::sums(const Points& queries) const {
    constexpr double work_at_once = 2e11; // coordinates of pairs: well under 100 ms on any device
    const size_t dimensions = queries.dimensions(), columns = keys_.columns(), rows = queries.rows();
    const double of_query = static_cast<double>(keys_.rows()) * (dimensions + columns);
    const size_t at_once = std::clamp(work_at_once / of_query, 128.0, 65536.0);
    Buffer<double> sums(context_.memory(), "sums of queries", rows * columns);
    Buffer<double> framed(context_.memory(), "queries", std::min(at_once, rows) * dimensions);
    for (size_t begin = 0; begin < rows; begin += at_once) {
        context_.poll();
        context_.share_progress("sums of a kernel", begin, rows);
        const size_t count = std::min(at_once, rows - begin);
        for (size_t i = 0; i < count; i++)
            keys_.distinct.frame.apply(queries.row(begin + i), framed.data() + i * dimensions);
        if (const char* const failure = functions_.sums(handle_, count, framed.data(), sums.data() + begin * columns))
            throw Error(ErrorCode::internal, format("the CUDA device failed: %s", failure));
        for (size_t i = begin * columns; i < (begin + count) * columns; i++) sums[i] *= keys_.values.scale(i % columns);
    }
    return sums;
}

} // namespace btml::kernel
