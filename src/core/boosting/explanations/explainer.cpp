#include "core/boosting/explanations/explainer.hpp"

#include "core/data/dataset.hpp"

#include <numbers>
#include <numeric>

namespace btml::boosting {

namespace {

constexpr char what[] = "a model ready to explain";

// Returns the value and the derivative of Legendre's polynomial of degree n at x.
std::pair<double, double> legendre(size_t n, double x) {
    double before = 1, value = x;
    for (size_t k = 2; k <= n; k++) {
        const auto degree = static_cast<double>(k);
        before = std::exchange(value, ((2 * degree - 1) * x * value - (degree - 1) * before) / degree);
    }
    return {value, static_cast<double>(n) * (x * value - before) / (x * x - 1)};
}

// Returns the children's parts of a node's cover.
std::pair<double, double> shares_of(const Tree& tree, const Node& node) {
    const double left = tree[node.left].rows, right = tree[node.right].rows;
    if (left + right == 0) return {0.5, 0.5};
    return {left / (left + right), right / (left + right)};
}

double mean_of(const Tree& tree) {
    std::vector<double> means(tree.size());
    for (size_t i = tree.size(); i-- > 0;) {
        if (tree[i].is_leaf()) {
            means[i] = tree[i].value;
            continue;
        }
        const auto [left, right] = shares_of(tree, tree[i]);
        means[i] = left * means[tree[i].left] + right * means[tree[i].right];
    }
    return means[0];
}

} // namespace

Explainer::Explainer(const Model& model, RunContext& context)
    : context_(context),
      missing_(model),
      divisor_(model.imported && model.imported->averages && !model.trees.empty()
                   ? static_cast<double>(model.iterations())
                   : 1),
      features_(model.features.size()),
      bases_(model.bases),
      offset_(model.offset),
      offset_name_(model.offset ? "offset \"" + model.features[*model.offset].name + "\"" : ""),
      trees_(context.memory(), what),
      splits_(context.memory(), what),
      steps_(context.memory(), what),
      codes_(context.memory(), what),
      last_(context.memory(), what, features_, 0),
      products_(context.memory(), what),
      inverses_(context.memory(), what),
      sums_(context.memory(), what, features_ * path_lanes),
      passed_(context.memory(), what),
      side_(context.memory(), what),
      path_(context.memory(), what),
      slopes_(context.memory(), what),
      met_(context.memory(), what, features_, uint64_t{0}) {
    reserve(model);
    for (size_t t = 0; t < model.trees.size(); t++) {
        add_tree(model.trees[t], model);
        bases_[t % bases_.size()] += mean_of(model.trees[t]);
    }
}

// Finds out which features a path has split before by walking the tree, the left child first; the depth of a tree is
// not bounded.
Explainer::Shape Explainer::shape_of(const Tree& tree) {
    struct Visit {
        uint32_t node;
        int32_t feature; // −1: visit the node; else the node is the last that the feature led to
    };
    Shape shape{std::vector<uint32_t>(tree.size()), std::vector<double>(tree.size(), 1.0)};
    std::vector<Visit> visits{{0, -1}};
    while (!visits.empty()) {
        const Visit visit = visits.back();
        visits.pop_back();
        const Node& node = tree[visit.node];
        if (visit.feature >= 0) {
            last_[static_cast<size_t>(visit.feature)] = visit.node;
        } else if (!node.is_leaf()) {
            const auto left = static_cast<uint32_t>(node.left), right = static_cast<uint32_t>(node.right);
            const uint32_t above = shape.above[visit.node] = last_[static_cast<size_t>(node.feature)];
            for (const Visit next : {Visit{above, node.feature}, Visit{right, -1}, Visit{right, node.feature},
                                     Visit{left, -1}, Visit{left, node.feature}})
                visits.push_back(next);
        }
    }
    std::vector<size_t> features(tree.size(), 0); // of the path to the node
    for (size_t i = 0; i < tree.size(); i++) {
        shape.features = std::max(shape.features, features[i]);
        if (tree[i].is_leaf()) continue;
        const auto [left, right] = shares_of(tree, tree[i]);
        shape.rests[tree[i].left] = shape.rests[shape.above[i]] * left;
        shape.rests[tree[i].right] = shape.rests[shape.above[i]] * right;
        features[tree[i].left] = features[tree[i].right] = features[i] + (shape.above[i] == 0);
    }
    context_.worked(10 * tree.size());
    return shape;
}

// n points integrate polynomials of degree 2n − 1; those of a path of d features have degree d − 1.
PathRule Explainer::rule_for(size_t features) {
    const size_t lanes = std::max<size_t>(1, (features + 2 * path_lanes - 1) / (2 * path_lanes)),
                 n = lanes * path_lanes;
    std::vector<double>& numbers = rules_[n];
    const bool is_known = !numbers.empty();
    numbers.resize(4 * n);
    double *const points = numbers.data(), *const rests = points + n, *const inverse_rests = rests + n,
                  *const weights = inverse_rests + n;
    for (size_t i = is_known ? n : 0; i < n; i++) {
        double x = std::cos(std::numbers::pi * (static_cast<double>(i) + 0.75) / (static_cast<double>(n) + 0.5));
        x = std::ldexp(std::nearbyint(std::ldexp(x, 30)), -30); // the last bits of a cosine are the processor's
        for (int step = 0; step < 8; step++) {                  // Newton's, from close by
            const auto [value, slope] = legendre(n, x);
            x -= value / slope;
        }
        const double slope = legendre(n, x).second;
        points[i] = (1 - x) / 2;
        rests[i] = 1 - points[i];
        inverse_rests[i] = 1 / rests[i];
        weights[i] = 1 / ((1 - x * x) * slope * slope);
        context_.worked(n);
    }
    return {n, points, rests, inverse_rests, weights};
}

void Explainer::reserve(const Model& model) {
    size_t splits = 0, codes = 0;
    for (const Tree& tree : model.trees) {
        const Shape shape = shape_of(tree);
        splits += tree.size() / 2;
        for (const Node& node : tree) codes += node.categories.size();
        max_nodes_ = std::max(max_nodes_, tree.size());
        max_path_ = std::max(max_path_, shape.features);
        max_points_ = std::max(max_points_, rule_for(shape.features).size);
    }
    context_.memory().require(model.trees.size() * sizeof(PathTree) + splits * (sizeof(PathSplit) + sizeof(Step)) +
                                  codes * sizeof(uint32_t) + max_nodes_ * (2 * max_points_ * sizeof(double) + 2) +
                                  max_path_ * (max_points_ * sizeof(double) + sizeof(int32_t)),
                              what);
    trees_.reserve(model.trees.size());
    splits_.reserve(splits);
    steps_.reserve(splits);
    codes_.reserve(codes);
    products_.resize(max_nodes_ * max_points_);
    inverses_.resize(max_nodes_ * max_points_);
    passed_.resize(max_nodes_);
    side_.resize(max_nodes_);
    slopes_.resize(max_path_ * max_points_);
    path_.resize(max_path_);
}

void Explainer::add_tree(const Tree& tree, const Model& model) {
    const Shape shape = shape_of(tree);
    trees_.push_back({{splits_.data() + splits_.size(), tree.size() / 2}, rule_for(shape.features)}); // there is room
    std::vector<uint32_t> split_of(tree.size());
    uint32_t next = 0;
    for (uint32_t i = 0; i < tree.size(); i++) {
        const Node& node = tree[i];
        if (node.is_leaf()) continue;
        split_of[i] = next++;
        const auto [left_share, right_share] = shares_of(tree, node);
        const auto child = [&](int32_t number, double share) -> PathSplit::Child {
            const double value = tree[number].is_leaf() ? tree[number].value : 1;
            return {static_cast<uint32_t>(number), share * value, shape.rests[number], value};
        };
        const bool categorical = model.features[node.feature].categorical;
        splits_.push_back({i,
                           shape.above[i],
                           node.feature,
                           shape.rests[shape.above[i]],
                           {child(node.left, left_share), child(node.right, right_share)}});
        steps_.push_back({node.threshold,
                          static_cast<uint32_t>(codes_.size()),
                          static_cast<uint32_t>(node.categories.size()),
                          node.null_left,
                          !categorical && !std::isnan(node.threshold),
                          categorical,
                          {tree[node.left].is_leaf(), tree[node.right].is_leaf()},
                          i == 0 ? 0 : split_of[node.parent]});
        for (const uint32_t code : node.categories) codes_.push_back(code);
    }
}

// Without a jump for most splits, since the processor could not foresee where it goes.
bool Explainer::goes_left(const Step& step, double x) const {
    if (step.is_number) return (x < step.threshold) | (is_null(x) & step.null_left);
    return SplitRule{step.null_left, step.categorical, step.threshold,
                     codes_.span().subspan(step.first_code, step.codes)}
        .goes_left(x);
}

void Explainer::walk(const PathTree& tree, std::span<const double> row) {
    const Step* const steps = steps_of(tree);
    for (size_t i = 0; i < tree.splits.size(); i++)
        side_[i] = !goes_left(steps[i], row[static_cast<size_t>(tree.splits[i].feature)]);
    multiply_down(tree, side_.data(), scratch());
}

void Explainer::contributions(std::span<const double> given, size_t score, std::span<double> to) {
    const std::span<const double> row = missing_(given);
    std::fill(sums_.begin(), sums_.end(), 0.0);
    for (size_t t = score; t < trees_.size(); t += bases_.size()) {
        walk(trees_[t], row);
        sum_up(trees_[t], side_.data(), scratch(), sums_.data());
        context_.worked(trees_[t].splits.size() * (1 + trees_[t].rule.size / path_lanes) + 1);
    }
    for (size_t f = 0; f < features_; f++) {
        const double* const lanes = sums_.data() + path_lanes * f;
        to[f] = std::accumulate(lanes, lanes + path_lanes, 0.0) / divisor_;
    }
    context_.worked(features_);
    to[features_] = bases_[score] / divisor_;
    if (!offset_) return;
    check_given(row[*offset_], offset_name_.c_str());
    to[*offset_] += row[*offset_];
}

void Explainer::contributions(std::span<const double> row, std::span<double> to) {
    for (size_t s = 0; s < bases_.size(); s++) contributions(row, s, to.subspan(s * (features_ + 1), features_ + 1));
}

void Explainer::interactions(std::span<const double> given, size_t score, std::span<double> to) {
    std::vector<double> own(features_ + 1);
    contributions(given, score, own);
    const std::span<const double> row = missing_(given);
    std::fill(to.begin(), to.end(), 0.0);
    for (size_t t = score; t < trees_.size(); t += bases_.size()) {
        walk(trees_[t], row);
        add_interactions(trees_[t], to);
    }
    for (double& pair : to) pair /= divisor_;
    for (size_t f = 0; f < features_; f++) {
        for (size_t g = 0; g < features_; g++) {
            if (g < f) to[f * features_ + g] = to[g * features_ + f];
            if (g != f) own[f] -= to[f * features_ + g];
        }
        to[f * features_ + f] = own[f];
        context_.worked(features_);
    }
}

// Takes the features of the path to a child of a split, from below, with their slopes; returns how many there are.
size_t Explainer::find_path(const PathTree& tree, size_t split, size_t side) {
    const size_t n = tree.rule.size;
    size_t found = 0;
    paths_++;
    while (true) {
        const PathSplit& at = tree.splits[split];
        uint64_t& met = met_[static_cast<size_t>(at.feature)];
        if (met != paths_) { // the lowest node of the feature says all
            met = paths_;
            const PathSplit::Child& child = at.children[side];
            for (size_t q = 0; q < n; q++)
                slopes_[found * n + q] = passed_[child.node] ? (1 - child.rest) * inverses_[child.node * n + q]
                                                             : -tree.rule.inverse_rests[q];
            path_[found++] = at.feature;
            context_.worked(n);
        }
        context_.worked(1);
        if (at.node == 0) return found;
        split = steps_of(tree)[split].parent;
        side = tree.splits[split].children[0].node == at.node ? 0 : 1;
    }
}

// Adds to the triangle above the diagonal.
void Explainer::add_interactions(const PathTree& tree, std::span<double> to) {
    const size_t n = tree.rule.size;
    for (size_t i = 0; i < tree.splits.size(); i++) {
        for (const size_t side : {0, 1}) {
            if (!steps_of(tree)[i].leaves[side]) continue;
            const double* const product = products_.data() + n * tree.splits[i].children[side].node;
            const size_t count = find_path(tree, i, side);
            for (size_t a = 0; a < count; a++) {
                for (size_t b = 0; b < a; b++) {
                    double sum = 0;
                    for (size_t q = 0; q < n; q++) sum += product[q] * slopes_[a * n + q] * slopes_[b * n + q];
                    const auto [low, high] = std::minmax(path_[a], path_[b]);
                    to[static_cast<size_t>(low) * features_ + static_cast<size_t>(high)] += sum / 2;
                }
                context_.worked(2 * a * n / path_lanes + 1);
            }
        }
    }
}

} // namespace btml::boosting
