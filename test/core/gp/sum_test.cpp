#include "caught.hpp"
#include "gp_reference.hpp"

#include "core/gp/additive/conjugate_gradients.hpp"
#include "core/gp/additive/sum_sampler.hpp"
#include "core/gp/additive/sum_training.hpp"
#include "core/numbers/number.hpp"

namespace btml::gp::test {
namespace {

using btml::test::caught;
using btml::test::ImpatientContext;

MemberTree tree_of(const PlainGp& plain, RunContext& context) {
    const size_t levels = plain.kernel.levels(), words = (levels + 63) / 64;
    BitRows rows{plain.rows(), words, Buffer<uint64_t>(context.memory(), "rows", plain.rows() * words, 0)};
    for (size_t i = 0; i < plain.rows(); i++)
        for (size_t level = 0; level < levels; level++)
            if (plain.strings[i][level] == '1') rows.data[i * words + level / 64] |= uint64_t{1} << (63 - level % 64);
    std::vector<uint16_t> bits(levels);
    std::iota(bits.begin(), bits.end(), 0);
    return MemberTree(sort_rows(rows, bits, context), levels, context);
}

Block random_block(size_t rows, uint64_t seed, RunContext& context) {
    Random random(seed);
    Block block(context.memory(), "block", rows);
    for (Columns& row : block)
        for (size_t column = 0; column < Columns::count; column++)
            row.values[column] = static_cast<float>(random.normal());
    return block;
}

Dense column_of(const Block& block, size_t column) {
    Dense result;
    for (const Columns& row : block) result.push_back(row[column]);
    return result;
}

Dense product(const Dense& matrix, const Dense& vector) {
    Dense result(vector.size(), 0.0L);
    for (size_t i = 0; i < vector.size(); i++)
        for (size_t j = 0; j < vector.size(); j++) result[i] += matrix[i * vector.size() + j] * vector[j];
    return result;
}

// In single precision.
void expect_close(const Block& block, size_t column, const Dense& expected, double tolerance) {
    long double most = 1e-3L;
    for (const long double x : expected) most = std::max(most, std::abs(x));
    for (size_t i = 0; i < block.size(); i++)
        EXPECT_NEAR(block[i][column], static_cast<double>(expected[i]), tolerance * static_cast<double>(most));
}

std::vector<float> precisions_of(const PlainGp& plain) {
    std::vector<float> precisions;
    for (size_t i = 0; i < plain.rows(); i++)
        precisions.push_back(static_cast<float>(plain.weight_of(i) / plain.kernel.noise));
    return precisions;
}

TEST(MemberTree, HasEveryNodeOnceAndParentsFirst) {
    QuietContext context;
    for (uint64_t seed = 0; seed < 40; seed++) {
        const PlainGp plain = random_gp(shape_of(seed), seed);
        const MemberTree tree = tree_of(plain, context);
        size_t rows = 0, leaves = 0;
        for (size_t node = 0; node < tree.nodes(); node++) {
            if (tree.is_leaf(node)) {
                leaves++;
                rows += tree.rows_of(node);
                EXPECT_EQ(tree.level(node), tree.levels());
            } else {
                EXPECT_GT(tree.right(node), node + 1);
                EXPECT_LT(tree.right(node), tree.nodes());
                EXPECT_GT(tree.level(node + 1), tree.level(node));
                EXPECT_GT(tree.level(tree.right(node)), tree.level(node));
            }
        }
        EXPECT_EQ(rows, plain.rows());
        EXPECT_EQ(tree.nodes(), 2 * leaves - 1);
    }
    EXPECT_EQ(context.memory().used(), 0u);
}

TEST(MemberTree, MultipliesAndSolvesLikeDenseMatrices) {
    QuietContext context;
    for (uint64_t seed = 0; seed < 40; seed++) {
        PlainGp plain = random_gp(shape_of(seed), seed);
        const MemberTree tree = tree_of(plain, context);
        const Covariances c = plain.kernel.covariances();
        const Block x = random_block(plain.rows(), seed, context);
        Block sums(context.memory(), "sums", tree.nodes()), y(context.memory(), "y", plain.rows(), Columns{});
        add_product(tree, c, x.data(), sums.data(), y.data());
        const Dense matrix = dense_covariance(plain.strings, plain.strings, plain.kernel);
        for (const size_t column : {0, 7, 15}) expect_close(y, column, product(matrix, column_of(x, column)), 1e-5);

        const double scale = 1.7;
        const std::vector<float> precisions = precisions_of(plain);
        std::vector<float> factors(tree.nodes());
        solve_factors(tree, c, scale, precisions.data(), factors.data());
        Block solution(context.memory(), "y", plain.rows(), Columns{});
        add_solution(tree, c, scale, precisions.data(), factors.data(), 0.5F, x.data(), sums.data(), solution.data());
        for (double& weight : plain.kernel.weights) weight *= scale;
        const Cholesky factor(observed_covariance(plain));
        for (const size_t column : {0, 15}) {
            Dense expected = factor.solve(column_of(x, column));
            for (long double& value : expected) value /= 2;
            expect_close(solution, column, expected, 2e-4);
        }
    }
}

TEST(MemberTree, SumsSquaresByLevel) {
    QuietContext context;
    for (uint64_t seed = 0; seed < 30; seed++) {
        const PlainGp plain = random_gp(shape_of(seed), seed);
        const MemberTree tree = tree_of(plain, context);
        const Block x = random_block(plain.rows(), seed, context);
        Block sums(context.memory(), "sums", tree.nodes());
        const LevelSquares squares = level_squares(tree, x.data(), sums.data());
        for (size_t level = 1; level <= plain.kernel.levels(); level++) {
            // x'Ax, where A says which rows share the level.
            double first = 0, others = 0;
            for (size_t i = 0; i < plain.rows(); i++)
                for (size_t j = 0; j < plain.rows(); j++) {
                    if (common_levels(plain.strings[i], plain.strings[j]) < level) continue;
                    first += x[i][0] * x[j][0];
                    for (size_t column = 1; column < Columns::count; column++) others += x[i][column] * x[j][column];
                }
            EXPECT_NEAR(squares.first[level], first, 1e-3 * (1 + std::abs(first)));
            EXPECT_NEAR(squares.others[level], others, 1e-3 * (1 + std::abs(others)));
        }
    }
}

// Two members and the noise over the weights of the rows.
struct Sum {
    PlainGp first, second;
    std::vector<double> weight;
    double noise;

    explicit Sum(size_t rows, uint64_t seed, double noise_variance = 0.3) : noise(noise_variance) {
        first = random_gp({.rows = rows, .levels = 12, .alike = 0.9}, seed);
        second = random_gp({.rows = rows, .levels = 70, .alike = 0.97}, seed + 100);
        Random random(seed);
        for (size_t i = 0; i < rows; i++) weight.push_back(0.5 + random.unit());
    }
    AdditiveCovariance make(ThreadTeam& team, RunContext& context) const {
        std::vector<AdditiveCovariance::Member> members;
        members.push_back({tree_of(first, context), first.kernel.weights, 1});
        members.push_back({tree_of(second, context), second.kernel.weights, 0.5});
        return AdditiveCovariance(std::move(members), weight, noise, team, context);
    }
    Dense matrix() const {
        Dense sum = dense_covariance(first.strings, first.strings, first.kernel);
        const Dense other = dense_covariance(second.strings, second.strings, second.kernel);
        for (size_t i = 0; i < sum.size(); i++) sum[i] += other[i];
        for (size_t i = 0; i < weight.size(); i++) sum[i * weight.size() + i] += noise / weight[i];
        return sum;
    }
};

TEST(AdditiveCovariance, MultipliesLikeADenseMatrix) {
    QuietContext context(2);
    ThreadTeam team(context);
    for (uint64_t seed = 0; seed < 10; seed++) {
        const Sum sum(50, seed);
        AdditiveCovariance kernel = sum.make(team, context);
        const Block x = random_block(50, seed, context);
        Block y(context.memory(), "y");
        kernel.multiply(x, y);
        for (const size_t column : {0, 15}) expect_close(y, column, product(sum.matrix(), column_of(x, column)), 1e-5);
        EXPECT_EQ(kernel.passes(), 2u);
    }
}

TEST(AdditiveCovariance, SystemsAreSolvedLikeByCholesky) {
    QuietContext context(2);
    ThreadTeam team(context);
    for (uint64_t seed = 0; seed < 10; seed++) {
        const Sum sum(60, seed);
        AdditiveCovariance kernel = sum.make(team, context);
        const Block b = random_block(60, seed, context);
        Block x(context.memory(), "x", 60, Columns{});
        ConjugateGradients solver(kernel, context);
        const auto outcome = solver.solve(b, x, 1e-5, 400, context);
        EXPECT_LE(outcome.worst(), 2e-4); // what is left by solutions in single precision
        EXPECT_GT(outcome.iterations, 0);
        const Cholesky factor(sum.matrix());
        for (const size_t column : {0, 9, 15}) {
            expect_close(x, column, factor.solve(column_of(b, column)), 1e-3);
            const Dense right = column_of(b, column), left = product(sum.matrix(), column_of(x, column));
            Dense difference;
            for (size_t i = 0; i < 60; i++) difference.push_back(right[i] - left[i]);
            EXPECT_NEAR(outcome.residuals[column],
                        static_cast<double>(std::sqrt(dot(difference, difference) / dot(right, right))),
                        1e-6 + 1e-3 * outcome.residuals[column]);
        }
        EXPECT_EQ(solver.solve(b, x, 1e-2, 400, context).iterations, 0);
    }
}

// Many rows that are alike, and little noise: the condition is 10⁶ and more, unless there is more noise.
AdditiveCovariance ill_conditioned(size_t rows, ThreadTeam& team, RunContext& context, double noise = 1e-3) {
    std::vector<AdditiveCovariance::Member> members;
    for (uint64_t seed = 0; seed < 5; seed++) {
        const PlainGp plain = random_gp({.rows = rows, .levels = 40, .duplicates = 0, .zeros = 0, .alike = 0.9}, seed);
        members.push_back({tree_of(plain, context), std::vector<double>(40, 0.05), 1});
        members.back().weights[0] = 2;
    }
    return AdditiveCovariance(std::move(members), {}, noise, team, context);
}

TEST(AdditiveCovariance, IllConditionedSystemsAreSolved) {
    QuietContext context(2);
    ThreadTeam team(context);
    const size_t rows = 2000;
    AdditiveCovariance kernel = ill_conditioned(rows, team, context);
    Block b(context.memory(), "b"), x(context.memory(), "x", rows, Columns{});
    kernel.draw_samples({1, 2}, b);
    const auto outcome = ConjugateGradients(kernel, context).solve(b, x, 1e-2, 120, context);
    EXPECT_LE(outcome.worst(), 1e-2);
    EXPECT_GT(outcome.iterations, 10);
}

// However few iterations there are, and from whatever start.
TEST(AdditiveCovariance, SolutionsAreNeverWorseThanNone) {
    QuietContext context(2);
    ThreadTeam team(context);
    const size_t rows = 500;
    AdditiveCovariance kernel = ill_conditioned(rows, team, context);
    const Block b = random_block(rows, 3, context);
    for (const uint64_t passes : {0, 5, 10, 20, 40, 80}) {
        Block x = random_block(rows, 4, context);
        for (Columns& row : x) row.values *= 1e3F;
        EXPECT_LE(ConjugateGradients(kernel, context).solve(b, x, 1e-6, passes, context).worst(), 1.0001);
    }
}

// From none or from an old solution, to the tolerance, which dense algebra confirms; and no pass more than it takes.
TEST(AdditiveCovariance, SystemsAreApproachedRoughly) {
    QuietContext context(2);
    ThreadTeam team(context);
    const size_t rows = 80;
    for (uint64_t seed = 0; seed < 10; seed++) {
        const Sum sum(rows, seed);
        AdditiveCovariance kernel = sum.make(team, context);
        ConjugateGradients solver(kernel, context);
        const Block b = random_block(rows, seed, context);
        Block x(context.memory(), "x", rows, Columns{});
        for (const double tolerance : {0.3, 0.02}) {
            const auto outcome = solver.approach(b, x, tolerance, 400, context);
            EXPECT_LE(outcome.worst(), tolerance);
            for (const size_t column : {0, 15}) {
                const Dense right = column_of(b, column), left = product(sum.matrix(), column_of(x, column));
                Dense difference;
                for (size_t i = 0; i < rows; i++) difference.push_back(right[i] - left[i]);
                EXPECT_NEAR(outcome.residuals[column],
                            static_cast<double>(std::sqrt(dot(difference, difference) / dot(right, right))), 1e-4);
            }
        }
        const uint64_t before = kernel.passes();
        EXPECT_EQ(solver.approach(b, x, 0.1, 400, context).iterations, 0);
        EXPECT_EQ(kernel.passes() - before, kernel.members().size());
        EXPECT_EQ(solver.approach(random_block(rows, seed + 1, context), x, 0.1, 1, context).iterations, 0);
    }
}

// Solutions and kernels may change between one solution and the next.
TEST(AdditiveCovariance, DeflationFollowsTheWeights) {
    QuietContext context(2);
    ThreadTeam team(context);
    const size_t rows = 1000;
    AdditiveCovariance kernel = ill_conditioned(rows, team, context);
    ConjugateGradients solver(kernel, context);
    Block b(context.memory(), "b"), x(context.memory(), "x", rows, Columns{});
    for (int step = 0; step < 4; step++) {
        kernel.draw_samples({1, 2}, b);
        EXPECT_LE(solver.solve(b, x, 1e-2, 120, context).worst(), 1e-2) << step;
        std::vector<std::vector<double>> weights;
        for (const AdditiveCovariance::Member& member : kernel.members()) {
            weights.push_back(member.weights);
            for (size_t level = 0; level < 40; level++) weights.back()[level] *= level % 2 == 0 ? 1.6 : 0.6;
        }
        kernel.set(std::move(weights), kernel.noise());
    }
}

// Of easy systems every pass is one of an iteration, or of the residuals before and after.
TEST(AdditiveCovariance, OnlyHardSystemsAreDeflated) {
    QuietContext context(2);
    ThreadTeam team(context);
    const size_t rows = 1000;
    for (const bool hard : {false, true}) {
        AdditiveCovariance kernel = ill_conditioned(rows, team, context, hard ? 1e-3 : 1e3);
        const Block b = random_block(rows, 3, context);
        Block x(context.memory(), "x", rows, Columns{});
        const auto outcome = ConjugateGradients(kernel, context).solve(b, x, 1e-2, 200, context);
        EXPECT_LE(outcome.worst(), 1e-2);
        const uint64_t passes = kernel.passes() / kernel.members().size();
        EXPECT_EQ(passes > 2 * static_cast<uint64_t>(outcome.iterations) + 4, hard) << passes;
    }
}

// A random size × size matrix of the rank.
std::vector<double> semidefinite(size_t size, size_t rank, Random& random) {
    std::vector<double> root(size * rank), matrix(size * size, 0.0);
    for (double& value : root) value = random.normal();
    for (size_t i = 0; i < size; i++)
        for (size_t j = 0; j < size; j++)
            for (size_t k = 0; k < rank; k++) matrix[i * size + j] += root[i * rank + k] * root[j * rank + k];
    return matrix;
}

// Rows that depend on those before have no part in a solution: what remains is that of the independent rows, by dense
// algebra, whatever the right-hand side says of the others.
TEST(SmallCholesky, GivesDependentRowsNoWeight) {
    const size_t size = 12;
    for (uint64_t seed = 0; seed < 20; seed++) {
        Random random(seed);
        const size_t rank = 1 + random.below(size);
        const std::vector<double> part = semidefinite(rank, rank, random);
        // Every row is one of `rank` independent ones; where that stands above already, also 10⁻¹⁵ times it, or 0.
        std::vector<size_t> row_of(size), kept;
        std::vector<double> scale(size, 1.0);
        std::vector<bool> seen(rank, false);
        for (size_t i = 0; i < size; i++) {
            row_of[i] = random.below(rank);
            if (seen[row_of[i]])
                scale[i] = i % 3 == 0 ? 0 : i % 3 == 1 ? 1e-15 : 1;
            else
                kept.push_back(i);
            seen[row_of[i]] = true;
        }
        std::vector<double> matrix(size * size);
        for (size_t i = 0; i < size; i++)
            for (size_t j = 0; j < size; j++)
                matrix[i * size + j] = scale[i] * scale[j] * part[row_of[i] * rank + row_of[j]];
        std::vector<ColumnValues> x(size);
        for (ColumnValues& row : x)
            for (double& value : row) value = random.normal();
        Dense independent, right;
        for (const size_t i : kept) {
            right.push_back(x[i][7]);
            for (const size_t j : kept) independent.push_back(matrix[i * size + j]);
        }
        const Dense expected = Cholesky(independent).solve(right);
        const SmallCholesky factor(std::move(matrix), size);
        factor.solve_lower(x);
        factor.solve_upper(x);
        for (size_t i = 0, k = 0; i < size; i++) {
            const bool is_kept = k < kept.size() && kept[k] == i;
            const auto value = is_kept ? static_cast<double>(expected[k++]) : 0.0;
            EXPECT_NEAR(x[i][7], value, 1e-6 * (1 + std::abs(value))) << seed << ' ' << i;
        }
    }
}

TEST(SmallCholesky, SolvesAndSurvivesDependentRows) {
    Random random(3);
    for (const size_t rank : {5, 20}) {
        const size_t size = 20;
        const std::vector<double> matrix = semidefinite(size, rank, random);
        const SmallCholesky factor(matrix, size);
        std::vector<ColumnValues> b(size), x;
        for (ColumnValues& row : b)
            for (double& value : row) value = random.normal();
        x = b;
        factor.solve_lower(x);
        factor.solve_upper(x);
        for (size_t i = 0; i < size; i++) {
            double product = 0;
            for (size_t j = 0; j < size; j++) product += matrix[i * size + j] * x[j][7];
            EXPECT_NEAR(product, b[i][7], rank == size ? 1e-6 : 1e6);
            EXPECT_TRUE(std::isfinite(x[i][7]));
        }
    }
}

TEST(AdditiveCovariance, SolvesWithoutAnyKernelThatSaysSomething) {
    QuietContext context;
    ThreadTeam team(context);
    const Sum sum(20, 1);
    AdditiveCovariance kernel = sum.make(team, context);
    kernel.set({std::vector<double>(12, 0.0), std::vector<double>(70, 0.0)}, 2);
    const Block b = random_block(20, 1, context);
    Block x(context.memory(), "x", 20, Columns{});
    EXPECT_EQ(ConjugateGradients(kernel, context).solve(b, x, 1e-5, 20, context).iterations, 1);
    for (size_t i = 0; i < 20; i++) EXPECT_NEAR(x[i][3], b[i][3] * sum.weight[i] / 2, 1e-5);
}

TEST(AdditiveCovariance, ResultsDoNotDependOnTheNumberOfThreads) {
    std::vector<float> expected;
    for (const int threads : {1, 2, 5}) {
        QuietContext context(threads);
        ThreadTeam team(context);
        const Sum sum(300, 3);
        AdditiveCovariance kernel = sum.make(team, context);
        Block b(context.memory(), "b"), x(context.memory(), "x", 300, Columns{});
        kernel.draw_samples({1, 2}, b);
        ConjugateGradients(kernel, context).solve(b, x, 1e-3, 60, context);
        std::vector<float> values;
        for (const Columns& row : x)
            for (size_t column = 0; column < Columns::count; column++) values.push_back(row[column]);
        if (expected.empty()) expected = values;
        EXPECT_EQ(values, expected);
    }
}

// Of 16 · 3000 samples.
TEST(AdditiveCovariance, SamplesHaveItsCovariance) {
    QuietContext context;
    ThreadTeam team(context);
    const size_t rows = 6, rounds = 3000;
    const Sum sum(rows, 5);
    AdditiveCovariance kernel = sum.make(team, context);
    const Dense expected = sum.matrix();
    Dense estimate(rows * rows, 0.0L);
    Block y(context.memory(), "y");
    for (uint64_t round = 0; round < rounds; round++) {
        kernel.draw_samples({round, 7}, y);
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < rows; j++)
                for (size_t column = 0; column < Columns::count; column++)
                    estimate[i * rows + j] += static_cast<long double>(y[i][column]) * y[j][column];
    }
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < rows; j++) {
            const long double scale = std::sqrt(expected[i * rows + i] * expected[j * rows + j]);
            EXPECT_NEAR(estimate[i * rows + j] / (rounds * Columns::count), expected[i * rows + j], 0.025 * scale);
        }
}

// Rows of numbers and a category, with a target that is a smooth function and noise.
struct Data {
    std::vector<std::vector<double>> columns;
    std::vector<uint32_t> codes;
    std::vector<double> target, weight;

    Data(size_t rows, double noise, uint64_t seed) : columns(3) {
        Random random(seed);
        for (size_t i = 0; i < rows; i++) {
            for (std::vector<double>& column : columns) column.push_back(random.unit());
            codes.push_back(static_cast<uint32_t>(random.below(5)));
            target.push_back(std::sin(5 * columns[0][i]) + columns[1][i] * columns[1][i] - 0.5 + 0.2 * codes[i] +
                             noise * random.normal());
        }
    }
    std::vector<FeatureView> views() const {
        std::vector<FeatureView> views;
        for (const std::vector<double>& column : columns) views.push_back({false, column, {}, 0});
        views.push_back({true, {}, codes, 5});
        return views;
    }
    TrainingColumns rows(RunContext& context) const {
        TrainingColumns rows(context.memory());
        for (const FeatureView& view : views()) {
            rows.features.push_back({view.categorical, Buffer<double>(context.memory(), "feature"),
                                     Buffer<uint32_t>(context.memory(), "feature"), view.categories});
            for (const double number : view.numbers) rows.features.back().numbers.push_back(number);
            for (const uint32_t code : view.codes) rows.features.back().codes.push_back(code);
        }
        for (const double y : target) rows.target.push_back(y);
        for (const double w : weight) rows.weight.push_back(w);
        return rows;
    }
    std::vector<double> row(size_t i) const {
        return {columns[0][i], columns[1][i], columns[2][i], static_cast<double>(codes[i])};
    }
    Encoding encoding() const {
        QuietContext context;
        return {views(), target, weight, 6, {}, context};
    }
    TrainedSum train(RunContext& context, SumTraining training = {4, 10000, {}, {}, 1}) const {
        return train_sum(encoding(), rows(context), training, context);
    }
};

// Covariances of points under the kernels of a model.
Dense covariance_of(const SumModel& model, const Encoding& encoding, uint64_t seed,
                    const std::vector<std::vector<double>>& a, const std::vector<std::vector<double>>& b) {
    Dense matrix(a.size() * b.size(), 0.0L);
    for (size_t m = 0; m < model.members().size(); m++) {
        const auto& [order, weights] = model.members()[m];
        const Covariances c = Kernel{weights, 1}.covariances();
        PointEncoder encoder(encoding_of_member(encoding, seed, m), order);
        const auto string = [&](const std::vector<double>& point) {
            const String bits = encoder(point);
            std::string text;
            for (size_t level = 0; level < bits.known; level++)
                text += bits.words[level / 64] >> (63 - level % 64) & 1 ? '1' : '0';
            return text;
        };
        std::vector<std::string> strings;
        for (const std::vector<double>& point : b) strings.push_back(string(point));
        for (size_t i = 0; i < a.size(); i++) {
            const std::string x = string(a[i]);
            for (size_t j = 0; j < b.size(); j++) {
                size_t common = 0;
                while (common < std::min(x.size(), strings[j].size()) && x[common] == strings[j][common]) common++;
                matrix[i * b.size() + j] += c[common];
            }
        }
    }
    return matrix;
}

double signal_of(const SumModel& model) {
    double signal = 0;
    for (const SumModel::Member& member : model.members())
        signal = std::accumulate(member.weights.begin(), member.weights.end(), signal);
    return signal;
}

std::vector<std::vector<double>> points_of(const Data& data) {
    std::vector<std::vector<double>> points;
    for (size_t i = 0; i < data.target.size(); i++) points.push_back(data.row(i));
    return points;
}

// Means nearly exactly; variances on average, for each is estimated from 30 samples.
TEST(SumModel, PosteriorIsThatOfDenseMatrices) {
    QuietContext context(2);
    double ratios = 0, deviations = 0, count = 0;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        const Data data(70, 0.3, seed), fresh(12, 0.3, seed + 50);
        TrainedSum sum = data.train(context, {5, 20000, {}, {}, seed});
        const std::vector<std::vector<double>> points = points_of(data);
        std::vector<std::vector<double>> tested = points_of(fresh);
        tested.push_back(points[0]);
        tested.push_back({0.5, 0.5, null_number, 9});
        const Encoding encoding = data.encoding();
        Dense matrix = covariance_of(sum.model, encoding, seed, points, points);
        for (size_t i = 0; i < 70; i++) matrix[i * 70 + i] += sum.model.noise();
        const Cholesky factor(matrix);
        const Dense solution = factor.solve(dense(data.target));
        for (const std::vector<double>& point : tested) {
            const Dense with = covariance_of(sum.model, encoding, seed, {point}, points);
            const double mean = static_cast<double>(dot(with, solution));
            const double variance = signal_of(sum.model) - static_cast<double>(dot(with, factor.solve(with)));
            const Normal latent = sum.model.latent(point);
            EXPECT_NEAR(latent.mean, mean, 0.03);
            const double ratio = latent.variance / variance;
            EXPECT_GT(ratio, 0.25);
            EXPECT_LT(ratio, 3);
            ratios += ratio;
            deviations += (ratio - 1) * (ratio - 1);
            count++;
        }
    }
    EXPECT_NEAR(ratios / count, 1, 0.06);
    EXPECT_LT(std::sqrt(deviations / count), std::sqrt(2.0 / 30) + 0.03);
}

// Covariances of draws, of rows, equal points and points that share nothing with any row.
TEST(SumSampler, DrawsHaveTheMomentsOfDenseMatrices) {
    QuietContext context(2);
    const size_t rows = 50, points = 8;
    const uint64_t seed = 3;
    const Data data(rows, 0.3, seed), fresh(points - 2, 0.3, seed + 50);
    TrainedSum sum = data.train(context, {5, 20000, {}, {}, seed});
    const std::vector<std::vector<double>> given = points_of(data);
    std::vector<std::vector<double>> tested = points_of(fresh);
    tested.push_back(given[0]);
    tested.push_back(tested[1]);
    std::vector<double> values;
    for (const auto& point : tested) values.insert(values.end(), point.begin(), point.end());
    Dense matrix = covariance_of(sum.model, data.encoding(), seed, given, given);
    for (size_t i = 0; i < rows; i++) matrix[i * rows + i] += sum.model.noise() / sum.model.calibration();
    const Cholesky factor(matrix);
    const Dense with = covariance_of(sum.model, data.encoding(), seed, tested, given);
    const Dense among = covariance_of(sum.model, data.encoding(), seed, tested, tested);

    SumSampler sampler(sum.model, values, context);
    ASSERT_EQ(sampler.points(), points);
    constexpr size_t draws = 4000;
    std::vector<double> draw(points), mean(points, 0.0), square(points * points, 0.0);
    for (uint64_t d = 0; d < draws; d++) {
        sampler.draw(7, d, draw);
        EXPECT_EQ(draw[points - 1], draw[1]);
        for (size_t i = 0; i < points; i++) {
            draw[i] -= sum.model.latent(tested[i]).mean;
            mean[i] += draw[i] / draws;
            for (size_t j = 0; j <= i; j++) square[i * points + j] += draw[i] * draw[j] / draws;
        }
    }
    for (size_t i = 0; i < points; i++) {
        const Dense row(with.begin() + static_cast<ptrdiff_t>(i * rows),
                        with.begin() + static_cast<ptrdiff_t>((i + 1) * rows));
        const Dense solution = factor.solve(row);
        const auto covariance = [&](size_t j) {
            const Dense other(with.begin() + static_cast<ptrdiff_t>(j * rows),
                              with.begin() + static_cast<ptrdiff_t>((j + 1) * rows));
            return sum.model.calibration() * static_cast<double>(among[i * points + j] - dot(other, solution));
        };
        const double variance = covariance(i);
        EXPECT_NEAR(mean[i], 0, 5 * std::sqrt(variance / draws));
        for (size_t j = 0; j <= i; j++)
            EXPECT_NEAR(square[i * points + j], covariance(j), 0.08 * variance) << i << " " << j;
    }
    std::vector<double> again(points), other(points);
    sampler.draw(7, 20, again);
    sampler.draw(8, 20, other);
    EXPECT_NE(again, other);
    SumSampler second(sum.model, values, context);
    second.draw(7, 20, other);
    EXPECT_EQ(again, other);
}

// New solutions for the same rows are as good as those of training; for other rows they are those of dense matrices.
TEST(SumTraining, SolvesAgainForOtherRows) {
    QuietContext context(2);
    const uint64_t seed = 2;
    const Data data(70, 0.3, seed), fresh(12, 0.3, seed + 50);
    TrainedSum sum = data.train(context, {5, 20000, {}, {}, seed});
    SumModel::Parts parts = std::move(sum.model).take();
    for (size_t i = 0; i < 12; i++) add_row(parts.rows, fresh.row(i), fresh.target[i]);
    take_row(parts.rows, 5);
    std::vector<std::vector<double>> points(parts.rows.rows(), std::vector<double>(4));
    for (size_t i = 0; i < points.size(); i++) parts.rows.read_row(i, points[i]);
    const Dense target = dense(std::vector<double>(parts.rows.target.begin(), parts.rows.target.end()));
    const double noise = parts.noise;
    SumModel model = solve_again(std::move(parts), context);
    EXPECT_EQ(model.rows(), 81u);
    Dense matrix = covariance_of(model, data.encoding(), seed, points, points);
    for (size_t i = 0; i < 81; i++) matrix[i * 81 + i] += noise;
    const Cholesky factor(matrix);
    const Dense solution = factor.solve(target);
    double ratios = 0;
    for (size_t i = 0; i < 12; i++) {
        const Dense with = covariance_of(model, data.encoding(), seed, {fresh.row(i)}, points);
        const double variance = signal_of(model) - static_cast<double>(dot(with, factor.solve(with)));
        const Normal latent = model.latent(fresh.row(i));
        EXPECT_NEAR(latent.mean, static_cast<double>(dot(with, solution)), 0.03);
        ratios += latent.variance / model.calibration() / variance / 12;
    }
    EXPECT_NEAR(ratios, 1, 0.2);
}

// Mean, NLL and coverage against the exact ones of the same kernel.
TEST(SumTraining, LeaveOneOutIsNearTheExactOne) {
    QuietContext context(2);
    const size_t rows = 90;
    double difference = 0;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        const Data data(rows, 0.3, seed);
        TrainedSum sum = data.train(context, {5, 20000, {}, {}, seed});
        const std::vector<std::vector<double>> points = points_of(data);
        Dense matrix = covariance_of(sum.model, data.encoding(), seed, points, points);
        for (size_t i = 0; i < rows; i++) matrix[i * rows + i] += sum.model.noise();
        const Cholesky factor(matrix);
        const Dense solution = factor.solve(dense(data.target));
        double nll = 0, squares = 0;
        for (size_t i = 0; i < rows; i++) {
            Dense unit(rows, 0.0L);
            unit[i] = 1;
            const auto inverse = static_cast<double>(factor.solve(unit)[i]);
            const double residual = static_cast<double>(solution[i]) / inverse;
            nll += (std::log(2 * std::numbers::pi / inverse) + residual * residual * inverse) / 2;
            squares += residual * residual;
        }
        EXPECT_NEAR(sum.leave_one_out.rmse, std::sqrt(squares / rows), 0.25 * std::sqrt(squares / rows));
        difference += sum.leave_one_out.mean_nll - nll / rows;
        EXPECT_GT(sum.leave_one_out.coverage_90.value(), 0.7);
    }
    EXPECT_NEAR(difference / 6, 0, 0.06);
}

TEST(SumTraining, LearnsASmoothFunction) {
    QuietContext context(2);
    const Data data(1500, 0.1, 3), fresh(500, 0, 4);
    TrainedSum sum = data.train(context, {10, 40000, {}, {}, 1});
    double errors = 0, covered = 0;
    for (size_t i = 0; i < 500; i++) {
        const Normal latent = sum.model.latent(fresh.row(i));
        errors += (fresh.target[i] - latent.mean) * (fresh.target[i] - latent.mean) / 500;
        covered += std::abs(fresh.target[i] - latent.mean) < 1.645 * std::sqrt(latent.variance);
    }
    EXPECT_LT(std::sqrt(errors), 0.12);
    EXPECT_GT(covered / 500, 0.8);
    EXPECT_NEAR(sum.model.noise(), 0.01, 0.008);
    EXPECT_NEAR(sum.leave_one_out.coverage_90.value(), 0.9, 0.04);
    EXPECT_LE(sum.evaluations, 40000u);
}

std::string bytes_of(const SumModel& model) {
    QuietContext quiet;
    Writer writer(quiet);
    model.encode(writer);
    return {reinterpret_cast<const char*>(writer.bytes().data()), writer.bytes().size()};
}

SumModel decode_bytes(const std::string& bytes, RunContext& context) {
    Reader reader({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()});
    SumModel model = SumModel::decode(reader, context);
    reader.finish();
    return model;
}

TEST(SumTraining, BytesDoNotDependOnTheNumberOfThreads) {
    const Data data(200, 0.2, 5);
    std::string expected;
    for (const int threads : {1, 2, 4}) {
        QuietContext context(threads);
        const std::string bytes = bytes_of(data.train(context).model);
        if (expected.empty()) expected = bytes;
        EXPECT_EQ(bytes, expected);
    }
    QuietContext context;
    EXPECT_NE(bytes_of(data.train(context, {4, 10000, {}, {}, 2}).model), expected);
}

TEST(SumTraining, KeepsToItsEvaluations) {
    QuietContext context;
    const Data data(150, 0.2, 6);
    for (const uint64_t evaluations : {400, 700, 1000, 3000, 5000, 10000, 30000}) {
        TrainedSum sum = data.train(context, {4, evaluations, {}, {}, 1});
        EXPECT_LE(sum.evaluations, evaluations);
        EXPECT_GE(sum.evaluations, 0.15 * static_cast<double>(std::min<uint64_t>(evaluations, 10000)));
        EXPECT_TRUE(std::isfinite(sum.leave_one_out.mean_nll));
    }
}

TEST(SumTraining, HonoursWhatIsFixed) {
    QuietContext context;
    const Data data(90, 0.2, 6);
    TrainedSum sum = data.train(context, {4, 10000, 0.37, 1.3, 1});
    EXPECT_EQ(sum.model.noise(), 0.37);
    expect_near(signal_of(sum.model), 1.3);
}

TEST(SumTraining, LearnsLittleNoise) {
    QuietContext context(2);
    Data data(3000, 0, 3);
    Random random(3);
    for (size_t i = 0; i < 3000; i++) data.target[i] = data.codes[i] + 0.02 * random.normal();
    const TrainedSum sum = data.train(context, {4, 20000, {}, {}, 1});
    EXPECT_NEAR(sum.model.noise() / sum.model.calibration(), 0.0004, 0.0002);
}

// A fit sorts its rows by target: sums over the equal rows of a leaf grow far before they cancel.
TEST(SumModel, MeansOfManyEqualRowsInTheOrderOfTheirTargetsAreExact) {
    QuietContext context(2);
    constexpr size_t rows = 20000, cells = 8;
    Random random(3);
    std::vector<std::pair<double, size_t>> sorted; // targets, and cells
    double sums[cells] = {}, counts[cells] = {};
    for (size_t i = 0; i < rows; i++) {
        const size_t cell = random.below(cells);
        sorted.emplace_back(0.5 * std::sin(static_cast<double>(cell)) + std::round(7 * random.normal()) / 7, cell);
        sums[cell] += sorted.back().first;
        counts[cell]++;
    }
    std::ranges::sort(sorted);
    Data data(rows, 0, 3);
    for (size_t i = 0; i < rows; i++) {
        data.target[i] = sorted[i].first;
        data.codes[i] = 0;
        for (std::vector<double>& column : data.columns) column[i] = 0;
        data.columns[0][i] = static_cast<double>(sorted[i].second);
    }
    TrainedSum sum = data.train(context, {10, 20000, {}, 6.0, 0});
    for (size_t cell = 0; cell < cells; cell++)
        EXPECT_NEAR(sum.model.latent(std::array{static_cast<double>(cell), 0.0, 0.0, 0.0}).mean,
                    sums[cell] / counts[cell], 0.004);
}

// Intervals that hold the many rows would be far too narrow for the few.
TEST(SumTraining, ManyRowsMetExactlyDoNotDenyAFewThatAreFarOff) {
    QuietContext context(2);
    for (const double far : {1.0, 10.0, 100.0}) {
        Data data(1200, 0, 3);
        Random random(3);
        for (size_t i = 0; i < 1200; i++) data.target[i] = data.codes[i] + (i % 50 == 0 ? far * random.normal() : 0.0);
        const LeaveOneOut score = data.train(context, {4, 10000, {}, {}, 1}).leave_one_out;
        const double of_one_normal = std::log(2 * std::numbers::pi * std::numbers::e * score.rmse * score.rmse) / 2;
        EXPECT_LT(score.mean_nll, of_one_normal + 0.1);
    }
}

// A row of weight 4 says what four rows do.
TEST(SumTraining, WeightsCountAsRows) {
    QuietContext context;
    Data data(60, 0.3, 7);
    data.weight.assign(60, 1.0);
    for (size_t i = 0; i < 20; i++) data.weight[i] = 50;
    TrainedSum sum = data.train(context, {4, 10000, 0.5, {}, 1});
    double heavy = 0, light = 0;
    for (size_t i = 0; i < 60; i++)
        (i < 20 ? heavy : light) += std::abs(sum.model.latent(data.row(i)).mean - data.target[i]) / (i < 20 ? 20 : 40);
    EXPECT_LT(heavy, 0.5 * light);
}

// Twice the weight everywhere is twice the noise.
TEST(SumTraining, OnlyRatiosOfWeightsMatter) {
    QuietContext context;
    Data data(150, 0.2, 7);
    TrainedSum single = data.train(context);
    data.weight.assign(150, 2.0);
    TrainedSum twice = data.train(context);
    EXPECT_NEAR(twice.model.noise() / single.model.noise(), 2, 0.1);
    for (size_t i = 0; i < 150; i++)
        EXPECT_NEAR(twice.model.latent(data.row(i)).mean, single.model.latent(data.row(i)).mean, 0.05);
}

TEST(SumTraining, MembersHaveGridsOfTheirOwn) {
    QuietContext context;
    const Data data(50, 0.2, 1);
    const Encoding member = encoding_of_member(data.encoding(), 3, 2),
                   other = encoding_of_member(data.encoding(), 3, 1);
    std::vector<double> shifts;
    for (size_t f = 0; f < 3; f++) {
        shifts.push_back(member.features()[f].shift.value());
        EXPECT_NE(shifts[f], other.features()[f].shift.value());
    }
    EXPECT_FALSE(member.features()[3].shift.has_value());
    shifts.push_back(0.5);
    const Encoding direct(data.views(), data.target, {}, 6, shifts, context);
    QuietContext quiet;
    Writer a(quiet), b(quiet);
    member.encode(a);
    direct.encode(b);
    EXPECT_TRUE(std::equal(a.bytes().begin(), a.bytes().end(), b.bytes().begin(), b.bytes().end()));
}

TEST(SumTraining, TakesOddRows) {
    QuietContext context;
    Data one(1, 0.1, 1), equal(60, 0.3, 2), noise(1000, 0, 3), duplicates(60, 0.5, 4);
    for (std::vector<double>& column : equal.columns) column.assign(60, 2.0);
    equal.codes.assign(60, 1);
    Random random(1);
    for (double& y : noise.target) y = random.normal();
    for (size_t i = 0; i < 60; i++) {
        for (std::vector<double>& column : duplicates.columns) column[i] = column[i % 5];
        duplicates.codes[i] = duplicates.codes[i % 5];
    }
    for (const Data* data : {&one, &equal, &noise, &duplicates}) {
        TrainedSum sum = data->train(context);
        const Normal latent = sum.model.latent(data->row(0));
        EXPECT_TRUE(std::isfinite(latent.mean));
        EXPECT_TRUE(latent.variance >= 0 && std::isfinite(latent.variance));
        EXPECT_TRUE(std::isfinite(sum.leave_one_out.mean_nll));
        EXPECT_GT(sum.model.noise(), 0);
    }
    EXPECT_GT(noise.train(context).model.noise(), 0.5);
}

TEST(SumTraining, StopsWhenAskedAndFreesItsMemory) {
    const Data data(200, 0.2, 9);
    for (const uint64_t polls : {3, 50, 300}) {
        ImpatientContext context(polls);
        EXPECT_THROW(data.train(context), Cancelled);
        EXPECT_EQ(context.memory().used(), 0u);
    }
    QuietContext small(2, uint64_t{1} << 20);
    EXPECT_EQ(caught([&] { data.train(small); }).code, ErrorCode::memory_limit);
    EXPECT_EQ(small.memory().used(), 0u);
}

TEST(SumTraining, MembersFollowTheEvaluations) {
    EXPECT_EQ(default_evaluations(0), 120000u);
    EXPECT_EQ(default_evaluations(10000), 120000u);
    EXPECT_EQ(default_evaluations(26000), 100000u);
    EXPECT_EQ(default_evaluations(1300000), 2000u);
    EXPECT_EQ(default_evaluations(100000000), 2000u);
    EXPECT_EQ(members_within(120000), 40);
    EXPECT_EQ(members_within(10000), 4);
    EXPECT_EQ(members_within(9999), 0);
}

TEST(SumModel, BytesAreReadBack) {
    QuietContext context;
    Data data(80, 0.2, 10);
    data.columns[0][3] = null_number;
    data.codes[5] = FeatureView::null_code;
    TrainedSum sum = data.train(context);
    const std::string bytes = bytes_of(sum.model);
    EXPECT_LE(bytes.size(), 80 * (124 + 28) + 4 * (8 + 10 * 24) + 3 * (8 + 63 * 16) + 266);
    SumModel copy = decode_bytes(bytes, context);
    EXPECT_EQ(bytes_of(copy), bytes);
    EXPECT_EQ(copy.noise(), sum.model.noise());
    for (size_t i = 0; i < 80; i++) {
        EXPECT_EQ(copy.latent(data.row(i)).mean, sum.model.latent(data.row(i)).mean);
        EXPECT_EQ(copy.latent(data.row(i)).variance, sum.model.latent(data.row(i)).variance);
    }
}

TEST(SumModel, EveryTruncationIsRefused) {
    QuietContext context;
    const std::string bytes = bytes_of(Data(15, 0.2, 11).train(context).model);
    for (size_t length = 0; length < bytes.size(); length++)
        EXPECT_EQ(caught([&] { decode_bytes(bytes.substr(0, length), context); }).code, ErrorCode::corrupt_model);
    EXPECT_EQ(caught([&] { decode_bytes(bytes + "x", context); }).code, ErrorCode::corrupt_model);
}

// Whatever decodes can be predicted with and encoded.
TEST(SumModel, DamagedBytesAreRefusedOrHarmless) {
    QuietContext context(1, uint64_t{1} << 28);
    const Data data(12, 0.2, 12);
    const std::string bytes = bytes_of(data.train(context).model);
    Random random(1);
    int accepted = 0;
    for (int round = 0; round < 3000; round++) {
        std::string damaged = bytes;
        const size_t range = round % 2 ? damaged.size() : damaged.size() / 3;
        for (size_t flips = 1 + random.below(3); flips > 0; flips--)
            damaged[random.below(range)] ^= static_cast<char>(1 << random.below(8));
        const auto error = caught([&] {
            SumModel model = decode_bytes(damaged, context);
            accepted++;
            EXPECT_EQ(bytes_of(model), damaged);
            model.latent(std::vector<double>(4, 0.3));
            model.latent(data.row(3));
        });
        EXPECT_TRUE(!error.thrown || error.code == ErrorCode::corrupt_model) << error.message;
    }
    EXPECT_GT(accepted, 500);
    EXPECT_EQ(context.memory().used(), 0u);
}

} // namespace
} // namespace btml::gp::test
