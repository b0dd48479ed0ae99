// How good the exemplars of a file of points are, and how long they take, in the core alone: see README.md here.
#include "core/algebra/cholesky.hpp"
#include "core/exemplar/stream_greedy.hpp"
#include "core/numbers/rng.hpp"

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
    std::string id;
    const auto point = [&](size_t i) {
        Point result;
        result.number = i;
        result.x = table.row(i);
        if (!table.target.empty()) result.target = table.target[i];
        id = std::to_string(i);
        result.id = id;
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

// Utility of the exemplars over the rows from `first` on, the origin for a phantom.
double utility(const Table& table, size_t first, const Selection& selection) {
    double sum = 0;
    for (size_t i = first; i < table.rows(); i++) {
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
    return sum / static_cast<double>(table.rows() - first);
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

// Numbers with commas between them, the target last, in a random order.
Table read_table(const char* path) {
    const std::string command = std::string("gzip -dc '") + path + "'";
    FILE* const pipe = popen(command.c_str(), "r");
    std::vector<std::vector<double>> rows;
    char line[65536];
    while (pipe && std::fgets(line, sizeof(line), pipe)) {
        rows.emplace_back();
        for (char* at = line; *at != '\0' && *at != '\n';) {
            rows.back().push_back(std::strtod(at, &at));
            if (*at == ',') at++;
        }
    }
    if (!pipe || pclose(pipe) != 0 || rows.empty()) std::fprintf(stderr, "cannot read %s\n", path), std::exit(1);
    RandomStream random(1, 1);
    for (size_t i = rows.size(); i > 1; i--) std::swap(rows[i - 1], rows[random.below(i)]);
    Table table{rows[0].size() - 1, {}, {}};
    for (const std::vector<double>& row : rows) {
        table.x.insert(table.x.end(), row.begin(), row.end() - 1);
        table.target.push_back(row.back());
    }
    return table;
}

// Over the rows from `first` on, given the exemplars alone and in units of the targets' variance: the mean squared
// error of the process's predictions, and what the process itself expects of it.
struct PredictionError {
    double measured, expected;
};

PredictionError prediction_error(const Table& table, size_t first, const std::vector<size_t>& exemplars,
                                 const SquaredExponential& kernel) {
    QuietContext context;
    ThreadTeam team(context);
    const size_t k = exemplars.size();
    const auto covariance = [&](size_t i, size_t j) {
        double sum = 0;
        for (size_t f = 0; f < table.width; f++)
            sum += std::pow((table.row(i)[f] - table.row(j)[f]) / kernel.length_scales[f], 2);
        return kernel.signal * std::exp(-sum / 2);
    };
    Buffer<double> matrix(context.memory(), "covariances", k * k);
    for (size_t a = 0; a < k; a++)
        for (size_t b = 0; b < k; b++)
            matrix[a * k + b] = covariance(exemplars[a], exemplars[b]) + (a == b ? kernel.noise : 0);
    const algebra::Cholesky factor(std::move(matrix), k, team);
    double squared_errors = 0, variances = 0, total = 0, squares = 0;
    std::vector<double> covariances(k), solution(k);
    for (size_t row = first; row < table.rows(); row++) {
        for (size_t a = 0; a < k; a++) solution[a] = covariances[a] = covariance(exemplars[a], row);
        factor.solve(solution.data(), team);
        const double target = table.target[row];
        double error = target - kernel.mean, variance = kernel.signal + kernel.noise;
        for (size_t a = 0; a < k; a++) {
            error -= solution[a] * (table.target[exemplars[a]] - kernel.mean);
            variance -= solution[a] * covariances[a];
        }
        squared_errors += error * error, variances += variance;
        total += target, squares += target * target;
    }
    const auto n = static_cast<double>(table.rows() - first);
    const double unit = squares - total * total / n;
    return {squared_errors / unit, variances / unit};
}

// The value of an argument "name=value" after the positional ones.
std::string named(int count, char** arguments, const std::string& name, const std::string& otherwise) {
    for (int i = 8; i < count; i++)
        if (std::string(arguments[i]).starts_with(name + "=")) return arguments[i] + name.size() + 1;
    return otherwise;
}

Options common_options(int count, char** arguments) {
    Options options;
    options.exemplars = std::atoi(arguments[3]);
    options.validation = std::atoi(arguments[4]);
    options.passes = std::atoi(arguments[5]);
    options.batch = std::stoi(named(count, arguments, "batch", "100"));
    options.eta = std::stod(named(count, arguments, "eta", "0"));
    return options;
}

int choose_points(int count, char** arguments) {
    if (count < 8) return 1;
    const Table table = read_floats(arguments[1], std::strtoul(arguments[2], nullptr, 10));
    Options options = common_options(count, arguments);
    const std::string phantom = named(count, arguments, "phantom", "none");
    options.phantom = phantom == "origin"   ? PhantomKind::origin
                      : phantom == "random" ? PhantomKind::random
                                            : PhantomKind::none;
    options.racing = named(count, arguments, "racing", "no") == "yes";
    const size_t rows = table.rows() - std::stoul(named(count, arguments, "held", "0"));
    const size_t measured_from = rows == table.rows() ? 0 : rows;
    for (int seed = 0; seed < std::atoi(arguments[7]); seed++) {
        options.seed = static_cast<uint64_t>(seed);
        const Outcome outcome = select(table, rows, options, std::atoi(arguments[6]));
        std::printf("seed %d: utility %.4f, estimated %.4f ± %.4f; %zu exemplars, %llu swaps; seconds: sampling %.2f, "
                    "starting %.2f, choosing %.2f, measuring %.2f\n",
                    seed, utility(table, measured_from, outcome.selection), outcome.selection.utility,
                    outcome.selection.utility_std_error, outcome.selection.exemplars.size(),
                    static_cast<unsigned long long>(outcome.selection.swaps), outcome.seconds_sampling,
                    outcome.seconds_starting, outcome.seconds_choosing, outcome.seconds_measuring);
        std::fflush(stdout);
    }
    return 0;
}

int choose_active_set(int count, char** arguments) {
    if (count < 8) return 1;
    const Table table = read_table(arguments[1]);
    const size_t rows = std::strtoul(arguments[2], nullptr, 10);
    Options options = common_options(count, arguments);
    const std::string only = named(count, arguments, "objective", "");
    QuietContext context;
    ThreadTeam team(context);
    PointSet points(PointSet::Keep::sample, context.memory());
    for (size_t i = 0; i < 2000; i++) {
        Point point;
        point.x = table.row(i), point.target = table.target[i];
        points.append(point);
    }
    options.objective = ObjectiveKind::prediction;
    double before = seconds();
    const SquaredExponential kernel = choose_kernel(options, points, team, context);
    std::printf("kernel learned in %.1f s: signal %g, noise %g, length scales", seconds() - before, kernel.signal,
                kernel.noise);
    for (const double length : kernel.length_scales) std::printf(" %.3g", length);
    options.length_scales = kernel.length_scales, options.signal = kernel.signal, options.noise = kernel.noise;
    std::vector<size_t> first_rows;
    for (size_t i = 0; i < static_cast<size_t>(options.exemplars); i++) first_rows.push_back(i);
    const PredictionError of_random = prediction_error(table, rows, first_rows, kernel);
    std::printf("\nrandom rows: mse %.4f, expected %.4f\n", of_random.measured, of_random.expected);
    static constexpr const char* names[] = {"", "information", "variance", "prediction"};
    for (int objective = 1; objective < 4; objective++) {
        if (!only.empty() && only != names[objective]) continue;
        for (int seed = 0; seed < std::atoi(arguments[7]); seed++) {
            options.seed = static_cast<uint64_t>(seed);
            options.objective = static_cast<ObjectiveKind>(objective);
            const Outcome outcome = select(table, rows, options, std::atoi(arguments[6]));
            std::vector<size_t> chosen;
            for (const Exemplar& exemplar : outcome.selection.exemplars) chosen.push_back(std::stoul(exemplar.id));
            const PredictionError error = prediction_error(table, rows, chosen, kernel);
            std::printf("%s, seed %d: mse %.4f, expected %.4f; %llu swaps; seconds: choosing %.1f, measuring %.1f\n",
                        names[objective], seed, error.measured, error.expected,
                        static_cast<unsigned long long>(outcome.selection.swaps), outcome.seconds_choosing,
                        outcome.seconds_measuring);
            std::fflush(stdout);
        }
    }
    return 0;
}

} // namespace

// exemplar_accuracy FILE WIDTH K VALIDATION PASSES THREADS SEEDS [phantom=] [batch=] [eta=] [held=ROWS] [racing=yes]
// exemplar_accuracy FILE.csv.gz ROWS K VALIDATION PASSES THREADS SEEDS [objective=] [batch=] [eta=]
int main(int count, char** arguments) {
    const bool process = count > 1 && std::string(arguments[1]).ends_with(".csv.gz");
    const int failed = process ? choose_active_set(count, arguments) : choose_points(count, arguments);
    if (failed) std::fprintf(stderr, "usage: see test/bench/README.md\n");
    return failed;
}
