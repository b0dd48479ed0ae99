#include "core/algebra/cholesky.hpp"

#include "core/base/levels.hpp"
#include "core/numbers/rng.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>

using namespace btml;
using namespace btml::algebra;

namespace {

using Numbers = std::vector<double>;

Numbers random_numbers(size_t count, uint64_t seed) {
    RandomStream random(seed, 1);
    Numbers numbers(count);
    for (double& x : numbers) x = random.unit() - 0.5;
    return numbers;
}

// Covariances of a squared exponential kernel at n random points of a square, and noise.
Numbers covariances(size_t n, uint64_t seed, double noise) {
    const Numbers x = random_numbers(2 * n, seed);
    Numbers matrix(n * n);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            const double a = x[2 * i] - x[2 * j], b = x[2 * i + 1] - x[2 * j + 1];
            matrix[i * n + j] = std::exp(-2 * (a * a + b * b)) + (i == j ? noise : 0);
        }
    return matrix;
}

// What an object of the class gives, in one thread or several.
struct Results {
    double log_determinant;
    Numbers solution, inverse;
};
Results results_of(const Numbers& matrix, const Numbers& right, RunContext& context) {
    ThreadTeam team(context);
    const size_t n = right.size();
    Buffer<double> copy(context.memory(), "matrix", n * n);
    std::copy(matrix.begin(), matrix.end(), copy.begin());
    const Cholesky factor(std::move(copy), n, team);
    Results results{factor.log_determinant(), right, Numbers(n * n)};
    factor.solve(results.solution.data(), team);
    factor.invert(results.inverse.data(), team);
    return results;
}
Results results_of(const Numbers& matrix, const Numbers& right, int threads) {
    QuietContext context(threads);
    return results_of(matrix, right, context);
}

// The factor by its definition, in long double.
double log_determinant_of(const Numbers& matrix, size_t n) {
    std::vector<long double> factor(n * n);
    long double sum = 0;
    for (size_t j = 0; j < n; j++)
        for (size_t i = j; i < n; i++) {
            long double value = matrix[i * n + j];
            for (size_t k = 0; k < j; k++) value -= factor[i * n + k] * factor[j * n + k];
            factor[i * n + j] = i == j ? std::sqrt(value) : value / factor[j * n + j];
            if (i == j) sum += 2 * std::log(factor[i * n + i]);
        }
    return static_cast<double>(sum);
}

// Chooses a level for as long as it lives.
class AtLevel {
  public:
    explicit AtLevel(Level level) { choose_level(level); }
    ~AtLevel() { choose_level(best_level()); }
    AtLevel(const AtLevel&) = delete;
    AtLevel& operator=(const AtLevel&) = delete;
};

std::vector<Level> levels() {
    std::vector<Level> result;
    for (const Level level : {Level::baseline, Level::avx2, Level::avx512})
        if (level <= best_level()) result.push_back(level);
    return result;
}

void expect_residuals(const Numbers& matrix, const Numbers& right, const Results& results, double tolerance) {
    const size_t n = right.size();
    double worst_of_solution = 0, worst_of_inverse = 0;
    for (size_t i = 0; i < n; i++) {
        Numbers row(n);
        double sum = -right[i];
        for (size_t t = 0; t < n; t++) {
            sum += matrix[i * n + t] * results.solution[t];
            for (size_t j = 0; j < n; j++) row[j] += matrix[i * n + t] * results.inverse[t * n + j];
        }
        worst_of_solution = std::max(worst_of_solution, std::abs(sum));
        for (size_t j = 0; j < n; j++) worst_of_inverse = std::max(worst_of_inverse, std::abs(row[j] - (i == j)));
    }
    EXPECT_LT(worst_of_solution, tolerance);
    EXPECT_LT(worst_of_inverse, tolerance);
}

} // namespace

TEST(Cholesky, SolvesAndInvertsAtEveryLevel) {
    for (const Level level : levels()) {
        const AtLevel at(level);
        for (const size_t n : {1, 2, 7, 8, 9, 50, 127, 128, 129, 301})
            for (uint64_t seed = 0; seed < (n < 100 ? 10 : 2); seed++) {
                SCOPED_TRACE(testing::Message() << static_cast<int>(level) << ' ' << n << ' ' << seed);
                const Numbers matrix = covariances(n, seed, 0.5), right = random_numbers(n, seed + 100);
                const Results results = results_of(matrix, right, 2);
                expect_residuals(matrix, right, results, 1e-11);
                EXPECT_NEAR(results.log_determinant, log_determinant_of(matrix, n), 1e-10);
            }
    }
}

// A condition number of 10¹¹ leaves five digits.
TEST(Cholesky, SolvesNearlySingularSystems) {
    for (const Level level : levels()) {
        const AtLevel at(level);
        for (uint64_t seed = 0; seed < 5; seed++) {
            const size_t n = 200;
            const Numbers matrix = covariances(n, seed, 1e-9), right = random_numbers(n, seed + 100);
            const Results results = results_of(matrix, right, 1);
            expect_residuals(matrix, right, results, 1e-3);
            EXPECT_NEAR(results.log_determinant, log_determinant_of(matrix, n), 1e-2);
        }
    }
}

TEST(Cholesky, GivesTheSameBitsForAnyThreadsAndVectors) {
    for (const size_t n : {50, 333}) {
        const Numbers matrix = covariances(n, n, 0.1), right = random_numbers(n, n);
        const AtLevel at(std::min(best_level(), Level::avx2));
        const Results expected = results_of(matrix, right, 1);
        for (const int threads : {1, 3})
            for (const Level level : levels()) {
                if (level == Level::baseline && best_level() != Level::baseline) continue;
                const AtLevel other(level);
                const Results results = results_of(matrix, right, threads);
                EXPECT_EQ(results.log_determinant, expected.log_determinant);
                EXPECT_EQ(results.solution, expected.solution);
                EXPECT_EQ(results.inverse, expected.inverse);
            }
    }
}

TEST(Cholesky, RefusesWhatIsNotPositiveDefinite) {
    for (const Level level : levels()) {
        const AtLevel at(level);
        EXPECT_THROW(results_of({1, 1, 1, 0.5}, {1, 1}, 1), Error);
        EXPECT_THROW(results_of({0}, {1}, 1), Error);
        EXPECT_THROW(results_of({NAN}, {1}, 1), Error);
        for (const size_t place : {0, 100, 128, 299}) { // in each of the blocks
            Numbers matrix = covariances(300, 1, 0.5);
            for (const double value : {0.0, -1.0, static_cast<double>(NAN)}) {
                matrix[place * 301] = value;
                EXPECT_THROW(results_of(matrix, Numbers(300, 1.0), 2), Error) << place << ' ' << value;
            }
        }
    }
}

// Gives up at the end, and knows how long it had to wait for that.
class ImpatientContext : public QuietContext {
  public:
    explicit ImpatientContext(double seconds)
        : QuietContext(1), end_(Clock::now() + std::chrono::duration<double>(seconds)) {}
    bool keep_going() override { return Clock::now() < end_; }
    double late() const { return std::chrono::duration<double>(Clock::now() - end_).count(); }

  private:
    using Clock = std::chrono::steady_clock;
    std::chrono::time_point<Clock, std::chrono::duration<double>> end_;
};

TEST(Cholesky, StopsSoonWhenCancelled) {
    const size_t n = 1500;
    Numbers matrix = covariances(n, 1, 0.5);
    for (const double seconds : {0.0, 0.02}) {
        ImpatientContext context(seconds);
        EXPECT_THROW(results_of(matrix, Numbers(n), context), Cancelled);
        EXPECT_LT(context.late(), 0.5); // on a busy machine, under sanitizers
    }
}
