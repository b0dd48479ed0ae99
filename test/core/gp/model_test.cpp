#include "caught.hpp"
#include "gp_data.hpp"

#include "core/gp/gp_predictor.hpp"
#include "core/gp/sampler.hpp"
#include "core/gp/tree/joint_posterior.hpp"
#include "core/gp/tree/row_sorter.hpp"
#include "core/gp/update.hpp"

namespace btml::gp::test {
namespace {

using btml::test::caught;

Model some_model(uint64_t seed, RunContext& context) {
    const DataShape shape{seed % 2 == 1, seed % 3 == 1};
    std::vector<PlainRow> rows = random_rows(25, seed);
    for (size_t i = 0; i < rows.size(); i++) {
        rows[i].weight = static_cast<double>(1 + i % 3);
        rows[i].held_out = i % 6 == 0;
    }
    Options options = plain_options();
    options.members = 1 + static_cast<int>(seed % 3);
    if (seed % 2) options.noise = 0.5;
    if (seed % 4 >= 2) options.outside = Outside::prior;
    Model model = fit_rows(rows, options, shape, context).model;
    model.target = "y";
    model.strategy = "enumerate";
    model.strategy_reason = "no other";
    model.rows_skipped = 7;
    return model;
}

TEST(GpModel, RoundTrip) {
    QuietContext context;
    for (uint64_t seed = 0; seed < 8; seed++) {
        Model model = some_model(seed, context);
        const std::string bytes = bytes_of(model);
        Model copy = model_of(bytes, context);
        EXPECT_EQ(bytes_of(copy), bytes);
        EXPECT_EQ(copy.target, "y");
        EXPECT_EQ(copy.rows_skipped, 7u);
        EXPECT_EQ(copy.options.noise, model.options.noise);
        EXPECT_EQ(copy.holdout_nll, model.holdout_nll);
        Predictor original(model), decoded(copy);
        for (const PlainRow& row : random_rows(20, seed + 50)) {
            const Normal a = original.observation(features_of(row)), b = decoded.observation(features_of(row));
            EXPECT_EQ(a.mean, b.mean);
            EXPECT_EQ(a.variance, b.variance);
        }
    }
}

// What decodes can be used, and encodes to the same bytes.
void use(Model& model, const std::string& bytes, RunContext& context) {
    EXPECT_EQ(bytes_of(model), bytes);
    const std::vector<double> features(model.features.size(), 1), nulls(model.features.size(), null_number);
    Predictor predictor(model);
    predictor.latent(features);
    predictor.observation(nulls);
    relevance(model);
    if (model.combine() == Combine::mixture) {
        Sampler sampler(model, features, context);
        std::vector<double> draw(1);
        sampler.draw(1, 2, draw);
        log_likelihood(model.members(), model.scale);
    }
    try {
        insert(model, features, 1, context);
        remove(model, features, 1, context);
    } catch (const Error& error) {
        EXPECT_TRUE(error.code() == ErrorCode::invalid_argument || error.code() == ErrorCode::out_of_range);
    }
}

TEST(GpModel, CorruptBytesAreRefused) {
    QuietContext context(1, uint64_t{1} << 30);
    Random random(4);
    size_t accepted = 0;
    for (uint64_t seed = 1; seed < 6; seed++) {
        const std::string bytes = bytes_of(some_model(seed, context));
        Model without = model_of(bytes, context);
        without.calibration.reset(); // as older models are
        const size_t whole = bytes_of(without).size();
        for (size_t length = 0; length < bytes.size(); length += 1 + bytes.size() / 500)
            if (length != whole) {
                EXPECT_EQ(caught([&] { model_of(bytes.substr(0, length), context); }).code, ErrorCode::corrupt_model);
            }
        for (int i = 0; i < 4000; i++) {
            std::string wrong = bytes;
            for (size_t changes = 1 + random.below(3); changes-- > 0;)
                wrong[random.below(wrong.size())] = static_cast<char>(random.below(256));
            std::optional<Model> model;
            const auto refusal = caught([&] { model.emplace(model_of(wrong, context)); });
            if (refusal.thrown) {
                EXPECT_EQ(refusal.code, ErrorCode::corrupt_model) << refusal.message;
                continue;
            }
            accepted++;
            use(*model, wrong, context);
        }
    }
    EXPECT_GT(accepted, 100u);
}

TEST(GpModel, InconsistentModelsAreRefused) {
    QuietContext context;
    const auto refusal = [&](const auto& spoil) {
        Model model = some_model(2, context);
        spoil(model);
        std::string bytes;
        const auto unwritten = caught([&] { bytes = bytes_of(model); });
        if (unwritten.thrown) {
            EXPECT_EQ(unwritten.code, ErrorCode::out_of_range);
            return unwritten.message;
        }
        const auto result = caught([&] { model_of(bytes, context); });
        EXPECT_TRUE(result.thrown && result.code == ErrorCode::corrupt_model);
        return result.detail;
    };
    EXPECT_EQ(refusal([](Model& m) { m.features.pop_back(); }), "A member has 3 features, the model 2.");
    EXPECT_EQ(refusal([](Model& m) { m.features.clear(); }), "It has no features.");
    EXPECT_EQ(refusal([](Model& m) { m.features[2].categories.push_back("z"); }),
              "Feature 2 of a member has other categories than the model's.");
    EXPECT_EQ(refusal([](Model& m) { members_of(m).clear(); }), "It has no members.");
    EXPECT_EQ(refusal([](Model& m) { members_of(m)[0].weight *= 0.5; }),
              "The weights of its members do not add up to 1.");
    EXPECT_EQ(refusal([](Model& m) { members_of(m)[0].weight = -1; }), "a number of the model is not positive");
    EXPECT_EQ(refusal([](Model& m) { members_of(m)[0].order.pop_back(); }).substr(0, 12), "A member has");
    EXPECT_EQ(refusal([](Model& m) { members_of(m)[0].order[0] = 7; }).substr(0, 29), "A member has an order in whic");
    EXPECT_EQ(refusal([](Model& m) { m.scale = 0; }), "a number of the model is not positive");
    EXPECT_EQ(refusal([](Model& m) { m.noise = -1; }), "a number of the model is not positive");
    EXPECT_EQ(refusal([](Model& m) { m.centre = NAN; }), "a number of the model is not finite");
    EXPECT_EQ(refusal([](Model& m) { m.rows++; }), "A member has 25 rows, the model 26.");
    EXPECT_EQ(refusal([](Model& m) { m.leave_one_out->coverage_90 = 2; }), "A leave-one-out score is out of range.");
}

// An updated model is what the same kernels say of the changed rows.
TEST(GpModel, UpdatesAreExact) {
    QuietContext context;
    for (const int members : {1, 3}) {
        std::vector<PlainRow> rows = random_rows(25, 3);
        Options options = plain_options();
        options.members = members;
        options.outside = Outside::clamp;
        Model model = fit_rows(rows, options, {}, context).model;
        const std::string before = bytes_of(model);
        const std::vector<PlainRow> more = {{3, 5, "a", 101}, rows[4], {2, null_number, "", 90}, {100, 5, "b", 105}};
        for (const PlainRow& row : more) {
            EXPECT_TRUE(insert(model, features_of(row), row.y, context));
            rows.push_back(row);
        }
        EXPECT_EQ(model.rows, 29u);
        EXPECT_FALSE(model.leave_one_out->coverage_90);
        double likelihood = 0;
        for (const Member& member : model.members())
            likelihood +=
                member.weight * std::exp(-dense_negative_log_likelihood(plain_gp_of(model, member, rows, false)));
        expect_near(*model.log_likelihood(), std::log(likelihood) - 29 * std::log(model.scale));
        Predictor predictor(model);
        for (const PlainRow& row : random_rows(20, 99)) {
            double mean = 0;
            for (const Member& member : model.members())
                mean += member.weight *
                        dense_latent(plain_gp_of(model, member, rows, false), string_of(member, features_of(row))).mean;
            expect_near(predictor.latent(features_of(row)).mean, model.centre + model.scale * mean);
        }
        Model back = model_of(bytes_of(model), context);
        for (const PlainRow& row : more) EXPECT_TRUE(remove(back, features_of(row), row.y, context));
        EXPECT_EQ(back.rows, 25u);
        Model original = model_of(before, context);
        Predictor returned(back), first(original);
        expect_near(*back.log_likelihood(), *original.log_likelihood());
        for (const PlainRow& row : random_rows(20, 99)) {
            expect_near(returned.observation(features_of(row)).mean, first.observation(features_of(row)).mean);
            expect_near(returned.observation(features_of(row)).variance, first.observation(features_of(row)).variance);
        }
    }
}

TEST(GpModel, PointsOutsideFollowTheOption) {
    QuietContext context;
    Options options = plain_options();
    const std::vector<PlainRow> rows = random_rows(25, 3);
    const PlainRow outside{-5, 1e9, "a", 101};
    Model model = fit_rows(rows, options, {}, context).model;
    EXPECT_EQ(features_outside(model, features_of(outside)), (std::vector<size_t>{0, 1}));
    EXPECT_TRUE(features_outside(model, features_of(rows[0])).empty());
    options.outside = Outside::prior;
    model = fit_rows(rows, options, {}, context).model;
    const std::string bytes = bytes_of(model);
    EXPECT_FALSE(insert(model, features_of(outside), 101, context));
    EXPECT_FALSE(remove(model, features_of(outside), 101, context));
    EXPECT_EQ(bytes_of(model), bytes);
    const Normal prior = Predictor(model).latent(features_of(outside));
    EXPECT_EQ(prior.mean, model.centre);
    expect_near(prior.variance, signal(model) * model.scale * model.scale);
}

// Rows of x, a number that does nothing, and y = 3x + noise; of x from `least` to `greatest`.
std::vector<PlainRow> sloping_rows(size_t count, double least, double greatest, uint64_t seed) {
    Random random(seed);
    std::vector<PlainRow> rows;
    for (size_t i = 0; i < count; i++) {
        PlainRow row{least + (greatest - least) * random.unit(), random.unit(), "a", 0};
        row.y = 3 * row.x1 + 0.1 * random.normal();
        rows.push_back(row);
    }
    return rows;
}

Options options_of(Combine combine) {
    Options options;
    options.combine = combine;
    options.evaluations = combine == Combine::mixture ? 500 : 10000;
    return options;
}

// Nothing jumps at the edge, and nothing is known in the end.
TEST(GpModel, VarianceGrowsBeyondTheEdge) {
    QuietContext context(2);
    for (const Combine combine : {Combine::mixture, Combine::kernel_sum}) {
        Options options = options_of(combine);
        options.mean = Mean::zero;
        Model model = fit_rows(sloping_rows(300, 0, 1, 1), options, {}, context).model;
        ASSERT_EQ(model.combine(), combine);
        const double edge = model.members().empty()
                                ? std::get<SumModel>(model.posterior).encoding().features()[0].scale->greatest()
                                : model.members()[0].encoding.features()[0].scale->greatest();
        Predictor predictor(model);
        const auto at = [&](double x) { return predictor.latent(std::vector<double>{x, 0.5, 0}); };
        Normal last = at(edge);
        const double signal = signals(model)[0] * model.scale * model.scale;
        for (double distance = 1e-6; distance < 4; distance *= 1.01) {
            const Normal next = at(edge + distance);
            if (distance < 0.1) {
                EXPECT_GE(next.variance, last.variance * (1 - 1e-12)) << distance;
            }
            EXPECT_NEAR(next.variance, last.variance, 0.02 * model.scale * model.scale);
            EXPECT_NEAR(next.mean, last.mean, 0.03 * model.scale);
            last = next;
        }
        EXPECT_NEAR(last.mean, model.centre, 1e-9);
        expect_near(last.variance, signal);
        EXPECT_EQ(at(-5).mean, last.mean);
    }
}

// 90 % intervals of new rows just beyond the edge, most of which would lie outside of those of the edge itself.
TEST(GpModel, IntervalsCoverRowsBeyondTheEdge) {
    QuietContext context(2);
    for (const Combine combine : {Combine::mixture, Combine::kernel_sum}) {
        double covered = 0, clamped = 0, all = 0;
        for (uint64_t seed = 0; seed < 4; seed++) {
            Options options = options_of(combine);
            options.mean = Mean::zero;
            const std::vector<PlainRow> rows = sloping_rows(600, 0, 1, seed);
            Model model = fit_rows(rows, options, {}, context).model;
            options.outside = Outside::clamp;
            Model flat = fit_rows(rows, options, {}, context).model;
            Predictor predictor(model), of_edge(flat);
            for (const PlainRow& row : sloping_rows(250, 1, 1.1, 100 + seed)) {
                const auto covers = [&](Predictor& one) {
                    const Normal seen = one.observation(features_of(row));
                    return std::abs(row.y - seen.mean) <= 1.6448536 * std::sqrt(seen.variance);
                };
                covered += covers(predictor);
                clamped += covers(of_edge);
                all++;
            }
        }
        EXPECT_GE(covered / all, 0.88) << name_of(combine);
        EXPECT_LT(clamped / all, 0.8) << name_of(combine);
    }
}

// What is added beyond the edge counts as one there with more noise, and can be taken back.
TEST(GpModel, UpdatesBeyondTheEdgeCountLess) {
    QuietContext context;
    for (const Combine combine : {Combine::mixture, Combine::kernel_sum}) {
        const std::vector<PlainRow> rows = sloping_rows(200, 0, 1, 3);
        const Model fitted = fit_rows(rows, options_of(combine), {}, context).model;
        const auto change_at_edge = [&](double x) {
            Model model = fit_rows(rows, options_of(combine), {}, context).model;
            const std::vector<double> edge{1, 0.5, 0};
            const double before = Predictor(model).latent(edge).mean;
            EXPECT_TRUE(insert(model, std::vector<double>{x, 0.5, 0}, 9, context));
            const double after = Predictor(model).latent(edge).mean;
            EXPECT_TRUE(remove(model, std::vector<double>{x, 0.5, 0}, 9, context));
            EXPECT_NEAR(Predictor(model).latent(edge).mean, before, 0.02);
            return after - before;
        };
        const double at = change_at_edge(0.9999), near = change_at_edge(1.02), far = change_at_edge(1.3);
        EXPECT_GT(at, 0);
        EXPECT_GT(near, far) << name_of(combine);
        EXPECT_GT(far, -1e-3);
    }
}

TEST(GpModel, ImpossibleUpdatesAreRefused) {
    QuietContext context;
    std::vector<PlainRow> rows = random_rows(25, 3);
    for (PlainRow& row : rows) {
        if (is_null(row.x2)) row.x2 = 4;
        if (row.label == "d") row.label = "a";
    }
    Model model = fit_rows(rows, plain_options(), {}, context).model;
    EXPECT_EQ(caught([&] {
                  insert(model, {{1, null_number, 0}}, 1, context);
              }).message,
              "feature \"x2\" is NULL, a value that no training row has");
    EXPECT_EQ(caught([&] {
                  insert(model, {{1, 2, 3}}, 1, context);
              }).message,
              "feature \"kind\" is a category that no training row has");
    EXPECT_EQ(caught([&] {
                  remove(model, {{1, 2, -1}}, 1, context);
              }).message,
              "feature \"kind\" is a category that no training row has");
    EXPECT_EQ(caught([&] { insert(model, {{1, 2, 0}}, NAN, context); }).code, ErrorCode::out_of_range);
    EXPECT_EQ(caught([&] { remove(model, {{1, 2, 0}}, NAN, context); }).code, ErrorCode::out_of_range);
    EXPECT_EQ(caught([&] { insert(model, {{1, 2, 0}}, -1e200, context); }).code, ErrorCode::out_of_range);
    EXPECT_EQ(caught([&] {
                  remove(model, {{1, 2, 0}}, 1e6, context);
              }).message,
              "the observation to remove is not in the model");
}

// A model's bytes may say anything that is finite; what is stored after an update must be readable.
TEST(GpModel, AnInfiniteLikelihoodIsRefused) {
    QuietContext context;
    const std::vector<PlainRow> rows = random_rows(25, 3);
    Model model = fit_rows(rows, plain_options(), {}, context).model;
    for (Member& member : members_of(model)) {
        PointEncoder encoder(member.encoding, member.order);
        member.trie.insert(encoder(features_of(rows[0])), 1e200, 1);
    }
    const auto error = caught([&] { insert(model, features_of(rows[4]), rows[4].y, context); });
    EXPECT_TRUE(error.thrown);
    EXPECT_EQ(error.code, ErrorCode::out_of_range);
}

TEST(GpModel, SignalIsWhateverTheScale) {
    QuietContext context;
    Model model = fit_rows(random_rows(25, 3), plain_options(), {}, context).model;
    const double before = signal(model);
    EXPECT_GT(before, 0);
    model.scale = 1e-170; // its square is 0
    EXPECT_EQ(signal(model), before);
}

// Draws have the means and covariances of the posterior; those of a mixture come from its members.
TEST(GpModel, DrawsHaveTheDistributionOfTheModel) {
    QuietContext context;
    Options options = plain_options();
    options.members = 3;
    Model model = fit_rows(random_rows(25, 2), options, {}, context).model;
    ASSERT_GT(model.members().size(), 1u);
    std::vector<double> values;
    std::vector<PlainRow> points = random_rows(4, 77);
    points[1].x1 = 7.5; // beyond the greatest
    points[2].x2 = 30;
    for (const PlainRow& row : points)
        for (const double x : features_of(row)) values.push_back(x);
    Sampler sampler(model, values, context);
    ASSERT_EQ(sampler.points(), 4u);
    constexpr int draws = 20000;
    std::vector<double> draw(4), mean(4), square(4);
    for (uint64_t i = 0; i < draws; i++) {
        sampler.draw(5, i, draw);
        for (size_t p = 0; p < 4; p++) mean[p] += draw[p] / draws, square[p] += draw[p] * draw[p] / draws;
    }
    Predictor predictor(model);
    for (size_t p = 0; p < 4; p++) {
        const Normal at = predictor.latent(std::span(values).subspan(3 * p, 3));
        EXPECT_NEAR(mean[p], at.mean, 4 * std::sqrt(at.variance / draws));
        EXPECT_NEAR(square[p] - mean[p] * mean[p], at.variance, 0.06 * at.variance);
    }
    std::vector<double> again(4);
    sampler.draw(5, draws - 1, again);
    EXPECT_EQ(again, draw);
    sampler.draw(6, draws - 1, again);
    EXPECT_NE(again, draw);
}

} // namespace
} // namespace btml::gp::test
