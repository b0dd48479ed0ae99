// Losses written plainly, by formulas of the standard library, to compare with.
#pragma once

#include "boosting_data.hpp"

#include "core/boosting/growing/split.hpp"

namespace btml::boosting::test {

// Returns the least number with Σ weight of those up to it ≥ alpha · Σ weight.
inline double plain_quantile(std::vector<std::pair<double, double>> numbers_and_weights, double alpha) {
    std::sort(numbers_and_weights.begin(), numbers_and_weights.end());
    double total = 0, sum = 0;
    for (const auto& [number, weight] : numbers_and_weights) total += weight;
    for (const auto& [number, weight] : numbers_and_weights)
        if (sum += weight; sum >= alpha * total && weight > 0) return number;
    return numbers_and_weights.back().first;
}

class PlainLoss {
  public:
    struct Derivative {
        double residual, hessian;
    };

    PlainLoss() = default;
    PlainLoss(const Options& options, const PlainData& data, const std::vector<size_t>& training)
        : options_(completed(options, data.labels)), data_(&data), training_(training) {
        label_weights_ = data.label_weights;
        if (options_.balanced) {
            std::vector<double> counts(data.labels, 0);
            double total = 0;
            for (const size_t row : training_) {
                counts[static_cast<size_t>(data.target_of(row))] += data.weight_of(row);
                total += data.weight_of(row);
            }
            label_weights_.assign(data.labels, 1);
            for (size_t k = 0; k < data.labels; k++)
                if (counts[k] > 0) label_weights_[k] = total / (static_cast<double>(data.labels) * counts[k]);
        }
    }

    bool renews() const {
        return is(ObjectiveNumber::absolute) || is(ObjectiveNumber::huber) || is(ObjectiveNumber::quantile);
    }
    bool hessian_is_count() const { return renews() || is(ObjectiveNumber::squared); }
    std::optional<double> max_step() const { return options_.max_step; }
    double label_weight(size_t row) const {
        return label_weights_.empty() ? 1 : label_weights_[static_cast<size_t>(data_->target_of(row))];
    }

    std::vector<double> bases() const {
        double total = 0, mean = 0;
        std::vector<double> shares(data_->labels, 0);
        for (const size_t row : training_) {
            const double w = weight(row), y = data_->target_of(row);
            total += w;
            mean += w * y;
            if (data_->labels > 0) shares[static_cast<size_t>(y)] += w;
        }
        mean /= total;
        const double floor = 0.5 / static_cast<double>(training_.size());
        switch (options_.objective) {
        case ObjectiveNumber::squared:
            return {mean};
        case ObjectiveNumber::binary:
            mean = std::clamp(mean, floor, 1 - floor);
            return {std::log(mean / (1 - mean))};
        case ObjectiveNumber::multiclass:
            for (double& share : shares) share = std::log(std::max(share / total, floor));
            return shares;
        case ObjectiveNumber::poisson:
        case ObjectiveNumber::gamma:
        case ObjectiveNumber::tweedie:
            return {std::log(mean)};
        default:
            break;
        }
        std::vector<std::pair<double, double>> targets;
        for (const size_t row : training_) targets.emplace_back(data_->target_of(row), data_->weight_of(row));
        return {plain_quantile(targets, alpha())};
    }

    // Of score s, by row. What follows from scores is rounded to floats.
    std::vector<Derivative> derivatives(const std::vector<std::vector<double>>& scores, size_t s) {
        if (renews()) {
            residuals_.clear();
            for (size_t row = 0; row < data_->rows; row++) residuals_.push_back(data_->target_of(row) - scores[row][0]);
        }
        if (is(ObjectiveNumber::huber)) {
            std::vector<std::pair<double, double>> sizes;
            for (const size_t row : training_) sizes.emplace_back(std::fabs(residuals_[row]), data_->weight_of(row));
            delta_ = plain_quantile(sizes, *options_.alpha);
            if (first_delta_ < 0) first_delta_ = delta_;
        }
        std::vector<Derivative> result;
        for (size_t row = 0; row < data_->rows; row++) {
            Derivative d = derivative(row, scores[row], s);
            if (!hessian_is_count()) {
                const double w = label_weights_.empty() ? 1 : label_weight(row);
                d.residual = static_cast<float>(static_cast<float>(d.residual) * w);
                d.hessian = static_cast<float>(static_cast<float>(d.hessian) * w);
            }
            result.push_back(d);
        }
        return result;
    }

    double loss(size_t row, const std::vector<double>& scores) const {
        const double y = data_->target_of(row), f = scores[0], r = y - f, rho = options_.power;
        switch (options_.objective) {
        case ObjectiveNumber::squared:
            return r * r;
        case ObjectiveNumber::absolute:
            return std::fabs(r);
        case ObjectiveNumber::quantile:
            return r > 0 ? *options_.alpha * r : (*options_.alpha - 1) * r;
        case ObjectiveNumber::huber:
            return std::fabs(r) <= first_delta_ ? r * r / 2 : first_delta_ * (std::fabs(r) - first_delta_ / 2);
        case ObjectiveNumber::poisson:
            return std::exp(f) - y * f;
        case ObjectiveNumber::gamma:
            return f + y * std::exp(-f);
        case ObjectiveNumber::tweedie:
            return -y * std::exp((1 - rho) * f) / (1 - rho) + std::exp((2 - rho) * f) / (2 - rho);
        case ObjectiveNumber::binary:
            return std::max(f, 0.0) - y * f + std::log1p(std::exp(-std::fabs(f)));
        default: {
            double sum = 0;
            for (const double score : scores) sum += std::exp(score);
            return std::log(sum) - scores[static_cast<size_t>(y)];
        }
        }
    }

    Derivative derivatives_of(size_t row, const std::vector<double>& scores) const {
        return derivative(row, scores, 0);
    }

    // The value that the rows of a leaf ask for.
    double renewed(const std::vector<size_t>& rows) const {
        std::vector<std::pair<double, double>> numbers;
        for (const size_t row : rows) numbers.emplace_back(residuals_[row], data_->weight_of(row));
        const double middle = plain_quantile(numbers, alpha());
        if (!is(ObjectiveNumber::huber)) return middle;
        double sum = 0, total = 0;
        for (const auto& [r, w] : numbers) {
            sum += w * std::copysign(std::min(delta_, std::fabs(r - middle)), r - middle);
            total += w;
        }
        return middle + sum / total;
    }

  private:
    bool is(ObjectiveNumber number) const { return options_.objective == number; }
    double alpha() const { return is(ObjectiveNumber::quantile) ? *options_.alpha : 0.5; }
    double weight(size_t row) const { return data_->weight_of(row) * label_weight(row); }

    Derivative derivative(size_t row, const std::vector<double>& scores, size_t s) const {
        const double y = data_->target_of(row), f = scores[s], r = y - f, rho = options_.power;
        switch (options_.objective) {
        case ObjectiveNumber::squared:
            return {r, 1};
        case ObjectiveNumber::absolute:
        case ObjectiveNumber::quantile:
            return {r > 0 ? alpha() : r < 0 ? alpha() - 1 : 0, 1};
        case ObjectiveNumber::huber:
            return {std::clamp(r, -delta_, delta_), 1};
        case ObjectiveNumber::poisson:
            return {y - std::exp(f), std::exp(f + 0.7)};
        case ObjectiveNumber::gamma:
            return {y * std::exp(-f) - 1, y * std::exp(-f)};
        case ObjectiveNumber::tweedie:
            return {y * std::exp((1 - rho) * f) - std::exp((2 - rho) * f),
                    -y * (1 - rho) * std::exp((1 - rho) * f) + (2 - rho) * std::exp((2 - rho) * f)};
        case ObjectiveNumber::binary: {
            const double p = 1 / (1 + std::exp(-f));
            return {y - p, p * (1 - p)};
        }
        default: {
            double sum = 0;
            for (const double score : scores) sum += std::exp(score);
            const double p = std::exp(f) / sum, k = static_cast<double>(scores.size());
            return {(static_cast<size_t>(y) == s ? 1 : 0) - p, p * (1 - p) * k / (k - 1)};
        }
        }
    }

    Options options_;
    const PlainData* data_ = nullptr;
    std::vector<size_t> training_;
    std::vector<double> label_weights_, residuals_;
    double delta_ = 0, first_delta_ = -1;
};

} // namespace btml::boosting::test
