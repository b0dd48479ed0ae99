#include "core/gp/search/order_steps.hpp"

#include "core/numbers/lbfgs.hpp"

#include <cmath>
#include <numeric>

namespace btml::gp {

namespace {

constexpr uint64_t max_draws = 480, max_starts = 20; // as the paper's authors did
constexpr double deepest_draw = 6, first_noise = 0.1;
constexpr double min_theta = 1e-6, step_of_further_bits = 0.1;
constexpr double min_gain_of_thetas = 1e-4, longest_step = 3;

class ThetaSearch {
  public:
    ThetaSearch(const OrderProblem& problem, RandomStream random, EvaluationBudget& budget)
        : limits_(problem.limits), random_(random), budget_(budget), evaluator_(problem, budget) {
        for (const uint16_t feature : problem.features)
            features_.insert(features_.end(), problem.encoding.features()[feature].bits(), feature);
    }

    OrderedKernel search() {
        std::vector<Draw> starts = draw_starts();
        for (size_t i = 0; i < starts.size(); i++)
            descend(std::move(starts[i].x), evaluator_.left() / (starts.size() - i));
        best_.evaluations = budget_.spent();
        return std::move(best_);
    }

    OrderedKernel improve(const OrderedKernel& start) {
        best_ = start;
        descend(of(start), evaluator_.left());
        best_.evaluations = budget_.spent();
        return std::move(best_);
    }

  private:
    // φ of each bit, and last, unless the noise is given, the logarithm of the noise above its least.
    using Vector = std::vector<double>;
    struct Draw {
        Vector x;
        double value, key;
    };

    Vector draw() {
        Vector x;
        for (size_t i = 0; i < features_.size(); i++) x.push_back(-deepest_draw * random_.unit());
        if (!limits_.noise) x.push_back(std::log(first_noise));
        return x;
    }

    // θ_l = w_l + … + w_q; further bits follow, each with less.
    Vector of(const OrderedKernel& start) const {
        Vector x(features_.size(), 0.0);
        std::vector<bool> taken(features_.size(), false);
        double theta = start.kernel.signal();
        double last = std::log(std::max(theta, min_theta));
        for (size_t l = 0; l < start.order.size(); l++) {
            size_t i = 0;
            while (taken[i] || features_[i] != start.order[l]) i++;
            taken[i] = true;
            x[i] = last = std::min(last, std::log(std::max(theta, min_theta)));
            theta -= start.kernel.weights[l];
        }
        for (size_t i = 0; i < x.size(); i++)
            if (!taken[i]) x[i] = last -= step_of_further_bits;
        if (!limits_.noise) x.push_back(std::log(std::max(start.kernel.noise - limits_.min_noise, min_theta)));
        return x;
    }

    void descend(Vector x, uint64_t evaluations) {
        if (evaluations == 0) return;
        minimise(
            x, [&](std::span<const double> at, std::span<double> gradient) { return evaluate(at, gradient); },
            static_cast<int>(std::min<uint64_t>(evaluations, std::numeric_limits<int>::max())), min_gain_of_thetas,
            longest_step);
    }

    // Draws some of many, one after another with probabilities in proportion to their likelihoods.
    std::vector<Draw> draw_starts() {
        const uint64_t draws = std::clamp<uint64_t>(evaluator_.left() / 4, 1, max_draws);
        std::vector<Draw> drawn;
        Vector gradient(features_.size() + !limits_.noise);
        for (uint64_t i = 0; i < draws; i++) {
            Vector x = draw();
            const double value = evaluate(x, gradient);
            // The largest of value + Gumbel noise are such a choice.
            const double key = -value - std::log(-std::log(1 - random_.unit()) + 1e-300);
            drawn.push_back({std::move(x), value, key});
        }
        std::stable_sort(drawn.begin(), drawn.end(), [](const Draw& a, const Draw& b) { return a.key > b.key; });
        drawn.resize(std::min<size_t>(drawn.size(), max_starts));
        return drawn;
    }

    // Order and kernel of the numbers: w_l = θ_(l) − θ_(l+1), the θ by size, all of them in proportion to a given
    // signal.
    void sort(std::span<const double> x) {
        falling_.resize(features_.size());
        std::iota(falling_.begin(), falling_.end(), size_t{0});
        std::stable_sort(falling_.begin(), falling_.end(), [&](size_t a, size_t b) { return x[a] > x[b]; });
        order_.clear();
        for (const size_t i : falling_) order_.push_back(features_[i]);
        kernel_.weights.resize(falling_.size());
        const double scale = limits_.signal ? *limits_.signal / std::exp(x[falling_[0]]) : 1;
        double next = 0;
        for (size_t l = falling_.size(); l-- > 0;) {
            const double theta = scale * std::exp(x[falling_[l]]);
            kernel_.weights[l] = theta - next;
            next = theta;
        }
        kernel_.noise = limits_.noise ? *limits_.noise : limits_.min_noise + std::exp(x.back());
        evaluator_.sort(order_);
        evaluator_.accept();
    }

    // A bit's θ adds to the weight of its level and takes from the one before.
    double evaluate(std::span<const double> x, std::span<double> gradient) {
        sort(x);
        const double value = evaluator_.likelihood(kernel_, by_kernel_);
        double mean = 0;
        if (limits_.signal)
            mean = std::inner_product(kernel_.weights.begin(), kernel_.weights.end(), by_kernel_.weights.begin(), 0.0) /
                   *limits_.signal;
        const double scale = limits_.signal ? *limits_.signal / std::exp(x[falling_[0]]) : 1;
        double before = 0;
        for (size_t l = 0; l < falling_.size(); l++) {
            const double slope = by_kernel_.weights[l] - mean;
            gradient[falling_[l]] = scale * std::exp(x[falling_[l]]) * (slope - before);
            before = slope;
        }
        if (!limits_.noise) gradient.back() = (kernel_.noise - limits_.min_noise) * by_kernel_.noise;
        if (value < best_.negative_log_likelihood) best_ = {order_, kernel_, value, 0};
        return value;
    }

    const KernelLimits& limits_;
    RandomStream random_;
    EvaluationBudget& budget_;
    OrderEvaluator evaluator_;
    std::vector<uint16_t> features_; // of each number
    // These are what the last numbers gave.
    std::vector<size_t> falling_; // their order
    BitOrder order_;
    Kernel kernel_;
    Gradient by_kernel_;
    OrderedKernel best_;
};

} // namespace

OrderedKernel search_thetas(const OrderProblem& problem, RandomStream random, EvaluationBudget& budget) {
    return ThetaSearch(problem, random, budget).search();
}

OrderedKernel improve_thetas(const OrderProblem& problem, const OrderedKernel& start, EvaluationBudget& budget) {
    return ThetaSearch(problem, RandomStream(0, 0), budget).improve(start);
}

} // namespace btml::gp
