#include "core/gp/search/order_steps.hpp"

#include <algorithm>

namespace btml::gp {

namespace {

constexpr double promising = 1, min_gain = 0.01; // nats
constexpr int evaluations_of_trial = 4, evaluations_between = 8, evaluations_at_end = 30;
constexpr int acceptances_between_fits = 8;
constexpr size_t farthest_swap = 4;
constexpr int max_idle_moves = 1000;

class LocalSearch {
  public:
    LocalSearch(const OrderProblem& problem, RandomStream random, EvaluationBudget& budget)
        : problem_(problem), random_(random), budget_(budget), evaluator_(problem, budget) {}

    OrderedKernel improve(OrderedKernel start) {
        best_ = std::move(start);
        // The greedy order may come from a sample, and knows nothing of what the user fixed.
        best_.negative_log_likelihood = std::numeric_limits<double>::infinity();
        evaluator_.sort(best_.order);
        evaluator_.accept();
        fit(evaluations_at_end);
        for (int idle = 0; evaluator_.left() > evaluations_at_end && idle < max_idle_moves; idle++) {
            problem_.context.poll();
            std::optional<OrderedKernel> candidate = change();
            if (!candidate) continue;
            consider(std::move(*candidate));
            idle = 0;
        }
        evaluator_.sort(best_.order);
        fit(evaluations_at_end);
        best_.evaluations = budget_.spent();
        return std::move(best_);
    }

  private:
    // Returns nothing where the change is none, or not possible.
    std::optional<OrderedKernel> change() {
        OrderedKernel candidate = best_;
        BitOrder& order = candidate.order;
        std::vector<double>& weights = candidate.kernel.weights;
        switch (order.empty() ? 3 : random_.below(4)) {
        case 0: { // two levels near each other change places
            const size_t i = place(), j = std::min(order.size() - 1, i + 1 + random_.below(farthest_swap));
            std::swap(order[i], order[j]);
            break;
        }
        case 1: { // a level moves
            const size_t from = place(), to = place();
            if (from < to)
                std::rotate(order.begin() + from, order.begin() + from + 1, order.begin() + to + 1);
            else
                std::rotate(order.begin() + to, order.begin() + from, order.begin() + from + 1);
            break;
        }
        case 2: { // a level takes a bit of another feature
            const uint16_t other = feature();
            order[place()] = other;
            break;
        }
        default: { // a new level takes half of the weight of the one that was in its place
            const size_t i = order.empty() ? 0 : place();
            double weight = problem_.limits.signal.value_or(0.1 * best_.kernel.noise);
            if (!weights.empty()) weight = weights[i] /= 2;
            order.insert(order.begin() + i, feature());
            weights.insert(weights.begin() + i, weight);
        }
        }
        if (order == best_.order || !has_bits_for(order)) return std::nullopt;
        return candidate;
    }

    bool has_bits_for(const BitOrder& order) const {
        std::vector<int> used(problem_.encoding.features().size(), 0);
        return std::all_of(order.begin(), order.end(),
                           [&](uint16_t f) { return ++used[f] <= problem_.encoding.features()[f].bits(); });
    }

    // Weights stay in their places; a change that is not much worse with them gets a short fit.
    void consider(OrderedKernel candidate) {
        evaluator_.sort(candidate.order);
        double& value = candidate.negative_log_likelihood = evaluator_.likelihood(candidate.kernel);
        if (value < best_.negative_log_likelihood + promising && evaluator_.left() > 0) {
            OrderedKernel fit = evaluator_.fit(candidate.kernel, evaluations_of_trial);
            if (fit.negative_log_likelihood < value) {
                candidate.kernel = std::move(fit.kernel);
                value = fit.negative_log_likelihood;
            }
        }
        if (!(value < best_.negative_log_likelihood - min_gain)) return;
        best_ = std::move(candidate);
        evaluator_.accept();
        if (++acceptances_ % acceptances_between_fits == 0) fit(evaluations_between);
    }

    // Fits the kernel of the best order, which must be the one that was sorted last.
    void fit(int evaluations) {
        if (evaluator_.left() == 0) return;
        OrderedKernel fit = evaluator_.fit(best_.kernel, evaluations);
        if (!(fit.negative_log_likelihood < best_.negative_log_likelihood)) return;
        best_.kernel = std::move(fit.kernel);
        best_.negative_log_likelihood = fit.negative_log_likelihood;
    }

    size_t place() { return random_.below(best_.order.size()); }
    uint16_t feature() { return problem_.features[random_.below(problem_.features.size())]; }

    const OrderProblem& problem_;
    RandomStream random_;
    EvaluationBudget& budget_;
    OrderEvaluator evaluator_;
    OrderedKernel best_;
    int acceptances_ = 0;
};

} // namespace

OrderedKernel improve_order(const OrderProblem& problem, OrderedKernel start, RandomStream random,
                            EvaluationBudget& budget) {
    return LocalSearch(problem, random, budget).improve(std::move(start));
}

} // namespace btml::gp
