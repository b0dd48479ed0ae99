#include "caught.hpp"
#include "gp_data.hpp"

#include "core/gp/fit_scores.hpp"
#include "core/gp/gp_predictor.hpp"
#include "core/gp/sampler.hpp"
#include "core/gp/trainer.hpp"
#include "core/gp/update.hpp"

#include <algorithm>
#include <numeric>

namespace btml::gp::test {
namespace {

using btml::test::caught;
using btml::test::ImpatientContext;

// Targets with steps, which trees find, and noise that is four times as wide where x1 is large.
std::vector<PlainRow> stepped_rows(size_t count, uint64_t seed, bool holdout = false) {
    Random random(seed + 1000);
    std::vector<PlainRow> rows = random_rows(count, seed);
    for (PlainRow& row : rows) {
        const double steps = (row.x1 > 3) * 5 - (row.label == "b") * 3 + (is_null(row.x2) ? 2 : (row.x2 > 6.5) * 4);
        row.y = 20 + steps + (row.x1 > 5 ? 0.8 : 0.2) * random.normal();
        row.held_out = holdout && random.chance(0.3);
    }
    return rows;
}

Options over_trees(Combine combine) {
    Options options = plain_options();
    options.combine = combine;
    options.encoding = NumberEncoding::linear;
    options.evaluations = combine == Combine::kernel_sum ? 2500 : 60;
    options.members = combine == Combine::mixture ? 2 : 4;
    if (combine == Combine::kernel_sum) options.search = Search::local;
    options.mean = Mean::boosted;
    return options;
}

Options smooth_over_trees() {
    Options options;
    options.kernel = KernelChoice::matern52;
    options.exemplars = 20;
    options.mean = Mean::boosted;
    return options;
}

std::vector<Options> all_kinds() {
    return {over_trees(Combine::mixture), over_trees(Combine::kernel_sum), smooth_over_trees()};
}

// The rows as a fit has them, in its order.
FitRows fit_rows_of(const std::vector<PlainRow>& rows, const DataShape& shape, RunContext& context) {
    return expand(dataset_of(rows, shape, context), context);
}

// The same parts one after the other: trees, the process of what they leave out of fold, and both put together here.
struct ByHand {
    TreesFit trees;
    Model process;
    std::vector<double> errors, deviations; // of the process, on its scale
    std::vector<size_t> spared;             // rows, or all where these are few
    double factor = 1;

    ByHand(const std::vector<PlainRow>& rows, const DataShape& shape, Options options, RunContext& context)
        : trees(fit_trees_of(rows, shape, options, context)) {
        options.mean = Mean::zero;
        const Dataset dataset = dataset_of(rows, shape, context);
        FitRows given = fit_rows_of(rows, shape, context);
        for (size_t i = 0; i < given.training.rows(); i++)
            given.training.target[i] = trees.errors[i] / trees.deviations[i];
        given.choosing = TrainingColumns(context.memory());
        const std::vector<Feature> features = gp::features_of(dataset);
        Trained trained = Trainer(std::move(given), features, options, FitMemory(dataset, options), context).fit();
        process = std::move(trained.result.model);
        errors.assign(trained.left_out.errors().begin(), trained.left_out.errors().end());
        deviations.assign(trained.left_out.deviations().begin(), trained.left_out.deviations().end());
        double of_all = 0;
        std::vector<double> of_spared;
        for (size_t i = 0; i < errors.size(); i++) {
            const double z = std::abs(errors[i] / deviations[i]);
            of_all += z / static_cast<double>(errors.size());
            if (!trees.is_spared[i]) continue;
            of_spared.push_back(z);
            spared.push_back(i);
        }
        if (spared.size() < 25) {
            spared.resize(errors.size());
            std::iota(spared.begin(), spared.end(), size_t{0});
            return;
        }
        const double count = static_cast<double>(spared.size());
        const double mean = std::accumulate(of_spared.begin(), of_spared.end(), 0.0) / count;
        double squares = 0;
        for (const double z : of_spared) squares += (z - mean) * (z - mean);
        const double square_of_error = squares / (count - 1) / count / (mean * mean);
        factor = std::pow(mean / of_all, 2 * 0.01 / (0.01 + square_of_error));
    }
    static TreesFit fit_trees_of(const std::vector<PlainRow>& rows, const DataShape& shape, const Options& options,
                                 RunContext& context) {
        const Dataset dataset = dataset_of(rows, shape, context);
        const FitRows given = fit_rows_of(rows, shape, context);
        return fit_trees(given.training, gp::features_of(dataset), static_cast<uint64_t>(options.seed), context);
    }
    Normal at(const std::vector<double>& features) {
        QuietContext context;
        boosting::Predictor mean(trees.mean.trees(), context),
            spread(boosting::log_variance_of(trees.mean.trees()), context);
        const double deviation = trees.mean.trees().deviation->factor * std::exp(spread.scores(features)[0] / 2);
        const Normal inner = Predictor(process).observation(features);
        return {mean(features) + deviation * inner.mean, factor * deviation * deviation * inner.variance};
    }
};

void expect_near(double a, double b) {
    EXPECT_NEAR(a, b, 1e-9 * (1 + std::abs(b)));
}

TEST(GpMean, IsThatOfTreesAndProcess) {
    QuietContext context;
    for (uint64_t seed = 0; seed < 3; seed++) {
        const DataShape shape{seed == 1, seed == 2};
        std::vector<PlainRow> rows = stepped_rows(260, seed, seed == 2);
        for (size_t i = 0; i < rows.size(); i++) rows[i].weight = static_cast<double>(1 + i % 3);
        for (const Options& options : all_kinds()) {
            SCOPED_TRACE(format("%s, seed %d", name_of(options.combine), static_cast<int>(seed)));
            Model model = fit_rows(rows, options, shape, context).model;
            ASSERT_TRUE(model.mean);
            ByHand by_hand(rows, shape, options, context);
            Predictor predictor(model);
            double nll = 0, squares = 0, held_out = 0;
            for (const PlainRow& row : rows) {
                const Normal found = predictor.observation(features_of(row)), plain = by_hand.at(features_of(row));
                expect_near(found.mean, plain.mean);
                expect_near(found.variance, plain.variance);
                const Predictor::Score score = predictor.score(features_of(row), row.y);
                expect_near(score.mean, plain.mean);
                expect_near(score.variance, plain.variance);
                if (!row.held_out) continue;
                nll -= score.log_density;
                squares += (row.y - plain.mean) * (row.y - plain.mean);
                held_out++;
            }
            if (held_out > 0) {
                expect_near(*model.holdout_nll, nll / held_out);
                expect_near(*model.holdout_rmse, std::sqrt(squares / held_out));
            }
            // Rows left out that no tree knows, in the target's units.
            double logarithms = 0, sum = 0;
            for (const size_t i : by_hand.spared) {
                const double unit = by_hand.process.scale * by_hand.trees.deviations[i];
                const double variance =
                    model.calibration->variance(by_hand.factor * std::pow(unit * by_hand.deviations[i], 2));
                const double square = std::pow(unit * by_hand.errors[i], 2);
                sum += square;
                logarithms += (std::log(2 * std::numbers::pi * variance) + square / variance) / 2;
            }
            const auto count = static_cast<double>(by_hand.spared.size());
            EXPECT_EQ(count, seed == 2 ? by_hand.errors.size() : 32);
            EXPECT_EQ(model.leave_one_out->rows, by_hand.spared.size());
            expect_near(model.leave_one_out->rmse, std::sqrt(sum / count));
            expect_near(model.leave_one_out->mean_nll, logarithms / count);
            EXPECT_FALSE(model.log_likelihood());
        }
    }
}

// Errors of pure noise are no smaller out of fold than the noise: no row has a part in its own prediction.
TEST(GpMean, ErrorsAreOutOfFold) {
    QuietContext context;
    for (uint64_t seed = 0; seed < 5; seed++) {
        Random random(seed);
        std::vector<PlainRow> rows = random_rows(500, seed);
        double noise = 0, errors = 0, mean_z = 0;
        for (PlainRow& row : rows) row.y = random.normal();
        const TreesFit trees = ByHand::fit_trees_of(rows, {}, Options(), context);
        for (const PlainRow& row : rows) noise += row.y * row.y / 500;
        for (size_t i = 0; i < 500; i++) {
            errors += trees.errors[i] * trees.errors[i] / 500;
            mean_z += trees.errors[i] * trees.errors[i] / trees.deviations[i] / trees.deviations[i] / 500;
        }
        EXPECT_GT(errors, 0.97 * noise) << seed;
        EXPECT_NEAR(mean_z, 1, 1e-9);
    }
}

TEST(GpMean, IsTheSameForAnyThreadsAndOrderOfRows) {
    for (const Options& options : all_kinds()) {
        std::vector<PlainRow> rows = stepped_rows(300, 7);
        QuietContext one(1), three(3);
        const std::string bytes = bytes_of(fit_rows(rows, options, {}, one).model);
        std::reverse(rows.begin(), rows.end());
        EXPECT_EQ(bytes_of(fit_rows(rows, options, {}, three).model), bytes) << name_of(options.combine);
        Options other = options;
        other.seed = 1;
        EXPECT_NE(bytes_of(fit_rows(rows, other, {}, one).model), bytes);
    }
}

TEST(GpMean, RoundTrip) {
    QuietContext context;
    for (const Options& options : all_kinds()) {
        Model model = fit_rows(stepped_rows(260, 3), options, {}, context).model;
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

// What follows the name of the section: its version, and the length of what is in it.
size_t place_of_section(const std::string& bytes) {
    const std::string name("\4\0\0\0mean", 8);
    return bytes.rfind(name) + name.size();
}

TEST(GpMean, HostileBytes) {
    QuietContext context;
    const Model model = fit_rows(stepped_rows(250, 4), over_trees(Combine::mixture), {}, context).model;
    const std::string bytes = bytes_of(model);
    const size_t section = place_of_section(bytes);
    ASSERT_LT(section, bytes.size());
    std::string newer = bytes;
    newer[section] = 2;
    EXPECT_EQ(caught([&] { model_of(newer, context); }).detail,
              "Its section \"mean\" has version 2, this version of btml reads 1 to 1.");
    std::string unknown = bytes;
    unknown[section - 1] = 'm';
    EXPECT_EQ(caught([&] { model_of(unknown, context); }).detail,
              "It has the section \"meam\", which this version of btml does not know.");
    size_t refused = 0;
    Random random(9);
    for (int i = 0; i < 4000; i++) {
        std::string odd = bytes;
        const size_t at = section + random.below(bytes.size() - section);
        if (i % 4 == 0)
            odd.resize(at);
        else
            odd[at] = static_cast<char>(random.below(256));
        const auto refusal = caught([&] {
            Model found = model_of(odd, context);
            Predictor predictor(found);
            for (const PlainRow& row : random_rows(3, 50)) predictor.observation(features_of(row));
        });
        refused += refusal.thrown;
        if (refusal.thrown) {
            EXPECT_EQ(refusal.code, ErrorCode::corrupt_model) << refusal.message;
        }
    }
    EXPECT_GT(refused, 1000u);
}

// Trees of other features, or without a deviation, are no mean.
TEST(GpMean, OnlyTreesThatCanBeOne) {
    QuietContext context;
    const Model model = fit_rows(stepped_rows(250, 4), over_trees(Combine::mixture), {}, context).model;
    double ratio = 0.5;
    const auto refusal_of = [&](const auto& change) {
        boosting::Model trees = model.mean->trees();
        change(trees);
        Writer writer(context);
        writer.put(1.0);
        writer.put(ratio);
        boosting::encode(trees, writer);
        Reader reader(writer.bytes());
        return caught([&] { decode_trees_mean(reader, model.features, context); }).detail;
    };
    EXPECT_EQ(refusal_of([](boosting::Model&) {}), "");
    EXPECT_EQ(refusal_of([](boosting::Model& trees) { trees.features[0].name = "z"; }),
              "Its trees have other features than it.");
    EXPECT_EQ(refusal_of([](boosting::Model& trees) { trees.features[2].categories.push_back("e"); }),
              "Its trees have other features than it.");
    EXPECT_EQ(refusal_of([](boosting::Model& trees) { trees.deviation.reset(); }),
              "Its trees are no mean of targets with a deviation.");
    EXPECT_EQ(refusal_of([](boosting::Model& trees) { trees.rows = 0; }), "Its trees have no rows.");
    for (const double odd : {0.0, -1.0, 1e-4, 1e4}) {
        ratio = odd;
        EXPECT_EQ(refusal_of([](boosting::Model&) {}), "The ratio of variances over its trees is out of range.");
    }
}

TEST(GpMean, UpdatesKeepTheTrees) {
    QuietContext context;
    for (const Options& options : all_kinds()) {
        SCOPED_TRACE(name_of(options.combine));
        Model model = fit_rows(stepped_rows(260, 5), options, {}, context).model;
        const std::vector<double> point{2, 3, 1};
        const Normal before = Predictor(model).observation(point);
        const uint64_t rows = model.mean->trees().rows;
        for (int i = 0; i < 20; i++) insert(model, point, before.mean + 5, context);
        const Normal after = Predictor(model).observation(point);
        EXPECT_GT(after.mean, before.mean + 0.05);
        EXPECT_EQ(model.mean->trees().rows, rows);
        EXPECT_EQ(model.rows, 280u);
        EXPECT_EQ(model.calibration->updates, 20u);
        for (int i = 0; i < 20; i++) remove(model, point, before.mean + 5, context);
        EXPECT_NEAR(Predictor(model).observation(point).mean, before.mean, 1e-3);
    }
}

// Beyond the edge an observation tells of the process by as much as the process is of the variance there: the more, the
// larger its part at new rows. Within the ranges it tells all, whatever that part is.
TEST(GpMean, UpdatesBeyondTheEdgeGoByTheVarianceAtNewRows) {
    QuietContext context;
    for (const Options& options : {over_trees(Combine::mixture), over_trees(Combine::kernel_sum)}) {
        SCOPED_TRACE(name_of(options.combine));
        const auto shift = [&](const std::vector<double>& point, double ratio) {
            Model model = fit_rows(stepped_rows(260, 5), options, {}, context).model;
            model.mean->set_variance_ratio(ratio);
            const double before = Predictor(model).observation(point).mean;
            for (int i = 0; i < 5; i++) insert(model, point, before + 5, context);
            return Predictor(model).observation(point).mean - before;
        };
        const std::vector<double> within{2, 3, 1}, beyond{2, 11, 1};
        EXPECT_NEAR(shift(within, 4), shift(within, 0.25), 1e-9);
        EXPECT_GT(shift(beyond, 4), 1.02 * shift(beyond, 0.25));
    }
}

// Draws have the means and the variances that are predicted, also beyond the edge.
TEST(GpMean, DrawsAreOfBoth) {
    QuietContext context;
    Model model = fit_rows(stepped_rows(260, 6), over_trees(Combine::mixture), {}, context).model;
    const std::vector<double> points{2, 3, 1, 7, 9, 0, 12, 3, 2};
    Sampler sampler(model, points, context);
    constexpr int draws = 4000;
    std::vector<double> drawn(3), sum(3), squares(3);
    for (uint64_t d = 0; d < draws; d++) {
        sampler.draw(1, d, drawn);
        for (size_t p = 0; p < 3; p++) {
            sum[p] += drawn[p] / draws;
            squares[p] += drawn[p] * drawn[p] / draws;
        }
    }
    for (size_t p = 0; p < 3; p++) {
        const Predictor predictor(model);
        const Normal at = predictor.calibrated_latent(Predictor(model).latent(std::span(points).subspan(3 * p, 3)));
        EXPECT_NEAR(sum[p], at.mean, 5 * std::sqrt(at.variance / draws)) << p;
        EXPECT_NEAR((squares[p] - sum[p] * sum[p]) / at.variance, 1, 0.12) << p;
    }
}

// The density of an observation is one, and has the moments that are predicted.
TEST(GpMean, DensitiesAreThoseOfPredictions) {
    QuietContext context;
    for (const Options& options : all_kinds()) {
        Model model = fit_rows(stepped_rows(400, 8), options, {}, context).model;
        ASSERT_NE(model.mean->variance_ratio(), 1);
        Predictor predictor(model);
        for (const std::vector<double>& point : {std::vector<double>{2, 3, 1}, {7, 9, 0}, {12, 3, 2}}) {
            const Normal at = predictor.calibrated(predictor.observation(point));
            const double sd = std::sqrt(at.variance), step = 0.01;
            double total = 0, mean = 0, square = 0;
            for (double z = -12; z < 12; z += step) {
                const double density = sd * step * std::exp(predictor.score(point, at.mean + z * sd).log_density);
                total += density;
                mean += density * z;
                square += density * z * z;
            }
            EXPECT_NEAR(total, 1, 1e-6);
            EXPECT_NEAR(mean, 0, 1e-6);
            EXPECT_NEAR(square, 1, 0.02) << name_of(options.combine); // noises of members differ a little
        }
    }
}

// What trees say goes back to the mean of the targets beyond the edge, and is the less known the farther out it is.
TEST(GpMean, TreesKnowLittleBeyondTheEdge) {
    QuietContext context;
    double covered = 0, all = 0;
    for (uint64_t seed = 0; seed < 4; seed++) {
        Random random(seed);
        const auto sloping = [&](size_t count, double from, double to) {
            std::vector<PlainRow> rows = random_rows(count, seed + 10);
            for (PlainRow& row : rows) {
                row.x2 = from + (to - from) * random.unit();
                row.y = 30 * row.x2 + 0.5 * random.normal();
            }
            return rows;
        };
        Model model = fit_rows(sloping(600, 0, 1), over_trees(Combine::mixture), {}, context).model;
        Predictor predictor(model);
        for (const PlainRow& row : sloping(250, 1, 1.1)) {
            const Normal seen = predictor.observation(features_of(row));
            covered += std::abs(row.y - seen.mean) <= 1.6448536 * std::sqrt(seen.variance);
            all++;
        }
        Normal last = predictor.observation(std::vector<double>{3, 1, 1});
        for (double x = 1; x < 1.5; x += 0.001) {
            const Normal next = predictor.observation(std::vector<double>{3, x, 1});
            if (x < 1.1) {
                EXPECT_GE(next.variance, last.variance * (1 - 1e-9)) << x;
            }
            EXPECT_NEAR(next.mean, last.mean, 0.5) << x;
            last = next;
        }
        EXPECT_NEAR(predictor.observation(std::vector<double>{3, 5, 1}).mean, 15, 1);
    }
    EXPECT_GE(covered / all, 0.88);
}

// Trees for slopes, whose mean predicts better than those without a fold, from whose errors the process learned.
TEST(GpMean, DeviationsAreThoseOfNewRows) {
    QuietContext context(2);
    const auto sloping = [](size_t count, uint64_t seed) {
        Random random(seed + 1000);
        std::vector<PlainRow> rows = random_rows(count, seed);
        for (PlainRow& row : rows) {
            row.x2 = 10 * random.unit();
            row.y = row.x2 * std::sin(row.x1) + std::cos(2 * row.x2) + 0.1 * random.normal();
        }
        return rows;
    };
    double squares = 0, errors = 0, factor = 0, told = 0;
    for (uint64_t seed = 0; seed < 6; seed++) {
        Model model = fit_rows(sloping(3000, seed), over_trees(Combine::mixture), {}, context).model;
        EXPECT_EQ(model.leave_one_out->rows, 375u);
        told += std::pow(model.leave_one_out->rmse, 2) / 6;
        factor += model.mean->variance_ratio() / 6;
        Predictor predictor(model);
        for (const PlainRow& row : sloping(1000, seed + 100)) {
            const Normal at = predictor.observation(features_of(row));
            squares += (row.y - at.mean) * (row.y - at.mean) / at.variance / 6000;
            errors += (row.y - at.mean) * (row.y - at.mean) / 6000;
        }
    }
    EXPECT_LT(factor, 0.95);
    EXPECT_NEAR(squares, 1, 0.05);
    EXPECT_NEAR(told / errors, 1, 0.1);
}

// Rows held out beyond the training range are predicted by a part of what the trees say, and calibrate by that.
TEST(GpMean, HeldOutRowsCalibrateByPredictions) {
    QuietContext context;
    std::vector<PlainRow> rows = stepped_rows(500, 9, true);
    for (PlainRow& row : rows) {
        row.x2 = row.held_out ? 1 + 0.3 * row.x1 / 10 : row.x1 / 10;
        row.y += 30 * row.x2;
    }
    Model model = fit_rows(rows, over_trees(Combine::mixture), {false, true}, context).model;
    Predictor predictor(model);
    std::vector<double> z;
    for (const PlainRow& row : rows) {
        if (!row.held_out) continue;
        const Normal at = predictor.observation(features_of(row));
        z.push_back((row.y - at.mean) / std::sqrt(at.variance));
    }
    std::sort(z.begin(), z.end());
    ASSERT_EQ(model.calibration->kept.size(), z.size());
    for (size_t i = 0; i < z.size(); i++) expect_near(model.calibration->kept[i], z[i]);
}

// Nearly all rows are 0, and an eighth of them has more or fewer of the others by chance, which says nothing of
// variances. Where few rows are in no fold, all calibrate.
TEST(GpMean, RareEventsAreWithinIntervals) {
    QuietContext context(2);
    const auto rare = [](size_t count, uint64_t seed) {
        Random random(seed + 1000);
        std::vector<PlainRow> rows = random_rows(count, seed);
        for (PlainRow& row : rows) row.y = random.chance(0.04) ? 5 : 0;
        return rows;
    };
    for (const size_t count : {1500, 3000})
        for (uint64_t seed = 0; seed < 6; seed++) {
            Model model = fit_rows(rare(count, seed), over_trees(Combine::mixture), {}, context).model;
            EXPECT_NEAR(model.mean->variance_ratio(), 1, 0.25);
            EXPECT_EQ(model.calibration->rows, count == 1500 ? 1500u : 375u);
            const double low = model.calibration->quantile(0.05), high = model.calibration->quantile(0.95);
            Predictor predictor(model);
            double covered = 0;
            for (const PlainRow& row : rare(1000, seed + 100)) {
                const Normal at = predictor.observation(features_of(row));
                const double z = (row.y - at.mean) / std::sqrt(at.variance);
                covered += z >= low - 1e-9 && z <= high + 1e-9;
            }
            EXPECT_GE(covered / 1000, 0.86) << count << " rows, seed " << seed;
        }
}

TEST(GpMean, IntervalsCoverNewRows) {
    QuietContext context;
    for (const Combine combine : {Combine::mixture, Combine::kernel_sum}) {
        double covered = 0, all = 0;
        for (uint64_t seed = 0; seed < 6; seed++) {
            Options options = over_trees(combine);
            options.search = Search::local;
            options.evaluations = combine == Combine::kernel_sum ? 4000 : 800;
            Model model = fit_rows(stepped_rows(700, seed), options, {}, context).model;
            const double low = model.calibration->quantile(0.05), high = model.calibration->quantile(0.95);
            Predictor predictor(model);
            for (const PlainRow& row : stepped_rows(700, seed + 100)) {
                const Normal at = predictor.observation(features_of(row));
                const double z = (row.y - at.mean) / std::sqrt(at.variance);
                covered += z >= low && z <= high;
                all++;
            }
        }
        EXPECT_NEAR(covered / all, 0.9, 0.03) << name_of(combine);
    }
}

// Trees where they are better, none where they are not, of few rows, or where noise or signal are given.
TEST(GpMean, AutomaticTakesTheBetter) {
    QuietContext context(2);
    Options options;
    options.combine = Combine::mixture;
    options.evaluations = 400;
    EXPECT_TRUE(fit_rows(stepped_rows(1500, 1), options, {}, context).model.mean);
    EXPECT_FALSE(fit_rows(stepped_rows(200, 1), options, {}, context).model.mean);
    const Model held_out = fit_rows(stepped_rows(1500, 1, true), options, {false, true}, context).model;
    EXPECT_TRUE(held_out.mean);
    EXPECT_EQ(held_out.calibration->rows, held_out.holdout_rows / 2);
    for (const size_t count : {99, 100}) { // a few choose nothing
        std::vector<PlainRow> rows = stepped_rows(400, 1);
        for (size_t i = 0; i < count; i++) rows[i].held_out = true;
        const Model model = fit_rows(rows, options, {false, true}, context).model;
        EXPECT_EQ(model.holdout_rows, count);
        EXPECT_EQ(model.calibration->rows, count == 99 ? 99 : 50);
    }
    Options given = options;
    given.noise = 0.1;
    EXPECT_FALSE(fit_rows(stepped_rows(1500, 1), given, {}, context).model.mean);
    Random random(3);
    std::vector<PlainRow> noise = random_rows(1500, 1);
    for (PlainRow& row : noise) row.y = random.normal();
    EXPECT_FALSE(fit_rows(noise, options, {}, context).model.mean);
    for (PlainRow& row : noise) row.y = 5;
    EXPECT_FALSE(fit_rows(noise, options, {}, context).model.mean);
}

TEST(GpMean, Errors) {
    QuietContext context;
    Options options = over_trees(Combine::mixture);
    options.noise = 0.5;
    const auto refusal = caught([&] { fit_rows(stepped_rows(300, 1), options, {}, context); });
    EXPECT_EQ(refusal.message, "mean => 'boosted' takes no noise");
    options.noise.reset();
    options.signal = 1;
    EXPECT_EQ(caught([&] { fit_rows(stepped_rows(300, 1), options, {}, context); }).message,
              "mean => 'boosted' takes no signal");
    options.signal.reset();
    EXPECT_EQ(caught([&] { fit_rows(stepped_rows(4, 1), options, {}, context); }).code, ErrorCode::invalid_argument);
    for (const size_t rows : {5, 6, 10, 40})
        EXPECT_TRUE(fit_rows(stepped_rows(rows, 1), options, {}, context).model.mean);
}

TEST(GpMean, MemoryIsEstimatedBeforehand) {
    for (const Mean mean : {Mean::boosted, Mean::automatic}) {
        Options options = over_trees(Combine::mixture);
        options.mean = mean;
        expect_memory_is_estimated(stepped_rows(4000, 1), options);
    }
}

TEST(GpMean, CanBeCancelled) {
    const std::vector<PlainRow> rows = stepped_rows(1000, 1);
    Options options = over_trees(Combine::mixture);
    options.mean = Mean::automatic;
    ImpatientContext patient;
    fit_rows(rows, options, {}, patient);
    ASSERT_GT(patient.polls, 50u);
    for (uint64_t polls = 1; polls < patient.polls; polls += patient.polls / 12) {
        ImpatientContext context(polls);
        EXPECT_THROW(fit_rows(rows, options, {}, context), Cancelled) << polls;
    }
}

} // namespace
} // namespace btml::gp::test
