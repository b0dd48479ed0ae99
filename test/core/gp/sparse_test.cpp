// Sparse processes against dense linear algebra.
#include "caught.hpp"
#include "device_absent.hpp"
#include "gp_data.hpp"

#include "core/gp/gp_predictor.hpp"
#include "core/gp/sampler.hpp"
#include "core/gp/sparse/collapsed.hpp"
#include "core/gp/sparse/inducing_rows.hpp"
#include "core/gp/sparse/likelihood_search.hpp"
#include "core/gp/sparse/sparse_predictor.hpp"
#include "core/gp/update.hpp"

#include <filesystem>
#include <map>

namespace btml::gp::test {
namespace {

using btml::test::caught;
using btml::test::ImpatientContext;
using btml::test::is_device_absent;

constexpr size_t width = 3; // two numbers and a category

struct Points {
    std::vector<double> x, y, w;

    SmoothRows rows() const { return {x, width, y, w}; }
    const double* at(size_t i) const { return x.data() + i * width; }
    size_t size() const { return y.size(); }
};

Points random_points(size_t count, bool weights, Random& random) {
    Points points;
    for (size_t i = 0; i < count; i++) {
        const double a = random.normal(), b = random.normal(), kind = random.below(3);
        points.x.insert(points.x.end(), {a, b, kind});
        points.y.push_back(std::sin(2 * a) + 0.5 * b + 0.3 * kind + 0.2 * random.normal());
        if (weights) points.w.push_back(0.5 + random.unit());
    }
    return points;
}

SmoothKernel random_kernel(Random& random) {
    SmoothKernel kernel;
    kernel.kind = static_cast<KernelChoice>(1 + random.below(3));
    kernel.inverse_lengths = {0.3 + random.unit(), 0.3 + random.unit()};
    kernel.penalties = {0.1 + random.unit()};
    kernel.signal = 0.5 + random.unit();
    kernel.noise = 0.02 + 0.1 * random.unit();
    return kernel;
}

double plain_covariance(const SmoothKernel& kernel, const double* a, const double* b) {
    double squares = 0;
    for (size_t c = 0; c < 2; c++) squares += std::pow((a[c] - b[c]) * kernel.inverse_lengths[c], 2);
    const double r = std::sqrt(squares), share = a[2] == b[2] ? 1 : std::exp(-kernel.penalties[0]);
    switch (kernel.kind) {
    case KernelChoice::squared_exponential:
        return kernel.signal * share * std::exp(-squares / 2);
    case KernelChoice::matern32:
        return kernel.signal * share * (1 + std::sqrt(3) * r) * std::exp(-std::sqrt(3) * r);
    case KernelChoice::matern52:
        return kernel.signal * share * (1 + std::sqrt(5) * r + 5 * squares / 3) * std::exp(-std::sqrt(5) * r);
    default:
        return 0;
    }
}

// Everything of a few inducing points, written down as matrices: Q = K_fu K_uu⁻¹ K_uf.
struct PlainSparse {
    const SmoothKernel& kernel;
    const Points& points;
    std::vector<uint32_t> inducing;

    Dense with_inducing(const double* x) const {
        Dense k;
        for (const uint32_t u : inducing) k.push_back(plain_covariance(kernel, x, points.at(u)));
        return k;
    }
    Dense inducing_covariances() const {
        Dense matrix;
        for (const uint32_t u : inducing)
            for (const long double k : with_inducing(points.at(u))) matrix.push_back(k);
        for (size_t u = 0; u < inducing.size(); u++)
            matrix[u * inducing.size() + u] += Collapsed::jitter * kernel.signal;
        return matrix;
    }
    long double q(const double* a, const double* b) const {
        return dot(with_inducing(a), Cholesky(inducing_covariances()).solve(with_inducing(b)));
    }
    double noise(size_t i) const { return kernel.noise / points.rows().weight(i); }
    Dense observed() const {
        Dense matrix;
        for (size_t i = 0; i < points.size(); i++)
            for (size_t j = 0; j < points.size(); j++)
                matrix.push_back(q(points.at(i), points.at(j)) + (i == j ? noise(i) : 0));
        return matrix;
    }
    double likelihood() const {
        const Cholesky factor(observed());
        const Dense y = dense(points.y);
        return static_cast<double>(-(dot(y, factor.solve(y)) + factor.log_determinant() +
                                     static_cast<long double>(points.size()) * std::log(2 * std::numbers::pi)) /
                                   2);
    }
    // Titsias (2009), equation 9.
    double bound() const {
        long double value = likelihood();
        for (size_t i = 0; i < points.size(); i++)
            value -= (kernel.signal - q(points.at(i), points.at(i))) / noise(i) / 2;
        return static_cast<double>(value);
    }
    // Its mean is that of the process with covariances Q; the variance has what these lack beside.
    Normal latent(const double* x) const {
        const Cholesky factor(observed());
        Dense cross;
        for (size_t i = 0; i < points.size(); i++) cross.push_back(q(x, points.at(i)));
        return {static_cast<double>(dot(cross, factor.solve(dense(points.y)))),
                static_cast<double>(kernel.signal - dot(cross, factor.solve(cross)))};
    }
};

SparseModel::Parts parts_of(const SmoothKernel& kernel, const Points& points, std::span<const uint32_t> inducing,
                            const Collapsed& collapsed, RunContext& context) {
    TrainingColumns columns(context.memory());
    std::vector<Feature> features;
    for (const char* name : {"a", "b", "kind"}) {
        const bool categorical = features.size() == 2;
        features.push_back({name, "double precision", categorical, {}});
        columns.features.push_back(
            {categorical, Buffer<double>(context.memory(), "f"), Buffer<uint32_t>(context.memory(), "f"), 3});
    }
    // Their mean is 0 and their standard deviation 1, so that features are coordinates.
    for (const double x : {-1.0, 1.0}) {
        columns.features[0].numbers.push_back(x);
        columns.features[1].numbers.push_back(x);
        columns.features[2].codes.push_back(x > 0);
        columns.target.push_back(x);
    }
    const std::vector<double> solution = collapsed.solution();
    SparseModel::Parts parts{Coordinates(columns, features, context),
                             kernel,
                             points_of(points.rows(), inducing, context.memory()),
                             Buffer<double>(context.memory(), "solution", solution.size()),
                             collapsed.reduction(),
                             collapsed.bound()};
    std::copy(solution.begin(), solution.end(), parts.solution.begin());
    return parts;
}

void expect_predictions_of(const PlainSparse& plain, SparseModel& model, Random& random) {
    for (int i = 0; i < 5; i++) {
        const double x[] = {random.normal(), random.normal(), static_cast<double>(random.below(3))};
        const Normal at = model.latent(x), expected = plain.latent(x);
        EXPECT_NEAR(at.mean, expected.mean, 1e-5);
        EXPECT_NEAR(at.variance, expected.variance, 1e-5);
    }
}

TEST(SparseProcess, LikelihoodAndItsDerivativesAreThoseOfDenseAlgebra) {
    QuietContext context(2);
    ThreadTeam team(context);
    for (uint64_t seed = 0; seed < 30; seed++) {
        Random random(seed);
        const Points points = random_points(5 + random.below(40), random.chance(0.5), random);
        const SmoothKernel kernel = random_kernel(random);
        const Likelihood found = likelihood_of(kernel, points.rows(), team, context);
        Dense matrix;
        for (size_t i = 0; i < points.size(); i++)
            for (size_t j = 0; j < points.size(); j++)
                matrix.push_back(plain_covariance(kernel, points.at(i), points.at(j)) +
                                 (i == j ? kernel.noise / points.rows().weight(i) : 0));
        const Cholesky factor(matrix);
        const Dense y = dense(points.y);
        EXPECT_NEAR(found.log,
                    static_cast<double>(-(dot(y, factor.solve(y)) + factor.log_determinant()) / 2 -
                                        static_cast<long double>(points.size()) / 2 * std::log(2 * std::numbers::pi)),
                    1e-8);
        const std::vector<double> parameters = parameters_of(kernel);
        for (size_t p = 0; p < parameters.size(); p++) {
            constexpr double step = 1e-5;
            SmoothKernel above = kernel, below = kernel;
            std::vector<double> moved = parameters;
            moved[p] += step;
            set_parameters(above, moved);
            moved[p] -= 2 * step;
            set_parameters(below, moved);
            const double slope = (likelihood_of(above, points.rows(), team, context).log -
                                  likelihood_of(below, points.rows(), team, context).log) /
                                 (2 * step);
            EXPECT_NEAR(found.slopes[p], slope, 1e-5 * std::max(1.0, std::abs(slope))) << seed << " " << p;
        }
    }
}

TEST(SparseProcess, BoundAndPredictionsAreThoseOfDenseAlgebra) {
    QuietContext context(2);
    ThreadTeam team(context);
    for (uint64_t seed = 0; seed < 25; seed++) {
        Random random(seed);
        const Points points = random_points(20 + random.below(20), random.chance(0.5), random);
        const SmoothKernel kernel = random_kernel(random);
        const std::vector<uint32_t> inducing = varied_rows(kernel, points.rows(), spread_rows(points.size(), 15, seed),
                                                           1 + random.below(12), team, context);
        const PlainSparse plain{kernel, points, inducing};
        const Buffer<double> z = points_of(points.rows(), inducing, context.memory());
        const Collapsed collapsed(kernel, z.span(), points.rows(), team, context);
        EXPECT_NEAR(collapsed.bound(), plain.bound(), 1e-5 * std::abs(plain.bound()));
        SparseModel model(parts_of(kernel, points, inducing, collapsed, context), context);
        expect_predictions_of(plain, model, random);
    }
}

// The bound's slopes by everything that moves, against differences of the bound.
TEST(SparseProcess, SlopesOfTheBoundAreItsDifferences) {
    for (uint64_t seed = 0; seed < 12; seed++) {
        SCOPED_TRACE(seed);
        Random random(seed);
        QuietContext context(1 + static_cast<int>(seed % 3));
        ThreadTeam team(context);
        const Points points = random_points(60 + 1'000 * (seed % 4 == 3), seed % 2 == 1, random);
        SmoothKernel kernel = random_kernel(random);
        std::vector<double> inducing(points.x.begin(), points.x.begin() + 9 * width);
        for (double& x : inducing) x += x == std::round(x) ? 0 : 0.1 * random.normal();
        const BoundSlopes slopes = slopes_of_bound(kernel, inducing, points.rows(), 1, team, context);
        const auto bound = [&] { return Collapsed(kernel, inducing, points.rows(), team, context).bound(); };
        const auto expect_slope = [&](double found, const std::function<void(double)>& move) {
            constexpr double step = 1e-5;
            move(step);
            const double above = bound();
            move(-2 * step);
            const double below = bound();
            move(step);
            EXPECT_NEAR(found, (above - below) / (2 * step), 1e-4 * (1 + std::abs(found)));
        };
        const std::vector<double> parameters = parameters_of(kernel);
        for (size_t p = 0; p < parameters.size(); p++)
            expect_slope(slopes.parameters[p], [&](double step) {
                std::vector<double> moved = parameters_of(kernel);
                moved[p] += step;
                set_parameters(kernel, moved);
            });
        for (size_t i = 0; i < inducing.size(); i++) {
            if (i % width == 2)
                EXPECT_EQ(slopes.points[i], 0); // a category
            else
                expect_slope(slopes.points[i], [&](double step) { inducing[i] += step; });
        }
    }
}

TEST(SparseProcess, RowsThatCountTwiceAreTwoRows) {
    for (uint64_t seed = 0; seed < 6; seed++) {
        Random random(seed);
        QuietContext context;
        ThreadTeam team(context);
        const Points points = random_points(50, seed % 2 == 1, random);
        const SmoothKernel kernel = random_kernel(random);
        const std::span<const double> inducing(points.x.data(), 8 * width);
        Points doubled = points;
        for (std::vector<double>* values : {&doubled.x, &doubled.y, &doubled.w}) {
            const std::vector<double> copy = *values;
            values->insert(values->end(), copy.begin(), copy.end());
        }
        const BoundSlopes twice = slopes_of_bound(kernel, inducing, points.rows(), 2, team, context),
                          two = slopes_of_bound(kernel, inducing, doubled.rows(), 1, team, context);
        for (size_t p = 0; p < two.parameters.size(); p++)
            EXPECT_NEAR(twice.parameters[p], two.parameters[p], 1e-7 * (1 + std::abs(two.parameters[p])));
        for (size_t i = 0; i < two.points.size(); i++)
            EXPECT_NEAR(twice.points[i], two.points[i], 1e-7 * (1 + std::abs(two.points[i])));
    }
}

// What the process predicts of a row without it: the inducing points stay.
TEST(SparseProcess, LeavesRowsOutAsIfTheyHadNeverBeen) {
    QuietContext context(1);
    ThreadTeam team(context);
    for (uint64_t seed = 0; seed < 20; seed++) {
        Random random(seed);
        const Points points = random_points(25, random.chance(0.5), random);
        const SmoothKernel kernel = random_kernel(random);
        const std::vector<uint32_t> inducing =
            varied_rows(kernel, points.rows(), spread_rows(points.size(), points.size(), 0), 8, team, context);
        const Buffer<double> z = points_of(points.rows(), inducing, context.memory());
        const Collapsed all(kernel, z.span(), points.rows(), team, context);
        const SparseModel::Parts parts = parts_of(kernel, points, inducing, all, context);
        const uncertainty::StandardisedErrors errors =
            leave_rows_out(parts, all.inverse(), points.rows(), team, context);
        ASSERT_EQ(errors.size(), points.size());
        const LeaveOneOut score = left_out_score(errors, context);
        double nll = 0, squares = 0;
        for (size_t out = 0; out < points.size(); out++) {
            Points others;
            for (size_t i = 0; i < points.size(); i++) {
                if (i == out) continue;
                others.x.insert(others.x.end(), points.at(i), points.at(i) + width);
                others.y.push_back(points.y[i]);
                if (!points.w.empty()) others.w.push_back(points.w[i]);
            }
            const Collapsed without(kernel, z.span(), others.rows(), team, context);
            SparseModel model(parts_of(kernel, points, inducing, without, context), context);
            const Normal at = model.latent({points.at(out), width});
            const double variance = at.variance + kernel.noise / points.rows().weight(out);
            const double error = points.y[out] - at.mean;
            nll += (std::log(2 * std::numbers::pi * variance) + error * error / variance) / 2;
            squares += error * error;
        }
        EXPECT_NEAR(score.mean_nll, nll / 25, 1e-4);
        EXPECT_NEAR(score.rmse, std::sqrt(squares / 25), 1e-5);
    }
}

struct Scored {
    double bound, nll, rmse;
    std::vector<Normal> latents; // of some rows
    std::string failure;         // of the device

    void expect_near(const Scored& other, double tolerance) const {
        EXPECT_NEAR(bound, other.bound, tolerance * std::abs(bound));
        EXPECT_NEAR(nll, other.nll, tolerance);
        EXPECT_NEAR(rmse, other.rmse, tolerance);
        for (size_t i = 0; i < latents.size(); i++) {
            EXPECT_NEAR(latents[i].mean, other.latents[i].mean, tolerance);
            EXPECT_NEAR(latents[i].variance, other.latents[i].variance, tolerance);
        }
    }
};

// By the device of a library, of so many rows that it is worth the way there; of predictions, or of the rest as well.
Scored score_many_rows(const std::string& library, bool of_all = true) {
    QuietContext context(2);
    if (of_all) context.device().library = library;
    ThreadTeam team(context);
    Random random(1);
    const Points points = random_points(120'000, true, random);
    const SmoothKernel kernel = random_kernel(random);
    const std::vector<uint32_t> inducing = spread_rows(points.size(), 200, 1);
    const Buffer<double> z = points_of(points.rows(), inducing, context.memory());
    const Collapsed collapsed(kernel, z.span(), points.rows(), team, context);
    SparseModel model(parts_of(kernel, points, inducing, collapsed, context), context);
    const LeaveOneOut score =
        left_out_score(leave_rows_out(model.parts(), collapsed.inverse(), points.rows(), team, context), context);
    context.device().library = library;
    SparsePredictor predictor(model, points.size(), team, context);
    std::vector<Normal> latents(SparsePredictor::max_points);
    predictor.find({points.x.data(), latents.size() * width}, latents);
    return {collapsed.bound(), score.mean_nll, score.rmse, std::move(latents), context.device().failure};
}

TEST(SparseProcess, IsTheSameOnADeviceButForLastDigits) {
    const char* const library = std::getenv("BTML_CUDA_LIBRARY");
    if (!library) GTEST_SKIP() << "BTML_CUDA_LIBRARY names no library";
    const Scored scored = score_many_rows(library);
    if (is_device_absent(scored.failure)) GTEST_SKIP() << scored.failure;
    ASSERT_EQ(scored.failure, "");
    score_many_rows("").expect_near(scored, 1e-6);
}

TEST(SparseProcess, IsThatOfTheProcessorWhereADeviceFails) {
    const std::string failing = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "libfailing_device.so";
    const Scored expected = score_many_rows("");
    EXPECT_EQ(expected.failure, "");
    for (const bool of_all : {true, false}) {
        const Scored scored = score_many_rows(failing, of_all);
        EXPECT_EQ(scored.failure, "out of memory");
        expected.expect_near(scored, 0);
    }
}

TEST(SparseProcess, ChoosesRowsThatVaryAndNoneTwice) {
    QuietContext context(2);
    ThreadTeam team(context);
    Random random(3);
    Points points = random_points(200, false, random);
    for (size_t i = 0; i < 100; i++)
        std::copy_n(points.x.begin(), width, points.x.begin() + static_cast<long>(i * width));
    const SmoothKernel kernel = random_kernel(random);
    std::vector<uint32_t> chosen = varied_rows(kernel, points.rows(), spread_rows(200, 200, 0), 150, team, context);
    EXPECT_LE(chosen.size(), 101U);
    std::sort(chosen.begin(), chosen.end());
    EXPECT_EQ(std::unique(chosen.begin(), chosen.end()), chosen.end());
    EXPECT_LE(std::count_if(chosen.begin(), chosen.end(), [](uint32_t row) { return row < 100; }), 1);
}

Options smooth_options(KernelChoice kernel) {
    Options options;
    options.kernel = kernel;
    options.exemplars = 20;
    return options;
}

class PhaseContext : public QuietContext {
  public:
    void progress(const char* phase, uint64_t, uint64_t) override {
        first.try_emplace(phase, fraction());
        last[phase] = fraction();
    }
    std::map<std::string, double> first, last; // by phase, what was done of the call
};

// The two smooth kernels and the tree kernel have a third each of what is left after the fit over trees.
TEST(SparseProcess, EveryKernelHasItsPartOfTheTime) {
    for (const Mean mean : {Mean::zero, Mean::automatic}) {
        Options options = smooth_options(KernelChoice::automatic);
        options.mean = mean;
        options.combine = Combine::mixture;
        options.evaluations = 50;
        PhaseContext context;
        fit_rows(random_rows(400, 1), options, {}, context);
        const bool has_trees = mean == Mean::automatic;
        EXPECT_EQ(has_trees && context.first.at("bit order") < context.first.at("moving inducing points"), has_trees);
        const double before = has_trees ? 0.2 : 0;
        EXPECT_GE(context.first.at("moving inducing points"), before - 1e-9);
        EXPECT_LE(context.first.at("moving inducing points"), before + (1 - before) / 3 + 1e-9);
        EXPECT_NEAR(context.last.at("moving inducing points"), before + (1 - before) * 2 / 3, 1e-9);
        EXPECT_GE(context.last.at("bit order"), before + (1 - before) * 2 / 3 - 1e-9);
    }
}

TEST(SparseFit, DoesNotDependOnThreadsOrOrderAndIsReadAgain) {
    std::vector<PlainRow> rows = random_rows(300, 5);
    Options options = smooth_options(KernelChoice::matern52);
    const auto fitted = [&](int threads) {
        QuietContext context(threads);
        return bytes_of(fit_rows(rows, options, {}, context).model);
    };
    QuietContext context(1);
    Model model = fit_rows(rows, options, {}, context).model;
    const std::string bytes = bytes_of(model);
    EXPECT_EQ(fitted(3), bytes);
    std::reverse(rows.begin(), rows.end());
    EXPECT_EQ(fitted(2), bytes);
    Reader reader(std::as_bytes(std::span(bytes)));
    Model again = decode(reader, context);
    EXPECT_EQ(bytes_of(again), bytes);
    Predictor one(model), other(again);
    for (const PlainRow& row : random_rows(20, 6)) {
        EXPECT_EQ(one.latent(features_of(row)).mean, other.latent(features_of(row)).mean);
        EXPECT_EQ(one.latent(features_of(row)).variance, other.latent(features_of(row)).variance);
    }
}

TEST(SparseFit, PredictsWhatTheRowsSay) {
    QuietContext context(2);
    for (const KernelChoice kernel :
         {KernelChoice::squared_exponential, KernelChoice::matern32, KernelChoice::matern52, KernelChoice::automatic}) {
        Options options = smooth_options(kernel);
        if (kernel == KernelChoice::automatic) options.evaluations = 100;
        Model model = fit_rows(random_rows(600, 1), options, {}, context).model;
        EXPECT_LT(model.leave_one_out->rmse, 1.5); // 1.2 are what NULLs and noise leave
        EXPECT_NEAR(*model.leave_one_out->coverage_90, 0.9, 0.06);
        Predictor predictor(model);
        size_t within = 0;
        for (const PlainRow& row : random_rows(400, 2)) {
            const Normal at = predictor.observation(features_of(row));
            within += std::abs(row.y - at.mean) < 1.6449 * std::sqrt(at.variance);
        }
        EXPECT_NEAR(static_cast<double>(within) / 400, 0.9, 0.08);
    }
}

// Waves over a plane, which few exemplars tell little of.
std::vector<PlainRow> waves(size_t count, uint64_t seed) {
    Random random(seed);
    std::vector<PlainRow> rows;
    for (size_t i = 0; i < count; i++) {
        PlainRow row{6 * random.unit(), 6 * random.unit(), "a", 0};
        row.y = std::sin(2 * row.x1) * std::cos(2 * row.x2) + 0.05 * random.normal();
        rows.push_back(row);
    }
    return rows;
}

// Rows of a function with jumps and hardly any noise: what is likeliest for few of them may be as little noise, and
// wrong by far more beside a jump.
std::vector<PlainRow> jumps(size_t count, uint64_t seed) {
    Random random(seed);
    std::vector<PlainRow> rows;
    for (size_t i = 0; i < count; i++) {
        PlainRow row{6 * random.unit(), 6 * random.unit(), "a", 0};
        const int steps = static_cast<int>(row.x1 * 0.5) + static_cast<int>(row.x2 * 0.5);
        row.y = steps % 2 + 0.01 * random.normal();
        rows.push_back(row);
    }
    return rows;
}

TEST(SparseFit, IsNotSurerThanRowsLeftOutAllow) {
    QuietContext context(2);
    for (const KernelChoice kernel : {KernelChoice::squared_exponential, KernelChoice::matern52})
        for (uint64_t seed = 0; seed < 2; seed++) {
            Options options = smooth_options(kernel);
            options.exemplars = 60;
            options.seed = static_cast<int64_t>(seed);
            Model model = fit_rows(jumps(1500, seed), options, {}, context).model;
            Predictor predictor(model);
            double squares = 0, nll = 0;
            size_t within = 0;
            constexpr size_t count = 1000;
            for (const PlainRow& row : jumps(count, 100 + seed)) {
                const Normal at = predictor.observation(features_of(row));
                const double z = (row.y - at.mean) / std::sqrt(at.variance);
                squares += z * z / count;
                nll += (std::log(2 * M_PI * at.variance) + z * z) / 2 / count;
                within += std::abs(z) < 1.6449;
            }
            EXPECT_LT(squares, 1.6);
            EXPECT_GT(within, 780u);
            EXPECT_NEAR(model.leave_one_out->mean_nll, nll, 0.15);
        }
}

TEST(SparseProcess, MovesExemplarsToWhereTheyTellMore) {
    QuietContext context(2);
    double by_rows = 0, by_moved = 0;
    for (uint64_t seed = 0; seed < 2; seed++) {
        SCOPED_TRACE(seed);
        Options options = smooth_options(KernelChoice::squared_exponential);
        options.exemplars = 30;
        options.seed = static_cast<int64_t>(seed);
        const std::vector<PlainRow> rows = waves(700, seed), others = waves(300, 100 + seed);
        const auto squares = [&](Model& model) {
            Predictor predictor(model);
            double sum = 0;
            for (const PlainRow& row : others) sum += std::pow(row.y - predictor.observation(features_of(row)).mean, 2);
            return sum;
        };
        Model moved = fit_rows(rows, options, {}, context).model;
        options.exemplar_objective = ExemplarObjective::variance;
        Model chosen = fit_rows(rows, options, {}, context).model;
        EXPECT_LE(moved.leave_one_out->mean_nll, chosen.leave_one_out->mean_nll);
        EXPECT_EQ(moved.evaluations, chosen.evaluations + 100);
        by_rows += squares(chosen);
        by_moved += squares(moved);
    }
    EXPECT_LT(by_moved, 0.8 * by_rows);
}

// As many times as see each row sixteen times.
TEST(SparseProcess, MovesExemplarsOfManyRowsMoreOften) {
    QuietContext context(2);
    const std::vector<PlainRow> rows = waves(16'000, 1);
    Options options = smooth_options(KernelChoice::squared_exponential);
    options.exemplars = 20;
    const Model moved = fit_rows(rows, options, {}, context).model;
    options.exemplar_objective = ExemplarObjective::variance;
    const Model chosen = fit_rows(rows, options, {}, context).model;
    EXPECT_EQ(moved.evaluations, chosen.evaluations + 128);
    EXPECT_LT(moved.leave_one_out->mean_nll, chosen.leave_one_out->mean_nll - 0.3);
}

TEST(SparseProcess, KnowsNothingOfWhatIsLikeNoRow) {
    QuietContext context(1);
    std::vector<PlainRow> rows = random_rows(100, 7);
    Model model = fit_rows(rows, smooth_options(KernelChoice::squared_exponential), {}, context).model;
    Predictor predictor(model);
    const double infinity = std::numeric_limits<double>::infinity();
    for (const double x1 : {null_number, infinity, -infinity, std::nan(""), 1e300}) {
        const Normal at = predictor.latent(std::vector{x1, 1.0, 0.0});
        EXPECT_EQ(at.mean, model.centre);
        EXPECT_EQ(at.variance, model.scale * model.scale * signal(model));
    }
    EXPECT_TRUE(std::isfinite(predictor.latent(std::vector{1.0, null_number, -1.0}).mean));
    rows[3].x1 = infinity;
    EXPECT_EQ(caught([&] { fit_rows(rows, smooth_options(KernelChoice::matern32), {}, context); }).message,
              "feature \"x1\" is Infinity in a row");
    for (PlainRow& row : rows) row.x1 = row.x2 = 1, row.label = "a";
    EXPECT_EQ(caught([&] { fit_rows(rows, smooth_options(KernelChoice::matern32), {}, context); }).message,
              "no feature varies");
}

TEST(SparseProcess, UpdatesAreThoseOfAllRows) {
    QuietContext context(1);
    ThreadTeam team(context);
    Random random(11);
    const Points points = random_points(40, false, random);
    const SmoothKernel kernel = random_kernel(random);
    const std::vector<uint32_t> inducing = spread_rows(40, 10, 1);
    const Buffer<double> z = points_of(points.rows(), inducing, context.memory());
    Points fewer = points;
    fewer.x.resize(39 * width);
    fewer.y.resize(39);
    const auto model_of = [&](const Points& rows) {
        const Collapsed collapsed(kernel, z.span(), rows.rows(), team, context);
        Model model;
        model.features = {
            {"a", "float8", false, {}}, {"b", "float8", false, {}}, {"kind", "text", true, {"x", "y", "z"}}};
        model.rows = rows.size();
        model.posterior = SparseModel(parts_of(kernel, points, inducing, collapsed, context), context);
        return model;
    };
    Model all = model_of(points), less = model_of(fewer);
    const std::vector<double> last(points.at(39), points.at(39) + width);
    Model more = model_of(fewer), taken = model_of(points);
    EXPECT_TRUE(insert(more, last, points.y[39], context));
    EXPECT_TRUE(remove(taken, last, points.y[39], context));
    for (int i = 0; i < 10; i++) {
        const double x[] = {random.normal(), random.normal(), static_cast<double>(random.below(3))};
        for (const auto& [one, other] : {std::pair(&more, &all), std::pair(&taken, &less)}) {
            EXPECT_NEAR(Predictor(*one).latent(x).mean, Predictor(*other).latent(x).mean, 1e-5);
            EXPECT_NEAR(Predictor(*one).latent(x).variance, Predictor(*other).latent(x).variance, 1e-5);
        }
    }
    EXPECT_FALSE(more.log_likelihood());
    EXPECT_EQ(caught([&] {
                  insert(more, std::vector{std::nan(""), 0.0, 0.0}, 1, context);
              }).message,
              "feature \"a\" is no finite number");
    more.rows = 1;
    EXPECT_EQ(caught([&] { remove(more, last, points.y[39], context); }).message,
              "the only observation of a model cannot be removed");
}

// Some of the points are like no row.
TEST(SparseProcess, PredictsManyPointsAsOneByOne) {
    std::vector<PlainRow> points = random_rows(2 * SparsePredictor::max_points + 900, 4);
    const double infinity = std::numeric_limits<double>::infinity();
    points[5].x1 = std::nan(""), points[1'023].x1 = infinity, points[1'024].x1 = 1e300, points.back().label = "new";
    for (const bool varying_noise : {false, true}) {
        Options options = smooth_options(KernelChoice::matern52);
        options.varying_noise = varying_noise;
        std::vector<PlainRow> rows = random_rows(300, 7);
        for (PlainRow& row : rows)
            if (row.x1 > 3) row.y += 9 * std::sin(100 * row.y);
        std::vector<Predictor::Score> expected;
        for (const int threads : {1, 3}) {
            QuietContext context(threads);
            Model model = fit_rows(rows, options, {}, context).model;
            EXPECT_EQ(model.varying_noise != nullptr, varying_noise);
            std::vector<Predictor::Score> found;
            Predictor::for_each_point(
                model, points.size(),
                [&](size_t i, std::span<double> to) { std::ranges::copy(features_of(points[i]), to.begin()); },
                [&](size_t i, Predictor& predictor, std::span<const double> features) {
                    EXPECT_EQ(i, found.size());
                    found.push_back(predictor.score(features, points[i].y));
                    const Normal at = predictor.observation(features);
                    EXPECT_NEAR(at.variance, found[i].variance, 1e-12 * at.variance);
                },
                context);
            ASSERT_EQ(found.size(), points.size());
            Predictor one(model);
            for (size_t i = 0; i < points.size(); i++) {
                const Predictor::Score at = one.score(features_of(points[i]), points[i].y);
                EXPECT_NEAR(found[i].mean, at.mean, 1e-8 * std::abs(at.mean)) << i;
                EXPECT_NEAR(found[i].variance, at.variance, 1e-6 * at.variance) << i;
                EXPECT_NEAR(found[i].log_density, at.log_density, 1e-5 * std::abs(at.log_density)) << i;
                if (expected.empty()) continue;
                EXPECT_EQ(found[i].mean, expected[i].mean);
                EXPECT_EQ(found[i].log_density, expected[i].log_density);
            }
            expected = std::move(found);
        }
    }
}

// Any changed byte is refused, or gives a model that predicts, and takes an observation: what is stored then can be
// read, or is not stored.
TEST(SparseProcess, OpensNoBytesThatHarm) {
    QuietContext context(1);
    const Model model = fit_rows(random_rows(40, 3), smooth_options(KernelChoice::matern52), {}, context).model;
    const std::string bytes = bytes_of(model);
    size_t accepted = 0, unstored = 0;
    for (uint64_t seed = 0; seed < 3'000; seed++) {
        Random random(seed);
        std::string changed = bytes;
        // Most bytes are those of matrices; half of the changes are to what comes before.
        const size_t place = random.below(random.chance(0.5) ? changed.size() : std::min<size_t>(changed.size(), 900));
        changed[place] = static_cast<char>(random.below(256));
        std::optional<Model> other;
        const auto refused = caught([&] { other.emplace(model_of(changed, context)); });
        EXPECT_EQ(refused.thrown ? refused.code : ErrorCode::corrupt_model, ErrorCode::corrupt_model);
        if (!other) continue;
        accepted++;
        const std::vector<double> point(other->features.size(), 1.0);
        EXPECT_FALSE(Predictor(*other).latent(point).variance < 0);
        std::string stored;
        const auto updated = caught([&] {
            insert(*other, point, 1, context);
            stored = bytes_of(*other);
        });
        if (!updated.thrown) {
            EXPECT_EQ(bytes_of(model_of(stored, context)), stored);
            continue;
        }
        EXPECT_TRUE(updated.code == ErrorCode::out_of_range || updated.code == ErrorCode::invalid_argument)
            << updated.message;
        unstored += updated.message == "a number of the model is not finite";
    }
    EXPECT_GT(accepted, 1'000u);
    EXPECT_GT(unstored, 0u);
}

TEST(SparseProcess, DrawsHaveTheMeansAndVariancesOfPredictions) {
    QuietContext context(1);
    Model model = fit_rows(random_rows(200, 9), smooth_options(KernelChoice::matern32), {}, context).model;
    const std::vector<double> points = {1, 2, 0, 1.1, 2.1, 0, 5, 5, 2};
    Sampler sampler(model, points, context);
    constexpr size_t draws = 20'000;
    double sum[3] = {}, squares[3] = {}, product = 0;
    std::vector<double> values(3);
    for (size_t draw = 0; draw < draws; draw++) {
        sampler.draw(1, draw, values);
        for (size_t i = 0; i < 3; i++) sum[i] += values[i], squares[i] += values[i] * values[i];
        product += values[0] * values[1];
    }
    Predictor predictor(model);
    double variance[3];
    for (size_t i = 0; i < 3; i++) {
        const Normal at = predictor.latent(std::span(points).subspan(3 * i, 3));
        const double mean = sum[i] / draws;
        variance[i] = squares[i] / draws - mean * mean;
        EXPECT_NEAR(mean, at.mean, 5 * std::sqrt(at.variance / draws) + 1e-3);
        EXPECT_NEAR(variance[i], at.variance, 0.06 * at.variance + 1e-3);
    }
    // Points that are next to each other are drawn together.
    EXPECT_GT(product / draws - sum[0] * sum[1] / draws / draws, 0.8 * std::sqrt(variance[0] * variance[1]));
}

TEST(SparseProcess, IsCancelledAndRefusesWhatItDoesNotTake) {
    ImpatientContext impatient(1);
    EXPECT_THROW(fit_rows(random_rows(2000, 1), smooth_options(KernelChoice::matern32), {}, impatient), Cancelled);
    QuietContext context(2);
    Model model = fit_rows(random_rows(100, 1), smooth_options(KernelChoice::matern32), {}, context).model;
    size_t asked = 0;
    ImpatientContext soon(20);
    EXPECT_THROW(Predictor::for_each_point(
                     model, 1'000'000, [](size_t, std::span<double> to) { std::ranges::fill(to, 1.0); },
                     [&](size_t, Predictor&, std::span<const double>) { asked++; }, soon),
                 Cancelled);
    EXPECT_LT(asked, 500'000u);
    Options options = smooth_options(KernelChoice::matern52);
    options.members = 3;
    EXPECT_EQ(caught([&] { fit_rows(random_rows(30, 1), options, {}, context); }).message,
              "kernel => 'matern52' takes no members");
}

} // namespace
} // namespace btml::gp::test
