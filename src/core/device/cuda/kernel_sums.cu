// Exact kernel sums. A block of threads has 128 queries and goes through tiles of 128 keys; each thread has 8 × 8 of
// the pairs in registers. Coordinates come to shared memory some dimensions at a time, while earlier ones are worked
// on.
#include "core/device/cuda/support.cuh"
#include "core/device/device_abi.h"
#include "core/pairwise/kernels/kernels.hpp"

#include <cuda_pipeline.h>

#include <cstring>
#include <memory>
#include <vector>

namespace btml::cuda {

namespace {

constexpr int side = 16, threads = side * side;
constexpr int per_thread = 8;           // queries, and keys
constexpr int tile = side * per_thread; // queries, and keys
constexpr int chunk = 16;               // rows of coordinates at a time
constexpr int stages = 3;               // that many are there or on their way

struct DeviceArithmetic {
    using Number = float;
    BTML_INLINE static float number(double x) { return static_cast<float>(x); }
    BTML_INLINE static float multiply_add(float a, float b, float c) { return fmaf(a, b, c); }
    BTML_INLINE static float magnitude(float x) { return fabsf(x); }
    BTML_INLINE static float larger(float a, float b) { return fmaxf(a, b); }
    BTML_INLINE static float smaller(float a, float b) { return fminf(a, b); }
    // The processor's own instructions, which are off by 2 units in the last place and take what is denormal for 0.
#ifdef __CUDA_ARCH__
    __device__ static float root(float x) {
        float y;
        asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
        return y;
    }
    __device__ static float power_of_half(float x) {
        float y;
        asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(-x));
        return y;
    }
#else
    static float root(float x) {
        return sqrtf(x);
    }
    static float power_of_half(float x) {
        return exp2f(-x);
    }
#endif
};

// Points relative to a group's centre, in tiles: [tile][dimension][place]. For products, queries are −2 times as large.
struct Coordinates {
    const float *high, *low; // what `high` leaves, of a wide group
    const float* norms;      // [tile][place], for products: the sums of the squares
};

// Returns where thread t of a side has number i of its queries or keys.
__device__ int place_of(int t, int i) {
    return i / 4 * (tile / 2) + t * 4 + i % 4;
}

// Reads a thread's eight numbers of a row of a tile.
__device__ void read(const float* row, int t, float (&to)[per_thread]) {
    reinterpret_cast<float4&>(to[0]) = *reinterpret_cast<const float4*>(row + t * 4);
    reinterpret_cast<float4&>(to[4]) = *reinterpret_cast<const float4*>(row + tile / 2 + t * 4);
}

struct Stage {
    float queries[chunk][tile], keys[chunk][tile];
};

// Loads the chunks of a block of threads: those of one tile of keys after those of another.
template <int form>
class Loads {
  public:
    // A chunk of a wide group has half of the dimensions, and then what their high parts leave.
    static constexpr unsigned at_once = form == btml_cuda_wide ? chunk / 2 : chunk;

    __device__ Loads(Stage* shared, unsigned dimensions, const Coordinates& queries, const Coordinates& keys,
                     unsigned first, unsigned last)
        : shared_(shared), dimensions_(dimensions), queries_(queries), keys_(keys), tile_(first), last_(last) {}

    // Starts the next one, if there is any, into its stage.
    __device__ void start() {
        if (tile_ < last_) {
            Stage& to = shared_[stage_];
            stage_ = stage_ + 1 == stages ? 0 : stage_ + 1;
            const unsigned count = min(at_once, dimensions_ - from_);
            const uint64_t of_queries = (static_cast<uint64_t>(blockIdx.x) * dimensions_ + from_) * tile,
                           of_keys = (static_cast<uint64_t>(tile_) * dimensions_ + from_) * tile;
            copy(to.queries, queries_.high + of_queries, count);
            copy(to.keys, keys_.high + of_keys, count);
            if constexpr (form == btml_cuda_wide) {
                copy(to.queries + at_once, queries_.low + of_queries, count);
                copy(to.keys + at_once, keys_.low + of_keys, count);
            }
            from_ += at_once;
            if (from_ >= dimensions_) {
                from_ = 0;
                tile_++;
            }
        }
        __pipeline_commit(); // also of nothing: so many are waited for
    }

  private:
    __device__ static void copy(float (*to)[tile], const float* from, unsigned rows) {
        constexpr int in_row = tile / 4, rows_at_once = threads / in_row;
        const unsigned thread = threadIdx.y * side + threadIdx.x, row = thread / in_row, at = thread % in_row * 4;
#pragma unroll
        for (unsigned r = 0; r < at_once; r += rows_at_once)
            if (row + r < rows) __pipeline_memcpy_async(&to[row + r][at], from + (row + r) * tile + at, 16);
    }

    Stage* const shared_;
    const unsigned dimensions_;
    const Coordinates& queries_;
    const Coordinates& keys_;
    unsigned tile_, from_ = 0, stage_ = 0;
    const unsigned last_;
};

using Pairs = float[per_thread][per_thread];

template <class Shape, int form>
__device__ void add_dimensions(const Stage& stage, unsigned count, Pairs& pairs) {
    constexpr unsigned half = Loads<form>::at_once;
#pragma unroll 4
    for (unsigned k = 0; k < count; k++) {
        alignas(16) float q[per_thread], key[per_thread], low_q[per_thread], low_key[per_thread];
        read(stage.queries[k], threadIdx.y, q);
        read(stage.keys[k], threadIdx.x, key);
        if constexpr (form == btml_cuda_wide) {
            read(stage.queries[half + k], threadIdx.y, low_q);
            read(stage.keys[half + k], threadIdx.x, low_key);
        }
#pragma unroll
        for (int i = 0; i < per_thread; i++)
#pragma unroll
            for (int j = 0; j < per_thread; j++) {
                if constexpr (form == btml_cuda_products) {
                    pairs[i][j] = fmaf(q[i], key[j], pairs[i][j]);
                } else {
                    float difference = q[i] - key[j];
                    if constexpr (form == btml_cuda_wide) difference += low_q[i] - low_key[j];
                    pairs[i][j] = Shape::Metric::template add<DeviceArithmetic>(pairs[i][j], difference);
                }
            }
    }
}

// Adds over a side: threads 2i and 2i + 1 of it return the sum of number i of all its threads' parts.
__device__ float sum_of_side(const float (&parts)[per_thread]) {
    const unsigned all = 0xffffffff;
    const bool by_8 = threadIdx.x & 8, by_4 = threadIdx.x & 4, by_2 = threadIdx.x & 2;
    float four[4], two[2];
#pragma unroll
    for (int i = 0; i < 4; i++)
        four[i] = (by_8 ? parts[i + 4] : parts[i]) + __shfl_xor_sync(all, by_8 ? parts[i] : parts[i + 4], 8);
#pragma unroll
    for (int i = 0; i < 2; i++)
        two[i] = (by_4 ? four[i + 2] : four[i]) + __shfl_xor_sync(all, by_4 ? four[i] : four[i + 2], 4);
    const float one = (by_2 ? two[1] : two[0]) + __shfl_xor_sync(all, by_2 ? two[0] : two[1], 2);
    return one + __shfl_xor_sync(all, one, 1);
}

struct Task {
    unsigned dimensions, columns; // columns: of values, [column][place]
    uint64_t places;
    const float* values;
    unsigned first, last; // tiles of the group
    Coordinates queries, keys;
};

// Adds a group's keys to columns `begin` to `end` − 1; block y of threads takes part y of its tiles: sums[part][column
// − begin][query], in whole tiles of queries.
template <class Shape, int form>
__global__ void __launch_bounds__(threads, 2) add_sums(const Task task, unsigned begin, unsigned end, double* sums) {
    extern __shared__ __align__(16) unsigned char memory[];
    Stage* const shared = reinterpret_cast<Stage*>(memory);
    double* const totals = reinterpret_cast<double*>(memory + stages * sizeof(Stage));
    const unsigned columns = end - begin, thread = threadIdx.y * side + threadIdx.x;
    const uint64_t queries = static_cast<uint64_t>(gridDim.x) * tile;
    double* const of_part = sums + static_cast<uint64_t>(blockIdx.y) * columns * queries + blockIdx.x * tile;
    for (unsigned i = thread; i < columns * tile; i += threads) totals[i] = of_part[i / tile * queries + i % tile];

    const uint64_t tiles = task.last - task.first;
    const unsigned first = task.first + static_cast<unsigned>(tiles * blockIdx.y / gridDim.y),
                   last = task.first + static_cast<unsigned>(tiles * (blockIdx.y + 1) / gridDim.y);
    Loads<form> loads(shared, task.dimensions, task.queries, task.keys, first, last);
    for (int i = 1; i < stages; i++) loads.start();
    unsigned stage = 0;
    for (unsigned place = first; place < last; place++) {
        Pairs pairs = {};
        if constexpr (form == btml_cuda_products) {
            alignas(16) float of_queries[per_thread], of_keys[per_thread];
            read(task.queries.norms + blockIdx.x * tile, threadIdx.y, of_queries);
            read(task.keys.norms + static_cast<uint64_t>(place) * tile, threadIdx.x, of_keys);
#pragma unroll
            for (int i = 0; i < per_thread; i++)
#pragma unroll
                for (int j = 0; j < per_thread; j++) pairs[i][j] = of_queries[i] + of_keys[j];
        }
        for (unsigned from = 0; from < task.dimensions; from += Loads<form>::at_once) {
            __pipeline_wait_prior(stages - 2);
            __syncthreads(); // this stage is there, and nobody needs the one before, which is loaded next
            loads.start();
            add_dimensions<Shape, form>(shared[stage], min(Loads<form>::at_once, task.dimensions - from), pairs);
            stage = stage + 1 == stages ? 0 : stage + 1;
        }
#pragma unroll
        for (int i = 0; i < per_thread; i++)
#pragma unroll
            for (int j = 0; j < per_thread; j++) {
                // Rounding takes products below 0 at times, where there is no root.
                if constexpr (form == btml_cuda_products)
                    if constexpr (Shape::is_rooted) pairs[i][j] = fmaxf(pairs[i][j], 0);
                pairs[i][j] = Shape::template value<DeviceArithmetic>(pairs[i][j]);
            }
        const float* values = task.values + begin * task.places + static_cast<uint64_t>(place) * tile;
#pragma unroll 2
        for (unsigned c = 0; c < columns; c++, values += task.places) {
            alignas(16) float value[per_thread];
            read(values, threadIdx.x, value);
            float parts[per_thread] = {};
#pragma unroll
            for (int j = 0; j < per_thread; j++)
#pragma unroll
                for (int i = 0; i < per_thread; i++) parts[i] = fmaf(pairs[i][j], value[j], parts[i]);
            const float sum = sum_of_side(parts);
            if (threadIdx.x % 2 == 0)
                totals[c * tile + place_of(threadIdx.y, threadIdx.x / 2)] += static_cast<double>(sum);
        }
    }
    __syncthreads();
    for (unsigned i = thread; i < columns * tile; i += threads) of_part[i / tile * queries + i % tile] = totals[i];
}

// to[query][all_columns], from column `begin` on: the sums of the parts, in their order.
__global__ void add_parts(uint64_t queries, uint64_t padded, unsigned columns, unsigned parts, const double* sums,
                          unsigned begin, unsigned all_columns, double* to) {
    const uint64_t query = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (query >= queries) return;
    for (unsigned c = 0; c < columns; c++) {
        double sum = 0;
        for (unsigned part = 0; part < parts; part++)
            sum += sums[(static_cast<uint64_t>(part) * columns + c) * padded + query];
        to[query * all_columns + begin + c] = sum;
    }
}

struct Tiles {
    float *high, *low, *norms;
};

// Writes points, one of which is where(place, dimension) for places below `count`, relative to the centre, and 0 beyond
// them. A thread has a place.
template <class Where>
__device__ void centre_points(const Where& where, uint64_t count, uint64_t places, unsigned dimensions,
                              const double* centre, float factor, const Tiles& to) {
    const uint64_t place = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (place >= places) return;
    float norm = 0;
    for (unsigned k = 0; k < dimensions; k++) {
        const double x = place < count ? where(place, k) - centre[k] : 0;
        const auto high = static_cast<float>(x);
        const uint64_t at = (place / tile * dimensions + k) * tile + place % tile;
        norm = fmaf(high, high, norm);
        to.high[at] = factor * high;
        if (to.low) to.low[at] = static_cast<float>(x - static_cast<double>(high));
    }
    to.norms[place] = norm;
}

// points: [query][dimension]
__global__ void centre_queries(const double* points, uint64_t queries, uint64_t places, unsigned dimensions,
                               const double* centre, float factor, const Tiles to) {
    centre_points([&](uint64_t place, unsigned k) { return points[place * dimensions + k]; }, queries, places,
                  dimensions, centre, factor, to);
}

// points: [key][dimension], of the keys in `order`
__global__ void centre_keys(const double* points, const uint32_t* order, uint64_t keys, uint64_t places,
                            unsigned dimensions, const double* centre, const Tiles to) {
    centre_points(
        [&](uint64_t place, unsigned k) { return points[static_cast<uint64_t>(order[place]) * dimensions + k]; }, keys,
        places, dimensions, centre, 1, to);
}

// to[column][all_places], from values [place / 256][column][place % 256] of a group's keys; 0 for places without a key.
__global__ void place_values(const float* values, uint64_t keys, uint64_t places, unsigned columns, uint64_t all_places,
                             float* to) {
    constexpr unsigned side_by_side = 256;
    const uint64_t place = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (place >= places) return;
    for (unsigned c = 0; c < columns; c++)
        to[c * all_places + place] =
            place < keys ? values[(place / side_by_side * columns + c) * side_by_side + place % side_by_side] : 0;
}

using Run = void (*)(Task, unsigned, unsigned, double*);

template <class Shape>
Run run_of(uint32_t form) {
    if constexpr (Shape::takes_products)
        if (form == btml_cuda_products) return add_sums<Shape, btml_cuda_products>;
    return form == btml_cuda_wide ? add_sums<Shape, btml_cuda_wide> : add_sums<Shape, btml_cuda_differences>;
}

using RunOf = Run (*)(uint32_t);

template <class... Shapes>
RunOf runs_of(const char* kernel, pairwise::KernelList<Shapes...>) {
    RunOf runs = nullptr;
    ((std::strcmp(kernel, Shapes::name) == 0 ? runs = run_of<Shapes> : nullptr), ...);
    if (!runs) throw std::invalid_argument(std::string("there is no kernel ") + kernel);
    return runs;
}

size_t shared_bytes(unsigned columns) {
    return stages * sizeof(Stage) + columns * (tile * sizeof(double));
}

// Returns how many columns a launch takes: so many that two blocks of threads share a multiprocessor, unless these are
// few; shared out evenly.
unsigned columns_of_launch(unsigned columns) {
    constexpr unsigned few = 16;
    constexpr int reserved = 1024; // bytes of each block of threads
    const auto room = [](int bytes) {
        const auto left = std::max<int64_t>(0, bytes - static_cast<int64_t>(shared_bytes(0)));
        return static_cast<unsigned>(left / static_cast<int64_t>(tile * sizeof(double)));
    };
    const unsigned of_two = room(attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor) / 2 - reserved),
                   of_one = room(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin));
    const unsigned most = of_two < std::min(few, columns) ? of_one : of_two;
    if (most == 0) throw std::runtime_error("a device of compute capability 7.5 or later is needed");
    const unsigned launches = (columns + most - 1) / most;
    return (columns + launches - 1) / launches;
}

unsigned blocks_for(uint64_t items) {
    return static_cast<unsigned>((items + threads - 1) / threads);
}

class Sums {
  public:
    explicit Sums(const btml_cuda_keys& keys)
        : runs_(runs_of(keys.kernel, pairwise::Kernels())),
          processors_(attribute(cudaDevAttrMultiProcessorCount)),
          columns_(static_cast<unsigned>(keys.columns)),
          dimensions_(static_cast<unsigned>(keys.dimensions)),
          columns_at_once_(columns_of_launch(columns_)),
          centres_(keys.centres, keys.groups * keys.dimensions) {
        for (uint64_t g = 0; g < keys.groups; g++) {
            const auto tiles = static_cast<unsigned>((keys.group[g].keys + tile - 1) / tile);
            groups_.push_back({keys.group[g].form, tiles_, tiles_ + tiles});
            tiles_ += tiles;
            is_wide_ = is_wide_ || keys.group[g].form == btml_cuda_wide;
        }
        high_.reserve(places() * dimensions_);
        if (is_wide_) low_.reserve(places() * dimensions_);
        norms_.reserve(places());
        values_.reserve(places() * columns_);
        place_keys(keys);
    }

    // Counts instructions of a lane: one for a coordinate of products, two of a difference, four of pairs, and some for
    // the kernel, in every launch; of which two thirds are the most that is reached.
    uint64_t max_queries() const {
        constexpr double seconds = 0.05, reached = 2.0 / 3, of_kernel = 12, of_column = 2, of_launch = 1e6;
        const double launches = (columns_ + columns_at_once_ - 1) / columns_at_once_;
        double of_query = 0;
        for (const Group& group : groups_) {
            const double keys = static_cast<double>(group.last - group.first) * tile;
            const int of_coordinate = group.form == btml_cuda_products ? 1 : group.form == btml_cuda_wide ? 4 : 2;
            of_query += keys * (launches * (of_coordinate * dimensions_ + of_kernel) + of_column * columns_);
        }
        const double all = seconds * reached * speed() - of_launch * static_cast<double>(groups_.size());
        return static_cast<uint64_t>(std::clamp(all / of_query, static_cast<double>(tile), 1e9));
    }

    void evaluate(uint64_t queries, const double* points, double* to) {
        const auto tiles = static_cast<unsigned>((queries + tile - 1) / tile);
        const uint64_t padded = static_cast<uint64_t>(tiles) * tile;
        points_.copy(points, queries * dimensions_);
        query_high_.reserve(padded * dimensions_);
        if (is_wide_) query_low_.reserve(padded * dimensions_);
        query_norms_.reserve(padded);
        sums_.reserve(queries * columns_);
        // Enough blocks of threads that the last ones to run do not leave most of the device idle.
        const unsigned wanted = (32U * static_cast<unsigned>(processors_) + tiles - 1) / tiles;
        const unsigned parts = std::clamp(wanted, 1U, std::min(tiles_, 1024U));
        for (unsigned begin = 0; begin < columns_; begin += columns_at_once_) {
            const unsigned end = std::min(begin + columns_at_once_, columns_);
            partial_.clear(parts * (end - begin) * padded);
            for (size_t g = 0; g < groups_.size(); g++) {
                centre(queries, padded, g);
                add_group(g, tiles, parts, begin, end);
            }
            add_parts<<<blocks_for(queries), threads>>>(queries, padded, end - begin, parts, partial_.get(), begin,
                                                        columns_, sums_.get());
            check(cudaGetLastError());
        }
        sums_.take(to, queries * columns_);
    }

  private:
    struct Group {
        uint32_t form;
        unsigned first, last; // tiles
    };

    uint64_t places() const { return static_cast<uint64_t>(tiles_) * tile; }
    Tiles tiles_from(unsigned first) const {
        const uint64_t place = static_cast<uint64_t>(first) * tile;
        return {high_.get() + place * dimensions_, is_wide_ ? low_.get() + place * dimensions_ : nullptr,
                norms_.get() + place};
    }

    void place_keys(const btml_cuda_keys& keys) {
        const DeviceArray<double> points(keys.points, keys.keys * dimensions_);
        const DeviceArray<uint32_t> order(keys.order, keys.keys);
        constexpr uint64_t side_by_side = 256;
        const DeviceArray<float> values(keys.values,
                                        (keys.keys + side_by_side - 1) / side_by_side * side_by_side * columns_);
        for (size_t g = 0; g < groups_.size(); g++) {
            const btml_cuda_group& group = keys.group[g];
            const auto [form, first, last] = groups_[g];
            const uint64_t count = static_cast<uint64_t>(last - first) * tile;
            centre_keys<<<blocks_for(count), threads>>>(points.get(), order.get() + group.first, group.keys, count,
                                                        dimensions_, centres_.get() + g * dimensions_,
                                                        tiles_from(first));
            place_values<<<blocks_for(count), threads>>>(values.get() + group.first * columns_, group.keys, count,
                                                         columns_, places(),
                                                         values_.get() + static_cast<uint64_t>(first) * tile);
            check(cudaGetLastError());
        }
        check(cudaDeviceSynchronize());
    }

    void centre(uint64_t queries, uint64_t padded, size_t group) const {
        const float factor = groups_[group].form == btml_cuda_products ? -2 : 1;
        centre_queries<<<blocks_for(padded), threads>>>(
            points_.get(), queries, padded, dimensions_, centres_.get() + group * dimensions_, factor,
            {query_high_.get(), is_wide_ ? query_low_.get() : nullptr, query_norms_.get()});
        check(cudaGetLastError());
    }

    void add_group(size_t group, unsigned query_tiles, unsigned parts, unsigned begin, unsigned end) const {
        const auto [form, first, last] = groups_[group];
        const Run run = runs_(form);
        const size_t bytes = shared_bytes(end - begin);
        check(cudaFuncSetAttribute(reinterpret_cast<const void*>(run), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   static_cast<int>(bytes)));
        const Task task{dimensions_,
                        columns_,
                        places(),
                        values_.get(),
                        first,
                        last,
                        {query_high_.get(), query_low_.get(), query_norms_.get()},
                        {high_.get(), low_.get(), norms_.get()}};
        run<<<dim3(query_tiles, std::min(parts, last - first)), dim3(side, side), bytes>>>(task, begin, end,
                                                                                           partial_.get());
        check(cudaGetLastError());
    }

    const RunOf runs_;
    const int processors_;
    const unsigned columns_, dimensions_, columns_at_once_;
    const DeviceArray<double> centres_;
    unsigned tiles_ = 0;
    bool is_wide_ = false;
    std::vector<Group> groups_;
    DeviceArray<float> high_, low_, norms_, values_;
    DeviceArray<float> query_high_, query_low_, query_norms_;
    DeviceArray<double> points_, partial_, sums_;
};

} // namespace

} // namespace btml::cuda

extern "C" const char* btml_cuda_open_sums(const btml_cuda_keys* keys, void** sums, uint64_t* max_queries) {
    return btml::cuda::guarded([&] {
        auto opened = std::make_unique<btml::cuda::Sums>(*keys);
        *max_queries = opened->max_queries();
        *sums = opened.release();
    });
}

extern "C" const char* btml_cuda_sum(void* sums, uint64_t queries, const double* points, double* to) {
    return btml::cuda::guarded([&] { static_cast<btml::cuda::Sums*>(sums)->evaluate(queries, points, to); });
}

extern "C" void btml_cuda_close_sums(void* sums) {
    delete static_cast<btml::cuda::Sums*>(sums);
}
