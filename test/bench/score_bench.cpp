// Cross-validation scores in the core alone: all pairs of ten thousand rows, samples of two million, and the choice of
// a bandwidth.
#include "core/monte_carlo/bandwidth_selection.hpp"
#include "core/monte_carlo/pair_sums.hpp"
#include "core/monte_carlo/scores.hpp"
#include "core/numbers/rng.hpp"

#include <benchmark/benchmark.h>

#include <cmath>
#include <numbers>

using namespace btml;
using namespace btml::monte_carlo;

namespace {

constexpr size_t many = 2'000'000;

ScoreRows rows_of(size_t count, RunContext& context, size_t dimensions = 4) {
    ScoreRows rows(dimensions, true, context.memory());
    RandomStream random(1, 1);
    const auto normal = [&] {
        const double radius = std::sqrt(-2 * std::log(1 - random.unit()));
        return radius * std::cos(2 * std::numbers::pi * random.unit());
    };
    rows.values.reserve(count * (dimensions + 1));
    for (size_t i = 0; i < count; i++) {
        double first = 0;
        for (size_t k = 0; k < dimensions; k++) {
            const double x = normal();
            if (k == 0) first = x;
            rows.values.push_back(x);
        }
        rows.values.push_back(std::sin(2 * first) + normal());
    }
    return rows;
}

// Pairs times bandwidths a second, of one thread.
void exact(benchmark::State& state, ScoreKind kind) {
    const auto count = static_cast<size_t>(state.range(0)), dimensions = static_cast<size_t>(state.range(1));
    QuietContext context;
    ThreadTeam team(context);
    const ExactRows rows(rows_of(count, context, dimensions), context);
    const ScoreForm form(kind, {}, dimensions);
    std::vector<Bandwidths> bandwidths;
    for (int64_t i = 0; i < state.range(2); i++) bandwidths.push_back({0.2 * std::pow(1.1, i), 0.3});
    for (auto _ : state) benchmark::DoNotOptimize(exact_scores(form, rows, bandwidths, team, context).front().value);
    state.SetItemsProcessed(state.iterations() * state.range(0) * (state.range(0) - 1) * state.range(2));
}

void tree_and_strata(benchmark::State& state) {
    for (auto _ : state) {
        state.PauseTiming();
        QuietContext context;
        ThreadTeam team(context);
        Scores scores(rows_of(many, context), ScoreKind::kr, {}, context);
        state.ResumeTiming();
        scores.prepare(team);
    }
}

void sampled(benchmark::State& state, ScoreKind kind) {
    QuietContext context;
    ThreadTeam team(context);
    Scores scores(rows_of(static_cast<size_t>(state.range(0)), context), kind, {}, context);
    scores.prepare(team);
    for (auto _ : state) benchmark::DoNotOptimize(scores.estimate({0.2, 0.3}, team).value);
}

// A hundred bandwidths drawn between 0.05 and 1 on a logarithmic scale, the tree and strata included: as measured by
// Holmes, Gray, Isbell (section 5).
void random_bandwidths(benchmark::State& state, ScoreKind kind, size_t rows, size_t dimensions) {
    for (auto _ : state) {
        state.PauseTiming();
        QuietContext context(2);
        ThreadTeam team(context);
        RandomStream random(7, 7);
        Scores scores(rows_of(rows, context, dimensions), kind, {}, context);
        state.ResumeTiming();
        for (int i = 0; i < 100; i++) {
            const auto draw = [&] { return 0.05 * std::pow(20, random.unit()); };
            const double x = draw();
            benchmark::DoNotOptimize(scores.estimate({x, draw()}, team).value);
        }
    }
}

// With two threads; the rows are there.
void select(benchmark::State& state, ScoreKind kind) {
    for (auto _ : state) {
        state.PauseTiming();
        QuietContext context(2);
        ThreadTeam team(context);
        ScoreRows rows = rows_of(many, context);
        state.ResumeTiming();
        benchmark::DoNotOptimize(select_bandwidth(std::move(rows), kind, {}, team, context).size());
    }
}

void sizes(benchmark::internal::Benchmark* benchmark) {
    benchmark->Unit(benchmark::kMillisecond)->Arg(100'000)->Arg(many)->Arg(10'000'000);
}

void exact_sizes(benchmark::internal::Benchmark* benchmark) {
    benchmark->Unit(benchmark::kMillisecond)->ArgNames({"n", "d", "bandwidths"});
    for (const int dimensions : {1, 4, 16})
        for (const int bandwidths : {1, 30}) benchmark->Args({4'000, dimensions, bandwidths});
}
BENCHMARK_CAPTURE(exact, kr, ScoreKind::kr)->Apply(exact_sizes);
BENCHMARK_CAPTURE(exact, kde, ScoreKind::kde)->Apply(exact_sizes);
BENCHMARK_CAPTURE(exact, likelihood, ScoreKind::likelihood)->Apply(exact_sizes);
BENCHMARK_CAPTURE(exact, kcde, ScoreKind::kcde)->Apply(exact_sizes);
BENCHMARK(tree_and_strata)->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK_CAPTURE(sampled, kr, ScoreKind::kr)->Apply(sizes);
BENCHMARK_CAPTURE(sampled, kde, ScoreKind::kde)->Apply(sizes);
BENCHMARK_CAPTURE(sampled, kcde, ScoreKind::kcde)->Apply(sizes);
BENCHMARK_CAPTURE(random_bandwidths, kr, ScoreKind::kr, many, 4)
    ->Unit(benchmark::kSecond)
    ->Iterations(1)
    ->UseRealTime();
BENCHMARK_CAPTURE(random_bandwidths, kde, ScoreKind::kde, many, 4)
    ->Unit(benchmark::kSecond)
    ->Iterations(1)
    ->UseRealTime();
BENCHMARK_CAPTURE(random_bandwidths, kcde, ScoreKind::kcde, 3'500'000, 3)
    ->Unit(benchmark::kSecond)
    ->Iterations(1)
    ->UseRealTime();
BENCHMARK_CAPTURE(select, kr, ScoreKind::kr)->Unit(benchmark::kSecond)->Iterations(1)->UseRealTime();
BENCHMARK_CAPTURE(select, kde, ScoreKind::kde)->Unit(benchmark::kSecond)->Iterations(1)->UseRealTime();
BENCHMARK_CAPTURE(select, kcde, ScoreKind::kcde)->Unit(benchmark::kSecond)->Iterations(1)->UseRealTime();

} // namespace
