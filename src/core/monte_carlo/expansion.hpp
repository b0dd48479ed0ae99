// Stratifies the sum over the other rows of a kd-tree for one row: the node whose terms may differ most is split first,
// so that near leaves are summed exactly and far nodes are sampled.
#pragma once

#include "core/monte_carlo/nested_sum.hpp"
#include "core/monte_carlo/variance_tree.hpp"

#include <cmath>

namespace btml::monte_carlo {

struct LeaveOneOut {
    size_t position;         // i
    double origin = 0;       // is what kernel_weight.hpp says
    size_t nearest = no_row; // is a row whose leaf is summed exactly as well

    static constexpr size_t no_row = ~size_t{0};

    bool holds(const VarianceTree::Node& node) const {
        return (node.begin <= position && position < node.end) || (node.begin <= nearest && nearest < node.end);
    }
};

// Says how finely I(i) is stratified.
struct ExpansionRule {
    double splits;      // so many nodes are split at effort 0, at most; each effort more doubles them
    bool uniform;       // says that terms of a node differ by nothing but the kernel and the targets' spread; else they
                        // differ whatever the kernel, as where what counts is how near targets are to each other
    double draws;       // about so many are taken at effort 0; each effort more doubles them
    double min_sum = 0; // errors are relative to the sum of the weights, or to this where it is more
};

// Weight is a struct { using Metric; double operator()(double sum, double origin) const; }, as pairwise::KernelWeight
// is.
template <class Weight>
class Expansion {
  public:
    Expansion(const VarianceTree& tree, const Weight& weight, const ExpansionRule& rule, const LeaveOneOut& at,
              int effort)
        : tree_(tree),
          weight_(weight),
          rule_(rule),
          at_(at),
          scale_(std::ldexp(1.0, effort)),
          error_(relative_error / std::sqrt(scale_)) {}

    void run(std::vector<Stratum>& strata) {
        push(0);
        double splits = 0;
        while (!open_.empty()) {
            const Open top = open_.front();
            if (!top.holds && (splits >= rule_.splits * scale_ || good_enough())) break;
            std::pop_heap(open_.begin(), open_.end());
            open_.pop_back();
            typical_ -= top.typical;
            deviation_ -= top.deviation;
            const VarianceTree::Node& node = tree_.node(top.node);
            if (node.children == 0) {
                strata.push_back({node.begin, node.end, node.size()});
                // What bounds say of row i's own leaf is of the row itself, which is no term of the sum.
                typical_ += top.holds ? sum_of_leaf(node) : top.typical;
            } else {
                splits++;
                push(node.children);
                push(node.children + 1);
            }
        }
        sample_rest(strata);
    }

  private:
    using Metric = typename Weight::Metric;

    static constexpr double relative_error = 0.07; // of the sum, at effort 0: less is not aimed at
    static constexpr double negligible = 1e-13;    // of the sum
    static constexpr double typical_spread = 0.3;  // the standard deviation of a node's weights over their range

    struct Open {
        uint32_t node;
        double most;      // bound on the sum of its weights
        double deviation; // about the standard deviation of one draw from it, times its size
        double typical;   // about the sum of its weights
        bool holds;       // must be split, down to the leaf

        bool operator<(const Open& other) const {
            return holds != other.holds ? other.holds : deviation < other.deviation;
        }
    };

    double sum_of_leaf(const VarianceTree::Node& leaf) const {
        double sum = 0;
        for (size_t j = leaf.begin; j < leaf.end; j++)
            if (j != at_.position)
                sum += weight_(pairwise::sum_of<Metric>(tree_.row(at_.position), tree_.row(j), tree_.rows().dimensions),
                               at_.origin);
        return sum;
    }

    void push(uint32_t number) {
        const VarianceTree::Node& node = tree_.node(number);
        const auto [least, most] = tree_.bounds<Metric>(number, tree_.row(at_.position));
        const double size = node.size();
        const double nearest = weight_(least, at_.origin), farthest = weight_(most, at_.origin),
                     middle = std::sqrt(nearest * farthest);
        const double spread = rule_.uniform ? node.spread : 1.0;
        const Open open{number, size * nearest, size * (typical_spread * (nearest - farthest) + spread * middle),
                        size * middle, at_.holds(node)};
        typical_ += open.typical;
        deviation_ += open.deviation;
        open_.push_back(open);
        std::push_heap(open_.begin(), open_.end());
    }

    bool good_enough() const { return deviation_ <= error_ * std::sqrt(rule_.draws * scale_) * sum(); }

    double sum() const { return std::max(typical_, rule_.min_sum); }

    void sample_rest(std::vector<Stratum>& strata) const {
        double deviations = 0;
        for (const Open& open : open_) deviations += open.deviation;
        if (!(sum() > 0)) deviations = 0;
        // So many draws give the error aimed at, if the deviations are these.
        const double ratio = sum() > 0 ? deviations / (error_ * sum()) : 0;
        const double wanted = std::min(rule_.draws * scale_, ratio * ratio);
        for (const Open& open : open_) {
            if (open.most <= negligible * sum() / open_.size()) continue;
            const VarianceTree::Node& node = tree_.node(open.node);
            const double share = deviations > 0 ? open.deviation / deviations : 0;
            strata.push_back({node.begin, node.end, static_cast<size_t>(std::ceil(share * wanted / 2 + 1e-9))});
        }
    }

    const VarianceTree& tree_;
    const Weight& weight_;
    const ExpansionRule rule_;
    const LeaveOneOut& at_;
    const double scale_, error_;
    double typical_ = 0, deviation_ = 0;
    std::vector<Open> open_;
};

} // namespace btml::monte_carlo
