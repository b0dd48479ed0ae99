// How often sampled cross-validation scores miss the exact ones by more than epsilon = 0.1, over random bandwidths and
// seeds, how often [lower, upper] has the exact one (0.95 asked for), and the root mean square of their errors in
// standard errors: score_coverage CASES ROWS [FILE …], each file comma-separated numbers with the target last; without
// files, smooth targets with normal residuals and with those of Student's distribution of 2.5 degrees of freedom.
#include "core/monte_carlo/scores.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>
#include <string>

using namespace btml;
using namespace btml::monte_carlo;

namespace {

using Table = std::vector<std::vector<double>>;

Table read(const char* file, size_t most) {
    Table table;
    std::ifstream stream(file);
    for (std::string line; table.size() < most && std::getline(stream, line);) {
        std::vector<double> row;
        std::stringstream fields(line);
        for (std::string field; std::getline(fields, field, ',');) row.push_back(std::strtod(field.c_str(), nullptr));
        table.push_back(row);
    }
    return table;
}

Table simulate(bool heavy, size_t count) {
    std::mt19937_64 generator(5);
    std::normal_distribution<> normal;
    std::student_t_distribution<> student(2.5);
    Table table;
    for (size_t i = 0; i < count; i++) {
        std::vector<double> row;
        for (int k = 0; k < 4; k++) row.push_back(0.5 * normal(generator) + (k == 0 ? static_cast<double>(i % 3) : 0));
        row.push_back(3 * std::sin(2 * row[0]) + row[1] * row[1] + (heavy ? student(generator) : normal(generator)));
        table.push_back(row);
    }
    return table;
}

void standardise(Table& table) {
    const double count = static_cast<double>(table.size());
    for (size_t k = 0; k < table[0].size(); k++) {
        double mean = 0, squares = 0;
        for (const auto& row : table) mean += row[k] / count;
        for (const auto& row : table) squares += (row[k] - mean) * (row[k] - mean) / count;
        for (auto& row : table) row[k] = squares > 0 ? (row[k] - mean) / std::sqrt(squares) : 0;
    }
}

void measure(const char* name, const Table& table, ScoreKind kind, int cases) {
    QuietContext context(2);
    ThreadTeam team(context);
    const size_t dimensions = table[0].size() - 1;
    const auto make = [&] {
        ScoreRows rows(dimensions, kind != ScoreKind::kde, context.memory());
        for (const auto& row : table)
            for (size_t k = 0; k < rows.width(); k++) rows.values.push_back(row[k]);
        return rows;
    };
    ScoreOptions options;
    options.method = ScoreMethod::exact;
    Scores exact(make(), kind, options, context);
    options.method = ScoreMethod::sampled;
    std::mt19937_64 generator(11);
    std::uniform_real_distribution<> unit;
    int missed = 0, fell_back = 0, covered = 0;
    double worst = 0, squares = 0;
    for (int i = 0; i < cases; i++) {
        const Bandwidths bandwidths{0.05 * std::pow(40, unit(generator)) * std::sqrt(static_cast<double>(dimensions)),
                                    0.05 * std::pow(20, unit(generator))};
        options.sampling.seed = static_cast<uint64_t>(i);
        const ScoreEstimate estimate = Scores(make(), kind, options, context).estimate(bandwidths, team);
        const double truth = exact.estimate(bandwidths, team).value;
        const double error = std::abs(estimate.value - truth) / std::abs(truth);
        worst = std::max(worst, error);
        if (error > options.sampling.epsilon) missed++;
        if (estimate.std_error == 0) {
            fell_back++;
        } else {
            if (estimate.lower <= truth && truth <= estimate.upper) covered++;
            squares += std::pow((estimate.value - truth) / estimate.std_error, 2);
        }
    }
    static constexpr const char* kinds[] = {"kde", "kr", "kcde"};
    std::printf("%-4s %-30s %zu rows, %zu features: %d of %d missed, worst %.3f, errors of %.2f standard errors, %d of "
                "%d within bounds, %d exact\n",
                kinds[static_cast<size_t>(kind)], name, table.size(), dimensions, missed, cases, worst,
                std::sqrt(squares / std::max(1, cases - fell_back)), covered, cases - fell_back, fell_back);
    std::fflush(stdout);
}

} // namespace

int main(int argc, char** argv) {
    const int cases = argc > 1 ? std::atoi(argv[1]) : 100;
    const auto rows = static_cast<size_t>(argc > 2 ? std::atoll(argv[2]) : 10'000);
    for (int i = 3; i < (argc > 3 ? argc : 5); i++) {
        Table table = argc > 3 ? read(argv[i], rows) : simulate(i == 4, rows);
        const char* const name = argc > 3 ? argv[i] : i == 4 ? "heavy-tailed" : "normal";
        if (table.empty() || table[0].size() < 2) {
            std::fprintf(stderr, "%s has no rows of two numbers or more\n", name);
            return 1;
        }
        if (argc > 3) standardise(table);
        for (const ScoreKind kind : {ScoreKind::kr, ScoreKind::kde, ScoreKind::kcde}) measure(name, table, kind, cases);
    }
    return 0;
}
