// A sparse Gaussian process's sums over rows. Matrices are as cuBLAS takes them, column by column: those of covariances
// have a column for each row of the data, and a triangle that C has below the diagonal lies above it.
#include "core/device/cuda/support.cuh"
#include "core/device/device_abi.h"
#include "core/pairwise/kernels/gaussian.hpp"
#include "core/pairwise/kernels/matern32.hpp"
#include "core/pairwise/kernels/matern52.hpp"

#include <memory>
#include <vector>

namespace btml::cuda {

namespace {

constexpr int threads = 128;

// Gives the covariance over the signal, of a squared distance and what the logarithm loses by categories.
template <class Shape>
__device__ double covariance_of(double square, double penalty) {
    double a = Shape::rate * square;
    if constexpr (Shape::is_rooted) a = sqrt(a);
    double value = exp(-a - penalty);
    if constexpr (Shape::is_rooted) Shape::template multiply<pairwise::DoubleArithmetic>(value, a);
    return value;
}

struct SparseGp {
    unsigned numbers, width, count;
    const double* penalties;
    double signal;
    const double* inducing; // [coordinate][inducing point]
};

// to[row][inducing point]; a block of threads goes through the rows from blockIdx.y on, gridDim.y apart.
template <class Shape>
__global__ void find_covariances(const SparseGp model, unsigned rows, const double* points, const double* roots,
                                 double* to) {
    const unsigned u = blockIdx.x * blockDim.x + threadIdx.x;
    if (u >= model.count) return;
    for (unsigned row = blockIdx.y; row < rows; row += gridDim.y) {
        const double* const point = points + static_cast<uint64_t>(row) * model.width;
        double square = 0, penalty = 0;
        for (unsigned c = 0; c < model.numbers; c++) {
            const double difference = point[c] - model.inducing[static_cast<uint64_t>(c) * model.count + u];
            square += difference * difference;
        }
        for (unsigned c = model.numbers; c < model.width; c++)
            if (point[c] != model.inducing[static_cast<uint64_t>(c) * model.count + u])
                penalty += model.penalties[c - model.numbers];
        to[static_cast<uint64_t>(row) * model.count + u] =
            roots[row] * model.signal * covariance_of<Shape>(square, penalty);
    }
}

// to[row] = the inner product of the rows of two matrices; a warp has a row.
__global__ void inner_products(unsigned rows, unsigned count, const double* a, const double* b, double* to) {
    const unsigned row = blockIdx.x * (threads / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    double sum = 0;
    for (unsigned u = lane; u < count; u += 32)
        sum += a[static_cast<uint64_t>(row) * count + u] * b[static_cast<uint64_t>(row) * count + u];
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffff, sum, step);
    if (lane == 0) to[row] = sum;
}

using Find = void (*)(SparseGp, unsigned, const double*, const double*, double*);

Find find_of(uint32_t kind) {
    switch (kind) {
    case btml_cuda_squared_exponential:
        return find_covariances<pairwise::Gaussian>;
    case btml_cuda_matern32:
        return find_covariances<pairwise::Matern32>;
    case btml_cuda_matern52:
        return find_covariances<pairwise::Matern52>;
    default:
        throw std::invalid_argument("there is no smooth kernel of number " + std::to_string(kind));
    }
}

std::vector<double> by_coordinate(const btml_cuda_gp& model) {
    std::vector<double> turned(model.count * model.width);
    for (uint64_t u = 0; u < model.count; u++)
        for (uint64_t c = 0; c < model.width; c++) turned[c * model.count + u] = model.inducing[u * model.width + c];
    return turned;
}

class Library {
  public:
    Library() { check(cublasCreate(&handle_)); }
    ~Library() { cublasDestroy(handle_); }
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;
    cublasHandle_t get() const { return handle_; }

  private:
    cublasHandle_t handle_ = nullptr;
};

class SmoothGp {
  public:
    explicit SmoothGp(const btml_cuda_gp& model)
        : find_(find_of(model.kind)),
          count_(static_cast<int>(model.count)),
          penalties_(model.penalties, model.width - model.numbers),
          inducing_(by_coordinate(model).data(), model.count * model.width),
          model_{static_cast<unsigned>(model.numbers),
                 static_cast<unsigned>(model.width),
                 static_cast<unsigned>(model.count),
                 penalties_.get(),
                 model.signal,
                 inducing_.get()} {
        const std::vector<double> point(model.width);
        const double root = 0;
        load({1, point.data(), &root}); // fails here where the device cannot run it
        check(cudaDeviceSynchronize());
    }

    // Counts multiplications: of the factor or a form, twice, and of coordinates; a quarter of what is possible is
    // reached.
    uint64_t max_rows() const {
        constexpr double seconds = 0.05, reached = 0.25;
        const double slower = attribute(cudaDevAttrSingleToDoublePrecisionPerfRatio), count = model_.count;
        const double of_row = count * (2 * count + 4 * model_.width);
        return static_cast<uint64_t>(std::clamp(seconds * reached * speed() / slower / of_row, 1.0, 1e9));
    }

    void begin_moments(const double* factor) {
        factor_.copy(factor, squares());
        products_.clear(squares());
        projections_.clear(model_.count);
    }

    void add_moments(const btml_cuda_rows& rows, const double* targets) {
        const double one = 1;
        const int count = load(rows);
        targets_.copy(targets, rows.rows);
        check(cublasDtrsm(blas_.get(), CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_T, CUBLAS_DIAG_NON_UNIT,
                          count_, count, &one, factor_.get(), count_, covariances_.get(), count_));
        check(cublasDsyrk(blas_.get(), CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, count_, count, &one, covariances_.get(),
                          count_, &one, products_.get(), count_));
        check(cublasDgemv(blas_.get(), CUBLAS_OP_N, count_, count, &one, covariances_.get(), count_, targets_.get(), 1,
                          &one, projections_.get(), 1));
        check(cudaDeviceSynchronize());
    }

    void take_moments(double* products, double* projections) const {
        products_.take(products, squares());
        projections_.take(projections, model_.count);
    }

    void begin_forms(const double* solution, uint64_t forms, const double* const* matrices) {
        solution_.copy(solution, model_.count);
        forms_ = forms;
        matrices_.reserve(forms * squares());
        for (uint64_t form = 0; form < forms; form++)
            check(cudaMemcpy(matrices_.get() + form * squares(), matrices[form], squares() * sizeof(double),
                             cudaMemcpyHostToDevice));
    }

    void find_forms(const btml_cuda_rows& rows, double* means, double* forms) {
        const double one = 1, zero = 0;
        const int count = load(rows);
        means_.reserve(rows.rows);
        check(cublasDgemv(blas_.get(), CUBLAS_OP_T, count_, count, &one, covariances_.get(), count_, solution_.get(), 1,
                          &zero, means_.get(), 1));
        means_.take(means, rows.rows);
        reduced_.reserve(rows.rows * model_.count);
        for (uint64_t form = 0; form < forms_; form++) {
            check(cublasDsymm(blas_.get(), CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_UPPER, count_, count, &one,
                              matrices_.get() + form * squares(), count_, covariances_.get(), count_, &zero,
                              reduced_.get(), count_));
            constexpr unsigned of_block = threads / 32;
            inner_products<<<(static_cast<unsigned>(count) + of_block - 1) / of_block, threads>>>(
                static_cast<unsigned>(count), model_.count, covariances_.get(), reduced_.get(), means_.get());
            check(cudaGetLastError());
            means_.take(forms + form * rows.rows, rows.rows);
        }
    }

  private:
    size_t squares() const { return static_cast<size_t>(model_.count) * model_.count; }

    // Finds the rows' covariances; returns how many rows they are.
    int load(const btml_cuda_rows& rows) {
        const auto count = static_cast<unsigned>(rows.rows);
        points_.copy(rows.points, rows.rows * model_.width);
        roots_.copy(rows.roots, rows.rows);
        covariances_.reserve(rows.rows * model_.count);
        const dim3 blocks((model_.count + threads - 1) / threads, std::min(count, 65535U));
        find_<<<blocks, threads>>>(model_, count, points_.get(), roots_.get(), covariances_.get());
        check(cudaGetLastError());
        return static_cast<int>(count);
    }

    const Find find_;
    const int count_;
    const DeviceArray<double> penalties_, inducing_;
    const SparseGp model_;
    const Library blas_;
    DeviceArray<double> points_, roots_, targets_, covariances_;
    DeviceArray<double> factor_, products_, projections_;
    DeviceArray<double> solution_, matrices_, reduced_, means_;
    uint64_t forms_ = 0;
};

SmoothGp& gp_of(void* gp) {
    return *static_cast<SmoothGp*>(gp);
}

} // namespace

} // namespace btml::cuda

using btml::cuda::gp_of;
using btml::cuda::guarded;

extern "C" const char* btml_cuda_open_gp(const btml_cuda_gp* model, void** gp, uint64_t* max_rows) {
    return guarded([&] {
        auto opened = std::make_unique<btml::cuda::SmoothGp>(*model);
        *max_rows = opened->max_rows();
        *gp = opened.release();
    });
}

extern "C" const char* btml_cuda_begin_moments(void* gp, const double* factor) {
    return guarded([&] { gp_of(gp).begin_moments(factor); });
}

extern "C" const char* btml_cuda_add_moments(void* gp, const btml_cuda_rows* rows, const double* targets) {
    return guarded([&] { gp_of(gp).add_moments(*rows, targets); });
}

extern "C" const char* btml_cuda_take_moments(void* gp, double* products, double* projections) {
    return guarded([&] { gp_of(gp).take_moments(products, projections); });
}

extern "C" const char* btml_cuda_begin_forms(void* gp, const double* solution, uint64_t forms,
                                             const double* const* matrices) {
    return guarded([&] { gp_of(gp).begin_forms(solution, forms, matrices); });
}

extern "C" const char* btml_cuda_find_forms(void* gp, const btml_cuda_rows* rows, double* means, double* forms) {
    return guarded([&] { gp_of(gp).find_forms(*rows, means, forms); });
}

extern "C" void btml_cuda_close_gp(void* gp) {
    delete &gp_of(gp);
}
