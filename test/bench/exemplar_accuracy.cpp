// How good the exemplars of a file of points are, and how long they take, in the core alone: see README.md here.
#include "core/exemplar/stream_greedy.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <limits>
#include <string>

using namespace btml;
using namespace btml::exemplar;

namespace {

double seconds() {
    return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; // of the processor: the machine may have other work
}

struct Table {
    size_t width = 0;
    std::vector<double> x, target;

    size_t rows() const { return x.size() / width; }
    std::span<const double> row(size_t i) const { return {x.data() + i * width, width}; }
};

struct Outcome {
    Selection selection;
    double seconds_sampling, seconds_starting, seconds_choosing, seconds_measuring;
};

Outcome select(const Table& table, size_t rows, const Options& options, int threads) {
    options.validate();
    QuietContext context(threads);
    StreamGreedy greedy(options, nullptr, context);
    const auto point = [&](size_t i) {
        Point result;
        result.number = i;
        result.x = table.row(i);
        if (!table.target.empty()) result.target = table.target[i];
        result.id = {};
        return result;
    };
    Outcome outcome;
    double before = seconds();
    for (size_t i = 0; i < rows; i++) greedy.sample(point(i));
    outcome.seconds_sampling = seconds() - before;
    before = seconds();
    greedy.start();
    outcome.seconds_starting = seconds() - before;
    before = seconds();
    do
        for (size_t i = 0; i < rows && greedy.offer(point(i)); i++) {
        }
    while (greedy.finish_pass());
    outcome.seconds_choosing = seconds() - before;
    before = seconds();
    outcome.selection = greedy.finish();
    outcome.seconds_measuring = seconds() - before;
    return outcome;
}

// Utility of the exemplars over all rows, the origin for a phantom.
double utility(const Table& table, const Selection& selection) {
    double sum = 0;
    for (size_t i = 0; i < table.rows(); i++) {
        const std::span<const double> x = table.row(i);
        double origin = 0;
        for (const double value : x) origin += value * value;
        double nearest = origin;
        for (const Exemplar& exemplar : selection.exemplars) {
            double d = 0;
            for (size_t f = 0; f < x.size() && d < nearest; f++) d += (x[f] - exemplar.x[f]) * (x[f] - exemplar.x[f]);
            nearest = std::min(nearest, d);
        }
        sum += origin - nearest;
    }
    return sum / static_cast<double>(table.rows());
}

Table read_floats(const char* path, size_t width) {
    Table table{width, {}, {}};
    FILE* const file = std::fopen(path, "rb");
    if (!file) std::perror(path), std::exit(1);
    std::vector<float> row(width);
    while (std::fread(row.data(), sizeof(float), width, file) == width)
        table.x.insert(table.x.end(), row.begin(), row.end());
    std::fclose(file);
    return table;
}

} // namespace

// exemplar_accuracy FILE WIDTH K VALIDATION PASSES THREADS SEEDS [PHANTOM] [BATCH]
int main(int count, char** arguments) {
    if (count < 8) return std::fprintf(stderr, "usage: see test/bench/README.md\n"), 1;
    const Table table = read_floats(arguments[1], std::strtoul(arguments[2], nullptr, 10));
    Options options;
    options.exemplars = std::atoi(arguments[3]);
    options.validation = std::atoi(arguments[4]);
    options.passes = std::atoi(arguments[5]);
    if (count > 8 && std::string(arguments[8]) == "origin") options.phantom = PhantomKind::origin;
    if (count > 9) options.batch = std::atoi(arguments[9]);
    for (int seed = 0; seed < std::atoi(arguments[7]); seed++) {
        options.seed = static_cast<uint64_t>(seed);
        const Outcome outcome = select(table, table.rows(), options, std::atoi(arguments[6]));
        std::printf("seed %d: utility %.4f, estimated %.4f ± %.4f; %zu exemplars, %llu swaps; seconds: sampling %.2f, "
                    "starting %.2f, choosing %.2f, measuring %.2f\n",
                    seed, utility(table, outcome.selection), outcome.selection.utility,
                    outcome.selection.utility_std_error, outcome.selection.exemplars.size(),
                    static_cast<unsigned long long>(outcome.selection.swaps), outcome.seconds_sampling,
                    outcome.seconds_starting, outcome.seconds_choosing, outcome.seconds_measuring);
    }
}
