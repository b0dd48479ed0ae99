// The one place that knows which class stands for which kind of score: a new kind is one more class and a line here.
#pragma once

#include "core/monte_carlo/leave_one_out_sum.hpp"
#include "core/monte_carlo/score_form.hpp"
#include "core/monte_carlo/scores.hpp"
#include "core/monte_carlo/square_integral.hpp"

#include <cmath>
#include <numbers>

namespace btml::monte_carlo {

// Gives φ/φ(0), φ = k ∗ k, with the ratio of k to it, which stands in the place of a target.
template <class Shape>
struct ConvolvedWeight {
    using Metric = typename Shape::Metric;

    double operator()(double sum, double) const { return values(sum).first; }
    std::pair<double, double> values(double sum) const {
        double ratio;
        pairwise::convolve<Shape, double, uint64_t>(sum, ratio, coefficient, convolution);
        return {sum, ratio};
    }

    double coefficient;
    const pairwise::Convolution& convolution;
};

// Says what a row's sums contribute.
struct DensityWeights {
    DensityWeights(const ScoreForm& form, double bandwidth, size_t dimensions, size_t rows) {
        const double others = rows - 1, d = dimensions;
        double peak, peak_of_wide;
        if (form.kernel == pairwise::kernel_of<pairwise::Gaussian>) {
            const double variance = bandwidth * bandwidth;
            peak = std::pow(2 * std::numbers::pi * variance, -0.5 * d);
            peak_of_wide = std::pow(2 * std::numbers::pi * (2 * variance), -0.5 * d);
        } else {
            peak = std::exp(-facts_of(form.kernel).log_volume(bandwidth, d));
            peak_of_wide = std::exp(form.convolution->log_peak() - d * std::log(bandwidth));
        }
        constant = peak_of_wide / others;
        wide = constant * (others - 1) / others;
        narrow = -2 * peak / others;
    }
    // Takes the sums of φ/φ(0) and of K_h/K_h(0).
    double term(double convolved, double weights) const { return constant + wide * convolved + narrow * weights; }

    double constant, wide, narrow;
};

// S_KDE, the least-squares leave-one-out score of kernel density estimation in d dimensions,
//   (1/n) Σ_i [(n−1)⁻² Σ_{j≠i} Σ_{k≠i} φ(x_j − x_k) − 2/(n−1) Σ_{j≠i} K_h(x_i − x_j)],   φ = K_h ∗ K_h,
// whose pairs occur n − 2 times (n − 1 times where j = k), so that it is a mean of sums over single rows:
//   (1/n) Σ_i [φ(0)/(n−1) + (n−2)/(n−1)² Σ_{j≠i} φ(x_i − x_j) − 2/(n−1) Σ_{j≠i} K_h(x_i − x_j)].
template <class Shape>
class KdeScore : public LeaveOneOutSum<WeightedTargets, ConvolvedWeight<Shape>> {
  public:
    // `typical_sum` is about the mean over the rows of the sums of φ/φ(0), or 0. What a row with fewer neighbours adds
    // to the score need not be known as well.
    KdeScore(const VarianceTree& tree, const ScoreForm& form, const Bandwidths& bandwidths, double typical_sum)
        : LeaveOneOutSum<WeightedTargets, ConvolvedWeight<Shape>>(
              tree, {pairwise::coefficient<Shape>(bandwidths.x), *form.convolution}, {1024, true, 192, typical_sum}),
          weights_(form, bandwidths.x, tree.rows().dimensions, tree.size()) {}

    double term(const LeaveOneOut&, const WeightedTargets::Total& total) const {
        return weights_.term(total.weights, total.products);
    }
    bool remarkable(const LeaveOneOut&, const WeightedTargets::Total& total) const { return total.weights == 0; }

  private:
    DensityWeights weights_;
};

// S_KR, the leave-one-out score of kernel regression:
//   (1/n) Σ_i (y_i − Σ_{j≠i} K_h(x_i − x_j) y_j / Σ_{j≠i} K_h(x_i − x_j))².
template <class Shape>
class KrScore : public RatioScore<WeightedTargets, Shape> {
  public:
    KrScore(const VarianceTree& tree, const Bandwidths& bandwidths)
        : RatioScore<WeightedTargets, Shape>(tree, bandwidths.x, {128, true, 192}) {}

    double term(const LeaveOneOut& at, const WeightedTargets::Total& total) const {
        const double residual = this->tree_.target(at.position) - total.products / total.weights;
        return residual * residual;
    }
    bool remarkable(const LeaveOneOut& at, const WeightedTargets::Total&) const { return this->underflows(at); }
};

// Gives the term of a row whose weights relative to an origin, at which the kernel has this decay, add up to `weights`.
struct LikelihoodOfRow {
    LikelihoodOfRow(pairwise::Kernel kernel, double bandwidth, size_t dimensions, size_t rows)
        : constant(facts_of(kernel).log_volume(bandwidth, dimensions) + std::log(rows - 1.0)) {}

    double term(double weights, double decay) const { return constant + decay - std::log(weights); }

    double constant;
};

// S_L, minus the mean leave-one-out log-likelihood of kernel density estimation in d dimensions,
//   −(1/n) Σ_i log [1/(n−1) Σ_{j≠i} K_h(x_i − x_j)],
// which but for a constant estimates the Kullback–Leibler divergence of the estimate from the density (Silverman:
// Density Estimation for Statistics and Data Analysis, section 3.4.4).
template <class Shape>
class LikelihoodScore : public RatioScore<WeightedTargets, Shape> {
  public:
    LikelihoodScore(const VarianceTree& tree, const Bandwidths& bandwidths)
        : RatioScore<WeightedTargets, Shape>(tree, bandwidths.x, {128, true, 192}),
          coefficient_(pairwise::coefficient<Shape>(bandwidths.x)),
          of_row_(pairwise::kernel_of<Shape>, bandwidths.x, tree.rows().dimensions, tree.size()) {}

    double term(const LeaveOneOut& at, const WeightedTargets::Total& total) const {
        return of_row_.term(total.weights, pairwise::decay<Shape>(at.origin, coefficient_));
    }

  private:
    double coefficient_;
    LikelihoodOfRow of_row_;
};

// Collects the rows drawn, with their weights.
struct ConditionalTerms {
    struct Total {
        std::vector<WeightedTarget> targets;
        double weights = 0;

        void clear() {
            targets.clear();
            weights = 0;
        }
        void add(const Total& other, double factor) {
            weights += factor * other.weights;
            for (const WeightedTarget& target : other.targets)
                targets.push_back({target.target, factor * target.weight});
        }
    };

    static void add(Total& total, double weight, double factor, double target) {
        if (weight == 0) return;
        total.weights += factor * weight;
        total.targets.push_back({target, factor * weight});
    }
};

// S_KCDE, the least-squares leave-one-out score of kernel conditional density estimation:
//   (1/n) Σ_i [∫ f_i(y)² dy − 2 f_i(y_i)],   f_i(y) = Σ_{j≠i} w_ij K_h1(y − y_j),   w_ij = K_h2(x_i − x_j) / Σ_{k≠i}
//   K_h2(x_i − x_k).
template <class Shape>
class KcdeScore : public RatioScore<ConditionalTerms, Shape> {
  public:
    KcdeScore(const VarianceTree& tree, const Bandwidths& bandwidths)
        : RatioScore<ConditionalTerms, Shape>(tree, bandwidths.x, {128, false, 384}),
          target_bandwidth_(bandwidths.target) {}

    double term(const LeaveOneOut& at, const ConditionalTerms::Total& total) const {
        return mixture_integrals(total.targets, this->tree_.target(at.position), target_bandwidth_).term(total.weights);
    }
    bool remarkable(const LeaveOneOut& at, const ConditionalTerms::Total&) const { return this->underflows(at); }

  private:
    const double target_bandwidth_;
};

// Calls body(std::type_identity<Score>()) with the class of the scores of this form.
template <class Body>
auto with_score_class(const ScoreForm& form, const Body& body) {
    return with_shape(form.kernel, [&]<class Shape>(std::type_identity<Shape>) {
        if constexpr (Shape::order > 0)
            if (form.kind == ScoreKind::kde) return body(std::type_identity<KdeScore<Shape>>());
        if constexpr (!Shape::is_compact)
            if (form.kind == ScoreKind::likelihood) return body(std::type_identity<LikelihoodScore<Shape>>());
        if (form.kind == ScoreKind::kcde) return body(std::type_identity<KcdeScore<Shape>>());
        return body(std::type_identity<KrScore<Shape>>());
    });
}

// Returns the mean over the rows of a density score's sum, from one row of each stratum.
template <class Score>
double typical_sum(const Score& score, const OuterStrata& strata, uint64_t seed, RunContext& context) {
    constexpr uint64_t units_of_sum = 10'000; // of work
    Workspace<Score> work;
    double sum = 0;
    for (size_t s = 0; s < strata.count(); s++) {
        LeaveOneOut at = score.constants(strata.rows[strata.borders[s]]);
        RandomStream random(seed, at.position);
        sample(score, at, 0, random, work);
        context.worked(units_of_sum);
        sum += work.totals.both.weights * (strata.borders[s + 1] - strata.borders[s]);
    }
    return sum / strata.rows.size();
}

// Makes a score of `scores`, whose tree is there, at these bandwidths. For the main thread.
template <class Score>
Score make_score(const Scores& scores, const Bandwidths& bandwidths) {
    if constexpr (std::is_constructible_v<Score, const VarianceTree&, const Bandwidths&>) {
        return Score(scores.tree(), bandwidths);
    } else {
        const Score score(scores.tree(), scores.form(), bandwidths, 0);
        return Score(scores.tree(), scores.form(), bandwidths,
                     typical_sum(score, scores.strata(), scores.sampling().seed, scores.context()));
    }
}

} // namespace btml::monte_carlo
