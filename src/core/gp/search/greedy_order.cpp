#include "core/gp/search/order_steps.hpp"

#include "core/gp/tree/log_product.hpp"

#include <cmath>

namespace btml::gp {

namespace {

constexpr size_t max_order = 64, levels_between_fits = 4, patience = 12;
constexpr int evaluations_of_fit = 12;
constexpr double trial_shares[] = {0.4, 0.1};
constexpr double min_gain_of_order = 0.5; // nats

// Holds rows with equal strings as one observation, for the likelihood.
struct Groups {
    Observations observations;
    Buffer<uint16_t> common;

    explicit Groups(MemoryBudget& budget) : observations(budget), common(budget, "groups of rows") {}

    void clear() {
        observations.target.resize(0);
        observations.weight.resize(0);
        common.resize(0);
    }
    void add(double weight, double sum, size_t shared_with_next) {
        observations.target.push_back(sum / weight);
        observations.weight.push_back(weight);
        common.push_back(shared_with_next);
    }
};

class GreedyOrder {
  public:
    GreedyOrder(const OrderProblem& problem, EvaluationBudget& budget)
        : encoding_(problem.encoding),
          data_(problem.rows),
          features_(problem.features),
          min_noise_(problem.limits.noise.value_or(problem.limits.min_noise)),
          budget_(budget),
          context_(problem.context),
          rows_(problem.count()),
          sorter_(data_.rows, context_),
          groups_(context_.memory()),
          used_(encoding_.features().size(), 0) {
        const Observations& observations = data_.observations;
        for (size_t i = 0; i < observations.size(); i++) {
            const double w = observations.weight_of(i), y = observations.target[i];
            squares_ += w * y * y;
            log_weights_ += std::log(w);
        }
        const double entries = observations.size();
        const double variance = (squares_ + observations.residual) / std::max(1.0, entries + observations.merged);
        current_.kernel.noise = std::max(variance, 2 * min_noise_);
        group({});
        current_.negative_log_likelihood = likelihood(current_.kernel);
    }

    OrderedKernel choose() {
        OrderedKernel best = current_;
        while (current_.order.size() < std::min(max_order, best.order.size() + patience)) {
            const Trial trial = best_step();
            if (!std::isfinite(trial.value)) break;
            take(trial);
            if (current_.order.size() % levels_between_fits == 0) fit();
            if (current_.negative_log_likelihood < best.negative_log_likelihood - min_gain_of_order) best = current_;
        }
        return best;
    }

  private:
    struct Trial {
        double value = std::numeric_limits<double>::infinity();
        uint16_t feature = 0;
        double weight = 0, noise = 0;
    };

    Trial best_step() {
        Trial best;
        for (const uint16_t feature : features_)
            if (used_[feature] < encoding_.features()[feature].bits() && budget_.left(rows_) > 0)
                try_feature(feature, best);
        return best;
    }

    void try_feature(uint16_t feature, Trial& best) {
        group(encoding_.first_bit(feature) + used_[feature]);
        Kernel kernel = current_.kernel;
        kernel.weights.push_back(0);
        for (const double share : trial_shares) {
            if (budget_.left(rows_) == 0) return;
            kernel.weights.back() = share * current_.kernel.noise;
            kernel.noise = std::max((1 - share) * current_.kernel.noise, min_noise_);
            const double value = likelihood(kernel);
            if (value < best.value) best = {value, feature, kernel.weights.back(), kernel.noise};
        }
    }

    void take(const Trial& trial) {
        used_[trial.feature]++;
        current_.order.push_back(trial.feature);
        current_.kernel.weights.push_back(trial.weight);
        current_.kernel.noise = trial.noise;
        current_.negative_log_likelihood = trial.value;
        sorter_.propose(bits_of_levels(encoding_, current_.order), context_);
        sorter_.accept();
    }

    void fit() {
        const int evaluations = budget_.most(evaluations_of_fit, rows_);
        if (evaluations == 0) return;
        group({});
        const KernelLimits limits{.noise = {}, .signal = {}, .min_noise = min_noise_};
        OrderedKernel fit =
            fit_kernel(groups_.common.span(), groups_.observations, current_.kernel, limits, evaluations, context_);
        budget_.spend(fit.evaluations, rows_);
        current_.kernel = std::move(fit.kernel);
        current_.negative_log_likelihood = fit.negative_log_likelihood;
    }

    // Neighbours that share all levels so far are a group, or two: those with and those without this bit.
    void group(std::optional<size_t> bit) {
        const SortedRows& sorted = sorter_.accepted();
        const Observations& observations = data_.observations;
        const size_t levels = current_.order.size();
        double weight[2] = {}, sum[2] = {};
        groups_.clear();
        for (size_t i = 0; i < rows_; i++) {
            context_.worked(4);
            const uint32_t row = sorted.rows[i];
            const size_t half = bit ? data_.rows.row(row)[*bit / 64] >> (63 - *bit % 64) & 1 : 0;
            const double w = observations.weight_of(row);
            weight[half] += w;
            sum[half] += w * observations.target[row];
            const bool last = i + 1 == rows_;
            if (!last && sorted.common[i] == levels) continue;
            const size_t next = last ? 0 : sorted.common[i];
            if (weight[0] > 0) groups_.add(weight[0], sum[0], weight[1] > 0 ? levels : next);
            if (weight[1] > 0) groups_.add(weight[1], sum[1], next);
            weight[0] = weight[1] = sum[0] = sum[1] = 0;
        }
        finish_groups();
    }

    // Sets what the likelihood needs to know of the rows within the groups.
    void finish_groups() {
        Observations& groups = groups_.observations;
        const Observations& observations = data_.observations;
        double between = 0;
        LogProduct weights;
        for (size_t g = 0; g < groups.size(); g++) {
            between += groups.weight[g] * groups.target[g] * groups.target[g];
            weights.multiply(groups.weight[g]);
        }
        groups.merged = observations.merged + static_cast<double>(rows_ - groups.size());
        groups.residual = observations.residual + std::max(0.0, squares_ - between);
        groups.log_weights = observations.log_weights + log_weights_ - weights.log();
    }

    double likelihood(const Kernel& kernel) {
        budget_.spend(1, rows_);
        return negative_log_likelihood(groups_.common.span(), groups_.observations, kernel, context_);
    }

    const Encoding& encoding_;
    const DistinctRows& data_;
    const std::span<const uint16_t> features_;
    const double min_noise_;
    EvaluationBudget& budget_;
    RunContext& context_;
    const size_t rows_;
    RowSorter sorter_;
    Groups groups_;
    double squares_ = 0, log_weights_ = 0; // Σ wy² and Σ log w over the entries of data_
    std::vector<int> used_;                // bits, by feature
    OrderedKernel current_;
};

} // namespace

OrderedKernel choose_order(const OrderProblem& problem, EvaluationBudget& budget) {
    return GreedyOrder(problem, budget).choose();
}

} // namespace btml::gp
