// Training and prediction in the core alone.
#include "core/boosting/booster.hpp"
#include "core/boosting/trees/boosting_predictor.hpp"
#include "core/numbers/rng.hpp"

#include <benchmark/benchmark.h>

#include <cmath>

using namespace btml;
using namespace btml::boosting;

namespace {

constexpr int features = 20;

FeatureColumn make_feature(int number, int table, uint64_t rows, MemoryBudget& budget) {
    FeatureColumn column(budget, {"x" + std::to_string(number), "double precision", false, {}}, table);
    column.numbers.resize(rows);
    for (uint64_t i = 0; i < rows; i++) column.numbers[i] = random_unit(1, static_cast<uint64_t>(number), i);
    return column;
}

// Tables of these rows, the first one's those of the join. The first has 8 of the features where there are others.
Dataset make_dataset(const std::vector<uint64_t>& tables, MemoryBudget& budget) {
    const uint64_t rows = tables[0];
    Dataset dataset(budget, rows);
    dataset.target.resize(rows);
    for (size_t t = 0; t < tables.size(); t++) {
        Buffer<uint32_t> ids(budget, "row ids", t == 0 ? 0 : rows);
        for (uint64_t i = 0; i < ids.size(); i++)
            ids[i] = static_cast<uint32_t>(random_unit(3, t, i) * static_cast<double>(tables[t]));
        dataset.tables.push_back({tables[t], std::move(ids)});
    }
    for (int f = 0; f < features; f++) {
        const size_t t = f < 8 || tables.size() == 1 ? 0 : 1 + static_cast<size_t>(f) % (tables.size() - 1);
        dataset.features.push_back(make_feature(f, static_cast<int>(t), tables[t], budget));
    }
    for (uint64_t i = 0; i < rows; i++)
        dataset.target[i] = dataset.features[0].numbers[i] * dataset.features[1].numbers[i] + random_unit(2, 0, i);
    return dataset;
}

// Makes the target one of so many labels.
void make_labels(Dataset& dataset, int labels) {
    for (double& y : dataset.target) y = std::min(labels - 1.0, std::floor(y * labels / 2));
    for (int label = 0; label < labels; label++) dataset.labels.push_back(std::to_string(label));
}

void make_weights(Dataset& dataset) {
    dataset.weight.resize(dataset.rows);
    for (uint64_t i = 0; i < dataset.rows; i++) dataset.weight[i] = 0.5 + 1.5 * random_unit(4, 0, i);
}

void fit_trees(benchmark::State& state, ObjectiveNumber objective, bool star, bool weighted) {
    const auto rows = static_cast<uint64_t>(state.range(0));
    Options options;
    options.objective = objective;
    options.trees = 10;
    for (auto _ : state) {
        QuietContext context;
        state.PauseTiming();
        Dataset dataset = make_dataset(
            star ? std::vector<uint64_t>{rows, 1000, 20000, 100000} : std::vector<uint64_t>{rows}, context.memory());
        if (objective == ObjectiveNumber::binary) make_labels(dataset, 2);
        if (objective == ObjectiveNumber::multiclass) make_labels(dataset, 7);
        if (weighted) make_weights(dataset);
        state.ResumeTiming();
        benchmark::DoNotOptimize(fit(std::move(dataset), options, context));
    }
    state.SetItemsProcessed(state.iterations() * state.range(0) * options.trees);
}
BENCHMARK_CAPTURE(fit_trees, table_squared, ObjectiveNumber::squared, false, false)
    ->Arg(100000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(fit_trees, table_squared_weighted, ObjectiveNumber::squared, false, true)
    ->Arg(100000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(fit_trees, table_binary, ObjectiveNumber::binary, false, false)
    ->Arg(100000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(fit_trees, table_binary_weighted, ObjectiveNumber::binary, false, true)
    ->Arg(100000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(fit_trees, star_squared, ObjectiveNumber::squared, true, false)
    ->Arg(200000)
    ->Arg(1600000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(fit_trees, star_binary, ObjectiveNumber::binary, true, false)
    ->Arg(200000)
    ->Arg(1600000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(fit_trees, star_multiclass, ObjectiveNumber::multiclass, true, false)
    ->Arg(200000)
    ->Unit(benchmark::kMillisecond);

void predict_row(benchmark::State& state) {
    QuietContext context;
    const Model model = fit(make_dataset({20000}, context.memory()), {}, context).model;
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
