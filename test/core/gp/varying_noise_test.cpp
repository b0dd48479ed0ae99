#include "caught.hpp"
#include "gp_data.hpp"

#include "core/gp/gp_predictor.hpp"
#include "core/gp/update.hpp"

#include <algorithm>

namespace btml::gp::test {
namespace {

using btml::test::caught;
using btml::test::ImpatientContext;

// Targets whose noise has one deviation where x1 is small, and another one where it is large.
std::vector<PlainRow> noisy_rows(size_t count, uint64_t seed, double quiet = 0.15, double loud = 1.5) {
    Random random(seed + 1000);
    std::vector<PlainRow> rows = random_rows(count, seed);
    for (PlainRow& row : rows)
        row.y = 20 + std::sin(row.x1) + 0.3 * (is_null(row.x2) ? 4 : row.x2) +
                (row.x1 < 4 ? quiet : loud) * random.normal();
    return rows;
}

Options varying(Combine combine) {
    Options options = plain_options();
    options.combine = combine;
    options.encoding = NumberEncoding::linear;
    options.evaluations = combine == Combine::kernel_sum ? 2500 : 200;
    options.members = combine == Combine::mixture ? 2 : 4;
    options.search = Search::local;
    options.mean = Mean::zero;
    options.varying_noise = true;
    return options;
}

Options smooth() {
    Options options;
    options.kernel = KernelChoice::matern52;
    options.exemplars = 30;
    options.varying_noise = true;
    return options;
}

std::vector<Options> all_kinds() {
    return {varying(Combine::mixture), varying(Combine::kernel_sum), smooth()};
}

Options steady(Options options) {
    options.varying_noise.reset();
    return options;
}

double mean_nll(Model& model, const std::vector<PlainRow>& rows) {
    Predictor predictor(model);
    double nll = 0;
    for (const PlainRow& row : rows) nll -= predictor.score(features_of(row), row.y).log_density;
    return nll / static_cast<double>(rows.size());
}

// Returns how often central 90 % intervals hold an observation, on the quiet and on the loud side.
std::pair<double, double> coverage(Model& model, const std::vector<PlainRow>& rows) {
    Predictor predictor(model);
    double covered[2] = {}, all[2] = {};
    for (const PlainRow& row : rows) {
        const Normal at = predictor.observation(features_of(row));
        covered[row.x1 >= 4] += std::abs(row.y - at.mean) <= 1.6448536 * std::sqrt(at.variance);
        all[row.x1 >= 4]++;
    }
    return {covered[0] / all[0], covered[1] / all[1]};
}

TEST(VaryingNoise, IsGreatWhereTheDataHasIt) {
    QuietContext context;
    for (const Options& options : all_kinds()) {
        double better = 0, quiet = 0, loud = 0;
        for (uint64_t seed = 0; seed < 2; seed++) {
            const std::vector<PlainRow> rows = noisy_rows(500, seed), fresh = noisy_rows(1000, seed + 100);
            Model model = fit_rows(rows, options, {}, context).model;
            Model same = fit_rows(rows, steady(options), {}, context).model;
            ASSERT_TRUE(model.varying_noise) << name_of(options.combine);
            EXPECT_FALSE(same.varying_noise);
            Predictor predictor(model);
            const double ratio = predictor.noise_factor(std::vector<double>{6, 5, 1}) /
                                 predictor.noise_factor(std::vector<double>{1, 5, 1});
            EXPECT_GT(ratio, 15) << "of variances that are 100 times apart";
            EXPECT_LT(ratio, 1000);
            EXPECT_LT(model.varying_noise->least, model.varying_noise->greatest / 15);
            EXPECT_LT(model.leave_one_out->mean_nll, same.leave_one_out->mean_nll - 0.2);
            better += (mean_nll(same, fresh) - mean_nll(model, fresh)) / 2;
            const auto [of_quiet, of_loud] = coverage(model, fresh);
            quiet += of_quiet / 2;
            loud += of_loud / 2;
        }
        EXPECT_GT(better, 0.3) << name_of(options.combine);
        EXPECT_NEAR(quiet, 0.9, 0.05) << name_of(options.combine);
        EXPECT_NEAR(loud, 0.9, 0.05) << name_of(options.combine);
    }
}

// No part of what is kept is told by the option alone, and a warning says that it brought nothing.
TEST(VaryingNoise, StaysTheSameWhereItBringsNothing) {
    QuietContext context;
    for (const Options& options : all_kinds()) {
        for (uint64_t seed = 0; seed < 2; seed++) {
            const std::vector<PlainRow> rows = noisy_rows(400, seed, 0.5, 0.5);
            FitResult found = fit_rows(rows, options, {}, context);
            Model same = fit_rows(rows, steady(options), {}, context).model;
            EXPECT_FALSE(found.model.varying_noise) << name_of(options.combine) << seed;
            EXPECT_TRUE(std::any_of(found.warnings.begin(), found.warnings.end(), [](const std::string& warning) {
                return warning == "the noise does not vary: rows left out are predicted no better with it";
            }));
            Predictor a(found.model), b(same);
            for (const PlainRow& row : random_rows(20, 50)) {
                EXPECT_EQ(a.observation(features_of(row)).mean, b.observation(features_of(row)).mean);
                EXPECT_EQ(a.observation(features_of(row)).variance, b.observation(features_of(row)).variance);
            }
        }
    }
}

TEST(VaryingNoise, FewRowsHaveNone) {
    QuietContext context;
    for (const size_t count : {1, 2, 10, 49}) {
        FitResult found = fit_rows(noisy_rows(count, 1), varying(Combine::mixture), {}, context);
        EXPECT_FALSE(found.model.varying_noise);
        ASSERT_FALSE(found.warnings.empty());
        EXPECT_EQ(found.warnings.back(), "the noise does not vary: there are too few rows for it");
    }
}

// Half of the held-out rows choose, the others calibrate; the scores are those of the model as it predicts.
TEST(VaryingNoise, HeldOutRowsScoreTheModel) {
    QuietContext context;
    std::vector<PlainRow> rows = noisy_rows(700, 3);
    for (size_t i = 0; i < rows.size(); i++) {
        rows[i].held_out = i % 3 == 0;
        rows[i].weight = static_cast<double>(1 + i % 4);
    }
    Options options = varying(Combine::mixture);
    Model model = fit_rows(rows, options, {true, true}, context).model;
    ASSERT_TRUE(model.varying_noise);
    Predictor predictor(model);
    double nll = 0, squares = 0, count = 0;
    for (const PlainRow& row : rows)
        if (row.held_out) {
            const Predictor::Score score = predictor.score(features_of(row), row.y, row.weight);
            nll -= score.log_density;
            squares += (row.y - score.mean) * (row.y - score.mean);
            count++;
        }
    EXPECT_NEAR(*model.holdout_nll, nll / count, 1e-9);
    EXPECT_NEAR(*model.holdout_rmse, std::sqrt(squares / count), 1e-9);
    EXPECT_EQ(model.calibration->method, uncertainty::Method::split_conformal);
    EXPECT_EQ(model.calibration->rows, 117u);
}

// Trees know already how noisy points are, so that little is left to say.
TEST(VaryingNoise, OverTrees) {
    QuietContext context;
    Options options = varying(Combine::mixture);
    options.mean = Mean::boosted;
    const std::vector<PlainRow> rows = noisy_rows(600, 5), fresh = noisy_rows(600, 105);
    Model model = fit_rows(rows, options, {}, context).model;
    Model same = fit_rows(rows, steady(options), {}, context).model;
    ASSERT_TRUE(model.mean);
    EXPECT_LT(mean_nll(model, fresh), mean_nll(same, fresh) + 0.05);
}

TEST(VaryingNoise, IsTheSameForAnyThreadsAndOrderOfRows) {
    for (const Options& options : all_kinds()) {
        std::vector<PlainRow> rows = noisy_rows(150, 7);
        QuietContext one(1), three(3);
        const std::string bytes = bytes_of(fit_rows(rows, options, {}, one).model);
        std::reverse(rows.begin(), rows.end());
        EXPECT_EQ(bytes_of(fit_rows(rows, options, {}, three).model), bytes) << name_of(options.combine);
    }
}

TEST(VaryingNoise, RoundTrip) {
    QuietContext context;
    for (const Options& options : all_kinds()) {
        Model model = fit_rows(noisy_rows(200, 3), options, {}, context).model;
        ASSERT_TRUE(model.varying_noise);
        const std::string bytes = bytes_of(model);
        Model copy = model_of(bytes, context);
        EXPECT_EQ(bytes_of(copy), bytes);
        Predictor original(model), decoded(copy);
        for (const PlainRow& row : random_rows(20, 50)) {
            const Normal a = original.observation(features_of(row)), b = decoded.observation(features_of(row));
            EXPECT_EQ(a.mean, b.mean);
            EXPECT_EQ(a.variance, b.variance);
        }
    }
}

TEST(VaryingNoise, HostileBytes) {
    QuietContext context;
    const Model model = fit_rows(noisy_rows(150, 4), varying(Combine::mixture), {}, context).model;
    ASSERT_TRUE(model.varying_noise);
    const std::string bytes = bytes_of(model);
    const std::string name("\15\0\0\0varying_noise\1\0", 19); // with its version: options have such a name, too
    const size_t section = bytes.find(name) + 17;
    ASSERT_LT(section, bytes.size());
    const size_t least = section + 2 + 8 + 8; // after its version, its length and the level
    std::string odd = bytes;
    odd[least + 7] = static_cast<char>(0xbf);
    EXPECT_EQ(caught([&] { model_of(odd, context); }).detail, "Its least noise is not positive.");
    odd[least + 7] = 0x7e;
    EXPECT_EQ(caught([&] { model_of(odd, context); }).detail, "Its least noise is greater than its greatest.");
    size_t refused = 0;
    Random random(9);
    for (int i = 0; i < 4000; i++) {
        std::string damaged = bytes;
        const size_t at = section + random.below(bytes.size() - section);
        if (i % 4 == 0)
            damaged.resize(at);
        else
            damaged[at] = static_cast<char>(random.below(256));
        const auto refusal = caught([&] {
            Model found = model_of(damaged, context);
            Predictor predictor(found);
            for (const PlainRow& row : random_rows(3, 50)) {
                const Normal seen = predictor.observation(features_of(row));
                EXPECT_TRUE(std::isfinite(seen.variance));
            }
        });
        refused += refusal.thrown;
        if (refusal.thrown) {
            EXPECT_EQ(refusal.code, ErrorCode::corrupt_model) << refusal.message;
        }
    }
    EXPECT_GT(refused, 1000u);
}

// An observation says less where there is more noise than everywhere, and more where there is less.
TEST(VaryingNoise, UpdatesWeighByTheNoise) {
    QuietContext context;
    for (const Options& options : all_kinds()) {
        SCOPED_TRACE(name_of(options.combine));
        const std::vector<PlainRow> rows = noisy_rows(250, 5);
        Model model = fit_rows(rows, options, {}, context).model;
        ASSERT_TRUE(model.varying_noise);
        Model same = model_of(bytes_of(model), context);
        same.varying_noise.reset();
        const bool keeps_weights = options.kernel == KernelChoice::tree && options.combine != Combine::mixture;
        const auto moved_by = [&](Model& of, const std::vector<double>& point) {
            const Normal before = Predictor(of).latent(point);
            insert(of, point, before.mean + std::sqrt(before.variance), context);
            return Predictor(of).latent(point).mean - before.mean;
        };
        const auto expect_taken_back = [&](const std::vector<double>& point) {
            const Normal before = Predictor(model).latent(point);
            const double target = before.mean + std::sqrt(before.variance);
            moved_by(model, point);
            const auto refusal = caught([&] { remove(model, point, target, context); });
            EXPECT_EQ(refusal.thrown, !keeps_weights);
            if (!keeps_weights) {
                EXPECT_EQ(refusal.message, "a model whose noise varies gives no observation back");
            } else {
                EXPECT_NEAR(Predictor(model).latent(point).mean, before.mean, 1e-3 * (1 + std::abs(before.mean)));
            }
        };
        const std::vector<double> quiet{1, 5, 1}, loud{6, 5, 1};
        EXPECT_LT(Predictor(model).noise_factor(quiet), 0.7);
        EXPECT_GT(Predictor(model).noise_factor(loud), 1.5);
        expect_taken_back(quiet);
        expect_taken_back(loud);
        EXPECT_EQ(model.calibration->updates, keeps_weights ? 4u : 2u);
        if (keeps_weights) {
            for (size_t i = 0; i < 3; i++) remove(model, features_of(rows[i]), rows[i].y, context);
            EXPECT_EQ(model.rows, 247u);
            EXPECT_EQ(caught([&] { remove(model, features_of(rows[0]), rows[0].y, context); }).message,
                      "the observation to remove is not in the model");
        }
        Model fresh = fit_rows(rows, options, {}, context).model;
        EXPECT_GT(moved_by(fresh, quiet), moved_by(same, quiet));
        EXPECT_LT(moved_by(fresh, loud), moved_by(same, loud));
    }
}

TEST(VaryingNoise, MemoryIsEstimatedBeforehand) {
    Options options = varying(Combine::mixture);
    options.members = 10;
    expect_memory_is_estimated(noisy_rows(4000, 1), options);
}

TEST(VaryingNoise, CanBeCancelled) {
    const std::vector<PlainRow> rows = noisy_rows(400, 1);
    const Options options = varying(Combine::mixture);
    ImpatientContext patient;
    fit_rows(rows, options, {}, patient);
    ASSERT_GT(patient.polls, 20u);
    for (uint64_t polls = 1; polls < patient.polls; polls += patient.polls / 12) {
        ImpatientContext context(polls);
        EXPECT_THROW(fit_rows(rows, options, {}, context), Cancelled) << polls;
    }
}

} // namespace
} // namespace btml::gp::test
