#include "core/gp/sampler.hpp"

#include "core/algebra/cholesky.hpp"
#include "core/gp/tree/row_sorter.hpp"
#include "core/numbers/rng.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

namespace btml::gp {

static constexpr const char* what = "draws of a Gaussian process";

static JointPosterior joint_posterior(const Member& member, std::span<const double> values, size_t width,
                                      RunContext& context) {
    const size_t points = values.size() / width, words = member.trie.words();
    PointEncoder encoder(member.encoding, member.order);
    Buffer<uint64_t> data(context.memory(), "strings of points", points * words);
    Buffer<String> strings(context.memory(), "strings of points", points);
    context.for_each(points, 16, [&](size_t i) {
        const String string = encoder(values.subspan(i * width, width));
        std::copy_n(string.words, words, data.data() + i * words);
        strings[i] = {data.data() + i * words, string.known};
    });
    return JointPosterior(member.trie, strings.span(), context);
}

// A sum's trees have no place for a point that shares only some levels with itself.
static void require_known(const Model& model, const Encoding& encoding, std::span<const double> values) {
    for (size_t i = 0; i < values.size(); i++) {
        const size_t f = i % model.features.size();
        const ValueBits bits = encoding.value_bits(f, values[i]);
        if (bits.known == encoding.features()[f].bits()) continue;
        throw Error(ErrorCode::invalid_argument,
                    format("feature \"%s\" of point %zu is a value that no training row has",
                           model.features[f].name.c_str(), i / model.features.size() + 1),
                    "A sum of kernels draws at points that it can compare with its rows.");
    }
}

// Equal points are at one place.
static uint64_t hash_of(std::span<const double> features) {
    constexpr uint64_t stream = 0x6f757473696465; // apart from the random bits of draws
    uint64_t hash = 0;
    for (const double value : features) hash = random_bits(hash, stream, std::bit_cast<uint64_t>(value));
    return hash;
}

Sampler::Sampler(Model& model, std::span<const double> values, RunContext& context)
    : points_(values.size() / model.features.size()),
      centre_(model.centre),
      scale_(model.scale),
      variance_factor_(model.calibration ? model.calibration->variance.factor : 1),
      signals_(signals(model)),
      means_(context.memory(), what),
      factor_(context.memory(), what) {
    if (auto* const sum = std::get_if<SumModel>(&model.posterior)) {
        require_known(model, sum->encoding(), values);
        sum_ = std::make_unique<SumSampler>(*sum, values, context);
    }
    if (auto* const sparse = std::get_if<SparseModel>(&model.posterior)) factor_covariances(*sparse, values, context);
    context.memory().require(model.members().size() * JointPosterior::bytes(points_), what);
    for (const Member& member : model.members()) {
        weights_.push_back(member.weight);
        posteriors_.push_back(joint_posterior(member, values, model.features.size(), context));
    }
    const OutsideScale outside(model);
    const size_t width = model.features.size();
    for (size_t at = 0; at < values.size(); at += width) {
        const std::span<const double> features = values.subspan(at, width);
        beyond_.push_back({outside.nearness(features), hash_of(features)});
        placements_.push_back(outside.place(model, features));
    }
}

// O(points² · (K + points)), and 16 · points² bytes.
void Sampler::factor_covariances(SparseModel& model, std::span<const double> values, RunContext& context) {
    const uint64_t numbers = 2 * points_ + model.inducing_points() + model.coordinates().width();
    context.memory().require(points_ * numbers * sizeof(double), what);
    Buffer<double> covariances(context.memory(), what, points_ * points_);
    means_.resize(points_);
    model.joint(values, points_, means_.data(), covariances.data(), context);
    ThreadTeam team(context);
    // Rounding may make covariances of points that are alike indefinite by a little.
    constexpr double min_jitter = 1e-10, max_jitter = 1e-4; // of the signal
    for (double jitter = min_jitter; factor_.empty(); jitter *= 10) {
        Buffer<double> matrix(context.memory(), what, points_ * points_);
        std::copy(covariances.begin(), covariances.end(), matrix.begin());
        for (size_t i = 0; i < points_; i++) matrix[i * points_ + i] += jitter * model.kernel().signal;
        try {
            factor_ = algebra::Cholesky(std::move(matrix), points_, team).take_factor();
        } catch (const Error& error) {
            if (error.code() != ErrorCode::out_of_range || jitter >= max_jitter) throw;
        }
    }
}

double Sampler::mean(size_t member, size_t point) const {
    return sum_ ? sum_->mean(point) : posteriors_[member].mean(point);
}

double Sampler::mean(size_t point) const {
    if (sum_) return sum_->mean(point);
    if (!means_.empty()) return means_[point];
    double sum = 0;
    for (size_t member = 0; member < weights_.size(); member++) sum += weights_[member] * mean(member, point);
    return sum;
}

// As OutsideScale says: what is drawn within the ranges, and something of its own at each place.
void Sampler::go_beyond(uint64_t seed, uint64_t draw, size_t member, std::span<double> values) const {
    for (size_t point = 0; point < points_; point++) {
        const auto& [near, place] = beyond_[point];
        if (near.mean == 1) continue;
        const double turn = (near.mean - near.correlation) * mean(member, point);
        const double unit = placements_[point].outer_variance(scale_ * scale_),
                     of_trees = placements_[point].variance / unit;
        const double deviation = std::sqrt(near.rest(signals_[member]) + turn * turn + of_trees);
        values[point] = near.correlation * values[point] + turn + deviation * random_normal(seed ^ place, draw, 0);
    }
}

void Sampler::draw(uint64_t seed, uint64_t draw, std::span<double> target) {
    static constexpr uint64_t stream = uint64_t{1} << 63; // apart from those of the posterior
    if (sum_) {
        sum_->draw(seed, draw, target);
        go_beyond(seed, draw, 0, target);
    } else if (!means_.empty()) {
        std::vector<double> normal(points_);
        for (size_t i = 0; i < points_; i++) normal[i] = random_normal(seed, draw, i);
        for (size_t i = 0; i < points_; i++)
            target[i] =
                std::inner_product(&factor_[i * points_], &factor_[i * points_] + i + 1, normal.begin(), means_[i]);
    } else {
        double left = random_unit(seed, stream, draw);
        size_t member = 0;
        while (member + 1 < weights_.size() && left >= weights_[member]) left -= weights_[member++];
        posteriors_[member].draw(seed, draw, target);
        go_beyond(seed, draw, member, target);
    }
    for (size_t point = 0; point < points_; point++) {
        const Placement& place = placements_[point];
        double& drawn = target[point];
        const double ratio = place.variance_ratio * variance_factor_;
        if (ratio != 1) {
            const double at = beyond_[point].near.mean * mean(point);
            drawn = at + std::sqrt(ratio) * (drawn - at);
        }
        drawn = place.outer(centre_ + scale_ * drawn);
    }
}

} // namespace btml::gp
