// Dense algebra of the core: Cholesky's factor of n × n covariances, solutions and inverses by it.
#include "core/algebra/cholesky.hpp"

#include <benchmark/benchmark.h>

#include <cmath>

using namespace btml;
using namespace btml::algebra;

namespace {

Buffer<double> covariances(size_t n, MemoryBudget& budget) {
    Buffer<double> matrix(budget, "matrix", n * n);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            matrix[i * n + j] = std::exp(-std::abs(static_cast<double>(i) - static_cast<double>(j)) / 30) + (i == j);
    return matrix;
}

enum class Work { factorise, solve, invert };

void dense(benchmark::State& state, Work work) {
    const auto n = static_cast<size_t>(state.range(0));
    QuietContext context;
    ThreadTeam team(context);
    Cholesky factor(covariances(n, context.memory()), n, team);
    Buffer<double> inverse(context.memory(), "inverse", n * n), x(context.memory(), "solution", n, 1.0);
    for (auto _ : state) {
        if (work == Work::factorise) {
            state.PauseTiming();
            Buffer<double> matrix = covariances(n, context.memory());
            state.ResumeTiming();
            factor = Cholesky(std::move(matrix), n, team);
        }
        if (work == Work::solve) factor.solve(x.data(), team);
        if (work == Work::invert) factor.invert(inverse.data(), team);
    }
}
BENCHMARK_CAPTURE(dense, factorise, Work::factorise)->Arg(50)->Arg(200)->Arg(500)->Arg(1000)->Arg(2000);
BENCHMARK_CAPTURE(dense, solve, Work::solve)->Arg(50)->Arg(200)->Arg(500)->Arg(1000)->Arg(2000);
BENCHMARK_CAPTURE(dense, invert, Work::invert)->Arg(50)->Arg(200)->Arg(500)->Arg(1000)->Arg(2000);

} // namespace
