#include "caught.hpp"
#include "gp_data.hpp"

#include "core/gp/boosted_training.hpp"
#include "core/gp/gp_predictor.hpp"
#include "core/gp/member_training.hpp"
#include "core/gp/update.hpp"

namespace btml::gp::test {
namespace {

using btml::test::caught;
using btml::test::ImpatientContext;

Options boosted_options(int members) {
    Options options = plain_options();
    options.combine = Combine::boosted;
    options.members = members;
    options.evaluations = 60 * members;
    options.mean = Mean::zero;
    return options;
}

double variance_factor_of(const Model& model) {
    return std::get<Boosted>(model.posterior).variance_factor;
}

// The rows that a boosted model is trained on, in its order.
std::vector<PlainRow> rows_of(const Model& model) {
    const TrainingColumns& columns = std::get<Boosted>(model.posterior).rows;
    std::vector<PlainRow> rows;
    std::vector<double> values(3);
    for (size_t i = 0; i < columns.rows(); i++) {
        columns.read_row(i, values);
        rows.push_back({values[0], values[1], is_null(values[2]) ? "" : std::string(1, "abcd"[int(values[2])]),
                        columns.target[i], columns.weight_of(i)});
    }
    return rows;
}

PlainGp plain_gp_of(const Member& member, const std::vector<PlainRow>& rows, const std::vector<double>& residuals) {
    PlainGp plain;
    plain.kernel = member.trie.kernel();
    for (size_t i = 0; i < rows.size(); i++) {
        plain.strings.push_back(string_of(member, features_of(rows[i])));
        plain.target.push_back(residuals[i]);
        plain.weight.push_back(rows[i].weight);
    }
    return plain;
}

template <class T>
std::vector<T> without(std::vector<T> values, size_t i) {
    values.erase(values.begin() + static_cast<ptrdiff_t>(i));
    return values;
}

// Dense algebra goes through the chain: every row is left out in turn of what a member is fitted to.
struct DenseChain {
    std::vector<double> residuals, variances;

    explicit DenseChain(const std::vector<PlainRow>& rows) : variances(rows.size(), 0.0) {
        for (const PlainRow& row : rows) residuals.push_back(row.y);
    }
    void add(const Member& member, const std::vector<PlainRow>& rows) {
        std::vector<double> next = residuals;
        for (size_t i = 0; i < rows.size(); i++) {
            const Normal latent = dense_latent(plain_gp_of(member, without(rows, i), without(residuals, i)),
                                               string_of(member, features_of(rows[i])));
            next[i] -= member.weight * latent.mean;
            variances[i] += member.weight * latent.variance;
        }
        residuals = next;
    }
};

// Predictions are those of the members with the residuals of dense algebra, and so are the scores.
void expect_dense(Model& model, double tolerance = 1e-9) {
    const std::vector<PlainRow> rows = rows_of(model);
    DenseChain chain(rows);
    std::vector<Normal> expected(12);
    const std::vector<PlainRow> points = random_rows(expected.size(), 77);
    for (const Member& member : model.members()) {
        const PlainGp plain = plain_gp_of(member, rows, chain.residuals);
        for (size_t p = 0; p < points.size(); p++) {
            const Normal latent = dense_latent_at(model, member, plain, features_of(points[p]));
            expected[p].mean += member.weight * latent.mean;
            expected[p].variance += member.weight * latent.variance;
        }
        chain.add(member, rows);
    }
    Predictor predictor(model);
    for (size_t p = 0; p < points.size(); p++) {
        const Normal latent = predictor.latent(features_of(points[p]));
        const Normal seen = predictor.observation(features_of(points[p]));
        const double variance = variance_factor_of(model) * expected[p].variance;
        EXPECT_NEAR((latent.mean - model.centre) / model.scale, expected[p].mean, tolerance);
        EXPECT_NEAR(latent.variance / (model.scale * model.scale), variance, tolerance);
        EXPECT_NEAR(seen.variance / (model.scale * model.scale), variance + model.noise, tolerance);
    }
    if (!model.leave_one_out->coverage_90) return;
    double nll = 0, squares = 0, covered = 0;
    for (size_t i = 0; i < rows.size(); i++) {
        const double variance = variance_factor_of(model) * chain.variances[i] + model.noise / rows[i].weight;
        const double square = chain.residuals[i] * chain.residuals[i];
        nll += (square / variance + std::log(2 * std::numbers::pi * variance)) / 2;
        squares += square;
        covered += std::sqrt(square) <= 1.6448536 * std::sqrt(variance);
    }
    const auto n = static_cast<double>(rows.size());
    EXPECT_NEAR(model.leave_one_out->mean_nll, nll / n + std::log(model.scale), tolerance);
    EXPECT_NEAR(model.leave_one_out->rmse, model.scale * std::sqrt(squares / n), tolerance);
    EXPECT_NEAR(*model.leave_one_out->coverage_90, covered / n, 1e-12);
}

std::vector<PlainRow> weighted_rows(size_t count, uint64_t seed) {
    std::vector<PlainRow> rows = random_rows(count, seed);
    for (size_t i = 0; i < rows.size(); i++) rows[i].weight = static_cast<double>(1 + i % 3);
    return rows;
}

TEST(BoostedGp, ResidualsLeaveEachRowOut) {
    QuietContext context;
    for (uint64_t seed = 0; seed < 6; seed++) {
        const DataShape shape{seed % 2 == 1, false};
        Options options = boosted_options(3);
        if (seed >= 4) options.outside = Outside::clamp;
        Model model = fit_rows(weighted_rows(30, seed), options, shape, context).model;
        ASSERT_EQ(model.combine(), Combine::boosted);
        EXPECT_FALSE(model.log_likelihood());
        expect_dense(model);
    }
}

TEST(BoostedGp, VariancesAreTheLikeliest) {
    QuietContext context;
    Model model = fit_rows(random_rows(200, 3), boosted_options(4), {}, context).model;
    ResidualChain chain(std::get<Boosted>(model.posterior).rows, context);
    for (const Member& member : model.members())
        chain.add(member.encoding, member.order, member.trie.kernel(), member.weight, context);
    const auto loss = [&](double noise, double factor) {
        double sum = 0;
        for (size_t i = 0; i < 200; i++) {
            const double variance = noise + factor * chain.variances()[i], residual = chain.residuals()[i];
            sum += residual * residual / variance + std::log(variance);
        }
        return sum;
    };
    const double best = loss(model.noise, variance_factor_of(model));
    for (const double up : {0.8, 1.25}) {
        EXPECT_GT(loss(model.noise * up, variance_factor_of(model)), best - 1e-3);
        EXPECT_GT(loss(model.noise, variance_factor_of(model) * up), best - 1e-3);
        EXPECT_GT(loss(model.noise * up, variance_factor_of(model) * up), best);
    }
}

// Intervals of rows that no member has seen, where rows are dense and where they are not.
TEST(BoostedGp, IntervalsCoverNewRows) {
    QuietContext context;
    double covered = 0, all = 0, squares = 0;
    for (uint64_t seed = 0; seed < 4; seed++) {
        Options options = boosted_options(8);
        options.search = Search::local;
        options.evaluations = 1600;
        Model model = fit_rows(random_rows(800, seed), options, {}, context).model;
        Predictor predictor(model);
        for (const PlainRow& row : random_rows(800, seed + 100)) {
            const Normal at = predictor.observation(features_of(row));
            covered += std::abs(row.y - at.mean) <= 1.6448536 * std::sqrt(at.variance);
            squares += (row.y - at.mean) * (row.y - at.mean);
            all++;
        }
        EXPECT_NEAR(*model.leave_one_out->coverage_90, 0.9, 0.03);
    }
    EXPECT_NEAR(covered / all, 0.9, 0.03);
    EXPECT_LT(std::sqrt(squares / all), 1.6); // the targets' deviation is 3.7
}

TEST(BoostedGp, StopsByTheScoreOfHeldOutRows) {
    QuietContext context;
    std::vector<PlainRow> rows = random_rows(120, 5);
    Random random(8);
    for (PlainRow& row : rows) {
        row.held_out = random.chance(0.3);
        if (!row.held_out) row.y = random.normal(); // nothing to be learned of the others
    }
    Options options = boosted_options(12);
    options.encoding = NumberEncoding::linear;
    Model model = fit_rows(rows, options, {false, true}, context).model;
    EXPECT_LE(model.members().size(), 7u);
    const double kept = *model.holdout_nll;
    // Scored as the other models are.
    double nll = 0, count = 0;
    Predictor predictor(model);
    for (const PlainRow& row : rows) {
        if (!row.held_out) continue;
        nll -= predictor.score(features_of(row), row.y).log_density;
        count++;
    }
    EXPECT_NEAR(kept, nll / count, 1e-9);
}

TEST(BoostedGp, HeldOutRowsKeepMembersThatHelp) {
    QuietContext context;
    std::vector<PlainRow> rows = random_rows(600, 6);
    for (size_t i = 0; i < rows.size(); i++) rows[i].held_out = i % 4 == 0;
    Options options = boosted_options(8);
    options.search = Search::local;
    options.evaluations = 1600;
    const Model model = fit_rows(rows, options, {false, true}, context).model;
    EXPECT_GT(model.members().size(), 2u);
    options.combine = Combine::mixture;
    options.members = 1;
    EXPECT_LT(*model.holdout_nll, *fit_rows(rows, options, {false, true}, context).model.holdout_nll);
}

TEST(BoostedGp, TheSameBytesWhateverTheThreadsAndTheOrderOfRows) {
    std::vector<PlainRow> rows = weighted_rows(60, 4);
    QuietContext one(1), four(4);
    const DataShape shape{true, false};
    const std::string bytes = bytes_of(fit_rows(rows, boosted_options(4), shape, one).model);
    std::reverse(rows.begin(), rows.end());
    EXPECT_EQ(bytes_of(fit_rows(rows, boosted_options(4), shape, four).model), bytes);
}

TEST(BoostedGp, UpdatesAreExact) {
    QuietContext context;
    for (const bool weights : {false, true}) {
        Model model = fit_rows(weighted_rows(30, 3), boosted_options(3), {weights, false}, context).model;
        Predictor before(model);
        const std::vector<double> at{3, 5, 0}, null{2, null_number, 1};
        const Normal first = before.observation(at);
        EXPECT_TRUE(insert(model, at, 101, context));
        EXPECT_TRUE(insert(model, null, 90, context));
        EXPECT_EQ(model.rows, 32u);
        EXPECT_FALSE(model.leave_one_out->coverage_90);
        expect_dense(model);
        EXPECT_TRUE(remove(model, at, 101, context));
        expect_dense(model);
        EXPECT_TRUE(remove(model, null, 90, context));
        const Normal back = Predictor(model).observation(at);
        EXPECT_NEAR(back.mean, first.mean, 1e-9 * std::abs(first.mean));
        EXPECT_NEAR(back.variance, first.variance, 1e-9 * first.variance);
        EXPECT_EQ(caught([&] { remove(model, at, 101, context); }).detail, "No observation has these features.");
        const std::vector<PlainRow> rows = rows_of(model);
        EXPECT_EQ(caught([&] { remove(model, features_of(rows[0]), 1e6, context); }).detail,
                  "Those with these features have another target or weight.");
        EXPECT_EQ(caught([&] { insert(model, at, INFINITY, context); }).code, ErrorCode::out_of_range);
    }
    Model one = fit_rows({{1, 2, "a", 3}}, boosted_options(2), {}, context).model;
    EXPECT_EQ(caught([&] {
                  remove(one, {{1, 2, 0}}, 3, context);
              }).message,
              "the only observation of a model cannot be removed");
}

TEST(BoostedGp, ExtremesAreFinite) {
    QuietContext context;
    const auto expect_finite = [&](const std::vector<PlainRow>& rows, const char* what) {
        Model model = fit_rows(rows, boosted_options(2), {}, context).model;
        const Normal at = Predictor(model).observation(features_of(rows[0]));
        EXPECT_TRUE(std::isfinite(at.mean) && at.variance > 0) << what;
        EXPECT_TRUE(std::isfinite(model.leave_one_out->mean_nll)) << what;
    };
    expect_finite({{1, 2, "a", 3}}, "one row");
    expect_finite({{1, 2, "a", 3}, {1, 2, "a", 4}, {1, 2, "a", 9}}, "equal features");
    expect_finite({{1, 2, "a", 3}, {5, 2, "b", 3}}, "equal targets");
    expect_finite({{1, 2, "a", 1e149}, {5, 2, "b", -1e149}}, "huge targets");
}

TEST(BoostedGp, KeepsANoiseAndRefusesASignal) {
    QuietContext context;
    Options options = boosted_options(3);
    options.noise = 0.25;
    EXPECT_EQ(fit_rows(random_rows(40, 1), options, {}, context).model.noise, 0.25);
    options.signal = 2;
    EXPECT_EQ(caught([&] { fit_rows(random_rows(40, 1), options, {}, context); }).message,
              "combine => 'boosted' takes no signal");
}

TEST(BoostedGp, EvaluationsAreABudget) {
    QuietContext context;
    const Options options = boosted_options(5);
    EXPECT_LE(fit_rows(random_rows(60, 5), options, {}, context).model.evaluations, 300u);
    EXPECT_EQ(boosted_members_within(1), 4);
    EXPECT_EQ(boosted_members_within(20000), 10);
    EXPECT_EQ(boosted_members_within(uint64_t{1} << 40), 20);
}

TEST(BoostedGp, Stops) {
    const std::vector<PlainRow> rows = random_rows(5000, 1);
    for (uint64_t polls = 0; polls < 36; polls += 7) {
        ImpatientContext context(polls);
        EXPECT_THROW(fit_rows(rows, boosted_options(4), {}, context), Cancelled) << polls;
    }
}

} // namespace
} // namespace btml::gp::test
