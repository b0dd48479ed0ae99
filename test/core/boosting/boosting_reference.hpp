// Gradient boosting written plainly, to compare with.
#pragma once

#include "boosting_data.hpp"
#include "plain_loss.hpp"

#include "core/boosting/binning/binning.hpp"

namespace btml::boosting::test {

// Midpoints between all distinct values of the training rows, by feature.
inline std::vector<std::vector<double>> all_thresholds(const PlainData& data) {
    std::vector<std::vector<double>> result(data.columns.size());
    for (size_t f = 0; f < data.columns.size(); f++) {
        if (data.columns[f].categorical) continue;
        std::vector<double> values;
        for (size_t row = 0; row < data.rows; row++) {
            const double x = data.features_of(row)[f];
            if (!is_null(x) && !data.held_out(row) && data.weight_of(row) > 0) values.push_back(x);
        }
        std::sort(values.begin(), values.end(), sql_less);
        for (size_t i = 1; i < values.size(); i++)
            if (sql_less(values[i - 1], values[i])) result[f].push_back(midpoint(values[i - 1], values[i]));
    }
    return result;
}

struct Sums {
    double n = 0, s = 0, h = 0, u = 0;
};

// One way to split: which rows go left is told by the node's fields.
struct Choice {
    Node node;
    double score = 0, gain = 0;
};

// Gradient boosting in doubles over materialised rows, as plainly as possible.
class Reference {
  public:
    Reference(const PlainData& data, const Options& options, const std::vector<std::vector<double>>& thresholds)
        : data_(data), options_(options), thresholds_(thresholds) {
        for (size_t row = 0; row < data.rows; row++) {
            values_.push_back(data.features_of(row));
            if (!data.held_out(row) && data.weight_of(row) > 0) training_.push_back(row);
        }
    }

    Model run() {
        Model model;
        for (const PlainColumn& column : data_.columns) {
            model.features.push_back({column.name, "", column.categorical, {}});
            model.features.back().categories.resize(column.categories);
        }
        loss_ = PlainLoss(options_, data_, training_);
        model.bases = loss_.bases();
        for (size_t row = 0; row < data_.rows; row++) {
            scores_.push_back(loss_.bases());
            for (double& score : scores_.back()) score += data_.offset_of(row);
        }
        for (int t = 0; t < options_.trees; t++) {
            const std::vector<std::vector<double>> before = scores_;
            for (size_t s = 0; s < model.bases.size(); s++) {
                derivatives_ = loss_.derivatives(before, s);
                model.trees.push_back(grow());
                for (size_t row = 0; row < data_.rows; row++) scores_[row][s] += walk(model.trees.back(), row);
            }
            model.log.push_back({loss(false), {}});
            const double holdout_loss = loss(true);
            if (!std::isnan(holdout_loss)) model.log.back().holdout_loss = holdout_loss;
        }
        return model;
    }

  private:
    double loss(bool holdout) const {
        double sum = 0, total = 0;
        for (size_t row = 0; row < data_.rows; row++) {
            if (data_.held_out(row) != holdout) continue;
            const double weight = data_.weight_of(row) * loss_.label_weight(row);
            if (weight > 0) sum += weight * loss_.loss(row, scores_[row]);
            total += weight;
        }
        return sum / total;
    }

    bool left(const Node& node, size_t row) const {
        const double x = values_[row][static_cast<size_t>(node.feature)];
        if (is_null(x)) return node.null_left;
        if (data_.columns[static_cast<size_t>(node.feature)].categorical)
            return std::find(node.categories.begin(), node.categories.end(), static_cast<uint32_t>(x)) !=
                   node.categories.end();
        return sql_less(x, node.threshold);
    }
    double walk(const Tree& tree, size_t row) const {
        const Node* node = &tree[0];
        while (!node->is_leaf()) node = &tree[static_cast<size_t>(left(*node, row) ? node->left : node->right)];
        return node->value;
    }
    Sums sum(const std::vector<size_t>& rows) const {
        Sums sums;
        for (const size_t row : rows) {
            const double w = data_.weight_of(row), r = derivatives_[row].residual;
            sums.n += w;
            sums.s += w * r;
            sums.h += w * derivatives_[row].hessian;
            sums.u += w * r * r;
        }
        return sums;
    }
    static double mse(Sums sums) { return std::max(0.0, sums.u / sums.n - sums.s * sums.s / (sums.n * sums.n)); }
    // A leaf's value before the learning rate, within bounds.
    double step(Sums sums, const Bounds& bounds) const {
        const double h = sums.h + options_.l2;
        return h > 0 ? bounds.clamp(std::copysign(std::max(0.0, std::fabs(sums.s) - options_.l1), sums.s) / h) : 0;
    }
    double term(Sums sums, const Bounds& bounds) const {
        const double v = step(sums, bounds);
        return 2 * sums.s * v - (sums.h + options_.l2) * v * v - 2 * options_.l1 * std::fabs(v);
    }

    void consider(const std::vector<size_t>& rows, const Bounds& bounds, Node node,
                  std::vector<Choice>& choices) const {
        std::vector<size_t> l, r;
        bool nulls = false;
        for (const size_t row : rows) {
            (left(node, row) ? l : r).push_back(row);
            nulls |= is_null(values_[row][static_cast<size_t>(node.feature)]);
        }
        const Sums a = sum(l), b = sum(r), v = sum(rows);
        if (!nulls) node.null_left = a.n >= b.n;
        if (l.empty() || r.empty() || a.n < options_.min_leaf_rows || b.n < options_.min_leaf_rows) return;
        if (!loss_.hessian_is_count() && std::min(a.h, b.h) < options_.min_leaf_hessian) return;
        const double gain = term(a, bounds) + term(b, bounds) - term(v, bounds);
        if (!(gain > options_.min_gain) || !(gain > 1e-11 * (v.u + v.s * v.s / v.n))) return;
        const int direction = data_.columns[static_cast<size_t>(node.feature)].direction;
        if (direction * (step(b, bounds) - step(a, bounds)) < 0) return;
        const double score = options_.criterion == Criterion::variance ? gain : -(mse(a) + mse(b));
        choices.push_back({node, score, gain});
    }

    std::vector<Choice> choices(const std::vector<size_t>& rows, const Bounds& bounds) const {
        std::vector<Choice> result;
        for (size_t f = 0; f < data_.columns.size(); f++) {
            Node node;
            node.feature = static_cast<int32_t>(f);
            const auto both_sides = [&] {
                for (const bool null_left : {true, false}) {
                    node.null_left = null_left;
                    consider(rows, bounds, node, result);
                }
            };
            if (!data_.columns[f].categorical) {
                node.threshold = -std::numeric_limits<double>::infinity();
                node.null_left = true;
                consider(rows, bounds, node, result);
                for (const double threshold : thresholds_[f]) {
                    node.threshold = threshold;
                    both_sides();
                }
                continue;
            }
            node.null_left = true;
            consider(rows, bounds, node, result);
            std::vector<uint32_t> order = categories_by_mean(rows, f);
            for ([[maybe_unused]] const int direction : {1, -1}) {
                node.categories.clear();
                for (const uint32_t code : order) {
                    if (options_.max_split_categories > 0 &&
                        node.categories.size() == static_cast<size_t>(options_.max_split_categories))
                        break;
                    node.categories.push_back(code);
                    std::sort(node.categories.begin(), node.categories.end());
                    both_sides();
                }
                std::reverse(order.begin(), order.end());
            }
        }
        return result;
    }
    std::vector<uint32_t> categories_by_mean(const std::vector<size_t>& rows, size_t f) const {
        std::vector<std::pair<double, uint32_t>> means;
        for (uint32_t code = 0; code < data_.columns[f].categories; code++) {
            std::vector<size_t> members;
            for (const size_t row : rows)
                if (values_[row][f] == static_cast<double>(code)) members.push_back(row);
            const Sums sums = sum(members);
            if (!members.empty() && sums.n >= options_.min_category_rows) means.emplace_back(sums.s / sums.h, code);
        }
        double largest = 0;
        for (const auto& [mean, code] : means) largest = std::max(largest, std::fabs(mean));
        for (auto& [mean, code] : means) mean = largest > 0 ? std::round(mean / largest / 1e-9) : 0;
        std::sort(means.begin(), means.end());
        std::vector<uint32_t> order;
        for (const auto& [mean, code] : means) order.push_back(code);
        return order;
    }

    struct Leaf {
        std::vector<size_t> rows;
        int depth = 0;
        Bounds bounds = {};
        bool can_split = false;
        Choice best = {};
    };
    Leaf make_leaf(std::vector<size_t> rows, int depth, const Bounds& bounds) const {
        Leaf leaf{std::move(rows), depth, bounds};
        if (options_.max_depth > 0 && depth >= options_.max_depth) return leaf;
        const std::vector<Choice> all = choices(leaf.rows, bounds);
        if (all.empty()) return leaf;
        double best = all[0].score;
        for (const Choice& choice : all) best = std::max(best, choice.score);
        const double slack = options_.criterion == Criterion::variance ? 1e-9 * best : 1e-9 * mse(sum(leaf.rows));
        leaf.best = *std::find_if(all.begin(), all.end(), [&](const Choice& c) { return c.score >= best - slack; });
        leaf.can_split = true;
        return leaf;
    }

    Tree grow() const {
        Tree tree(1);
        std::vector<Leaf> leaves;
        Bounds steps;
        if (const auto most = loss_.max_step()) steps = {-*most, *most};
        leaves.push_back(make_leaf(training_, 0, steps));
        for (int count = 1; options_.max_leaves == 0 || count < options_.max_leaves; count++) {
            double best = 0;
            for (const Leaf& leaf : leaves)
                if (leaf.can_split) best = std::max(best, leaf.best.gain);
            if (best == 0) break;
            size_t chosen = 0;
            while (!leaves[chosen].can_split ||
                   (options_.max_leaves > 0 && leaves[chosen].best.gain < best * (1 - 1e-9)))
                chosen++;
            Node& node = tree[chosen];
            const Choice choice = leaves[chosen].best;
            node = choice.node;
            node.gain = choice.gain;
            node.left = static_cast<int32_t>(tree.size());
            node.right = node.left + 1;
            std::vector<size_t> l, r;
            for (const size_t row : leaves[chosen].rows) (left(node, row) ? l : r).push_back(row);
            const int depth = leaves[chosen].depth + 1;
            leaves[chosen].can_split = false;
            tree.resize(tree.size() + 2);
            Bounds on_left = leaves[chosen].bounds, on_right = on_left;
            if (const int direction = data_.columns[static_cast<size_t>(choice.node.feature)].direction) {
                const double middle = (step(sum(l), on_left) + step(sum(r), on_right)) / 2;
                (direction > 0 ? on_left : on_right).upper = middle;
                (direction > 0 ? on_right : on_left).lower = middle;
            }
            leaves.push_back(make_leaf(l, depth, on_left));
            leaves.push_back(make_leaf(r, depth, on_right));
        }
        for (size_t i = 0; i < tree.size(); i++) {
            const Sums sums = sum(leaves[i].rows);
            tree[i].rows = sums.n;
            if (tree[i].is_leaf())
                tree[i].value = options_.learning_rate *
                                (loss_.renews() ? loss_.renewed(leaves[i].rows) : step(sums, leaves[i].bounds));
        }
        return tree;
    }

    const PlainData& data_;
    const Options& options_;
    const std::vector<std::vector<double>>& thresholds_;
    std::vector<std::vector<double>> values_;
    std::vector<size_t> training_;
    PlainLoss loss_;
    std::vector<std::vector<double>> scores_; // by row
    std::vector<PlainLoss::Derivative> derivatives_;
};

inline bool same_number(double a, double b) {
    return a == b || (std::isnan(a) && std::isnan(b));
}

// thresholds: by feature, the candidates (those of a categorical one are not looked at).
inline Model reference_fit(const PlainData& data, const Options& options,
                           const std::vector<std::vector<double>>& thresholds) {
    return Reference(data, options, thresholds).run();
}

// tolerance: of values, gains and losses, relative beyond 1.
inline void expect_same_trees(const Model& model, const Model& reference, double tolerance = 1e-9) {
    ASSERT_EQ(model.bases.size(), reference.bases.size());
    for (size_t s = 0; s < model.bases.size(); s++)
        EXPECT_NEAR(model.bases[s], reference.bases[s], tolerance * std::max(1.0, std::fabs(reference.bases[s])));
    ASSERT_EQ(model.trees.size(), reference.trees.size());
    for (size_t t = 0; t < model.trees.size(); t++) {
        SCOPED_TRACE(format("tree %zu", t));
        ASSERT_EQ(model.trees[t].size(), reference.trees[t].size());
        for (size_t i = 0; i < model.trees[t].size(); i++) {
            SCOPED_TRACE(format("node %zu", i));
            const Node &a = model.trees[t][i], &b = reference.trees[t][i];
            ASSERT_EQ(a.left, b.left);
            ASSERT_EQ(a.right, b.right);
            ASSERT_EQ(a.feature, b.feature);
            EXPECT_EQ(a.null_left, b.null_left);
            EXPECT_TRUE(same_number(a.threshold, b.threshold)) << a.threshold << " " << b.threshold;
            EXPECT_EQ(a.categories, b.categories);
            EXPECT_NEAR(a.value, b.value, tolerance * std::max(1.0, std::fabs(b.value)));
            EXPECT_NEAR(a.rows, b.rows, 1e-12 * std::max(1.0, b.rows));
            EXPECT_NEAR(a.gain, b.gain, tolerance * std::max(1.0, b.gain));
        }
    }
    ASSERT_EQ(model.log.size(), reference.log.size());
    const auto expect_near = [&](double a, double b) { EXPECT_NEAR(a, b, tolerance * std::max(1.0, std::fabs(b))); };
    for (size_t t = 0; t < model.log.size(); t++) {
        expect_near(model.log[t].train_loss, reference.log[t].train_loss);
        ASSERT_EQ(model.log[t].holdout_loss.has_value(), reference.log[t].holdout_loss.has_value());
        if (model.log[t].holdout_loss) expect_near(*model.log[t].holdout_loss, *reference.log[t].holdout_loss);
    }
}

} // namespace btml::boosting::test
