#include "core/gp/sampler.hpp"

#include "core/base/rng.hpp"
#include "core/gp/point_encoder.hpp"

#include <algorithm>

namespace btml::gp {

static JointPosterior joint_posterior(const Member& member, std::span<const double> values, size_t width,
                                      RunContext& context) {
    static constexpr size_t points_between_polls = size_t{1} << 14;
    const size_t points = values.size() / width, words = member.trie.words();
    PointEncoder encoder(member.encoding, member.order);
    Buffer<uint64_t> data(context.memory(), "strings of points", points * words);
    Buffer<String> strings(context.memory(), "strings of points", points);
    for (size_t i = 0; i < points; i++) {
        if (i % points_between_polls == 0) context.poll();
        const String string = encoder(values.subspan(i * width, width));
        std::copy_n(string.words, words, data.data() + i * words);
        strings[i] = {data.data() + i * words, string.known};
    }
    return JointPosterior(member.trie, strings.span(), context);
}

Sampler::Sampler(const Model& model, std::span<const double> values, RunContext& context)
    : points_(values.size() / model.features.size()), centre_(model.centre), scale_(model.scale) {
    if (model.sum)
        throw Error(ErrorCode::not_supported, "a sum of kernels cannot be sampled yet", {},
                    "Train the model with combine => 'mixture'.");
    for (const Member& member : model.members) {
        weights_.push_back(member.weight);
        posteriors_.push_back(joint_posterior(member, values, model.features.size(), context));
    }
}

void Sampler::draw(uint64_t seed, uint64_t draw, std::span<double> target) const {
    static constexpr uint64_t stream = uint64_t{1} << 63; // apart from those of the posterior
    double left = random_unit(seed, stream, draw);
    size_t member = 0;
    while (member + 1 < weights_.size() && left >= weights_[member]) left -= weights_[member++];
    posteriors_[member].draw(seed, draw, target);
    for (double& value : target) value = centre_ + scale_ * value;
}

} // namespace btml::gp
