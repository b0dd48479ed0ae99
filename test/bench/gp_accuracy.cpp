// How well Gaussian processes predict: gp_accuracy DIRECTORY [OPTION]... SET...
//
// Options: --kernel=tree|squared_exponential|matern32|matern52|auto, --exemplars=N,
// --exemplar_objective=likelihood|variance, --encoding=auto|linear|rank,
// --mean=auto|zero|boosted,
// --combine=auto|mixture|kernel_sum, --members=N, --evaluations=N, --varying_noise, --threads=2, --seeds=3
// (0, 1, …), --seed=S (this one alone), --validation, --verbose.
//
// SET.csv.gz in the directory has one row per line, numbers alone, the target last. For each seed the rows are split as
// by the paper's authors: a permutation by numpy's legacy generator, the first 80 % to learn from, of those the first
// 80 % to train with, the others (--validation) unused, and the last 20 % to score. Targets are standardised.
#include "core/gp/fit.hpp"
#include "core/gp/gp_predictor.hpp"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numbers>
#include <numeric>
#include <random>
#include <string>

using namespace btml;
using namespace btml::gp;

namespace {

struct Table {
    std::vector<std::vector<double>> columns;
    size_t rows() const { return columns.empty() ? 0 : columns[0].size(); }
};

Table read_table(const std::string& path) {
    const std::string command = "gzip -dc '" + path + "'";
    const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
    Table table;
    char* line = nullptr;
    size_t capacity = 0;
    while (pipe && getline(&line, &capacity, pipe.get()) > 0) {
        size_t column = 0;
        for (char* at = line; *at != '\0' && *at != '\n'; column++) {
            if (column == table.columns.size()) table.columns.emplace_back();
            table.columns[column].push_back(std::strtod(at, &at));
            if (*at == ',') at++;
        }
    }
    std::free(line);
    return table;
}

// RandomState(seed).permutation(n) of numpy.
std::vector<size_t> permutation(size_t n, uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<size_t> result(n);
    std::iota(result.begin(), result.end(), size_t{0});
    for (size_t i = n; i-- > 1;) {
        const uint32_t mask = static_cast<uint32_t>(std::bit_ceil(i + 1) - 1);
        uint32_t j;
        do j = static_cast<uint32_t>(random()) & mask;
        while (j > i);
        std::swap(result[i], result[j]);
    }
    return result;
}

std::vector<double> pick(const std::vector<double>& column, std::span<const size_t> rows) {
    std::vector<double> picked;
    for (const size_t row : rows) picked.push_back(column[row]);
    return picked;
}

void standardise(std::vector<double>& train, std::vector<double>& test) {
    const auto n = static_cast<double>(train.size());
    const double mean = std::accumulate(train.begin(), train.end(), 0.0) / n;
    double squares = 0;
    for (const double y : train) squares += (y - mean) * (y - mean);
    const double deviation = std::sqrt(squares / (n - 1));
    for (std::vector<double>* targets : {&train, &test})
        for (double& y : *targets) y = (y - mean) / deviation;
}

struct Score {
    double nll = 0, nll_student_t = 0, errors = 0, covered = 0, rows = 0;
    void add(double target, const Normal& prediction, const uncertainty::StudentT& student) {
        const double residual = target - prediction.mean, deviation = std::sqrt(prediction.variance);
        nll_student_t += student.nll(residual / deviation) + std::log(deviation);
        nll += (std::log(2 * std::numbers::pi * prediction.variance) + residual * residual / prediction.variance) / 2;
        errors += residual * residual;
        covered += std::abs(residual) <= 1.6448536 * std::sqrt(prediction.variance);
        rows++;
    }
};

struct Settings {
    int threads = 2;
    bool verbose = false;
    bool validation = false;
    Options options;
};

class TalkingContext : public QuietContext {
  public:
    explicit TalkingContext(const Settings& settings) : QuietContext(settings.threads), verbose_(settings.verbose) {}
    void note(std::string_view text) override {
        if (verbose_) std::printf("  %.*s\n", static_cast<int>(text.size()), text.data());
    }

  private:
    const bool verbose_;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Dataset dataset_of(const Table& table, std::span<const size_t> rows, std::span<const double> target,
                   RunContext& context) {
    Dataset data(context.memory(), rows.size());
    data.add_table(rows.size());
    data.target.resize(rows.size());
    std::copy(target.begin(), target.end(), data.target.begin());
    for (size_t f = 0; f + 1 < table.columns.size(); f++) {
        data.features.emplace_back(context.memory(), Feature{"x" + std::to_string(f), "double precision", false, {}},
                                   0);
        for (const size_t row : rows) data.features.back().numbers.push_back(table.columns[f][row]);
    }
    return data;
}

void run(const std::string& name, const Table& table, uint32_t seed, const Settings& settings) {
    const std::vector<size_t> order = permutation(table.rows(), seed);
    const std::span<const size_t> all(order);
    const size_t learned = static_cast<size_t>(0.8 * static_cast<double>(all.size()));
    const size_t trained = static_cast<size_t>(0.8 * static_cast<double>(learned));
    const auto train = all.first(trained);
    const auto test = settings.validation ? all.first(learned).subspan(trained) : all.subspan(learned);
    std::vector<double> target = pick(table.columns.back(), train), truth = pick(table.columns.back(), test);
    standardise(target, truth);
    TalkingContext context(settings);
    Options options = settings.options;
    options.seed = seed;
    const auto start = std::chrono::steady_clock::now();
    FitResult fitted = fit(dataset_of(table, train, target, context), options, context);
    const double fit_seconds = seconds_since(start);
    if (settings.verbose)
        for (const Timing& timing : fitted.timings) std::printf("  %s: %.1f s\n", timing.phase.c_str(), timing.seconds);
    Score score;
    Predictor predictor(fitted.model);
    std::vector<double> point(fitted.model.features.size());
    const auto predict_start = std::chrono::steady_clock::now();
    for (size_t i = 0; i < test.size(); i++) {
        for (size_t f = 0; f < point.size(); f++) point[f] = table.columns[f][test[i]];
        score.add(truth[i], predictor.observation(point), fitted.model.calibration->student);
    }
    const double microseconds = 1e6 * seconds_since(predict_start) / score.rows;
    Writer writer(context);
    encode(fitted.model, writer);
    const auto load_start = std::chrono::steady_clock::now();
    Reader reader(writer.bytes());
    decode(reader, context);
    const double load_seconds = seconds_since(load_start);
    const LeaveOneOut& loo = *fitted.model.leave_one_out;
    const auto* const sum = std::get_if<SumModel>(&fitted.model.posterior);
    const auto* const sparse = std::get_if<SparseModel>(&fitted.model.posterior);
    const size_t members = sparse ? sparse->inducing_points()
                           : sum  ? sum->members().size()
                                  : fitted.model.members().size();
    const char* const kind = sparse ? name_of(sparse->kernel().kind) : name_of(fitted.model.combine());
    const std::string shown = std::string(kind) + (fitted.model.mean ? "+trees" : "");
    std::printf("%-10s %4u %-19s %4zu  %7.4f %7.4f %6.4f %5.3f   %7.4f %7.4f %6.4f %5.3f   %7llu %6.1f %6.1f   %5.0f "
                "%5.2f\n",
                name.c_str(), seed, shown.c_str(), members, score.nll / score.rows, score.nll_student_t / score.rows,
                std::sqrt(score.errors / score.rows), score.covered / score.rows, loo.mean_nll,
                loo.mean_nll_student_t.value_or(NAN), loo.rmse, *loo.coverage_90,
                static_cast<unsigned long long>(fitted.model.evaluations), fit_seconds, microseconds,
                static_cast<double>(writer.bytes().size()) / static_cast<double>(trained), load_seconds);
    std::fflush(stdout);
}

// Whether the argument begins with `option`; then what follows.
bool is(const char* argument, const char* option, const char*& value) {
    const size_t length = std::strlen(option);
    value = argument + length;
    return !std::strncmp(argument, option, length);
}

template <class Choice>
Choice choice_of(const char* name, std::initializer_list<Choice> choices) {
    for (const Choice choice : choices)
        if (!std::strcmp(name, name_of(choice))) return choice;
    std::fprintf(stderr, "there is no choice called %s\n", name);
    std::exit(2);
}

} // namespace

int main(int count, char** arguments) {
    Settings settings;
    uint32_t first_seed = 0, seeds = 3;
    std::string directory;
    std::vector<std::string> sets;
    for (int i = 1; i < count; i++) {
        const char *argument = arguments[i], *value = nullptr;
        if (is(argument, "--combine=", value))
            settings.options.combine = choice_of(value, {Combine::automatic, Combine::mixture, Combine::kernel_sum});
        else if (is(argument, "--kernel=", value))
            settings.options.kernel =
                choice_of(value, {KernelChoice::tree, KernelChoice::squared_exponential, KernelChoice::matern32,
                                  KernelChoice::matern52, KernelChoice::automatic});
        else if (is(argument, "--exemplars=", value))
            settings.options.exemplars = std::atoi(value);
        else if (is(argument, "--exemplar_objective=", value))
            settings.options.exemplar_objective =
                choice_of(value, {ExemplarObjective::likelihood, ExemplarObjective::variance});
        else if (is(argument, "--encoding=", value))
            settings.options.encoding =
                choice_of(value, {NumberEncoding::automatic, NumberEncoding::linear, NumberEncoding::rank});
        else if (is(argument, "--mean=", value))
            settings.options.mean = choice_of(value, {Mean::automatic, Mean::zero, Mean::boosted});
        else if (is(argument, "--members=", value))
            settings.options.members = std::atoi(value);
        else if (is(argument, "--evaluations=", value))
            settings.options.evaluations = std::atoi(value);
        else if (is(argument, "--threads=", value))
            settings.threads = std::atoi(value);
        else if (is(argument, "--seeds=", value))
            seeds = static_cast<uint32_t>(std::atoi(value));
        else if (is(argument, "--seed=", value))
            first_seed = static_cast<uint32_t>(std::atoi(value)), seeds = 1;
        else if (is(argument, "--varying_noise", value))
            settings.options.varying_noise = true;
        else if (is(argument, "--verbose", value))
            settings.verbose = true;
        else if (is(argument, "--validation", value))
            settings.validation = true;
        else if (directory.empty())
            directory = argument;
        else
            sets.push_back(argument);
    }
    if (sets.empty()) {
        std::fprintf(stderr, "usage: gp_accuracy DIRECTORY [--kernel=tree] [--exemplars=512] [--combine=auto] "
                             "[--exemplar_objective=likelihood] [--encoding=auto] [--mean=auto] [--members=N] "
                             "[--evaluations=N] [--varying_noise] [--threads=2] [--seeds=3] [--seed=S] [--validation] "
                             "[--verbose] SET...\n");
        return 2;
    }
    std::puts(
        "set        seed combine members   NLL, of Student t, RMSE cov90   left out: NLL, of Student t, RMSE cov90   "
        "evaluations, seconds to fit, µs to predict a row   bytes a training row, seconds to load");
    for (const std::string& set : sets) {
        const Table table = read_table(directory + "/" + set + ".csv.gz");
        if (table.rows() == 0) {
            std::fprintf(stderr, "no rows in %s/%s.csv.gz\n", directory.c_str(), set.c_str());
            return 1;
        }
        for (uint32_t seed = first_seed; seed < first_seed + seeds; seed++) run(set, table, seed, settings);
    }
}
