// Where sampled kernel sums beat exact ones: kernel_crossover [OPTION]... SET...
//
// SET is NAME[:DIMENSIONS[:BANDWIDTH]], keys that are queries too with weight 1 and a bandwidth of 1 unless given:
// diffuse (normal numbers), blobs (200 of them with centres in [0, 10]^d and standard deviation 1), small_blobs (one
// for ten rows), attention (normal embeddings and a value each, K = Q; the bandwidth is the normal numbers' deviation);
// any other NAME is a file NAME.csv.gz of numbers in the folder BTML_BENCH_DATA, whose last column is left out and
// whose coordinates are divided by their standard deviations.
//
// Options: --rows=N,N,…  --epsilon=E,E,…  --density (instead of sums)  --limit=100 (seconds of one run)  --verbose
//
// Times are CPU seconds on one thread, the keys' preparation included; the exact one is that of at most 4,096 queries,
// scaled to all. The errors are over those queries, as epsilon is measured; of attention, relative to the values' norm.
// Of many queries they scatter: one that is far off, and is among those looked at, counts as if as many of the others
// were.
#include "core/kernel/attention.hpp"
#include "core/numbers/rng.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <numbers>
#include <optional>

using namespace btml;
using namespace btml::kernel;

namespace {

struct Settings {
    std::vector<double> rows = {20000, 50000, 100000, 200000}, epsilons = {0.1};
    bool density = false, verbose = false;
    double limit = 100;
};

struct Set {
    std::string name;
    size_t dimensions = 0;
    double bandwidth = 1;
    bool is_attention() const { return name == "attention"; }
    bool is_file() const { return name != "diffuse" && name != "blobs" && name != "small_blobs" && !is_attention(); }
};

struct Data {
    std::vector<double> points;
    size_t dimensions;
    size_t rows() const { return points.size() / dimensions; }
};

double normal(uint64_t stream, uint64_t at) {
    return std::sqrt(-2 * std::log(1 - random_unit(stream, 0, at))) *
           std::cos(2 * std::numbers::pi * random_unit(stream + 1, 0, at));
}

Data make_points(const Set& set, size_t rows) {
    Data data{std::vector<double>(rows * set.dimensions), set.dimensions};
    const size_t blobs = set.name == "blobs" ? 200 : std::max<size_t>(1, rows / 10);
    const bool centred = set.name == "diffuse" || set.is_attention();
    for (size_t i = 0; i < rows; i++) {
        const uint64_t blob = random_bits(1, 0, i) % blobs;
        for (size_t k = 0; k < set.dimensions; k++) {
            const uint64_t at = i * set.dimensions + k;
            data.points[at] = normal(2, at) + (centred ? 0 : 10 * random_unit(4, blob, k));
            if (set.is_attention()) data.points[at] *= set.bandwidth;
        }
    }
    return data;
}

// Up to so many rows of a file, standardised; nothing where there is no such file.
std::optional<Data> read_points(const std::string& name, size_t rows) {
    const char* const folder = std::getenv("BTML_BENCH_DATA");
    if (!folder) return std::nullopt;
    const std::string command = "gzip -dc '" + std::string(folder) + "/" + name + ".csv.gz' 2>/dev/null";
    const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
    Data data{{}, 0};
    char* line = nullptr;
    size_t capacity = 0;
    while (pipe && (data.dimensions == 0 || data.rows() < rows) && getline(&line, &capacity, pipe.get()) > 0) {
        for (char* at = line; *at != '\0' && *at != '\n'; at += *at == ',') data.points.push_back(std::strtod(at, &at));
        data.points.pop_back();
        if (data.dimensions == 0) data.dimensions = data.points.size();
    }
    std::free(line);
    if (data.dimensions == 0) return std::nullopt;
    return data;
}

double cpu_seconds() {
    return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

// The peak of resident memory, in MB, since the last call.
double peak_memory() {
    double kb = 0;
    char line[256];
    if (FILE* const status = std::fopen("/proc/self/status", "r")) {
        while (std::fgets(line, sizeof line, status))
            if (std::strncmp(line, "VmHWM:", 6) == 0) kb = std::strtod(line + 6, nullptr);
        std::fclose(status);
    }
    if (FILE* const references = std::fopen("/proc/self/clear_refs", "w")) {
        std::fputs("5", references);
        std::fclose(references);
    }
    return kb / 1024;
}

// Gives up after some seconds.
class LimitedContext : public QuietContext {
  public:
    explicit LimitedContext(double seconds) : end_(cpu_seconds() + seconds) {}
    bool keep_going() override { return cpu_seconds() < end_; }

  private:
    const double end_;
};

struct Run {
    double preparing = 0, summing = 0; // seconds
    bool ended = false;
    Report report{};
    std::vector<double> values{};
    double seconds() const { return preparing + summing; }
};

// At so many of the points, evenly spread.
Run evaluate(const Set& set, const Data& data, size_t queries, Quantity quantity, const Options& options,
             double limit) {
    Run run;
    const size_t rows = data.rows();
    LimitedContext context(limit);
    const double start = cpu_seconds();
    try {
        Keys keys(data.dimensions, 1, context.memory());
        Points at(data.dimensions, context.memory(), "queries");
        for (size_t i = 0; i < rows; i++) {
            const double value = set.is_attention() ? normal(6, i) : 1;
            keys.append({&data.points[i * data.dimensions], data.dimensions}, {&value, 1});
        }
        for (size_t i = 0; i < queries; i++)
            at.append({&data.points[i * rows / queries * data.dimensions], data.dimensions});
        const auto sum = [&](auto& sums) {
            run.preparing = cpu_seconds() - start;
            Estimates estimates = sums.evaluate(at);
            run.report = estimates.report;
            run.values.assign(estimates.values.begin(), estimates.values.end());
        };
        if (set.is_attention()) {
            Attention attention(std::move(keys), options, context);
            sum(attention);
        } else {
            KernelSums sums(std::move(keys), quantity, options, context);
            sum(sums);
        }
        run.ended = true;
    } catch (const Cancelled&) {
    }
    run.summing = cpu_seconds() - start - run.preparing;
    return run;
}

double error_of(const Run& run, const Run& exact, double unit) {
    const size_t rows = run.values.size(), checked = exact.values.size();
    double squares = 0;
    for (size_t i = 0; i < checked; i++) squares += std::pow(run.values[i * rows / checked] - exact.values[i], 2);
    return std::sqrt(squares / static_cast<double>(checked)) / unit;
}

double root_mean_square(const std::vector<double>& values) {
    double squares = 0;
    for (const double x : values) squares += x * x;
    return std::sqrt(squares / static_cast<double>(values.size()));
}

std::string time_of(const Run& run) {
    return (run.ended ? "" : "> ") + format("%.2f", run.seconds());
}

void print_cell(const Set& set, const Data& data, double epsilon, const Settings& settings) {
    const size_t rows = data.rows(), checked = std::min<size_t>(rows, 4096);
    const Quantity quantity = settings.density ? Quantity::density : Quantity::sum;
    Options options;
    options.bandwidth = set.bandwidth;
    options.scale = set.is_file() ? Scale::sd : Scale::none;
    options.method = Method::exact;
    Run exact = evaluate(set, data, checked, quantity, options, 1e9);
    exact.summing *= static_cast<double>(rows) / static_cast<double>(checked);
    double unit = settings.density ? root_mean_square(exact.values) : 1;
    options.epsilon = epsilon;
    if (set.is_attention()) // whose own epsilon is relative to the results' norm, not the values'
        options.epsilon = std::min(1.0, epsilon / root_mean_square(exact.values));
    const double most = std::min(settings.limit, 3 * exact.seconds() + 1);
    options.method = Method::sampled;
    const Run sampled = evaluate(set, data, rows, quantity, options, most);
    options.method = Method::automatic;
    peak_memory();
    const Run chosen = evaluate(set, data, rows, quantity, options, most);
    const double better = std::min(exact.seconds(), sampled.seconds());
    const auto error = [&](const Run& run) { return run.ended ? format("%.3f", error_of(run, exact, unit)) : "–"; };
    std::printf("| %s | %zu | %.3g | %zu | %g | %.2f | %s | %s | %s | %.1f | %.2f | %s | %s | %.3g | %.0f |\n",
                set.name.c_str(), data.dimensions, set.bandwidth, rows, epsilon, exact.seconds(),
                time_of(sampled).c_str(), time_of(chosen).c_str(),
                !chosen.ended                           ? "–"
                : chosen.report.method == Method::exact ? "exact"
                                                        : "sampled",
                exact.seconds() / chosen.seconds(), chosen.seconds() / better, error(sampled).c_str(),
                error(chosen).c_str(), 100 * sampled.report.evaluated, peak_memory());
    if (settings.verbose) std::printf("  %s\n", chosen.report.reason.c_str());
    std::fflush(stdout);
}

std::vector<double> numbers_of(const char* text) {
    std::vector<double> numbers;
    for (char* at = const_cast<char*>(text); *at != '\0'; at += *at == ',') numbers.push_back(std::strtod(at, &at));
    return numbers;
}

bool read_option(const char* argument, Settings& settings) {
    const auto value_of = [&](const char* name) {
        const size_t length = std::strlen(name);
        return std::strncmp(argument, name, length) == 0 ? argument + length : nullptr;
    };
    if (const char* const rows = value_of("--rows="))
        settings.rows = numbers_of(rows);
    else if (const char* const epsilons = value_of("--epsilon="))
        settings.epsilons = numbers_of(epsilons);
    else if (const char* const limit = value_of("--limit="))
        settings.limit = std::strtod(limit, nullptr);
    else if (std::strcmp(argument, "--density") == 0)
        settings.density = true;
    else if (std::strcmp(argument, "--verbose") == 0)
        settings.verbose = true;
    else
        return false;
    return true;
}

Set set_of(const char* argument) {
    Set set;
    const char* const dimensions = std::strchr(argument, ':');
    if (!dimensions) return {argument, 16, 1};
    set.name.assign(argument, dimensions);
    char* rest = nullptr;
    set.dimensions = static_cast<size_t>(std::strtoul(dimensions + 1, &rest, 10));
    if (*rest == ':') set.bandwidth = std::strtod(rest + 1, nullptr);
    return set;
}

} // namespace

int main(int argc, char** argv) {
    Settings settings;
    std::vector<Set> sets;
    for (int i = 1; i < argc; i++)
        if (!read_option(argv[i], settings)) sets.push_back(set_of(argv[i]));
    std::printf("%s\n\n", settings.density ? "Densities" : "Sums");
    std::printf("| set | d | bandwidth | n | epsilon | exact s | sampled s | auto s | auto takes | exact/auto | "
                "auto/better | error, sampled | error, auto | %% evaluated | MB |\n");
    std::printf("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
    for (const Set& set : sets)
        for (const double rows : settings.rows) {
            const auto wanted = static_cast<size_t>(rows);
            const std::optional<Data> data =
                set.is_file() ? read_points(set.name, wanted) : std::optional(make_points(set, wanted));
            if (!data)
                std::printf("skipped: no file %s.csv.gz in the folder BTML_BENCH_DATA\n", set.name.c_str());
            else
                for (const double epsilon : settings.epsilons) print_cell(set, *data, epsilon, settings);
            if (!data || data->rows() < wanted) break; // a file has no more
        }
    return 0;
}
