#include "core/gp/sampler.hpp"

#include "core/base/rng.hpp"
#include "core/gp/tree/point_encoder.hpp"

#include <algorithm>

namespace btml::gp {

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
        const bool unlike = bits.outside && encoding.outside() == Outside::prior;
        if (bits.known == encoding.features()[f].bits() && !unlike) continue;
        throw Error(ErrorCode::invalid_argument,
                    format("feature \"%s\" of point %zu is %s", model.features[f].name.c_str(),
                           i / model.features.size() + 1,
                           unlike ? "outside of the range of the training rows" : "a value that no training row has"),
                    "A sum of kernels draws at points that it can compare with its rows.");
    }
}

Sampler::Sampler(Model& model, std::span<const double> values, RunContext& context)
    : points_(values.size() / model.features.size()), centre_(model.centre), scale_(model.scale) {
    if (std::holds_alternative<Boosted>(model.posterior))
        throw Error(ErrorCode::not_supported, "a boosted Gaussian process has no joint draws",
                    "Its members give a mean and a variance at each point, but no covariance of points.",
                    "Train the model with combine => 'mixture' or 'kernel_sum'.");
    if (std::holds_alternative<Committee>(model.posterior))
        throw Error(ErrorCode::not_supported, "a committee of Gaussian processes has no joint draws",
                    "Its experts give a mean and a variance at each point, but no covariance of points.",
                    "Train the model without per_shard.");
    if (auto* const sum = std::get_if<SumModel>(&model.posterior)) {
        require_known(model, sum->encoding(), values);
        sum_ = std::make_unique<SumSampler>(*sum, values, context);
    }
    if (auto* const sparse = std::get_if<SparseModel>(&model.posterior))
        sparse_ = std::make_unique<SparseSampler>(*sparse, values, points_, context);
    context.memory().require(model.members().size() * JointPosterior::bytes(points_), "draws of a Gaussian process");
    for (const Member& member : model.members()) {
        weights_.push_back(member.weight);
        posteriors_.push_back(joint_posterior(member, values, model.features.size(), context));
    }
}

void Sampler::draw(uint64_t seed, uint64_t draw, std::span<double> target) {
    static constexpr uint64_t stream = uint64_t{1} << 63; // apart from those of the posterior
    if (sum_) {
        sum_->draw(seed, draw, target);
    } else if (sparse_) {
        sparse_->draw(seed, draw, target);
    } else {
        double left = random_unit(seed, stream, draw);
        size_t member = 0;
        while (member + 1 < weights_.size() && left >= weights_[member]) left -= weights_[member++];
        posteriors_[member].draw(seed, draw, target);
    }
    for (double& value : target) value = centre_ + scale_ * value;
}

} // namespace btml::gp
