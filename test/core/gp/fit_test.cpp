#include "caught.hpp"
#include "gp_data.hpp"

#include "core/gp/gp_predictor.hpp"
#include "core/gp/search/order_evaluator.hpp"
#include "core/gp/tree/row_sorter.hpp"

namespace btml::gp::test {
namespace {

using btml::test::caught;
using btml::test::ImpatientContext;

double log_normal(double y, double mean, double variance) {
    return -((y - mean) * (y - mean) / variance + std::log(2 * std::numbers::pi * variance)) / 2;
}

std::vector<PlainRow> without(std::vector<PlainRow> rows, size_t row) {
    rows.erase(rows.begin() + static_cast<ptrdiff_t>(row));
    return rows;
}

// No kernel near the fitted one is likelier; what is given stays.
TEST(KernelFit, FindsAMaximumWithinItsLimits) {
    QuietContext context;
    for (uint64_t seed = 0; seed < 12; seed++) {
        GpShape shape;
        shape.levels = 6;
        const PlainGp plain = sorted(random_gp(shape, seed));
        const std::vector<uint16_t> common = common_of_neighbours(plain);
        const Observations observations = make_observations(plain.target, {}, context);
        KernelLimits limits;
        limits.min_noise = 0.025;
        if (seed % 3 == 1) limits.noise = 0.3;
        if (seed % 4 >= 2) limits.signal = 0.7;
        const OrderedKernel fit =
            fit_kernel(common, observations, {std::vector<double>(6, 0.1), 0.5}, limits, 500, context);
        EXPECT_EQ(fit.negative_log_likelihood, negative_log_likelihood(common, observations, fit.kernel, context));
        EXPECT_LT(fit.evaluations, 500);
        EXPECT_EQ(fit.kernel.noise, limits.noise.value_or(fit.kernel.noise));
        EXPECT_GE(fit.kernel.noise, 0.025);
        EXPECT_NEAR(fit.kernel.signal(), limits.signal.value_or(fit.kernel.signal()), 1e-12);
        const auto expect_no_better = [&](Kernel kernel) {
            const double signal_factor = limits.signal ? 0.7 / kernel.signal() : 1;
            for (double& weight : kernel.weights) weight *= signal_factor;
            EXPECT_GT(negative_log_likelihood(common, observations, kernel, context),
                      fit.negative_log_likelihood - 1e-4)
                << seed;
        };
        for (const double factor : {0.9, 1.1}) {
            for (size_t level = 0; level < 6; level++) {
                Kernel kernel = fit.kernel;
                kernel.weights[level] *= factor;
                expect_no_better(kernel);
            }
            Kernel kernel = fit.kernel;
            if (!limits.noise) kernel.noise = 0.025 + (kernel.noise - 0.025) * factor;
            expect_no_better(kernel);
        }
    }
}

// Everything that a model says, against dense algebra.
TEST(GaussianProcess, AgreesWithDenseAlgebra) {
    for (uint64_t seed = 0; seed < 8; seed++) {
        QuietContext context;
        const DataShape shape{seed % 2 == 1, seed % 4 >= 2};
        std::vector<PlainRow> rows = random_rows(30, seed), training, held_out;
        for (size_t i = 0; i < rows.size(); i++) {
            rows[i].weight = shape.weights ? static_cast<double>(i % 4) : 1;
            rows[i].held_out = shape.holdout && i % 5 == 0;
            if (rows[i].weight > 0) (rows[i].held_out ? held_out : training).push_back(rows[i]);
        }
        Options options = plain_options();
        if (seed % 3 == 1) options.outside = Outside::clamp;
        if (seed >= 4) options.members = 3;
        Model model = fit_rows(rows, options, shape, context).model;
        EXPECT_EQ(model.rows, training.size());
        EXPECT_EQ(model.holdout_rows, held_out.size());
        double weights = 0, mean = 0, variance = 0;
        for (const PlainRow& row : training) weights += row.weight, mean += row.weight * row.y;
        mean /= weights;
        for (const PlainRow& row : training) variance += row.weight * (row.y - mean) * (row.y - mean) / weights;
        const auto n = static_cast<double>(training.size());
        expect_near(model.centre, mean);
        expect_near(model.scale, std::sqrt(variance * n / (n - 1)));

        // The likelihood.
        double likelihood = 0;
        for (const Member& member : model.members())
            likelihood += member.weight *
                          std::exp(-dense_negative_log_likelihood(plain_gp_of(model, member, training, shape.weights)));
        expect_near(*model.log_likelihood(), std::log(likelihood) - n * std::log(model.scale));

        // Predictions at rows and elsewhere.
        Predictor predictor(model);
        std::vector<PlainRow> points = rows;
        points.push_back({-3, 5, "a", 1});
        points.push_back({3, 50, "", 1});
        points.push_back({null_number, null_number, "", 1});
        const auto dense_density = [&](const std::vector<PlainRow>& given, const PlainRow& at, double& dense_mean) {
            double density = 0;
            dense_mean = 0;
            for (const Member& member : model.members()) {
                const Normal latent =
                    dense_latent_at(model, member, plain_gp_of(model, member, given, shape.weights), features_of(at));
                const double noise = member.trie.kernel().noise / (shape.weights ? at.weight : 1);
                dense_mean += member.weight * (model.centre + model.scale * latent.mean);
                density += member.weight * std::exp(log_normal((at.y - model.centre) / model.scale, latent.mean,
                                                               latent.variance + noise));
            }
            return std::log(density) - std::log(model.scale);
        };
        for (const PlainRow& row : points) {
            if (row.weight == 0) continue;
            double dense_mean = 0;
            expect_near(predictor.score(features_of(row), row.y, shape.weights ? row.weight : 1).log_density,
                        dense_density(training, row, dense_mean), 1);
            const Normal latent = predictor.latent(features_of(row)), seen = predictor.observation(features_of(row));
            expect_near(latent.mean, dense_mean);
            double square = 0;
            for (const Member& member : model.members()) {
                const Normal at = dense_latent_at(model, member, plain_gp_of(model, member, training, shape.weights),
                                                  features_of(row));
                const double m = model.centre + model.scale * at.mean;
                square +=
                    member.weight * (model.scale * model.scale * at.variance + (m - dense_mean) * (m - dense_mean));
            }
            expect_near(latent.variance, square, 1e-3);
            expect_near(seen.variance - latent.variance, model.noise * model.scale * model.scale, 1e-3);
        }

        // Leave-one-out and held-out scores.
        double nll = 0, squares = 0;
        for (size_t i = 0; i < training.size(); i++) {
            double dense_mean = 0;
            nll -= dense_density(without(training, i), training[i], dense_mean) / n;
            squares += (training[i].y - dense_mean) * (training[i].y - dense_mean) / n;
        }
        ASSERT_TRUE(model.leave_one_out);
        EXPECT_EQ(model.leave_one_out->rows, training.size());
        expect_near(model.leave_one_out->mean_nll, nll, 1);
        expect_near(model.leave_one_out->rmse, std::sqrt(squares));
        EXPECT_GT(*model.leave_one_out->coverage_90, 0.7);
        ASSERT_EQ(model.holdout_nll.has_value(), shape.holdout);
        if (!shape.holdout) continue;
        nll = squares = 0;
        for (const PlainRow& row : held_out) {
            double dense_mean = 0;
            nll -= dense_density(training, row, dense_mean) / static_cast<double>(held_out.size());
            squares += (row.y - dense_mean) * (row.y - dense_mean) / static_cast<double>(held_out.size());
        }
        expect_near(*model.holdout_nll, nll, 1);
        expect_near(*model.holdout_rmse, std::sqrt(squares));
    }
}

// What is a step function of a long tail's rank, or a wave of the value.
std::vector<PlainRow> tailed_rows(size_t count, bool by_rank, uint64_t seed) {
    Random random(seed);
    std::vector<PlainRow> rows;
    for (size_t i = 0; i < count; i++) {
        PlainRow row{by_rank ? std::exp(6 * random.unit()) : random.unit(), random.unit(), "a", 0};
        row.y = (by_rank ? 3 * std::log(row.x1) : std::sin(12 * row.x1)) + 0.1 * random.normal();
        if (!by_rank && random.chance(0.9)) row.x1 = 0.01 * row.x1, row.y = 0.1 * random.normal();
        rows.push_back(row);
    }
    return rows;
}

TEST(GaussianProcess, TheEncodingIsTheOneThatScoresBetter) {
    QuietContext context(2);
    for (const bool by_rank : {false, true}) {
        const std::vector<PlainRow> rows = tailed_rows(600, by_rank, 1);
        const auto fitted = [&](NumberEncoding encoding) {
            Options options;
            options.combine = Combine::mixture;
            options.evaluations = 2000;
            options.encoding = encoding;
            options.mean = Mean::zero;
            return fit_rows(rows, options, {}, context).model;
        };
        const Model linear = fitted(NumberEncoding::linear), rank = fitted(NumberEncoding::rank);
        EXPECT_EQ(linear.encoding()->places(), NumberPlaces::values);
        EXPECT_EQ(rank.encoding()->places(), NumberPlaces::ranks);
        const bool ranks_score = rank.leave_one_out->mean_nll < linear.leave_one_out->mean_nll;
        EXPECT_EQ(ranks_score, by_rank);
        const Model chosen = fitted(NumberEncoding::automatic);
        EXPECT_EQ(chosen.encoding()->places() == NumberPlaces::ranks, by_rank);
        EXPECT_EQ(chosen.leave_one_out->mean_nll, (by_rank ? rank : linear).leave_one_out->mean_nll);
    }
}

TEST(GaussianProcess, MembersAreMixedByTheirLikelihood) {
    QuietContext context;
    Options options = plain_options();
    options.members = 6;
    const std::vector<PlainRow> rows = random_rows(60, 5);
    const std::vector<FitResult> members = fit_members(dataset_of(rows, {}, context), options, context);
    ASSERT_EQ(members.size(), 6u);
    double best = -1e300, total = 0;
    uint64_t evaluations = 0;
    for (const FitResult& member : members) best = std::max(best, *member.model.log_likelihood());
    std::vector<double> weights;
    for (const FitResult& member : members) {
        ASSERT_EQ(member.model.members().size(), 1u);
        weights.push_back(std::exp(100.0 / 60 * (*member.model.log_likelihood() - best)));
        if (weights.back() < 1e-6) weights.back() = 0;
        total += weights.back();
        evaluations += member.model.evaluations;
    }
    Model mixed = fit_rows(rows, options, {}, context).model;
    size_t next = 0;
    for (size_t m = 0; m < 6; m++) {
        if (weights[m] == 0) continue;
        ASSERT_LT(next, mixed.members().size());
        EXPECT_NEAR(mixed.members()[next].weight, weights[m] / total, 1e-9);
        EXPECT_EQ(mixed.members()[next].trie.kernel().weights, members[m].model.members()[0].trie.kernel().weights);
        next++;
    }
    EXPECT_EQ(next, mixed.members().size());
    EXPECT_GT(next, 1u);
    EXPECT_EQ(mixed.evaluations, evaluations);
    EXPECT_FALSE(members[0].model.members()[0].encoding.features()[0].shift);
    EXPECT_NE(members[1].model.members()[0].encoding.features()[0].shift,
              members[2].model.members()[0].encoding.features()[0].shift);
}

// A power of two times all weights is as much noise, and changes nothing else, to the last bit.
TEST(GaussianProcess, OnlyRatiosOfWeightsMatter) {
    for (const double factor : {0x1p-40, 0x1p18})
        for (const Combine combine : {Combine::mixture, Combine::kernel_sum})
            for (const std::optional<double> noise : {std::optional<double>(), std::optional(0.25)}) {
                QuietContext context;
                Options options = plain_options();
                options.combine = combine;
                options.members = 4;
                options.noise = noise;
                if (combine == Combine::kernel_sum) options.search = Search::local;
                std::vector<PlainRow> rows = random_rows(80, 3);
                for (size_t i = 0; i < rows.size(); i++) rows[i].weight = static_cast<double>(1 + i % 3);
                Model model = fit_rows(rows, options, {true, false}, context).model;
                for (PlainRow& row : rows) row.weight *= factor;
                if (noise) options.noise = *noise * factor;
                Model scaled = fit_rows(rows, options, {true, false}, context).model;
                EXPECT_EQ(scaled.leave_one_out->mean_nll, model.leave_one_out->mean_nll);
                Predictor predictor(model), scaled_predictor(scaled);
                for (const PlainRow& row : rows) {
                    const Normal at = predictor.latent(features_of(row));
                    const Normal scaled_at = scaled_predictor.latent(features_of(row));
                    EXPECT_EQ(scaled_at.mean, at.mean);
                    EXPECT_EQ(scaled_at.variance, at.variance);
                }
            }
}

TEST(GaussianProcess, OrderOfRowsAndThreadsLeaveNoTrace) {
    for (const int members : {1, 2, 5}) {
        Options options = plain_options();
        options.members = members;
        const DataShape shape{true, true};
        std::vector<PlainRow> rows = random_rows(80, 3);
        for (size_t i = 0; i < rows.size(); i++) {
            rows[i].y = std::floor(rows[i].y); // ties
            rows[i].weight = static_cast<double>(1 + i % 3);
            rows[i].held_out = i % 7 == 0;
        }
        QuietContext one(1), four(4);
        const std::string bytes = bytes_of(fit_rows(rows, options, shape, one).model);
        EXPECT_EQ(bytes_of(fit_rows(rows, options, shape, four).model), bytes);
        std::vector<PlainRow> shuffled = rows;
        Random random(9);
        for (size_t i = shuffled.size(); i-- > 1;) std::swap(shuffled[i], shuffled[random.below(i + 1)]);
        EXPECT_EQ(bytes_of(fit_rows(shuffled, options, shape, four).model), bytes);
        // Rows of a join that repeat those of its table.
        std::vector<PlainRow> repeated;
        Buffer<uint32_t> ids(one.memory(), "row ids");
        for (size_t i = 0; i < 120; i++) {
            ids.push_back(static_cast<uint32_t>(random.below(rows.size())));
            repeated.push_back(rows[ids[i]]);
        }
        Dataset join = dataset_of(rows, shape, one);
        join.rows = 120;
        join.tables[0].row_ids = std::move(ids);
        EXPECT_EQ(bytes_of(fit(std::move(join), options, one).model),
                  bytes_of(fit_rows(repeated, options, shape, four).model));
    }
}

Options smooth_options(KernelChoice kernel) {
    Options options;
    options.kernel = kernel;
    return options;
}

TEST(GaussianProcess, FeaturesStayInTheirTables) {
    constexpr size_t distinct = 9;
    const std::vector<std::pair<const char*, std::function<void(Options&)>>> ways{
        {"mixture", [](Options& options) { options.members = 2; }},
        {"ranks", [](Options& options) { options.encoding = NumberEncoding::rank; }},
        {"sum",
         [](Options& options) {
             options.combine = Combine::kernel_sum;
             options.search = Search::local;
             options.evaluations = 60;
         }},
        {"trees as the mean", [](Options& options) { options.mean = Mean::boosted; }},
        {"varying noise", [](Options& options) { options.varying_noise = true; }},
        {"smooth", [](Options& options) { options = smooth_options(KernelChoice::matern52); }},
        {"best", [](Options& options) { options = smooth_options(KernelChoice::automatic); }},
    };
    for (const auto& [name, set] : ways)
        for (const bool holdout : {false, true}) {
            const DataShape shape{true, holdout};
            std::vector<PlainRow> rows = star_rows(120, distinct, 5);
            for (size_t i = 0; i < rows.size(); i++) {
                rows[i].weight = static_cast<double>(1 + i % 3);
                rows[i].held_out = i % 4 == 0;
            }
            Options options = plain_options();
            set(options);
            QuietContext context(2);
            const std::string bytes = bytes_of(fit(star_of(rows, distinct, shape, context), options, context).model);
            EXPECT_EQ(bytes, bytes_of(fit_rows(rows, options, shape, context).model)) << name;
        }
}

TEST(GaussianProcess, ColumnsOfATableTakeFurtherRows) {
    constexpr size_t distinct = 9;
    QuietContext context;
    const std::vector<PlainRow> rows = star_rows(60, distinct, 5);
    TrainingColumns join = expand(star_of(rows, distinct, {}, context), context).training;
    TrainingColumns flat = expand(dataset_of(rows, {}, context), context).training;
    ASSERT_TRUE(join.features[1].ids);
    const TrainingColumns copied = copy(join, context);
    for (TrainingColumns* columns : {&join, &flat}) {
        add_row(*columns, std::vector<double>{2.5, null_number, 3}, 7);
        take_row(*columns, 4);
    }
    std::vector<double> of_join(3), of_flat(3);
    for (size_t row = 0; row < 60; row++) {
        join.read_row(row, of_join);
        flat.read_row(row, of_flat);
        for (size_t f = 0; f < 3; f++)
            EXPECT_EQ(std::bit_cast<uint64_t>(of_join[f]), std::bit_cast<uint64_t>(of_flat[f]));
    }
    EXPECT_EQ(copied.features[1].view().rows(), 60u);
}

TEST(GaussianProcess, MemoryOfAJoinIsEstimated) {
    constexpr size_t distinct = 9;
    const std::vector<PlainRow> rows = star_rows(600, distinct, 5);
    const auto star = [&](RunContext& context) { return star_of(rows, distinct, {}, context); };
    Options options = plain_options();
    expect_memory_is_estimated(star, options);
    const auto held_by_rows_of = [](auto&& make_data) {
        QuietContext context;
        Dataset data = make_data(context);
        const auto expected = static_cast<int64_t>(context.memory().used()) + expansion_bytes(data).growth;
        const FitRows expanded = expand(std::move(data), context);
        const auto held = static_cast<int64_t>(context.memory().used());
        EXPECT_LE(held, expected);
        return held;
    };
    const int64_t flat = held_by_rows_of([&](RunContext& context) { return dataset_of(rows, {}, context); });
    constexpr int64_t bytes_of_values = 12, bytes_of_id = 4, of_table = 500; // of a row
    EXPECT_LT(held_by_rows_of(star), flat - (bytes_of_values - bytes_of_id) * 600 + of_table);
}

TEST(GaussianProcess, ExtremesAreFinite) {
    QuietContext context;
    const auto expect_finite = [&](const std::vector<PlainRow>& rows, const char* what) {
        Model model = fit_rows(rows, plain_options(), {}, context).model;
        Predictor predictor(model);
        const Normal at = predictor.observation(features_of(rows[0]));
        EXPECT_TRUE(std::isfinite(at.mean) && at.variance > 0) << what;
        EXPECT_TRUE(std::isfinite(*model.log_likelihood())) << what;
        EXPECT_TRUE(std::isfinite(model.leave_one_out->mean_nll)) << what;
    };
    expect_finite({{1, 2, "a", 3}}, "one row");
    expect_finite({{1, 2, "a", 3}, {1, 2, "a", 4}, {1, 2, "a", 9}}, "equal features");
    expect_finite({{1, 2, "a", 3}, {5, 2, "b", 3}}, "equal targets");
    expect_finite({{null_number, null_number, "", 3}, {null_number, null_number, "", 4}}, "no values");
    expect_finite({{1, 2, "a", 1e149}, {5, 2, "b", -1e149}}, "huge targets");
    expect_finite({{1, 2, "a", 1e-320}, {5, 2, "b", 0}}, "tiny targets");
    std::vector<PlainRow> same(200, {1, 2, "a", 0.1});
    Model constant = fit_rows(same, plain_options(), {}, context).model;
    EXPECT_EQ(constant.centre, 0.1);
    EXPECT_EQ(constant.scale, 1);
    EXPECT_GE(constant.noise, 1.0 / 200);
}

TEST(GaussianProcess, EvaluationsAreABudget) {
    QuietContext context;
    Options options = plain_options();
    options.members = 4;
    options.evaluations = 40;
    const std::vector<PlainRow> rows = random_rows(60, 5);
    EXPECT_LE(fit_rows(rows, options, {}, context).model.evaluations, 40u);
    options.evaluations = 1;
    EXPECT_EQ(fit_rows(rows, options, {}, context).model.evaluations, 4u);
}

TEST(GaussianProcess, NoiseAndSignalAreKept) {
    QuietContext context;
    Options options = plain_options();
    options.noise = 0.125;
    options.signal = 2;
    FitResult result = fit_rows(random_rows(40, 1), options, {}, context);
    EXPECT_EQ(result.model.noise, 0.125);
    EXPECT_NEAR(result.model.members()[0].trie.kernel().signal(), 2, 1e-12);
    EXPECT_TRUE(result.warnings.empty());
    options.noise = 0.0125;
    result = fit_rows(random_rows(40, 1), options, {}, context);
    ASSERT_EQ(result.warnings.size(), 1u);
    EXPECT_EQ(result.warnings[0], "noise 0.0125 is below 0.025, the least that would be learned: rows with the same "
                                  "bits but different targets may make the model overconfident");
    const std::vector<double> relevant = relevance(result.model);
    expect_near(std::accumulate(relevant.begin(), relevant.end(), 0.0), 2 * result.model.scale * result.model.scale);
    EXPECT_NEAR(signal(result.model), 2, 1e-12);
}

TEST(GaussianProcess, Refusals) {
    QuietContext context;
    const std::vector<PlainRow> rows = random_rows(20, 1);
    const auto refusal = [&](const Options& options, std::vector<PlainRow> given, DataShape shape) {
        return caught([&] { fit_rows(given, options, shape, context); });
    };
    Options options = plain_options();
    options.bits = 31;
    EXPECT_EQ(refusal(options, rows, {}).message, "invalid value for option \"bits\": 31");
    options = plain_options();
    options.combine = Combine::kernel_sum;
    EXPECT_EQ(refusal(options, rows, {}).message, "combine => 'kernel_sum' takes no search");
    options = plain_options();
    EXPECT_EQ(refusal(options, {}, {}).message, "there are no rows to train on");
    std::vector<PlainRow> none = rows;
    for (PlainRow& row : none) row.held_out = true;
    none[0] = {1, 2, "a", 3, 0};
    EXPECT_EQ(refusal(options, none, {true, true}).detail, "Of 20 rows, 19 are held out and 1 have weight 0.");
    std::vector<PlainRow> huge = rows;
    huge[3].y = -1e150;
    EXPECT_EQ(refusal(options, huge, {}).message, "target value of magnitude 1e+150 is out of range");
    std::vector<PlainRow> heavy = rows;
    heavy[3].weight = 1e41;
    EXPECT_EQ(refusal(options, heavy, {true, false}).message, "invalid weight 1e+41");
    const auto no_features = caught([&] {
        Dataset data = dataset_of(rows, {}, context);
        data.features.clear();
        fit(std::move(data), options, context);
    });
    EXPECT_EQ(no_features.message, "there are no features to learn from");
    const auto too_many = caught([&] {
        Dataset data = dataset_of(rows, {}, context);
        for (int i = 0; i < 1200; i++) {
            Dataset more = dataset_of(rows, {}, context);
            data.features.push_back(std::move(more.features[0]));
        }
        options.bits = 30;
        fit(std::move(data), options, context);
    });
    EXPECT_EQ(too_many.code, ErrorCode::limit_exceeded);
}

// The estimate is checked before any work and is enough for it.
TEST(GaussianProcess, MemoryIsEstimatedBeforehand) {
    const std::vector<PlainRow> rows = random_rows(20000, 1);
    for (const int members : {1, 3}) {
        Options options = plain_options();
        options.members = members;
        options.mean = Mean::zero;
        options.evaluations = 6;
        QuietContext large(2);
        Dataset data = dataset_of(rows, {}, large);
        const uint64_t held = large.memory().used();
        uint64_t enough = 0;
        for (uint64_t limit = held; limit < 40 * held && enough == 0; limit += held / 8) {
            QuietContext context(2, limit);
            const auto refusal = caught([&] { fit_rows(rows, options, {}, context); });
            if (!refusal.thrown) enough = limit;
            if (refusal.thrown && limit > held + held / 8) {
                EXPECT_EQ(refusal.code, ErrorCode::memory_limit);
                EXPECT_NE(refusal.detail.find("a Gaussian process"), std::string::npos) << refusal.detail;
            }
        }
        EXPECT_GT(enough, 0u);
        EXPECT_LT(enough, 20000u * 300 * static_cast<uint64_t>(members));
    }
}

// Gives up after some polls, wherever its thread is then.
class ImpatientTeamContext : public RunContext {
  public:
    explicit ImpatientTeamContext(int polls) : RunContext(uint64_t{1} << 40, 3), polls_(polls) {}
    bool keep_going() override { return polls_ > 0 && --polls_ > 0; }
    void progress(const char*, uint64_t, uint64_t) override {}
    void note(std::string_view) override {}
    bool gave_up() const { return polls_ == 0; }

  private:
    int polls_;
};

// How often the main thread asks while it waits for others depends on how fast they are.
TEST(GaussianProcess, StopsOnAllThreads) {
    const std::vector<PlainRow> rows = random_rows(6000, 1);
    Options options = plain_options();
    options.members = 3;
    int stopped = 0;
    for (int polls = 2; polls < 60; polls += 3) {
        ImpatientTeamContext context(polls);
        try {
            fit_rows(rows, options, {}, context);
            EXPECT_FALSE(context.gave_up()) << polls;
        } catch (const Cancelled&) {
            EXPECT_TRUE(context.gave_up()) << polls;
            stopped++;
        }
    }
    EXPECT_GT(stopped, 3);
}

TEST(GaussianProcess, Stops) {
    const std::vector<PlainRow> rows = random_rows(20000, 1);
    Options options = plain_options();
    options.members = 2;
    for (uint64_t polls = 0; polls < 24; polls += 4) {
        ImpatientContext context(polls);
        EXPECT_THROW(fit_rows(rows, options, {}, context), Cancelled) << polls;
    }
}

} // namespace
} // namespace btml::gp::test
