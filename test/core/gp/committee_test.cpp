// A committee against the product of its experts' densities on a fine grid, and the paper's equations.
#include "caught.hpp"
#include "gp_data.hpp"

#include "core/gp/committee.hpp"
#include "core/gp/gp_predictor.hpp"
#include "core/gp/sampler.hpp"
#include "core/gp/update.hpp"

namespace btml::gp::test {
namespace {

using btml::test::caught;

double log_density(const Normal& at, double f) {
    return -((f - at.mean) * (f - at.mean) / at.variance + std::log(at.variance)) / 2;
}

// The mean and the variance of N(f; c, s) Π (N(f; μ_k, σ_k²) / N(f; c_k, s_k))^β_k, by sums over a grid.
Normal by_grid(const std::vector<Normal>& latent, const std::vector<Normal>& priors, const Normal& prior) {
    constexpr int points = 200'000;
    const double width = 40 * std::sqrt(prior.variance);
    std::vector<double> logs(points), at(points);
    for (int i = 0; i < points; i++) {
        const double f = at[i] = prior.mean + width * ((i + 0.5) / points - 0.5);
        logs[i] = log_density(prior, f);
        for (size_t k = 0; k < latent.size(); k++) {
            const double beta = std::max(0.0, (std::log(priors[k].variance) - std::log(latent[k].variance)) / 2);
            logs[i] += beta * (log_density(latent[k], f) - log_density(priors[k], f));
        }
    }
    const double most = *std::max_element(logs.begin(), logs.end());
    double all = 0, mean = 0, square = 0;
    for (int i = 0; i < points; i++) all += std::exp(logs[i] - most);
    for (int i = 0; i < points; i++) mean += std::exp(logs[i] - most) / all * at[i];
    for (int i = 0; i < points; i++) square += std::exp(logs[i] - most) / all * (at[i] - mean) * (at[i] - mean);
    return {mean, square};
}

TEST(Committee, MultipliesDensities) {
    for (uint64_t seed = 0; seed < 30; seed++) {
        Random random(seed);
        std::vector<Normal> latent, priors;
        const Normal prior{random.normal(), 0.5 + random.unit()};
        for (size_t k = 0; k < 1 + seed % 5; k++) {
            priors.push_back({prior.mean + random.normal() / 3, 0.5 + random.unit()});
            latent.push_back({random.normal(), priors[k].variance * (0.02 + 1.1 * random.unit())});
        }
        const Normal got = combine_experts(latent, priors, prior), expected = by_grid(latent, priors, prior);
        EXPECT_NEAR(got.mean, expected.mean, 1e-6) << seed;
        EXPECT_NEAR(got.variance, expected.variance, 1e-6) << seed;
    }
}

// Equations 20 to 22 of Deisenroth and Ng, where all have one prior of mean 0.
TEST(Committee, IsThePapersWithOnePrior) {
    for (uint64_t seed = 0; seed < 30; seed++) {
        Random random(seed);
        const Normal prior{0, 0.5 + random.unit()};
        std::vector<Normal> latent;
        double precision = 1 / prior.variance, sum = 0;
        for (size_t k = 0; k < 1 + seed % 6; k++) {
            const Normal at = latent.emplace_back(Normal{random.normal(), prior.variance * random.unit()});
            const double beta = (std::log(prior.variance) - std::log(at.variance)) / 2;
            precision += beta / at.variance - beta / prior.variance;
            sum += beta * at.mean / at.variance;
        }
        const Normal got = combine_experts(latent, std::vector<Normal>(latent.size(), prior), prior);
        EXPECT_NEAR(got.variance, 1 / precision, 1e-9 / precision);
        EXPECT_NEAR(got.mean, sum / precision, 1e-9);
    }
}

std::string bytes_of_model(const Model& model) {
    QuietContext context;
    Writer writer(context);
    encode(model, writer);
    return {reinterpret_cast<const char*>(writer.bytes().data()), writer.bytes().size()};
}

// Experts with the same categories: each row's are dealt out to all.
std::vector<Model> some_experts(uint64_t seed, size_t count, RunContext& context) {
    const std::vector<PlainRow> rows = random_rows(60 * count, seed);
    std::vector<Model> experts;
    for (size_t k = 0; k < count; k++) {
        std::vector<PlainRow> own;
        for (size_t i = k; i < rows.size(); i += count) own.push_back(rows[i]);
        Options options = plain_options();
        options.combine = k == 1 ? Combine::boosted : Combine::mixture;
        options.members = 2;
        experts.push_back(fit_rows(own, options, {}, context).model);
        experts.back().rows_skipped = k;
    }
    return experts;
}

TEST(Committee, PredictsAndIsStored) {
    QuietContext context;
    for (uint64_t seed = 0; seed < 6; seed++) {
        std::vector<Model> experts = some_experts(seed, 3, context), again = some_experts(seed, 3, context);
        std::reverse(again.begin(), again.end());
        std::vector<Normal> priors;
        std::vector<Predictor> predictors;
        for (Model& expert : experts) {
            priors.push_back(prior_of(expert));
            predictors.emplace_back(expert);
        }
        Model committee = committee_of(some_experts(seed, 3, context), context);
        EXPECT_EQ(committee.rows, 180u);
        EXPECT_EQ(committee.rows_skipped, 3u);
        EXPECT_TRUE(committee.options.per_shard);
        const std::string bytes = bytes_of_model(committee);
        EXPECT_EQ(bytes_of_model(committee_of(std::move(again), context)), bytes);
        Reader reader(std::as_bytes(std::span(bytes.data(), bytes.size())));
        Model copy = decode(reader, context);
        reader.finish();
        EXPECT_EQ(bytes_of_model(copy), bytes);
        Predictor predictor(copy);
        const Normal prior{committee.centre, signal(committee) * committee.scale * committee.scale};
        for (const PlainRow& row : random_rows(20, seed + 90)) {
            std::vector<Normal> latent;
            for (Predictor& expert : predictors) latent.push_back(expert.latent(features_of(row)));
            const Normal got = predictor.latent(features_of(row)), expected = combine_experts(latent, priors, prior);
            EXPECT_NEAR(got.mean, expected.mean, 1e-9 * std::abs(expected.mean));
            EXPECT_NEAR(got.variance, expected.variance, 1e-9 * expected.variance);
            const double noise = committee.noise * committee.scale * committee.scale;
            EXPECT_NEAR(predictor.observation(features_of(row)).variance, got.variance + noise, 1e-9);
        }
    }
}

// Experts of a committee cannot be committees, so that what is decoded has no depth.
TEST(Committee, HasNoCommitteesAmongItsExperts) {
    QuietContext context;
    Model inner = committee_of(some_experts(1, 2, context), context);
    Model outer = committee_of(some_experts(1, 2, context), context);
    std::get<Committee>(outer.posterior).experts[0] = std::move(inner);
    const std::string bytes = bytes_of_model(outer);
    Reader reader(std::as_bytes(std::span(bytes.data(), bytes.size())));
    EXPECT_EQ(caught([&] { decode(reader, context); }).code, ErrorCode::corrupt_model);
}

TEST(Committee, RefusesWhatItCannotDo) {
    QuietContext context;
    Model committee = committee_of(some_experts(2, 2, context), context);
    const std::vector<double> point = features_of(random_rows(1, 3)[0]);
    EXPECT_EQ(caught([&] { insert(committee, point, 1, context); }).code, ErrorCode::not_supported);
    EXPECT_EQ(caught([&] { remove(committee, point, 1, context); }).code, ErrorCode::not_supported);
    EXPECT_EQ(caught([&] { Sampler(committee, point, context); }).code, ErrorCode::not_supported);
    EXPECT_TRUE(features_outside(committee, point).empty());
    EXPECT_FALSE(committee.log_likelihood());
    const std::vector<double> weights = relevance(committee);
    EXPECT_EQ(weights.size(), committee.features.size());
}

} // namespace
} // namespace btml::gp::test
