// Kernel sums: pairs a second when every pair is evaluated, and sampled sums against that.
#include "core/base/rng.hpp"
#include "core/kernel/exact_sums.hpp"
#include "core/kernel/kernel_sums.hpp"

#include <benchmark/benchmark.h>

#include <cmath>
#include <ctime>
#include <numbers>

using namespace btml;
using namespace btml::kernel;

namespace {

enum Data : int64_t { diffuse, blobs_200, small_blobs };

// Blobs of standard deviation 1 with centres in [0, 10]^d, 200 or n/10 of them, or normal numbers.
std::vector<double> make_points(size_t rows, size_t dimensions, Data data) {
    std::vector<double> points(rows * dimensions);
    const size_t blobs = data == blobs_200 ? 200 : std::max<size_t>(1, rows / 10);
    for (size_t i = 0; i < rows; i++) {
        const uint64_t blob = random_bits(1, 0, i) % blobs;
        for (size_t k = 0; k < dimensions; k++) {
            const uint64_t at = i * dimensions + k;
            const double normal = std::sqrt(-2 * std::log(1 - random_unit(2, 0, at))) *
                                  std::cos(2 * std::numbers::pi * random_unit(3, 0, at));
            points[at] = normal + (data == diffuse ? 0 : 10 * random_unit(4, blob, k));
        }
    }
    return points;
}

double cpu_seconds() {
    return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

struct Run {
    double preparing, summing; // CPU seconds, on one thread
    Report report;
    std::vector<double> values;
};

// Of all points as keys with weight 1, at so many of them, evenly spread.
Run evaluate(const std::vector<double>& points, size_t dimensions, size_t queries, double bandwidth, Method method,
             double epsilon, Quantity quantity) {
    QuietContext context;
    const size_t rows = points.size() / dimensions;
    Keys keys(dimensions, 1, context.memory());
    Points at(dimensions, context.memory(), "queries");
    const double weight = 1;
    for (size_t i = 0; i < rows; i++) keys.append({&points[i * dimensions], dimensions}, {&weight, 1});
    for (size_t i = 0; i < queries; i++) at.append({&points[i * (rows / queries) * dimensions], dimensions});
    Options options;
    options.bandwidth = bandwidth;
    options.method = method;
    options.epsilon = epsilon;
    const double start = cpu_seconds();
    KernelSums sums(std::move(keys), quantity, options, context);
    const double prepared = cpu_seconds();
    Estimates estimates = sums.evaluate(at);
    return {prepared - start,
            cpu_seconds() - prepared,
            estimates.report,
            {estimates.values.begin(), estimates.values.end()}};
}

void exact_pairs(benchmark::State& state) {
    const auto rows = static_cast<size_t>(state.range(0)), dimensions = static_cast<size_t>(state.range(1));
    const std::vector<double> points = make_points(rows, dimensions, diffuse);
    const double bandwidth = std::sqrt(static_cast<double>(dimensions));
    for (auto _ : state)
        benchmark::DoNotOptimize(evaluate(points, dimensions, rows, bandwidth, Method::exact, 0.1, Quantity::sum));
    state.SetItemsProcessed(state.iterations() * state.range(0) * state.range(0));
}
BENCHMARK(exact_pairs)->ArgNames({"n", "d"})->ArgsProduct({{30000}, {3, 16, 32, 100}})->Unit(benchmark::kMillisecond);

// The exact sum's time is that of at most 8,192 queries, times n/8,192.
void sampled(benchmark::State& state, Quantity quantity) {
    const auto rows = static_cast<size_t>(state.range(0)), dimensions = static_cast<size_t>(state.range(1));
    const auto data = static_cast<Data>(state.range(2));
    const double epsilon = static_cast<double>(state.range(3)) / 100;
    const std::vector<double> points = make_points(rows, dimensions, data);
    const size_t checked = std::min<size_t>(rows, 8192);
    double exact_seconds = 0, seconds = 0, error = 0, evaluated = 0;
    for (auto _ : state) {
        const Run exact = evaluate(points, dimensions, checked, 1, Method::exact, epsilon, quantity);
        const Run run = evaluate(points, dimensions, rows, 1, Method::automatic, epsilon, quantity);
        exact_seconds += exact.preparing + exact.summing * static_cast<double>(rows) / static_cast<double>(checked);
        seconds += run.preparing + run.summing;
        evaluated += run.report.evaluated;
        double squares = 0, of_values = 0;
        for (size_t i = 0; i < checked; i++) {
            const double difference = run.values[i * (rows / checked)] - exact.values[i];
            squares += difference * difference;
            of_values += quantity == Quantity::sum ? 1 : exact.values[i] * exact.values[i];
        }
        error += std::sqrt(squares / of_values);
    }
    const auto runs = static_cast<double>(state.iterations());
    state.counters["exact_s"] = exact_seconds / runs;
    state.counters["auto_s"] = seconds / runs;
    state.counters["speedup"] = exact_seconds / seconds;
    state.counters["evaluated"] = evaluated / runs;
    state.counters["error"] = error / runs;
}
void sizes(benchmark::internal::Benchmark* bench, const std::vector<int64_t>& epsilons) {
    bench->ArgNames({"n", "d", "data", "percent"})
        ->ArgsProduct({{20000, 50000, 100000, 200000}, {3, 16, 100}, {diffuse, blobs_200, small_blobs}, epsilons})
        ->Iterations(1)
        ->Unit(benchmark::kSecond);
}
BENCHMARK_CAPTURE(sampled, sum, Quantity::sum)->Apply([](auto* bench) { sizes(bench, {10, 5}); });
BENCHMARK_CAPTURE(sampled, density, Quantity::density)->Apply([](auto* bench) { sizes(bench, {10}); });

} // namespace
