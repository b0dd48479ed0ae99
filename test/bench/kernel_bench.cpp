// Exact kernel sums: pairs a second.
#include "core/kernel/kernel_sums.hpp"
#include "core/numbers/rng.hpp"

#include <benchmark/benchmark.h>

#include <cmath>

using namespace btml;
using namespace btml::kernel;

namespace {

void exact_pairs(benchmark::State& state) {
    const auto rows = static_cast<size_t>(state.range(0)), dimensions = static_cast<size_t>(state.range(1));
    Options options;
    options.bandwidth = std::sqrt(static_cast<double>(dimensions));
    options.method = Method::exact;
    options.kernel = static_cast<Kernel>(state.range(2));
    state.SetLabel(facts_of(options.kernel).name);
    for (auto _ : state) {
        QuietContext context;
        Keys keys(dimensions, 1, context.memory());
        Points queries(dimensions, context.memory(), "queries");
        std::vector<double> point(dimensions);
        const double weight = 1;
        for (size_t i = 0; i < rows; i++) {
            for (size_t k = 0; k < dimensions; k++) point[k] = 4 * random_unit(1, i, k);
            keys.append(point, {&weight, 1});
            queries.append(point);
        }
        KernelSums sums(std::move(keys), Quantity::sum, options, context);
        benchmark::DoNotOptimize(sums.evaluate(queries));
    }
    state.SetItemsProcessed(state.iterations() * state.range(0) * state.range(0));
}
BENCHMARK(exact_pairs)
    ->ArgNames({"n", "d", "kernel"})
    ->ArgsProduct({{30000}, {3, 16, 32, 100}, benchmark::CreateDenseRange(0, Kernels::size - 1, 1)})
    ->Unit(benchmark::kMillisecond);

} // namespace
