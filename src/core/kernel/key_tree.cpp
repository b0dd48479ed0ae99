#include "core/kernel/key_tree.hpp"

#include "core/base/rng.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace btml::kernel {

namespace {

constexpr size_t most_sampled = 256; // keys from which a direction is found
constexpr int power_steps = 4;

double product(const double* a, const double* b, size_t count) {
    double sum = 0;
    for (size_t k = 0; k < count; k++) sum += a[k] * b[k];
    return sum;
}

// Roughly the first principal direction of some keys, by the power method from the coordinate that varies most.
void principal_direction(const std::vector<const double*>& keys, size_t dimensions, double* direction) {
    std::vector<double> mean(dimensions, 0.0), variance(dimensions, 0.0), next(dimensions);
    for (const double* key : keys)
        for (size_t k = 0; k < dimensions; k++) mean[k] += key[k] / static_cast<double>(keys.size());
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

} // namespace

KeyTree::KeyTree(const Points& keys, size_t leaf_keys, std::optional<uint64_t> seed, ThreadTeam& team,
                 RunContext& context)
    : dimensions_(keys.dimensions()),
      leaf_keys_(leaf_keys),
      seed_(seed),
      directions_(context.memory(), "a tree of the keys"),
      order_(context.memory(), "a tree of the keys", keys.rows()) {
    Buffer<Projected> projected(context.memory(), "a tree of the keys", keys.rows());
    for (size_t i = 0; i < keys.rows(); i++) projected[i].key = static_cast<uint32_t>(i);
    nodes_.push_back({0, leaves(), 0, 0});
    for (size_t first = 0; first < nodes_.size();) { // level by level
        const size_t last = nodes_.size();
        for (size_t node = first; node < last; node++) {
            const Node parent = nodes_[node];
            if (parent.last - parent.first < 2) continue;
            const size_t middle = parent.first + (parent.last - parent.first) / 2;
            nodes_[node].left = static_cast<uint32_t>(nodes_.size());
            nodes_.push_back({parent.first, middle, 0, 0});
            nodes_.push_back({middle, parent.last, 0, 0});
        }
        directions_.resize(last * dimensions_);
        team.for_each(last - first, [&](size_t i, int) { split(first + i, keys, projected); });
        first = last;
    }
    for (size_t i = 0; i < keys.rows(); i++) order_[i] = projected[i].key;
}

void KeyTree::choose_direction(size_t node, const Points& keys, std::span<const Projected> part) {
    double* const direction = directions_.data() + node * dimensions_;
    if (seed_) {
        for (size_t k = 0; k < dimensions_; k++) // normal, by Box and Muller
            direction[k] = std::sqrt(-2 * std::log(1 - random_unit(*seed_, node, 2 * k))) *
                           std::cos(2 * std::numbers::pi * random_unit(*seed_, node, 2 * k + 1));
        return;
    }
    std::vector<const double*> sample;
    const size_t sampled = std::min(most_sampled, part.size());
    for (size_t i = 0; i < sampled; i++) sample.push_back(keys.row(part[i * part.size() / sampled].key));
    principal_direction(sample, dimensions_, direction);
}

void KeyTree::split(size_t node, const Points& keys, Buffer<Projected>& projected) {
    if (nodes_[node].left == 0) return;
    const size_t begin = nodes_[node].first * leaf_keys_, end = std::min(keys.rows(), nodes_[node].last * leaf_keys_),
                 middle = nodes_[nodes_[node].left].last * leaf_keys_;
    choose_direction(node, keys, projected.span().subspan(begin, end - begin));
    const double* const direction = directions_.data() + node * dimensions_;
    for (size_t i = begin; i < end; i++) projected[i].at = product(keys.row(projected[i].key), direction, dimensions_);
    const auto before = [](const Projected& a, const Projected& b) {
        return a.at != b.at ? a.at < b.at : a.key < b.key;
    };
    std::nth_element(projected.begin() + begin, projected.begin() + middle, projected.begin() + end, before);
    nodes_[node].threshold = projected[middle].at;
}

size_t KeyTree::leaf_of(const double* point) const noexcept {
    size_t node = 0;
    while (nodes_[node].left != 0)
        node = nodes_[node].left +
               (product(point, directions_.data() + node * dimensions_, dimensions_) >= nodes_[node].threshold);
    return nodes_[node].first;
}

} // namespace btml::kernel
