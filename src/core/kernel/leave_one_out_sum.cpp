#include "core/kernel/leave_one_out_sum.hpp"

#include <cmath>

namespace btml::kernel {

namespace {

// At effort 0; each effort more doubles both.
constexpr double nodes_split = 128;
constexpr double draws = 192;
constexpr double relative_error = 0.07; // of the sum, at effort 0: less is not aimed at
constexpr double negligible = 1e-13;    // of the sum

struct Open {
    uint32_t node;
    double most;      // bound on the sum of its weights
    double deviation; // bound on the standard deviation of one draw from it, times its size
    double typical;   // about the sum of its weights
    bool holds;       // must be split, down to the leaf

    bool operator<(const Open& other) const { return holds != other.holds ? other.holds : deviation < other.deviation; }
};

class Expansion {
  public:
    Expansion(const VarianceTree& tree, double coefficient, bool uniform, const LeaveOneOut& at, int effort)
        : tree_(tree),
          coefficient_(coefficient),
          uniform_(uniform),
          at_(at),
          scale_(std::ldexp(1.0, effort)),
          error_(relative_error / std::sqrt(scale_)) {}

    void run(std::vector<Stratum>& strata, double sum_at_least) {
        typical_ = sum_at_least;
        push(0);
        double splits = 0;
        while (!open_.empty()) {
            const Open top = open_.front();
            if (!top.holds && (splits >= nodes_split * scale_ || good_enough())) break;
            std::pop_heap(open_.begin(), open_.end());
            open_.pop_back();
            typical_ -= top.typical;
            deviation_ -= top.deviation;
            const VarianceTree::Node& node = tree_.node(top.node);
            if (node.children == 0) {
                strata.push_back({node.begin, node.end, node.size()});
                typical_ += top.typical;
            } else {
                splits++;
                push(node.children);
                push(node.children + 1);
            }
        }
        sample_rest(strata);
    }

  private:
    void push(uint32_t number) {
        const VarianceTree::Node& node = tree_.node(number);
        const auto [least, most] = tree_.distances(number, tree_.row(at_.position));
        const double size = static_cast<double>(node.size());
        const auto weight = [&](double distance) {
            return exponential(std::min(0.0, (at_.origin - distance) * coefficient_));
        };
        const double nearest = weight(least), farthest = weight(most), middle = std::sqrt(nearest * farthest);
        const double spread = uniform_ ? node.spread : 1.0;
        const Open open{number, size * nearest, size * (nearest - farthest + spread * middle), size * middle,
                        at_.holds(node)};
        typical_ += open.typical;
        deviation_ += open.deviation;
        open_.push_back(open);
        std::push_heap(open_.begin(), open_.end());
    }

    bool good_enough() const { return deviation_ <= error_ * std::sqrt(draws * scale_) * typical_; }

    void sample_rest(std::vector<Stratum>& strata) const {
        double deviations = 0;
        for (const Open& open : open_) deviations += open.deviation;
        if (!(typical_ > 0)) deviations = 0;
        // So many draws give the error aimed at, if the bounds were the deviations.
        const double ratio = typical_ > 0 ? deviations / (error_ * typical_) : 0;
        const double wanted = std::min(draws * scale_, ratio * ratio);
        for (const Open& open : open_) {
            if (open.most <= negligible * typical_ / static_cast<double>(open_.size())) continue;
            const VarianceTree::Node& node = tree_.node(open.node);
            const double share = deviations > 0 ? open.deviation / deviations : 0;
            strata.push_back({node.begin, node.end, static_cast<size_t>(std::ceil(share * wanted / 2 + 1e-9))});
        }
    }

    const VarianceTree& tree_;
    const double coefficient_;
    const bool uniform_;
    const LeaveOneOut& at_;
    const double scale_, error_;
    double typical_ = 0, deviation_ = 0;
    std::vector<Open> open_;
};

} // namespace

void expand(const VarianceTree& tree, double coefficient, bool uniform, int effort, LeaveOneOut& at,
            std::vector<Stratum>& strata) {
    // Relative to the nearest row, that row's weight is 1.
    Expansion(tree, coefficient, uniform, at, effort).run(strata, at.nearest == LeaveOneOut::no_row ? 0 : 1);
}

} // namespace btml::kernel
