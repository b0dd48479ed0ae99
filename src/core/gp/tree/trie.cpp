#include "core/gp/tree/trie.hpp"

#include "core/gp/tree/log_product.hpp"

#include <algorithm>
#include <bit>
#include <numbers>

namespace btml::gp {

// Two values of one observation, as written down at two times.
static constexpr double same = 1e-9;

Trie::Trie(Kernel kernel, RunContext& context)
    : kernel_(std::move(kernel)),
      covariances_(kernel_.covariances()),
      words_((kernel_.levels() + 63) / 64),
      nodes_(context.memory(), "trie"),
      leaves_(context.memory(), "trie"),
      keys_(context.memory(), "trie") {}

Trie::Trie(const BitRows& rows, std::span<const uint16_t> bits, const SortedRows& sorted,
           const Observations& observations, Kernel kernel, RunContext& context)
    : Trie(std::move(kernel), context) {
    const size_t levels = kernel_.levels(), count = rows.rows;
    const std::vector<StringWord> string = string_words(bits);
    size_t distinct = 0;
    for (size_t i = 0; i < count; i++) distinct += i + 1 == count || sorted.common[i] < levels;
    reserve(distinct);
    std::vector<uint64_t> words(words_);
    for (size_t begin = 0, end = 0; begin < count; begin = end) {
        double mean = 0, weight = 0;
        do {
            const double w = observations.weight_of(end), difference = observations.target[end] - mean;
            residual_ += weight * w / (weight + w) * difference * difference;
            weight += w;
            mean += difference * (w / weight);
            log_weights_ += std::log(w);
            context.worked(4);
        } while (++end < count && sorted.common[end - 1] == levels);
        for (size_t w = 0; w < words_; w++) words[w] = string[w](rows.row(sorted.rows[begin]));
        append(add_leaf(words.data(), mean, weight, static_cast<uint32_t>(end - begin)), sorted.common[end - 1]);
    }
}

void Trie::reserve(size_t strings) {
    nodes_.reserve(2 * strings);
    leaves_.reserve(strings);
    keys_.reserve(strings * words_);
}

uint32_t Trie::add_leaf(const uint64_t* words, double mean, double weight, uint32_t rows) {
    if (nodes_.size() + 2 > none) throw Error(ErrorCode::limit_exceeded, format("a trie has at most %u nodes", none));
    const uint32_t node = nodes_.size(), leaf = leaves_.size();
    leaves_.push_back({weight, rows});
    for (size_t w = 0; w < words_; w++) keys_.push_back(words[w]);
    nodes_.push_back({kernel_.noise / weight, mean, {leaf, none}, static_cast<uint16_t>(kernel_.levels())});
    strings_++;
    rows_ += rows;
    return node;
}

uint32_t Trie::add_inner(uint32_t left, uint32_t right, size_t level) {
    const uint32_t node = nodes_.size();
    nodes_.push_back({0, 0, {left, right}, static_cast<uint16_t>(level)});
    meet(nodes_[node]);
    return node;
}

// Appends a leaf whose string comes after all others, and the levels that it shares with the next one (0: there is
// none). Children and parents come close to each other in memory.
void Trie::append(uint32_t node, size_t common) {
    for (; !open_.empty() && open_.back().level >= common; open_.pop_back())
        node = add_inner(open_.back().node, node, open_.back().level);
    open_.push_back({node, common});
    root_ = node;
}

// Sets what both children say together.
void Trie::meet(Node& node) const {
    const Node &left = nodes_[node.child[0]], &right = nodes_[node.child[1]];
    const double c = covariances_[node.level];
    const double left_variance = left.variance + (covariances_[left.level] - c);
    const double right_variance = right.variance + (covariances_[right.level] - c);
    const double inverse = 1 / (left_variance + right_variance);
    node.variance = left_variance * right_variance * inverse;
    node.mean = right.mean + (left.mean - right.mean) * (right_variance * inverse);
}

double Trie::negative_log_likelihood() const {
    if (root_ == none) return 0;
    double squares = 0, log_strings = 0;
    LogProduct variances;
    for (const Node& node : nodes_) {
        if (node.taken_out()) continue;
        if (node.is_leaf()) {
            log_strings += std::log(leaves_[node.leaf()].weight);
            continue;
        }
        const Node &left = nodes_[node.child[0]], &right = nodes_[node.child[1]];
        const double sum = left.variance + right.variance + (covariances_[left.level] - covariances_[node.level]) +
                           (covariances_[right.level] - covariances_[node.level]);
        squares += (left.mean - right.mean) * (left.mean - right.mean) / sum;
        variances.multiply(sum);
    }
    const Node& root = nodes_[root_];
    const double variance = root.variance + covariances_[root.level], noise = kernel_.noise;
    squares += root.mean * root.mean / variance + residual_ / noise;
    const double merged = rows_ - static_cast<double>(strings_);
    const double logs = variances.log() + std::log(variance) + merged * std::log(noise) - log_weights_ + log_strings;
    return (squares + logs + rows_ * std::log(2 * std::numbers::pi)) / 2;
}

size_t Trie::common_levels(const uint64_t* a, const uint64_t* b) const {
    for (size_t w = 0; w < words_; w++)
        if (a[w] != b[w]) return w * 64 + std::countl_zero(a[w] ^ b[w]);
    return kernel_.levels();
}

// Returns a leaf that shares as many known levels with the point as any does.
uint32_t Trie::find_leaf(const uint64_t* words) const {
    uint32_t node = root_;
    while (!nodes_[node].is_leaf()) node = nodes_[node].child[bit(words, nodes_[node].level)];
    return node;
}

size_t Trie::shared_levels(const String& point) const {
    if (root_ == none) return 0;
    return std::min(point.known, common_levels(point.words, key(nodes_[find_leaf(point.words)].leaf())));
}

// Goes down from the root, where the function is 0. Across an edge of variance v to what an observation (m, variance u)
// stands for, a mean and variance (μ, s) become (uμ + vm)/(u + v) and v·u/(u + v) + s·(u/(u + v))².
Normal Trie::latent(const String& point) const {
    const size_t shared = shared_levels(point);
    const double* const c = covariances_.data();
    Normal at;
    double above = 0;
    for (uint32_t next = root_; next != none;) {
        const Node& node = nodes_[next];
        const size_t level = std::min<size_t>(node.level, shared);
        const double edge = c[level] - above, variance = node.variance + (c[node.level] - c[level]);
        const double inverse = 1 / (edge + variance), gain = variance * inverse;
        at = {gain * at.mean + edge * inverse * node.mean, gain * (gain * at.variance + edge)};
        above = c[level];
        if (node.level >= shared) break;
        next = node.child[bit(point.words, node.level)];
    }
    return {at.mean, at.variance + (c[kernel_.levels()] - c[shared])};
}

// Nodes that the string passes, from the root: the last is a leaf or the first that it has not all levels of.
std::vector<uint32_t> Trie::path_to(const uint64_t* words) const {
    const size_t shared = shared_levels({words, kernel_.levels()});
    std::vector<uint32_t> path;
    for (uint32_t node = root_; node != none;) {
        path.push_back(node);
        if (nodes_[node].level >= shared) break;
        node = nodes_[node].child[bit(words, nodes_[node].level)];
    }
    return path;
}

// Brings the path up to date after a change of what its last node says.
void Trie::update(const std::vector<uint32_t>& path) {
    for (size_t i = path.size(); i-- > 0;)
        if (!nodes_[path[i]].is_leaf()) meet(nodes_[path[i]]);
}

void Trie::insert(const String& point, double target, double weight) {
    validate_observation(target, weight);
    if (point.known < kernel_.levels())
        throw Error(ErrorCode::invalid_argument, "an observation with an unknown value cannot be inserted");
    std::vector<uint32_t> path = path_to(point.words);
    if (path.empty()) {
        root_ = add_leaf(point.words, target, weight, 1);
    } else if (Node& last = nodes_[path.back()]; shared_levels(point) == kernel_.levels()) {
        Leaf& leaf = leaves_[last.leaf()];
        const double difference = target - last.mean;
        residual_ += leaf.weight * weight / (leaf.weight + weight) * difference * difference;
        leaf.weight += weight;
        leaf.rows++;
        last.mean += difference * (weight / leaf.weight);
        last.variance = kernel_.noise / leaf.weight;
        rows_++;
    } else {
        const size_t level = shared_levels(point);
        const uint32_t below = path.back(), leaf = add_leaf(point.words, target, weight, 1);
        const bool right = bit(point.words, level);
        const uint32_t inner = add_inner(right ? below : leaf, right ? leaf : below, level);
        path.pop_back();
        replace_child(path, below, inner);
    }
    log_weights_ += std::log(weight);
    update(path);
}

// The child `old` of the path's last node, or the root where the path is empty, becomes another node.
void Trie::replace_child(const std::vector<uint32_t>& path, uint32_t old, uint32_t node) {
    if (path.empty()) {
        root_ = node;
        return;
    }
    Node& parent = nodes_[path.back()];
    parent.child[parent.child[1] == old] = node;
}

void Trie::remove(const String& point, double target, double weight) {
    const auto refuse = [](const char* why) {
        throw Error(ErrorCode::invalid_argument, "the observation to remove is not in the model", why);
    };
    if (point.known < kernel_.levels() || root_ == none || shared_levels(point) < kernel_.levels())
        refuse("No observation has these features.");
    std::vector<uint32_t> path = path_to(point.words);
    Node& node = nodes_[path.back()];
    Leaf& leaf = leaves_[node.leaf()];
    const double difference = target - node.mean, rest = leaf.weight - weight;
    if (!std::isfinite(target) || !(weight > 0)) refuse("Its target or its weight is impossible.");
    if (leaf.rows == 1) {
        if (std::abs(difference) > same * (1 + std::abs(node.mean)) || std::abs(rest) > same * weight)
            refuse("The one with these features has another target or weight.");
        take_out(path);
    } else {
        if (!(rest > same * weight)) refuse("Those with these features have less weight together.");
        residual_ = std::max(0.0, residual_ - leaf.weight * weight / rest * difference * difference);
        node.mean -= difference * (weight / rest);
        node.variance = kernel_.noise / rest;
        leaf.weight = rest;
        leaf.rows--;
    }
    rows_--;
    log_weights_ -= std::log(weight);
    update(path);
}

// Takes the leaf at the end of the path out, and the node above it, whose other child takes its place.
void Trie::take_out(std::vector<uint32_t>& path) {
    const uint32_t leaf = path.back();
    path.pop_back();
    strings_--;
    nodes_[leaf].child[0] = none;
    if (path.empty()) {
        root_ = none;
        return;
    }
    const uint32_t above = path.back();
    path.pop_back();
    Node& node = nodes_[above];
    replace_child(path, above, node.child[node.child[0] == leaf]);
    node.child[0] = node.child[1] = none;
}

} // namespace btml::gp
