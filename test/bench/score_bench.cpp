// Cross-validation scores in the core alone: all pairs of ten thousand rows, samples of two million, and the choice of
// a bandwidth.
#include "core/base/rng.hpp"
#include "core/monte_carlo/bandwidth_selection.hpp"
#include "core/monte_carlo/exact_scores.hpp"
#include "core/monte_carlo/scores.hpp"

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

// Pairs a second.
void exact(benchmark::State& state, ScoreKind kind, const Bandwidths& bandwidths) {
    QuietContext context;
    ThreadTeam team(context);
    const ExactRows rows(rows_of(10'000, context), context);
    const ScoreForm form(kind, {}, rows.points().dimensions);
    for (auto _ : state) benchmark::DoNotOptimize(exact_score(form, rows, bandwidths, team, context).score);
    state.SetItemsProcessed(state.iterations() * 10'000 * 9'999);
}
void exact_kr(benchmark::State& state) {
    exact(state, ScoreKind::kr, {0.2});
}
void exact_kde(benchmark::State& state) {
    exact(state, ScoreKind::kde, {0.2});
}
void exact_kcde(benchmark::State& state) {
    exact(state, ScoreKind::kcde, {0.2, 0.3});
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

BENCHMARK(exact_kr)->Unit(benchmark::kMillisecond);
BENCHMARK(exact_kde)->Unit(benchmark::kMillisecond);
BENCHMARK(exact_kcde)->Unit(benchmark::kMillisecond);
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
