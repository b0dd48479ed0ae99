// Times what btml_cuda.so computes, as lines for peers.py to put the peers' times beside: device_bench
// path/of/btml_cuda.so. Ends with 77 where there is no device. A line has the case and its sizes as peers.py takes
// them, the seconds to make it ready (keys into their tree and onto the device), the least seconds of three to compute
// it, points and results crossing the bus included, and the flops that it is counted as.
#include "device_program.hpp"
#include "kernel_data.hpp"

#include <chrono>
#include <thread>

namespace btml::test {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

template <class Body>
double min_seconds(const Body& body) {
    double least = INFINITY;
    for (int i = 0; i < 3; i++) {
        const auto start = std::chrono::steady_clock::now();
        body();
        least = std::min(least, seconds_since(start));
    }
    return least;
}

int all_threads() {
    return static_cast<int>(std::thread::hardware_concurrency());
}

void report(const char* what, size_t rows, size_t dimensions, size_t columns, double ready, double seconds,
            double flops) {
    std::printf("%s\t%zu\t%zu\t%zu\t%.6f\t%.6f\t%.6g\n", what, rows, dimensions, columns, ready, seconds, flops);
    std::fflush(stdout);
}

// As many queries as keys, normal, with √d for a bandwidth.
void bench_sums(const std::string& library, const char* kernel_name, kernel::Kernel kernel, size_t rows,
                size_t dimensions) {
    DeviceContext context(library, all_threads());
    const kernel::Options options = exact_options(std::sqrt(static_cast<double>(dimensions)), kernel);
    const Rows values = constant_values(rows);
    kernel::Keys keys = keys_of(normal_rows(rows, dimensions, 1, 1), values, context);
    const kernel::Points queries = points_of(normal_rows(rows, dimensions, 1, 2), context);
    const auto start = std::chrono::steady_clock::now();
    kernel::KernelSums sums(std::move(keys), kernel::Quantity::sum, options, context);
    const double ready = seconds_since(start);
    const double seconds = min_seconds([&] { sums.evaluate(queries); });
    const double pairs = static_cast<double>(rows) * static_cast<double>(rows);
    report(kernel_name, rows, dimensions, 1, ready, seconds, pairs * static_cast<double>(2 * dimensions + 10));
}

void bench_attention(const std::string& library, size_t rows, size_t dimensions) {
    DeviceContext context(library, all_threads());
    kernel::Options options;
    options.method = kernel::Method::exact;
    kernel::Keys keys = keys_of(normal_rows(rows, dimensions, 1, 1), normal_rows(rows, dimensions, 1, 2), context);
    const kernel::Points queries = points_of(normal_rows(rows, dimensions, 1, 3), context);
    const auto start = std::chrono::steady_clock::now();
    kernel::Attention attention(std::move(keys), options, context);
    const double ready = seconds_since(start);
    const double seconds = min_seconds([&] { attention.evaluate(queries); });
    const double pairs = static_cast<double>(rows) * static_cast<double>(rows);
    report("attention", rows, dimensions, dimensions, ready, seconds, pairs * static_cast<double>(4 * dimensions + 10));
}

// One pass over the rows for the moments of a collapsed bound, and the forms of as many rows as are scored.
void bench_gp(const std::string& path, size_t rows, size_t dimensions, size_t count) {
    const device::Library& library = device::Library::at(path);
    Normals normal(1);
    std::vector<double> inducing(count * dimensions), points(rows * dimensions), roots(rows, 1.0), targets(rows),
        factor(count * count), products(count * count), projections(count), means, forms;
    for (double& x : inducing) x = normal() / std::sqrt(static_cast<double>(dimensions));
    for (double& x : points) x = normal() / std::sqrt(static_cast<double>(dimensions));
    for (double& x : targets) x = normal();
    for (size_t u = 0; u < count; u++) factor[u * count + u] = 1;
    const btml_cuda_gp process{0, dimensions, dimensions, count, nullptr, 1, inducing.data()};
    void* handle = nullptr;
    uint64_t max_rows = 0;
    const auto start = std::chrono::steady_clock::now();
    device::check(library.open_gp(&process, &handle, &max_rows));
    const double ready = seconds_since(start);
    const auto in_batches = [&](size_t all, size_t batch, const auto& body) {
        for (size_t begin = 0; begin < all; begin += batch) {
            const btml_cuda_rows some{std::min(batch, all - begin), points.data() + begin * dimensions,
                                      roots.data() + begin};
            device::check(body(some, begin));
        }
    };
    const double squares = static_cast<double>(count) * static_cast<double>(count);
    const double seconds = min_seconds([&] {
        device::check(library.begin_moments(handle, factor.data()));
        in_batches(rows, std::min<uint64_t>(max_rows, 16'384), [&](const btml_cuda_rows& some, size_t begin) {
            return library.add_moments(handle, &some, targets.data() + begin);
        });
        device::check(library.take_moments(handle, products.data(), projections.data()));
    });
    report("moments", rows, dimensions, count, ready, seconds, static_cast<double>(rows) * 2 * squares);
    const size_t scored = std::min<size_t>(rows, 50'000);
    const double of_forms = min_seconds([&] {
        const double* const matrices[] = {factor.data(), factor.data()};
        device::check(library.begin_forms(handle, targets.data(), 2, matrices));
        in_batches(scored, 1'024, [&](const btml_cuda_rows& some, size_t) {
            means.resize(some.rows);
            forms.resize(2 * some.rows);
            return library.find_forms(handle, &some, means.data(), forms.data());
        });
    });
    report("forms", scored, dimensions, count, 0, of_forms, static_cast<double>(scored) * 4 * squares);
    library.close_gp(handle);
}

int bench(const std::string& path) {
    using namespace kernel;
    DeviceContext context(path, all_threads());
    KernelSums(keys_of(normal_rows(1'000, 3, 1, 1), constant_values(1'000), context), Quantity::sum, exact_options(1),
               context); // starts the device
    if (!context.device().failure.empty()) {
        std::fprintf(stderr, "left out: %s\n", context.device().failure.c_str());
        return 77;
    }
    bench_sums(path, "gaussian", kernel_of<Gaussian>, 500'000, 3);
    bench_sums(path, "gaussian", kernel_of<Gaussian>, 500'000, 16);
    bench_sums(path, "gaussian", kernel_of<Gaussian>, 250'000, 100);
    bench_sums(path, "laplacian", kernel_of<Laplacian>, 250'000, 16);
    bench_sums(path, "matern52", kernel_of<Matern52>, 250'000, 16);
    bench_attention(path, 100'000, 64);
    bench_gp(path, 1'300'000, 11, 512);
    bench_gp(path, 100'000, 11, 2'000);
    return 0;
}

} // namespace
} // namespace btml::test

int main(int arguments, char** argument) {
    return btml::test::run_with_library(arguments, argument, btml::test::bench);
}
