#include "core/gp/search/local_search.hpp"

#include "core/gp/search/order_evaluator.hpp"

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
    LocalSearch(const Encoding& encoding, const DistinctRows& rows, std::span<const uint16_t> features,
                const KernelLimits& limits, RandomStream random, EvaluationBudget& budget, RunContext& context)
        : encoding_(encoding),
          features_(features),
          limits_(limits),
          random_(random),
          budget_(budget),
          context_(context),
          rows_(rows.rows.rows),
          evaluator_(encoding, rows, context) {}

    FoundOrder improve(OrderedKernel start);

  private:
    struct Candidate {
        BitOrder order;
        std::vector<double> weights;
    };

    std::optional<Candidate> change();
    void swap(Candidate& candidate);
    void move(Candidate& candidate);
    void replace(Candidate& candidate);
    void insert(Candidate& candidate);
    bool has_bits_for(const BitOrder& order) const;
    void consider(Candidate candidate);
    void fit(int evaluations);

    size_t place() { return random_.below(best_.order.size()); }
    uint16_t feature() { return features_[random_.below(features_.size())]; }

    const Encoding& encoding_;
    const std::span<const uint16_t> features_;
    const KernelLimits& limits_;
    RandomStream random_;
    EvaluationBudget& budget_;
    RunContext& context_;
    const size_t rows_;
    OrderEvaluator evaluator_;
    OrderedKernel best_;
    int acceptances_ = 0;
};

void LocalSearch::swap(Candidate& candidate) {
    const size_t i = place(), j = std::min(candidate.order.size() - 1, i + 1 + random_.below(farthest_swap));
    std::swap(candidate.order[i], candidate.order[j]);
}

void LocalSearch::move(Candidate& candidate) {
    const auto from = candidate.order.begin() + static_cast<ptrdiff_t>(place());
    const auto to = candidate.order.begin() + static_cast<ptrdiff_t>(place());
    if (from < to)
        std::rotate(from, from + 1, to + 1);
    else
        std::rotate(to, from, from + 1);
}

void LocalSearch::replace(Candidate& candidate) {
    candidate.order[place()] = feature();
}

// The new level takes half of the weight of the one that was in its place.
void LocalSearch::insert(Candidate& candidate) {
    const size_t i = best_.order.empty() ? 0 : place();
    double weight = limits_.signal.value_or(0.1 * best_.kernel.noise);
    if (!candidate.weights.empty()) weight = candidate.weights[i] /= 2;
    candidate.order.insert(candidate.order.begin() + static_cast<ptrdiff_t>(i), feature());
    candidate.weights.insert(candidate.weights.begin() + static_cast<ptrdiff_t>(i), weight);
}

bool LocalSearch::has_bits_for(const BitOrder& order) const {
    std::vector<int> used(encoding_.features().size(), 0);
    return std::all_of(order.begin(), order.end(),
                       [&](uint16_t f) { return ++used[f] <= encoding_.features()[f].bits(); });
}

// Nothing where the change is none, or not possible.
std::optional<LocalSearch::Candidate> LocalSearch::change() {
    Candidate candidate{best_.order, best_.kernel.weights};
    switch (best_.order.empty() ? 3 : random_.below(4)) {
    case 0:
        swap(candidate);
        break;
    case 1:
        move(candidate);
        break;
    case 2:
        replace(candidate);
        break;
    default:
        insert(candidate);
    }
    if (candidate.order == best_.order || !has_bits_for(candidate.order)) return std::nullopt;
    return candidate;
}

// Weights stay in their places; a change that is not much worse with them gets a short fit.
void LocalSearch::consider(Candidate candidate) {
    Kernel kernel{std::move(candidate.weights), best_.kernel.noise};
    evaluator_.sort(candidate.order, context_);
    double value = evaluator_.likelihood(kernel, budget_, context_);
    if (value < best_.negative_log_likelihood + promising && budget_.left(rows_) > 0) {
        KernelFit fit = evaluator_.fit(kernel, limits_, evaluations_of_trial, budget_, context_);
        if (fit.negative_log_likelihood < value) {
            kernel = std::move(fit.kernel);
            value = fit.negative_log_likelihood;
        }
    }
    if (!(value < best_.negative_log_likelihood - min_gain)) return;
    best_ = {std::move(candidate.order), std::move(kernel), value};
    evaluator_.accept();
    if (++acceptances_ % acceptances_between_fits == 0) fit(evaluations_between);
}

// Of the best order, which must be the one that was sorted last.
void LocalSearch::fit(int evaluations) {
    if (budget_.left(rows_) == 0) return;
    KernelFit fit = evaluator_.fit(best_.kernel, limits_, evaluations, budget_, context_);
    if (!(fit.negative_log_likelihood < best_.negative_log_likelihood)) return;
    best_.kernel = std::move(fit.kernel);
    best_.negative_log_likelihood = fit.negative_log_likelihood;
}

FoundOrder LocalSearch::improve(OrderedKernel start) {
    best_ = std::move(start);
    // The greedy order may come from a sample, and knows nothing of what the user fixed.
    best_.negative_log_likelihood = std::numeric_limits<double>::infinity();
    evaluator_.sort(best_.order, context_);
    evaluator_.accept();
    fit(evaluations_at_end);
    for (int idle = 0; budget_.left(rows_) > evaluations_at_end && idle < max_idle_moves; idle++) {
        context_.progress("bit order", budget_.spent(), budget_.spent() + budget_.left(rows_));
        context_.poll();
        std::optional<Candidate> candidate = change();
        if (!candidate) continue;
        consider(std::move(*candidate));
        idle = 0;
    }
    evaluator_.sort(best_.order, context_);
    fit(evaluations_at_end);
    return {std::move(best_.order), std::move(best_.kernel), best_.negative_log_likelihood, budget_.spent()};
}

} // namespace

FoundOrder improve_order(const Encoding& encoding, const DistinctRows& rows, std::span<const uint16_t> features,
                         OrderedKernel start, const KernelLimits& limits, RandomStream random, EvaluationBudget& budget,
                         RunContext& context) {
    return LocalSearch(encoding, rows, features, limits, random, budget, context).improve(std::move(start));
}

} // namespace btml::gp
