#include "core/gp/outside.hpp"

#include <algorithm>
#include <cmath>

namespace btml::gp {

namespace {

// Adds, by feature and the place of a bit in its value, the variance that is not shared by points which part there, and
// returns the whole variance. share: of the order's kernel.
double add_lost(const Encoding& encoding, const BitOrder& order, std::span<const double> weights, double share,
                std::vector<std::vector<double>>& lost) {
    double signal = 0;
    for (const double weight : weights) signal += share * weight;
    double rest = signal;
    std::vector<int> used(lost.size(), 0);
    for (size_t level = 0; level < order.size(); level++) {
        const size_t feature = order[level];
        const int bit = ++used[feature] - static_cast<int>(encoding.features()[feature].null_bit);
        if (bit > 0) lost[feature][static_cast<size_t>(bit)] += rest;
        rest -= share * weights[level];
    }
    return signal;
}

double share_lost(std::span<const double> lost, double distance) {
    if (distance >= 1) return 1;
    double share = 0, cells = distance;
    for (size_t bit = 0; bit + 1 < lost.size(); bit++, cells *= 2)
        share += std::min(1.0, cells) * (lost[bit] - lost[bit + 1]);
    return std::min(share, 1.0);
}

} // namespace

OutsideScale::OutsideScale(const Model& model) {
    const Encoding* const encoding = model.encoding();
    if (!encoding || model.options.outside == Outside::clamp) return;
    std::vector<std::vector<double>> lost;
    for (const FeatureBits& bits : encoding->features()) lost.emplace_back(bits.value_bits + 2, 0.0);
    double signal = 0;
    for (const Member& member : model.members())
        signal += add_lost(*encoding, member.order, member.trie.kernel().weights, member.weight, lost);
    if (const auto* const sum = std::get_if<SumModel>(&model.posterior))
        for (const SumModel::Member& member : sum->members())
            signal += add_lost(*encoding, member.order, member.weights, 1, lost);
    for (std::vector<double>& of_feature : lost) {
        for (double& part : of_feature) part = signal > 0 ? std::clamp(part / signal, 0.0, 1.0) : 0;
        of_feature[0] = 1;
    }
    std::vector<double> of_trees = model.mean ? model.mean->relevance() : std::vector<double>{};
    for (const double variance : of_trees) variance_of_trees_ += variance;
    for (size_t f = 0; f < encoding->features().size(); f++) {
        const double share = variance_of_trees_ > 0 ? of_trees[f] / variance_of_trees_ : 0;
        if (!encoding->features()[f].categorical)
            features_.push_back({f, encoding->features()[f].scale, std::move(lost[f]), share});
    }
}

std::vector<double> signals(const Model& model) {
    std::vector<double> signals;
    for (const Member& member : model.members()) signals.push_back(member.trie.kernel().signal());
    if (const auto* const sum = std::get_if<SumModel>(&model.posterior))
        signals.push_back(sum->calibration() * signal(model));
    return signals;
}

Nearness OutsideScale::nearness(std::span<const double> features) const {
    Nearness near;
    for (const auto& [feature, scale, lost, of_trees] : features_) {
        const double x = features[feature];
        if (is_null(x) || !scale->is_outside(x)) continue;
        const double distance = scale->distance_outside(x);
        near.mean *= 1 - std::min(1.0, distance);
        near.correlation *= 1 - share_lost(lost, distance);
    }
    return near;
}

Nearness OutsideScale::nearness_of_trees(std::span<const double> features) const {
    static constexpr double of_random_walk = 3; // ρ falls by half as much as the mean square grows
    Nearness near;
    for (const auto& [feature, scale, lost, share] : features_) {
        const double x = features[feature];
        if (is_null(x) || !scale->is_outside(x)) continue;
        const double distance = std::min(1.0, scale->distance_outside(x));
        near.mean *= 1 - distance;
        near.correlation *= 1 - share * std::min(1.0, of_random_walk * distance);
    }
    near.correlation = std::min(near.correlation, near.mean);
    return near;
}

Placement OutsideScale::place(Model& model, std::span<const double> features) const {
    if (!model.mean) return {};
    Placement at = model.mean->at(features);
    const Nearness near = nearness_of_trees(features);
    if (near.mean == 1) return at;
    const double base = model.mean->trees().bases[0];
    const Normal mean = beyond({at.mean - base, 0}, near, variance_of_trees_);
    at.mean = base + mean.mean;
    at.variance = mean.variance;
    return at;
}

} // namespace btml::gp
