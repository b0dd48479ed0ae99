// Training and prediction in the core alone.
#include "core/base/rng.hpp"
#include "core/boosting/booster.hpp"
#include "core/boosting/predictor.hpp"

#include <benchmark/benchmark.h>

using namespace btml;
using namespace btml::boosting;

namespace {

constexpr int features = 20;

Dataset make_dataset(uint64_t rows, MemoryBudget& budget) {
    Dataset dataset{.rows = rows,
                    .tables = {},
                    .features = {},
                    .target_table = 0,
                    .target = Buffer<double>(budget, "target", rows),
                    .weight = Buffer<double>(budget, "weight"),
                    .holdout_table = -1,
                    .holdout = Buffer<uint8_t>(budget, "holdout")};
    dataset.tables.push_back({rows, Buffer<uint32_t>(budget, "row ids")});
    for (int f = 0; f < features; f++) {
        FeatureColumn column{"x" + std::to_string(f),
                             "double precision",
                             FeatureKind::number,
                             0,
                             Buffer<double>(budget, "feature", rows),
                             Buffer<uint32_t>(budget, "codes"),
                             {}};
        for (uint64_t i = 0; i < rows; i++) column.numbers[i] = random_unit(1, static_cast<uint64_t>(f), i);
        dataset.features.push_back(std::move(column));
    }
    for (uint64_t i = 0; i < rows; i++)
        dataset.target[i] = dataset.features[0].numbers[i] * dataset.features[1].numbers[i] + random_unit(2, 0, i);
    return dataset;
}

void fit_trees(benchmark::State& state) {
    const auto rows = static_cast<uint64_t>(state.range(0));
    Options options;
    options.trees = 10;
    for (auto _ : state) {
        QuietContext context;
        benchmark::DoNotOptimize(fit(make_dataset(rows, context.memory()), options, context));
    }
    state.SetItemsProcessed(state.iterations() * state.range(0) * options.trees);
}
BENCHMARK(fit_trees)->Arg(100000)->Unit(benchmark::kMillisecond);

void predict_row(benchmark::State& state) {
    QuietContext context;
    const Model model = fit(make_dataset(20000, context.memory()), {}, context).model;
    Predictor predictor(model, context);
    std::vector<double> row(features);
    uint64_t i = 0;
    for (auto _ : state) {
        for (double& x : row) x = random_unit(3, 0, i++);
        benchmark::DoNotOptimize(predictor(row));
    }
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(predict_row);

} // namespace

BENCHMARK_MAIN();
