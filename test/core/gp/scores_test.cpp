// Scores that a model says of itself against those of rows that it has never seen, where noise is little and rows are
// many in some places and few in others.
#include "caught.hpp"
#include "gp_reference.hpp"

#include "core/gp/fit.hpp"
#include "core/gp/gp_predictor.hpp"
#include "core/gp/sampler.hpp"
#include "core/gp/update.hpp"
#include "core/numbers/number.hpp"

namespace btml::gp::test {
namespace {

const SumResiduals& residuals_of(const Model& model) {
    return std::get<SumModel>(model.posterior).residuals();
}

using btml::test::caught;

enum class Shape { skewed, clustered, duplicated };

// A smooth function of three numbers, and noise.
struct Points {
    std::vector<std::vector<double>> x;
    std::vector<double> y;

    Points(Shape shape, size_t rows, double noise, uint64_t seed) {
        Random random(seed);
        std::vector<std::vector<double>> centres;
        for (size_t i = 0; i < (shape == Shape::clustered ? 12 : rows / 40); i++)
            centres.push_back(shape == Shape::clustered ? normals(random) : exponentials(random));
        for (size_t i = 0; i < rows; i++) {
            if (shape == Shape::skewed)
                x.push_back(exponentials(random));
            else
                x.push_back(centres[random.below(centres.size())]);
            std::vector<double>& at = x.back();
            if (shape == Shape::clustered)
                for (double& value : at) value += 0.1 * random.normal();
            y.push_back(std::sin(2 * at[0]) + std::cos(2 * at[1]) + 0.5 * at[2] / (1 + std::abs(at[2])) +
                        noise * random.normal());
        }
    }

  private:
    static std::vector<double> exponentials(Random& random) {
        std::vector<double> values(3);
        for (double& value : values) value = random.exponential();
        return values;
    }
    static std::vector<double> normals(Random& random) {
        std::vector<double> values(3);
        for (double& value : values) value = random.normal();
        return values;
    }
};

// Some rows of the points to train on, others held out and known to the fit where it is to know them.
Dataset dataset_of(const Points& points, size_t from, size_t to, size_t held_out, RunContext& context) {
    Dataset data(context.memory(), to - from);
    data.holdout_table = held_out > 0 ? 0 : -1;
    data.add_table(to - from);
    for (size_t f = 0; f < 3; f++) {
        data.features.emplace_back(context.memory(), Feature{"x" + std::to_string(f), "double precision", false, {}},
                                   0);
        for (size_t i = from; i < to; i++) data.features[f].numbers.push_back(points.x[i][f]);
    }
    for (size_t i = from; i < to; i++) {
        data.target.push_back(points.y[i]);
        if (held_out > 0) data.holdout.push_back(i < from + held_out);
    }
    return data;
}

struct Scored {
    Model model;
    double mean_nll; // of new rows

    Scored(const Points& points, size_t trained, Combine combine, RunContext& context, Mean mean = Mean::zero) {
        Options options;
        options.combine = combine;
        options.mean = mean;
        options.members = combine == Combine::mixture ? 1 : 6;
        options.evaluations = combine == Combine::mixture ? 1000 : 15000;
        model = fit(dataset_of(points, 0, trained, 0, context), options, context).model;
        Predictor predictor(model);
        double sum = 0;
        for (size_t i = trained; i < points.y.size(); i++) sum -= predictor.score(points.x[i], points.y[i]).log_density;
        mean_nll = sum / static_cast<double>(points.y.size() - trained);
    }
};

class GeneratedSets : public testing::TestWithParam<std::pair<Shape, double>> {};

TEST_P(GeneratedSets, LeaveOneOutScoresAreThoseOfNewRows) {
    const auto [shape, noise] = GetParam();
    const size_t trained = 1800;
    const Points points(shape, trained + 2500, noise, 1);
    QuietContext context(2);
    const auto score = [&](Combine combine) {
        Scored scored(points, trained, combine, context);
        const Model& model = scored.model;
        EXPECT_NEAR(model.leave_one_out->mean_nll, scored.mean_nll, 0.1) << name_of(combine);
        EXPECT_TRUE(combine != Combine::kernel_sum || model.combine() == combine);
        if (model.combine() == Combine::kernel_sum) {
            EXPECT_LE(residuals_of(model).targets, 1e-2);
            EXPECT_LE(residuals_of(model).samples, 1e-2);
        }
        return scored;
    };
    const Scored mixture = score(Combine::mixture), chosen = score(Combine::automatic);
    EXPECT_LT(chosen.mean_nll, mixture.mean_nll + 0.05);
    if (chosen.model.combine() != Combine::kernel_sum) score(Combine::kernel_sum);
    // What trees out of fold leave over is more than what those of all rows do.
    const Scored over_trees(points, trained, Combine::mixture, context, Mean::boosted);
    EXPECT_GT(over_trees.model.leave_one_out->mean_nll, over_trees.mean_nll - 0.1);
    EXPECT_LT(over_trees.model.leave_one_out->mean_nll, over_trees.mean_nll + 0.3);
}

INSTANTIATE_TEST_SUITE_P(OfLittleNoise, GeneratedSets,
                         testing::Values(std::pair{Shape::skewed, 1e-1}, std::pair{Shape::clustered, 1e-2},
                                         std::pair{Shape::duplicated, 1e-4}, std::pair{Shape::skewed, 1e-5}));

// A sum that is not solved is not kept, and a warning says why.
TEST(GaussianProcess, KeepsNoSumThatIsNotSolved) {
    QuietContext context(2);
    const Points points(Shape::skewed, 1500, 1e-5, 3);
    for (const Combine combine : {Combine::kernel_sum, Combine::automatic}) {
        Options options;
        options.combine = combine;
        options.members = 4;
        options.evaluations = 120;
        const FitResult result = fit(dataset_of(points, 0, 1500, 300, context), options, context);
        EXPECT_EQ(result.model.combine(), Combine::mixture);
        EXPECT_EQ(result.model.members().size(), 1u);
        ASSERT_EQ(result.warnings.size(), 1u);
        EXPECT_NE(result.warnings[0].find("the sum of 4 kernels is not solved, with a residual of "), std::string::npos)
            << result.warnings[0];
        EXPECT_TRUE(result.model.holdout_nll);
    }
}

// Held-out rows that no training row is like say that the model is too sure.
TEST(GaussianProcess, HeldOutRowsThatDisagreeAreSaid) {
    QuietContext context(2);
    for (const bool disagree : {false, true}) {
        Points points(Shape::skewed, 700, 0.1, 3);
        for (size_t i = 0; disagree && i < 200; i += 20) points.y[i] += 5;
        const FitResult result = fit(dataset_of(points, 0, 700, 200, context), Options{}, context);
        ASSERT_EQ(result.warnings.size(), disagree);
        if (disagree) {
            EXPECT_EQ(result.warnings[0].find("the mean negative log density of held-out rows is "), 0u)
                << result.warnings[0];
        }
    }
}

// A sum of duplicated rows that has too little noise for its systems to be solved.
Model sum_of_too_little_noise(const Points& points, double noise, RunContext& context) {
    Options options;
    options.combine = Combine::kernel_sum;
    options.members = 4;
    options.evaluations = 10000;
    options.encoding = NumberEncoding::linear;
    Model model = fit(dataset_of(points, 0, points.y.size(), 0, context), options, context).model;
    SumModel::Parts parts = std::get<SumModel>(std::move(model.posterior)).take();
    parts.noise = noise; // of the signal
    model.posterior.emplace<SumModel>(std::move(parts), context);
    return model;
}

TEST(GaussianProcess, AnUpdateThatIsNotSolvedIsRefused) {
    QuietContext context(2);
    const Points points(Shape::duplicated, 800, 0.3, 3);
    for (const auto change : {insert, remove}) {
        Model model = sum_of_too_little_noise(points, 1e-7, context);
        const auto error = caught([&] { change(model, points.x[0], points.y[0], context); });
        EXPECT_EQ(error.code, ErrorCode::limit_exceeded);
        EXPECT_EQ(error.message.find("the sum of 4 kernels is not solved after the change, with a residual of "), 0u)
            << error.message;
        EXPECT_NE(error.hint.find("btml.gp_fit"), std::string::npos);
    }
}

TEST(GaussianProcess, AnUpdateThatIsSolvedKeepsItsResiduals) {
    QuietContext context(2);
    const Points points(Shape::duplicated, 800, 0.1, 3);
    Options options;
    options.combine = Combine::kernel_sum;
    options.members = 4;
    options.evaluations = 10000;
    Model model = fit(dataset_of(points, 0, 800, 0, context), options, context).model;
    const double residual = residuals_of(model).targets;
    insert(model, points.x[0], points.y[0], context);
    EXPECT_NE(residuals_of(model).targets, residual);
    for (const double solved : {residuals_of(model).targets, residuals_of(model).samples}) {
        EXPECT_GT(solved, 0);
        EXPECT_LE(solved, 1e-2);
    }
}

TEST(GaussianProcess, DrawsThatAreNotSolvedAreRefused) {
    QuietContext context(2);
    const Points points(Shape::duplicated, 1500, 0.3, 3);
    Model model = sum_of_too_little_noise(points, 1e-5, context);
    Sampler sampler(model, points.x[0], context);
    double value;
    const auto error = caught([&] {
        for (uint64_t draw = 0; draw < Columns::count; draw++) sampler.draw(1, draw, {&value, 1});
    });
    EXPECT_EQ(error.code, ErrorCode::limit_exceeded);
    EXPECT_NE(error.message.find(" of the sum of 4 kernels is not solved, with a residual of "), std::string::npos)
        << error.message;
    EXPECT_NE(error.hint.find("btml.gp_fit"), std::string::npos);
}

// Counts how often tries are built.
class BuildingContext : public QuietContext {
  public:
    int built = 0;
    void progress(const char* phase, uint64_t, uint64_t) override {
        built += std::string_view(phase) == "building tries";
    }
};

// A member that is compared with a sum is scored without its trie, which is built where it is kept or where rows are
// held out.
TEST(GaussianProcess, BuildsTheTrieOfAMemberOnce) {
    const Points points(Shape::skewed, 1000, 0.1, 4);
    Options options;
    options.members = 6;
    for (const auto& [evaluations, combine] : {std::pair{120, Combine::mixture}, {15000, Combine::kernel_sum}}) {
        BuildingContext context;
        options.evaluations = evaluations;
        EXPECT_EQ(fit(dataset_of(points, 0, 1000, 0, context), options, context).model.combine(), combine);
        EXPECT_EQ(context.built, combine == Combine::mixture);
    }
}

// Rows held out decide, which are unlike those to train on, where leave-one-out scores say the contrary.
TEST(GaussianProcess, HeldOutRowsDecideBetweenASumAndAMember) {
    QuietContext context(2);
    const Points points(Shape::skewed, 1000, 1e-1, 4);
    Options options;
    options.members = 6;
    options.evaluations = 15000;
    Model chosen[2], members[2];
    for (const int reversed : {0, 1}) {
        Points rows = points;
        // The noise of held-out rows is all that there is to a member of little signal.
        if (reversed)
            for (size_t i = 0; i < 300; i++) rows.y[i] = 5 * Random(i).normal();
        options.combine = Combine::automatic;
        chosen[reversed] = fit(dataset_of(rows, 0, 1000, 300, context), options, context).model;
        Options alone = options;
        alone.combine = Combine::mixture;
        alone.members = 1;
        alone.evaluations = 1500;
        members[reversed] = fit(dataset_of(rows, 0, 1000, 300, context), alone, context).model;
    }
    EXPECT_EQ(chosen[0].combine(), Combine::kernel_sum);
    // Half of the rows calibrate what is chosen, all of them a member alone.
    for (const int reversed : {0, 1}) EXPECT_LE(*chosen[reversed].holdout_nll, *members[reversed].holdout_nll + 0.01);
    EXPECT_EQ(chosen[1].combine(), Combine::mixture);
}

} // namespace
} // namespace btml::gp::test
