// Exact kernel sums on a CUDA device. Coordinates are pairs of float32, a number and what it leaves of the double, so
// that differences keep their accuracy wherever the points are.
#include "core/kernel/cuda/device_abi.h"
#include "core/pairwise/kernels/kernels.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

namespace pairwise = btml::pairwise;

constexpr int threads = 128;       // of a block: a query each
constexpr int tile_keys = 16;      // at a time for each query
constexpr int chunk = 32;          // dimensions of them in shared memory
constexpr int columns_at_once = 8; // of values

struct Layout {
    uint64_t tiles, dimensions, columns;
    const float2* keys;  // [tile][dimension][key]
    const float* values; // [column][key], padded with keys of value 0
};

struct DeviceArithmetic {
    using Number = float;
    BTML_INLINE static float number(double x) { return static_cast<float>(x); }
    BTML_INLINE static float multiply_add(float a, float b, float c) { return fmaf(a, b, c); }
    BTML_INLINE static float magnitude(float x) { return fabsf(x); }
    BTML_INLINE static float larger(float a, float b) { return fmaxf(a, b); }
    BTML_INLINE static float smaller(float a, float b) { return fminf(a, b); }
    BTML_INLINE static float root(float x) { return sqrtf(x); }
    BTML_INLINE static float power_of_half(float x) { return exp2f(-x); }
};

// Columns first to first + columns_at_once − 1; block y takes part y of the tiles: sums[part][column][query].
template <class Shape>
__global__ void add_sums(Layout layout, uint64_t queries, const float2* points, uint64_t first, double* sums) {
    __shared__ float2 shared[chunk][tile_keys];
    const uint64_t query = static_cast<uint64_t>(blockIdx.x) * threads + threadIdx.x;
    const uint64_t column = min(query, queries - 1); // idle threads help to load
    const uint64_t begin = layout.tiles * blockIdx.y / gridDim.y, end = layout.tiles * (blockIdx.y + 1) / gridDim.y;
    double totals[columns_at_once] = {};
    for (uint64_t tile = begin; tile < end; tile++) {
        float kernels[tile_keys] = {}; // their sums over dimensions, and then they themselves
        for (uint64_t from = 0; from < layout.dimensions; from += chunk) {
            const int count = static_cast<int>(min(static_cast<uint64_t>(chunk), layout.dimensions - from));
            __syncthreads();
            for (int i = threadIdx.x; i < count * tile_keys; i += threads)
                shared[i / tile_keys][i % tile_keys] =
                    layout.keys[(tile * layout.dimensions + from + i / tile_keys) * tile_keys + i % tile_keys];
            __syncthreads();
            for (int k = 0; k < count; k++) {
                const float2 q = points[(from + k) * queries + column];
#pragma unroll
                for (int j = 0; j < tile_keys; j++) {
                    const float2 key = shared[k][j];
                    kernels[j] = Shape::Metric::template add<DeviceArithmetic>(
                        kernels[j], (q.x - key.x) + (q.y - key.y));
                }
            }
        }
        for (int j = 0; j < tile_keys; j++) 
            kernels[j] = Shape::template value<DeviceArithmetic>(kernels[j]);
        for (int c = 0; c < columns_at_once && first + c < layout.columns; c++) {
            const float* const values = layout.values + (first + c) * layout.tiles * tile_keys + tile * tile_keys;
            float sum = 0;
#pragma unroll
            for (int j = 0; j < tile_keys; j++) sum = fmaf(kernels[j], values[j], sum);
            totals[c] += static_cast<double>(sum);
        }
    }
    if (query >= queries) return;
    for (int c = 0; c < columns_at_once && first + c < layout.columns; c++)
        sums[(blockIdx.y * static_cast<uint64_t>(columns_at_once) + c) * queries + query] = totals[c];
}

using Run = void (*)(Layout, uint64_t, const float2*, uint64_t, double*);

template <class... Shapes>
Run run_of(const std::string& kernel, pairwise::KernelList<Shapes...>) {
    Run run = nullptr;
    ((kernel == Shapes::name ? run = add_sums<Shapes> : nullptr), ...);
    if (!run) throw std::invalid_argument("there is no kernel " + kernel);
    return run;
}

class Failure {
  public:
    // Throws away what is left to say of the device's last error.
    explicit Failure(cudaError_t code) : text(cudaGetErrorString(code)) { cudaGetLastError(); }
    const std::string text;
};

void check(cudaError_t code) {
    if (code != cudaSuccess) throw Failure(code);
}

template <class T>
class DeviceArray {
  public:
    explicit DeviceArray(size_t size) { check(cudaMalloc(&data_, std::max<size_t>(1, size) * sizeof(T))); }
    explicit DeviceArray(const std::vector<T>& host) : DeviceArray(host.size()) {
        check(cudaMemcpy(data_, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
    }
    ~DeviceArray() { cudaFree(data_); }
    DeviceArray(const DeviceArray&) = delete;
    DeviceArray& operator=(const DeviceArray&) = delete;
    T* get() const { return data_; }

  private:
    T* data_ = nullptr;
};

float2 split(double x) {
    const auto high = static_cast<float>(x);
    return {high, static_cast<float>(x - static_cast<double>(high))};
}

std::vector<float2> tiles_of(const btml_cuda_keys& keys, uint64_t tiles) {
    std::vector<float2> packed(tiles * keys.dimensions * tile_keys, float2{0, 0});
    for (uint64_t i = 0; i < keys.keys; i++)
        for (uint64_t k = 0; k < keys.dimensions; k++)
            packed[(i / tile_keys * keys.dimensions + k) * tile_keys + i % tile_keys] =
                split(keys.points[i * keys.dimensions + k]);
    return packed;
}

std::vector<float> columns_of(const btml_cuda_keys& keys, uint64_t tiles) {
    std::vector<float> packed(keys.columns * tiles * tile_keys, 0);
    for (uint64_t i = 0; i < keys.keys; i++)
        for (uint64_t c = 0; c < keys.columns; c++)
            packed[c * tiles * tile_keys + i] = static_cast<float>(keys.values[i * keys.columns + c]);
    return packed;
}

class Sums {
  public:
    explicit Sums(const btml_cuda_keys& keys)
        : run_(run_of(keys.kernel, pairwise::Kernels())),
          tiles_((keys.keys + tile_keys - 1) / tile_keys),
          dimensions_(keys.dimensions),
          columns_(keys.columns),
          points_(tiles_of(keys, tiles_)),
          values_(columns_of(keys, tiles_)) {
        int device = 0;
        check(cudaGetDevice(&device));
        check(cudaDeviceGetAttribute(&processors_, cudaDevAttrMultiProcessorCount, device));
    }

    void evaluate(uint64_t queries, const double* points, double* sums) const {
        std::vector<float2> packed(queries * dimensions_);
        for (uint64_t i = 0; i < queries; i++)
            for (uint64_t k = 0; k < dimensions_; k++) packed[k * queries + i] = split(points[i * dimensions_ + k]);
        const DeviceArray<float2> on_device(packed);
        const auto blocks = static_cast<unsigned>((queries + threads - 1) / threads);
        const auto parts = static_cast<unsigned>(
            std::clamp<uint64_t>(static_cast<uint64_t>(8 * processors_) / blocks, 1, std::min<uint64_t>(tiles_, 1024)));
        const DeviceArray<double> partial(static_cast<size_t>(parts) * columns_at_once * queries);
        std::vector<double> host(static_cast<size_t>(parts) * columns_at_once * queries);
        const Layout layout{tiles_, dimensions_, columns_, points_.get(), values_.get()};
        for (uint64_t first = 0; first < columns_; first += columns_at_once) {
            run_<<<dim3(blocks, parts), threads>>>(layout, queries, on_device.get(), first, partial.get());
            check(cudaGetLastError());
            check(cudaMemcpy(host.data(), partial.get(), host.size() * sizeof(double), cudaMemcpyDeviceToHost));
            const uint64_t count = std::min<uint64_t>(columns_at_once, columns_ - first);
            for (uint64_t i = 0; i < queries; i++)
                for (uint64_t c = 0; c < count; c++) {
                    double sum = 0;
                    for (unsigned part = 0; part < parts; part++)
                        sum += host[(part * static_cast<uint64_t>(columns_at_once) + c) * queries + i];
                    sums[i * columns_ + first + c] = sum;
                }
        }
    }

  private:
    const Run run_;
    const uint64_t tiles_, dimensions_, columns_;
    int processors_ = 1;
    const DeviceArray<float2> points_;
    const DeviceArray<float> values_;
};

thread_local std::string failure;

// No exception crosses the C interface.
template <class Body>
const char* guarded(const Body& body) {
    try {
        body();
        return nullptr;
    } catch (const Failure& error) {
        failure = error.text;
    } catch (const std::exception& error) {
        failure = error.what();
    }
    return failure.c_str();
}

} // namespace

extern "C" const char* btml_cuda_open(const btml_cuda_keys* keys, void** handle) {
    return guarded([&] {
        int devices = 0;
        check(cudaGetDeviceCount(&devices));
        *handle = new Sums(*keys);
    });
}

extern "C" const char* btml_cuda_sums(void* handle, uint64_t queries, const double* points, double* sums) {
    return guarded([&] { static_cast<const Sums*>(handle)->evaluate(queries, points, sums); });
}

extern "C" void btml_cuda_close(void* handle) {
    delete static_cast<Sums*>(handle);
}
