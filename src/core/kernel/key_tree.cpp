#include "core/kernel/key_tree.hpp"

#include <algorithm>
#include <cmath>

namespace btml::kernel {

namespace {

// Keys from which a direction and a cut are found: one in so many, within bounds.
constexpr size_t keys_per_sampled = 8, min_sampled = 64, max_sampled = 1024;
constexpr int power_steps = 8;

size_t sampled_of(size_t keys) {
    return std::min(keys, std::clamp(keys / keys_per_sampled, min_sampled, max_sampled));
}

// Sums side by side: one addition need not wait for the one before.
double product(const double* a, const double* b, size_t count) {
    constexpr size_t width = 8;
    double sums[width] = {}, rest = 0;
    const size_t whole = count - count % width;
    for (size_t k = 0; k < whole; k += width)
        for (size_t i = 0; i < width; i++) sums[i] += a[k + i] * b[k + i];
    for (size_t k = whole; k < count; k++) rest += a[k] * b[k];
    for (const double sum : sums) rest += sum;
    return rest;
}

// Roughly the first principal direction of some keys, by the power method from the coordinate that varies most.
void principal_direction(const std::vector<const double*>& keys, size_t dimensions, double* direction) {
    std::vector<double> mean(dimensions, 0.0), variance(dimensions, 0.0), next(dimensions);
    for (const double* key : keys)
        for (size_t k = 0; k < dimensions; k++) mean[k] += key[k] / keys.size();
    for (const double* key : keys)
        for (size_t k = 0; k < dimensions; k++) variance[k] += (key[k] - mean[k]) * (key[k] - mean[k]);
    std::fill(direction, direction + dimensions, 0.0);
    direction[std::max_element(variance.begin(), variance.end()) - variance.begin()] = 1;
    for (int step = 0; step < power_steps && dimensions > 1; step++) {
        std::fill(next.begin(), next.end(), 0.0);
        const double of_mean = product(mean.data(), direction, dimensions);
        for (const double* key : keys) {
            const double at = product(key, direction, dimensions) - of_mean;
            for (size_t k = 0; k < dimensions; k++) next[k] += at * (key[k] - mean[k]);
        }
        const double norm = std::sqrt(product(next.data(), next.data(), dimensions));
        if (!(norm > 0) || !std::isfinite(norm)) return;
        for (size_t k = 0; k < dimensions; k++) direction[k] = next[k] / norm;
    }
}

// Chooses between which leaves to cut: where the keys are sparsest, so that few that are near each other are parted,
// but with a quarter of the leaves on either side. sample: where some of the keys are.
size_t sparsest_cut(size_t first, size_t last, size_t keys, std::vector<double> sample) {
    const size_t middle = first + (last - first) / 2, least = (last - first) / 4;
    if (least == 0) return middle;
    const size_t count = sample.size(), window = count / 64 + 1;
    std::sort(sample.begin(), sample.end());
    size_t cut = middle;
    double widest = -1;
    for (size_t leaf = first + least; leaf <= last - least; leaf++) {
        const size_t at = (leaf - first) * block_keys * count / keys;
        if (at < window || at + window >= count) continue;
        const double width = sample[at + window] - sample[at - window];
        if (width > widest) {
            widest = width;
            cut = leaf;
        }
    }
    return cut;
}

} // namespace

KeyTree::KeyTree(const Points& keys, ThreadTeam& team, RunContext& context)
    : dimensions_(keys.dimensions()),
      directions_(context.memory(), "a tree of the keys"),
      order_(context.memory(), "a tree of the keys", keys.rows()) {
    Buffer<Projected> projected(context.memory(), "a tree of the keys", keys.rows());
    for (size_t i = 0; i < keys.rows(); i++) projected[i].key = i;
    nodes_.push_back({0, leaves(), 0, 0});
    for (size_t first = 0; first < nodes_.size();) { // level by level
        const size_t last = nodes_.size();
        directions_.resize(last * dimensions_);
        std::vector<size_t> middles(last - first, 0);
        team.for_each(last - first, [&](size_t i, int) { middles[i] = split(first + i, keys, projected); });
        for (size_t node = first; node < last; node++) {
            const Node parent = nodes_[node];
            if (parent.last - parent.first < 2) continue;
            nodes_[node].left = nodes_.size();
            nodes_.push_back({parent.first, middles[node - first], 0, 0});
            nodes_.push_back({middles[node - first], parent.last, 0, 0});
        }
        first = last;
    }
    for (size_t i = 0; i < keys.rows(); i++) order_[i] = projected[i].key;
}

// Returns the first leaf of the right part.
size_t KeyTree::split(size_t node, const Points& keys, Buffer<Projected>& projected) {
    const size_t first = nodes_[node].first, last = nodes_[node].last;
    if (last - first < 2) return last;
    const size_t begin = first * block_keys, end = std::min(keys.rows(), last * block_keys);
    const std::span<const Projected> part = projected.span().subspan(begin, end - begin);
    std::vector<const double*> sample;
    std::vector<double> places;
    const size_t sampled = sampled_of(part.size());
    const auto in_sample = [&](size_t i) -> const Projected& { return part[i * part.size() / sampled]; };
    for (size_t i = 0; i < sampled; i++) sample.push_back(keys.row(in_sample(i).key));
    double* const direction = directions_.data() + node * dimensions_;
    principal_direction(sample, dimensions_, direction);
    for (size_t i = begin; i < end; i++) projected[i].at = product(keys.row(projected[i].key), direction, dimensions_);
    for (size_t i = 0; i < sampled; i++) places.push_back(in_sample(i).at);
    const size_t cut = sparsest_cut(first, last, part.size(), std::move(places)), middle = cut * block_keys;
    const auto before = [](const Projected& a, const Projected& b) {
        return a.at != b.at ? a.at < b.at : a.key < b.key;
    };
    std::nth_element(projected.begin() + begin, projected.begin() + middle, projected.begin() + end, before);
    nodes_[node].threshold = projected[middle].at;
    return cut;
}

size_t KeyTree::leaf_of(const double* point) const noexcept {
    size_t node = 0;
    while (nodes_[node].left != 0)
        node = nodes_[node].left +
               (product(point, directions_.data() + node * dimensions_, dimensions_) >= nodes_[node].threshold);
    return nodes_[node].first;
}

} // namespace btml::kernel
