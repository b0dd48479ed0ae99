// What the files of btml_cuda.so share: errors, and memory of the device.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace btml::cuda {

inline void check(cudaError_t code) {
    if (code == cudaSuccess) return;
    cudaGetLastError(); // what is left to say of it would be taken for the next call's
    throw std::runtime_error(cudaGetErrorString(code));
}

inline void check(cublasStatus_t status) {
    if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error(cublasGetStatusString(status));
}

inline int attribute(cudaDeviceAttr what) {
    int device = 0, value = 0;
    check(cudaGetDevice(&device));
    check(cudaDeviceGetAttribute(&value, what, device));
    return value;
}

// Returns how many numbers of float32 the device multiplies and adds a second, at most.
inline double speed() {
    const int major = attribute(cudaDevAttrComputeCapabilityMajor),
              minor = attribute(cudaDevAttrComputeCapabilityMinor);
    const double lanes = major == 7 || (major == 8 && minor == 0) ? 64 : 128;
    return lanes * attribute(cudaDevAttrMultiProcessorCount) * attribute(cudaDevAttrClockRate) * 1e3;
}

template <class T>
class DeviceArray {
  public:
    DeviceArray() = default;
    explicit DeviceArray(size_t size) { reserve(size); }
    DeviceArray(const T* host, size_t size) : DeviceArray(size) { copy(host, size); }
    ~DeviceArray() { cudaFree(data_); }
    DeviceArray(const DeviceArray&) = delete;
    DeviceArray& operator=(const DeviceArray&) = delete;

    // Loses what it holds where it has to grow.
    void reserve(size_t size) {
        if (size <= size_) return;
        cudaFree(std::exchange(data_, nullptr));
        size_ = 0;
        check(cudaMalloc(&data_, size * sizeof(T)));
        size_ = size;
    }
    void copy(const T* host, size_t size) {
        reserve(size);
        if (size > 0) check(cudaMemcpy(data_, host, size * sizeof(T), cudaMemcpyHostToDevice));
    }
    void clear(size_t size) {
        reserve(size);
        check(cudaMemset(data_, 0, size * sizeof(T)));
    }
    void take(T* host, size_t size) const {
        if (size > 0) check(cudaMemcpy(host, data_, size * sizeof(T), cudaMemcpyDeviceToHost));
    }
    T* get() const { return data_; }

  private:
    T* data_ = nullptr;
    size_t size_ = 0;
};

// Runs the body of a function of the C interface, which no exception crosses.
template <class Body>
const char* guarded(const Body& body) {
    static thread_local std::string failure;
    try {
        body();
        return nullptr;
    } catch (const std::exception& error) {
        failure = error.what();
    }
    return failure.c_str();
}

} // namespace btml::cuda
