// Inference with the binary tree kernel in the core alone: a million rows of eleven correlated features, 88 levels.
#include "core/gp/tree/leave_one_out.hpp"
#include "core/gp/tree/likelihood.hpp"
#include "core/gp/tree/trie.hpp"
#include "core/numbers/rng.hpp"
#include "gp/covariance_product.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

using namespace btml;
using namespace btml::gp;

namespace {

constexpr size_t features = 11, training_rows = 1300000, new_points = 100000;
constexpr int value_bits = 8;

double normal(uint64_t stream, uint64_t row) {
    double sum = -6;
    for (uint64_t i = 0; i < 12; i++) sum += random_unit(stream, i, row);
    return sum;
}

struct Data {
    QuietContext context;
    std::vector<std::vector<double>> columns, new_columns;
    std::vector<FeatureView> views;
    std::vector<double> target;
    BitOrder order; // the highest bits of all features first
    Kernel kernel;

    Data() : columns(features), new_columns(features) {
        for (uint64_t i = 0; i < training_rows + new_points; i++) {
            const double common = normal(1, i);
            std::vector<std::vector<double>>& to = i < training_rows ? columns : new_columns;
            for (size_t f = 0; f < features; f++) to[f].push_back(0.5 * common + 0.8 * normal(2 + f, i));
            if (i < training_rows) target.push_back(std::sin(2 * columns[0][i]) + columns[1][i] + 0.1 * normal(20, i));
        }
        for (const std::vector<double>& column : columns) views.push_back({false, column, {}, 0});
        for (int bit = 0; bit < value_bits; bit++)
            for (size_t f = 0; f < features; f++) order.push_back(static_cast<uint16_t>(f));
        for (size_t level = 0; level < order.size(); level++)
            kernel.weights.push_back(0.05 * std::exp(-0.05 * static_cast<double>(level)));
        kernel.noise = 0.05;
    }
};

Data& data() {
    static Data made;
    return made;
}

struct Encoded {
    Encoding encoding;
    BitRows rows;
    std::vector<uint16_t> bits;

    explicit Encoded(Data& d)
        : encoding(d.views, d.target, {}, value_bits, {}, d.context),
          rows(encoding.encode_rows(d.views, d.context)),
          bits(bits_of_levels(encoding, d.order)) {}
};

Encoded& encoded() {
    static Encoded made(data());
    return made;
}

struct Sorted {
    SortedRows rows;
    Observations observations;

    explicit Sorted(Data& d) : rows(sort(d)), observations(d.context.memory()) {
        gather(make_observations(d.target, {}, d.context), rows.rows.span(), observations, d.context);
    }
    static SortedRows sort(Data& d) {
        RowSorter sorter(encoded().rows, d.context);
        sorter.propose(encoded().bits, d.context);
        return std::move(sorter).take();
    }
};

Sorted& sorted() {
    static Sorted made(data());
    return made;
}

// What sorting is to be compared with.
void sort_numbers_with_std_sort(benchmark::State& state) {
    std::vector<uint64_t> numbers(training_rows);
    encoded();
    for (auto _ : state) {
        for (size_t i = 0; i < training_rows; i++) numbers[i] = encoded().rows.row(i)[0];
        std::sort(numbers.begin(), numbers.end());
        benchmark::DoNotOptimize(numbers.data());
    }
}
BENCHMARK(sort_numbers_with_std_sort)->Unit(benchmark::kMillisecond);

// What one pass over the sorted rows is to be compared with.
void add_up_targets(benchmark::State& state) {
    sorted();
    for (auto _ : state)
        benchmark::DoNotOptimize(
            std::accumulate(sorted().observations.target.begin(), sorted().observations.target.end(), 0.0));
}
BENCHMARK(add_up_targets)->Unit(benchmark::kMillisecond);

void encode_rows(benchmark::State& state) {
    for (auto _ : state) benchmark::DoNotOptimize(encoded().encoding.encode_rows(data().views, data().context));
}
BENCHMARK(encode_rows)->Unit(benchmark::kMillisecond);

void sort_rows(benchmark::State& state) {
    RowSorter sorter(encoded().rows, data().context);
    for (auto _ : state) benchmark::DoNotOptimize(sorter.propose(encoded().bits, data().context).rows.data());
}
BENCHMARK(sort_rows)->Unit(benchmark::kMillisecond);

// A search step: two neighbouring levels of different features change places.
void sort_rows_again(benchmark::State& state) {
    RowSorter sorter(encoded().rows, data().context);
    sorter.propose(encoded().bits, data().context);
    sorter.accept();
    std::vector<uint16_t> bits = encoded().bits;
    const auto level = static_cast<size_t>(state.range(0));
    std::swap(bits[level], bits[level + 1]);
    for (auto _ : state) benchmark::DoNotOptimize(sorter.propose(bits, data().context).rows.data());
}
BENCHMARK(sort_rows_again)->Arg(2)->Arg(12)->Arg(30)->Arg(70)->Unit(benchmark::kMillisecond);

void gather_targets(benchmark::State& state) {
    const Observations observations = make_observations(data().target, {}, data().context);
    Observations target(data().context.memory());
    for (auto _ : state) {
        gather(observations, sorted().rows.rows.span(), target, data().context);
        benchmark::DoNotOptimize(target.target.data());
    }
}
BENCHMARK(gather_targets)->Unit(benchmark::kMillisecond);

void likelihood(benchmark::State& state) {
    const Sorted& rows = sorted();
    for (auto _ : state)
        benchmark::DoNotOptimize(
            negative_log_likelihood(rows.rows.common.span(), rows.observations, data().kernel, data().context));
}
BENCHMARK(likelihood)->Unit(benchmark::kMillisecond);

// So many rows whose neighbours part as those of a balanced trie do: the time per row is to stay the same.
void likelihood_of_rows(benchmark::State& state) {
    const auto rows = static_cast<size_t>(state.range(0));
    QuietContext& context = data().context;
    const int depth = std::bit_width(rows);
    std::vector<uint16_t> common(rows);
    Observations observations(context.memory());
    for (size_t i = 0; i < rows; i++) {
        const int level = depth - std::countr_zero(i + 1) + static_cast<int>(4 * random_unit(1, 0, i));
        common[i] = static_cast<uint16_t>(i + 1 < rows ? std::max(1, level) : 0);
        observations.target.push_back(random_unit(2, 0, i));
    }
    for (auto _ : state)
        benchmark::DoNotOptimize(negative_log_likelihood(common, observations, data().kernel, context));
    state.SetItemsProcessed(state.range(0) * static_cast<int64_t>(state.iterations()));
}
BENCHMARK(likelihood_of_rows)->RangeMultiplier(10)->Range(10000, 10000000)->Unit(benchmark::kMillisecond);

void likelihood_and_gradient(benchmark::State& state) {
    const Sorted& rows = sorted();
    LikelihoodGradient pass(data().context);
    Gradient gradient;
    for (auto _ : state)
        benchmark::DoNotOptimize(
            pass(rows.rows.common.span(), rows.observations, data().kernel, gradient, data().context));
}
BENCHMARK(likelihood_and_gradient)->Unit(benchmark::kMillisecond);

void leave_one_out_of_each_row(benchmark::State& state) {
    const Sorted& rows = sorted();
    for (auto _ : state)
        benchmark::DoNotOptimize(
            leave_one_out(rows.rows.common.span(), rows.observations, data().kernel, data().context).mean.data());
}
BENCHMARK(leave_one_out_of_each_row)->Unit(benchmark::kMillisecond);

void multiply_by_covariance(benchmark::State& state) {
    const Sorted& rows = sorted();
    std::vector<double> product(training_rows);
    for (auto _ : state) {
        covariance_product(rows.rows.common.span(), data().kernel, rows.observations.target.span(), product,
                           data().context);
        benchmark::DoNotOptimize(product.data());
    }
}
BENCHMARK(multiply_by_covariance)->Unit(benchmark::kMillisecond);

Trie make_trie() {
    return Trie(encoded().rows, encoded().bits, sorted().rows, sorted().observations, data().kernel, data().context);
}

void build_trie(benchmark::State& state) {
    for (auto _ : state) benchmark::DoNotOptimize(make_trie());
}
BENCHMARK(build_trie)->Unit(benchmark::kMillisecond);

// Mean and variance of each new point from its features; in no order, or in that of their strings.
void predict_new_points(benchmark::State& state) {
    const bool in_order = state.range(0);
    const Trie trie = make_trie();
    std::vector<FeatureView> views;
    for (const std::vector<double>& column : data().new_columns) views.push_back({false, column, {}, 0});
    const std::vector<StringWord> string = string_words(encoded().bits);
    std::vector<uint64_t> words(trie.words());
    for (auto _ : state) {
        const BitRows rows = encoded().encoding.encode_rows(views, data().context);
        RowSorter sorter(rows, data().context);
        const SortedRows& order = in_order ? sorter.propose(encoded().bits, data().context) : sorter.accepted();
        double sum = 0;
        for (const uint32_t row : order.rows) {
            for (size_t w = 0; w < string.size(); w++) words[w] = string[w](rows.row(row));
            const Normal latent = trie.latent({words.data(), encoded().bits.size()});
            sum += latent.mean + latent.variance;
        }
        benchmark::DoNotOptimize(sum);
    }
}
BENCHMARK(predict_new_points)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

} // namespace
