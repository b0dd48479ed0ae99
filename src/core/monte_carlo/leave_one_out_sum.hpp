// Sums Σ_{j ≠ i} of a Gaussian kernel k_ij = exp(−c·‖x_i − x_j‖²) times something of row j, for one row i of a kd-tree.
// The index set is stratified for each row anew: the node whose terms may differ most is split first, so that near
// leaves are summed exactly and far nodes are sampled.
#pragma once

#include "core/monte_carlo/nested_sum.hpp"
#include "core/monte_carlo/variance_tree.hpp"
#include "core/pairwise/exponential.hpp"

#include <cmath>

namespace btml::monte_carlo {

struct LeaveOneOut {
    size_t position;         // i
    double origin = 0;       // is a squared distance: weights are relative to a point so far away, against underflow
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

void expand(const VarianceTree& tree, double coefficient, const ExpansionRule& rule, int effort, LeaveOneOut& at,
            std::vector<Stratum>& strata);

// A row whose weights add up to less has few neighbours that count, or one. A sample may lack them without a trace of
// it, so such rows are sampled anew, relative to the nearest row and with it.
inline constexpr double isolated_weight = 1e-3;

// Says whether a ratio with this denominator, known from two halves of a sample, is nearly linear in it.
inline bool ratio_settled(double first, double second) {
    constexpr double most = 0.15; // is the share of the halves' sum that their difference may be
    return std::abs(first - second) <= most * (first + second);
}

// Terms is a struct { struct Total; static void add(Total&, double weight, double factor, double target); } where the
// weight is that of the kernel.
template <class Terms>
class LeaveOneOutSum {
  public:
    using Constants = LeaveOneOut;
    using Total = typename Terms::Total;

    LeaveOneOutSum(const VarianceTree& tree, double coefficient, const ExpansionRule& rule)
        : tree_(tree), coefficient_(coefficient), rule_(rule) {}

    void index_set(Constants& at, int effort, std::vector<Stratum>& strata) const {
        expand(tree_, coefficient_, rule_, effort, at, strata);
    }
    void add_term(const Constants& at, size_t j, double factor, Total& total) const {
        if (j == at.position) return;
        const double* const row = tree_.row(j);
        const double distance = squared_distance(tree_.row(at.position), row, tree_.rows().dimensions);
        const double weight = pairwise::exponential(std::min(0.0, (at.origin - distance) * coefficient_));
        Terms::add(total, weight, factor, tree_.rows().target ? row[tree_.rows().dimensions] : 0);
    }
    // Makes weights relative to the nearest row, whose leaf is in every sample.
    void widen(Constants& at) const {
        at.nearest = tree_.nearest(at.position);
        at.origin = squared_distance(tree_.row(at.position), tree_.row(at.nearest), tree_.rows().dimensions);
    }
    // Says whether exp() of the nearest row underflows.
    bool underflows(const Constants& at) const { return -at.origin * coefficient_ <= pairwise::min_exponent; }

  private:
    const VarianceTree& tree_;
    const double coefficient_;
    const ExpansionRule rule_;
};

// What all scores share whose rows are each scored by one such sum.
template <class Terms>
class LeaveOneOutScore {
  public:
    const LeaveOneOutSum<Terms>& inner() const { return sum_; }
    LeaveOneOut constants(size_t i) const { return {i}; }

  protected:
    LeaveOneOutScore(const VarianceTree& tree, double coefficient, const ExpansionRule& rule)
        : sum_(tree, coefficient, rule) {}

    const LeaveOneOutSum<Terms> sum_;
};

// What scores share that divide by the sum of a row's weights, or take its logarithm; Total has it as `weights`.
template <class Terms>
class RatioScore : public LeaveOneOutScore<Terms> {
  public:
    using Total = typename Terms::Total;

    bool defined(const Total& total) const { return total.weights >= isolated_weight; }
    bool settled(const Replicates<Total>& totals) const {
        return ratio_settled(totals.first.weights, totals.second.weights);
    }
    void widen(LeaveOneOut& at) const { this->sum_.widen(at); }

  protected:
    using LeaveOneOutScore<Terms>::LeaveOneOutScore;
};

} // namespace btml::monte_carlo
