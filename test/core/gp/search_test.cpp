#include "caught.hpp"
#include "gp_reference.hpp"

#include "core/gp/gp_options.hpp"
#include "core/gp/search/order_steps.hpp"

namespace btml::gp::test {
namespace {

using btml::test::ImpatientContext;

// Rows with numeric features and a target that a few bits of the first two decide.
struct Data {
    QuietContext context;
    std::vector<std::vector<double>> columns;
    std::vector<double> target, weight;

    Data(size_t rows, size_t features, double noise, uint64_t seed) : columns(features) {
        Random random(seed);
        for (size_t i = 0; i < rows; i++) {
            for (std::vector<double>& column : columns) column.push_back(random.unit());
            const double x = columns[0][i], z = columns[1 % features][i];
            target.push_back((x > 0.5) + 0.7 * (z > 0.25) - 0.8 + 0.3 * (x > 0.75) + noise * random.normal());
        }
    }
    std::vector<FeatureView> views() const {
        std::vector<FeatureView> views;
        for (const std::vector<double>& column : columns) views.push_back({false, column, {}, 0});
        return views;
    }
    Encoding encoding(int bits = 4) { return {views(), target, weight, bits, {}, context}; }
    DistinctRows rows(const Encoding& encoding) {
        return merge_equal_rows(encoding.encode_rows(views(), context), encoding.bits(),
                                make_observations(target, weight, context), context);
    }
};

double likelihood_of(const Encoding& encoding, const DistinctRows& rows, const BitOrder& order, const Kernel& kernel,
                     RunContext& context) {
    const SortedRows sorted = sort_rows(rows.rows, bits_of_levels(encoding, order), context);
    Observations observations(context.memory());
    gather(rows.observations, sorted.rows.span(), observations, context);
    return negative_log_likelihood(sorted.common.span(), observations, kernel, context);
}

OrderSearch search_of(Search search, uint64_t evaluations, size_t rows) {
    OrderSearch result;
    result.search = search;
    result.evaluations = evaluations;
    result.limits.min_noise = 1 / static_cast<double>(rows);
    result.seed = 7;
    return result;
}

constexpr Search searches[] = {Search::local, Search::bfgs, Search::none};

TEST(OrderSearch, ReportsTheLikelihoodOfItsResult) {
    for (const Search search : searches) {
        Data data(120, 3, 0.2, 1);
        const Encoding encoding = data.encoding();
        const DistinctRows rows = data.rows(encoding);
        const OrderedKernel found = search_order(encoding, rows, search_of(search, 300, 120), data.context);
        expect_near(found.negative_log_likelihood,
                    likelihood_of(encoding, rows, found.order, found.kernel, data.context), 1, name_of(search));
        EXPECT_EQ(found.order.size(), found.kernel.levels());
        EXPECT_GE(found.kernel.noise, 1.0 / 120);
    }
}

// What the target is made of comes first, and is worth more than all bits in turn.
TEST(OrderSearch, FindsTheBitsThatMatter) {
    Data data(400, 6, 0.1, 2);
    const Encoding encoding = data.encoding();
    const DistinctRows rows = data.rows(encoding);
    const OrderedKernel in_turn = search_order(encoding, rows, search_of(Search::none, 500, 400), data.context);
    for (const Search search : {Search::local, Search::bfgs}) {
        const OrderedKernel found = search_order(encoding, rows, search_of(search, 2000, 400), data.context);
        EXPECT_LT(found.negative_log_likelihood, in_turn.negative_log_likelihood - 20) << name_of(search);
    }
    const OrderedKernel local = search_order(encoding, rows, search_of(Search::local, 2000, 400), data.context);
    EXPECT_LT(local.order[0], 2);
    EXPECT_LT(local.order[1], 2);
    EXPECT_LT(local.kernel.noise, 0.02);
}

TEST(OrderSearch, IsAFunctionOfItsArguments) {
    for (const Search search : {Search::local, Search::bfgs}) {
        Data data(400, 6, 0.1, 2);
        const Encoding encoding = data.encoding();
        const DistinctRows rows = data.rows(encoding);
        OrderSearch request = search_of(search, 1000, 400);
        const OrderedKernel a = search_order(encoding, rows, request, data.context);
        const OrderedKernel b = search_order(encoding, rows, request, data.context);
        EXPECT_EQ(a.order, b.order);
        EXPECT_EQ(a.kernel.weights, b.kernel.weights);
        request.stream = 1;
        EXPECT_NE(search_order(encoding, rows, request, data.context).kernel.weights, a.kernel.weights);
    }
}

// Evaluations are at most those allowed, whatever they are; more of them make nothing worse.
TEST(OrderSearch, KeepsToItsEvaluations) {
    for (const Search search : searches) {
        Data data(60, 3, 0.5, 4);
        const Encoding encoding = data.encoding();
        const DistinctRows rows = data.rows(encoding);
        for (const uint64_t evaluations : {1, 2, 3, 4, 5, 8, 17, 50, 133, 400}) {
            const OrderedKernel found = search_order(encoding, rows, search_of(search, evaluations, 60), data.context);
            EXPECT_LE(found.evaluations, evaluations) << name_of(search);
            EXPECT_GE(found.evaluations, 1u);
            EXPECT_TRUE(std::isfinite(found.negative_log_likelihood));
        }
    }
}

// With the evaluations that made the greedy order.
TEST(OrderSearch, LocalSearchIsNeverWorseThanItsStart) {
    for (uint64_t seed = 0; seed < 10; seed++) {
        Data data(80, 4, 0.4, seed);
        const Encoding encoding = data.encoding();
        const DistinctRows rows = data.rows(encoding);
        const std::vector<uint16_t> features = {0, 1, 2, 3};
        EvaluationBudget budget(200, rows.rows.rows);
        const OrderedKernel greedy = choose_order({encoding, rows, features, {{}, {}, 1.0 / 80}, data.context}, budget);
        expect_near(greedy.negative_log_likelihood,
                    likelihood_of(encoding, rows, greedy.order, greedy.kernel, data.context), 1);
        const OrderedKernel found = search_order(encoding, rows, search_of(Search::local, 800, 80), data.context);
        EXPECT_LE(found.negative_log_likelihood, greedy.negative_log_likelihood + 1e-9);
    }
}

// From any order, that of the descent by θ as well.
TEST(OrderSearch, DescentsAreNeverWorseThanTheirStart) {
    for (uint64_t seed = 0; seed < 10; seed++) {
        Data data(80, 4, 0.4, seed);
        const Encoding encoding = data.encoding();
        const DistinctRows rows = data.rows(encoding);
        const std::vector<uint16_t> features = {0, 1, 2, 3};
        const OrderedKernel start{{3, 0, 1, 0}, {{0.5, 0.2, 0, 0.1}, 0.2}, 0, 0};
        OrderedKernel scored = start;
        scored.negative_log_likelihood = likelihood_of(encoding, rows, start.order, start.kernel, data.context);
        for (const uint64_t evaluations : {1, 30}) {
            EvaluationBudget budget(evaluations, rows.rows.rows);
            const OrderProblem problem{encoding, rows, features, {{}, {}, 1.0 / 80}, data.context};
            const OrderedKernel found = improve_thetas(problem, scored, budget);
            EXPECT_LE(found.negative_log_likelihood, scored.negative_log_likelihood - (evaluations > 1 ? 1 : 0));
            EXPECT_LE(found.evaluations, evaluations);
        }
    }
}

TEST(OrderSearch, HonoursWhatIsFixed) {
    for (const Search search : searches) {
        Data data(100, 3, 0.3, 5);
        const Encoding encoding = data.encoding();
        const DistinctRows rows = data.rows(encoding);
        OrderSearch request = search_of(search, 300, 100);
        request.limits.noise = 0.25;
        request.limits.signal = 1.5;
        const OrderedKernel found = search_order(encoding, rows, request, data.context);
        EXPECT_EQ(found.kernel.noise, 0.25);
        expect_near(found.kernel.signal(), 1.5);
        const std::vector<uint16_t> one = {1};
        EvaluationBudget budget(300, 100);
        const OrderedKernel of_one = choose_order({encoding, rows, one, request.limits, data.context}, budget);
        for (const uint16_t feature : of_one.order) EXPECT_EQ(feature, 1);
    }
}

TEST(OrderSearch, LeavesAFlatTargetToTheNoise) {
    Data data(300, 3, 0, 6);
    Random random(1);
    for (double& y : data.target) y = random.normal();
    const Encoding encoding = data.encoding();
    const OrderedKernel found =
        search_order(encoding, data.rows(encoding), search_of(Search::local, 300, 300), data.context);
    EXPECT_GT(found.kernel.noise, 0.7);
}

TEST(OrderSearch, TakesOddRows) {
    for (const Search search : searches) {
        Data one(1, 2, 0, 7), equal(50, 2, 0.3, 8);
        for (std::vector<double>& column : equal.columns) column.assign(50, 3.0);
        Data duplicates(50, 2, 0.3, 9);
        for (size_t i = 0; i < 50; i++)
            for (std::vector<double>& column : duplicates.columns) column[i] = column[i % 7];
        duplicates.weight.assign(50, 2.0);
        for (Data* data : {&one, &equal, &duplicates}) {
            const Encoding encoding = data->encoding();
            const OrderedKernel found =
                search_order(encoding, data->rows(encoding), search_of(search, 100, 50), data->context);
            EXPECT_TRUE(std::isfinite(found.negative_log_likelihood));
            EXPECT_NO_THROW(found.kernel.validate());
        }
    }
}

// The sample that the greedy order is made from counts in proportion.
TEST(OrderSearch, TakesMoreRowsThanTheGreedyOrderDoes) {
    Data data(70000, 2, 0.3, 10);
    const Encoding encoding = data.encoding(12);
    const DistinctRows rows = data.rows(encoding);
    ASSERT_GT(rows.rows.rows, 65536u);
    const OrderedKernel found = search_order(encoding, rows, search_of(Search::local, 40, 70000), data.context);
    EXPECT_LE(found.evaluations, 40u);
    EXPECT_LT(found.order[0], 2);
}

TEST(OrderSearch, StopsWhenAsked) {
    Data data(30000, 3, 0.3, 11);
    const Encoding encoding = data.encoding();
    const DistinctRows rows = data.rows(encoding);
    for (const Search search : searches) {
        ImpatientContext context(2);
        EXPECT_THROW(search_order(encoding, rows, search_of(search, 100000, 200), context), Cancelled);
        EXPECT_EQ(context.memory().used(), 0u);
    }
}

// With one string the likelihood is known: the mean's variance is w + λ/n.
TEST(KernelFit, FindsTheOptimumOfASmallProblem) {
    QuietContext context;
    const std::vector<double> target = {1.5, 1.1, 1.9, 1.4, 1.6};
    const std::vector<uint16_t> common = {1, 1, 1, 1, 0};
    const Observations observations = make_observations(target, {}, context);
    const double mean = 1.5, within = 0.34; // Σ(y − mean)²
    const OrderedKernel fit = fit_kernel(common, observations, {{1}, 1}, {{}, {}, 1e-6}, 200, context);
    EXPECT_NEAR(fit.kernel.noise, within / 4, 1e-4);
    EXPECT_NEAR(fit.kernel.weights[0], mean * mean - within / 4 / 5, 1e-2);
    EXPECT_LE(fit.evaluations, 200);
}

TEST(KernelFit, GradientVanishesWhereItEnds) {
    QuietContext context;
    for (uint64_t seed = 0; seed < 10; seed++) {
        PlainGp plain = sorted(random_gp({.rows = 30, .levels = 5, .alike = 0.8}, seed));
        const Observations observations = make_observations(plain.target, {}, context);
        const std::vector<uint16_t> common = common_of_neighbours(plain);
        const OrderedKernel fit =
            fit_kernel(common, observations, {std::vector<double>(5, 0.1), 0.5}, {{}, {}, 0.01}, 1000, context);
        Gradient gradient;
        LikelihoodGradient pass(context);
        pass(common, observations, fit.kernel, gradient, context);
        for (size_t l = 0; l < 5; l++) EXPECT_NEAR(gradient.weights[l] * fit.kernel.weights[l], 0, 0.02);
        EXPECT_NEAR(gradient.noise * (fit.kernel.noise - 0.01), 0, 0.02);
    }
}

} // namespace
} // namespace btml::gp::test
