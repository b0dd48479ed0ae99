// Cross-validation scores in the core alone: all pairs of ten thousand rows, and samples of two million.
#include "core/base/rng.hpp"
#include "core/kernel/exact_scores.hpp"
#include "core/kernel/scores.hpp"

#include <benchmark/benchmark.h>

#include <cmath>
#include <numbers>

using namespace btml;
using namespace btml::kernel;

namespace {

constexpr size_t dimensions = 4;

ScoreRows rows_of(size_t count, RunContext& context) {
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
template <class Score>
void exact(benchmark::State& state, Score score) {
    QuietContext context;
    ThreadTeam team(context);
    const ExactRows rows(rows_of(10'000, context), context);
    for (auto _ : state) benchmark::DoNotOptimize(score(rows, team, context).score);
    state.SetItemsProcessed(state.iterations() * 10'000 * 9'999);
}
void exact_kr(benchmark::State& state) {
    exact(state, [](const auto& rows, auto& team, auto& context) { return exact_kr_score(rows, 0.2, team, context); });
}
void exact_kde(benchmark::State& state) {
    exact(state, [](const auto& rows, auto& team, auto& context) { return exact_kde_score(rows, 0.2, team, context); });
}
void exact_kcde(benchmark::State& state) {
    exact(state,
          [](const auto& rows, auto& team, auto& context) { return exact_kcde_score(rows, 0.2, 0.3, team, context); });
}

void tree_and_strata(benchmark::State& state) {
    for (auto _ : state) {
        state.PauseTiming();
        QuietContext context;
        ThreadTeam team(context);
        Scores scores(rows_of(2'000'000, context), ScoreKind::kr, {}, context);
        state.ResumeTiming();
        scores.prepare(team);
    }
}

void sampled(benchmark::State& state, ScoreKind kind) {
    QuietContext context;
    ThreadTeam team(context);
    Scores scores(rows_of(2'000'000, context), kind, {}, context);
    scores.prepare(team);
    for (auto _ : state) benchmark::DoNotOptimize(scores.estimate({0.2, 0.3}, team).value);
}

BENCHMARK(exact_kr)->Unit(benchmark::kMillisecond);
BENCHMARK(exact_kde)->Unit(benchmark::kMillisecond);
BENCHMARK(exact_kcde)->Unit(benchmark::kMillisecond);
BENCHMARK(tree_and_strata)->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK_CAPTURE(sampled, kr, ScoreKind::kr)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(sampled, kde, ScoreKind::kde)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(sampled, kcde, ScoreKind::kcde)->Unit(benchmark::kMillisecond);

} // namespace
