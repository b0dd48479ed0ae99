#include "core/gp/mixture.hpp"

namespace btml::gp {

LeaveOneOutScore::LeaveOneOutScore(size_t rows, RunContext& context)
    : mean_(context.memory(), "leave-one-out scores", rows, 0.0),
      log_density_(context.memory(), "leave-one-out scores", rows, -std::numeric_limits<double>::infinity()),
      below_(context.memory(), "leave-one-out scores", rows, 0.0),
      variance_(context.memory(), "leave-one-out scores", rows, 0.0) {}

void LeaveOneOutScore::add(double member_weight, const Normals& latent, const Observations& sorted, double noise,
                           std::span<const uint32_t> row, RunContext& context) {
    context.for_each(sorted.size(), 4, [&](size_t i) {
        const size_t at = row[i];
        const double mean = latent.mean[i], variance = latent.variance[i] + noise / sorted.weight_of(i);
        MixtureDensity density;
        density.add(member_weight, mean, variance, sorted.target[i]);
        log_density_[at] = log_of_sum(log_density_[at], density.log());
        // A variance of parts is that within them and that between their means.
        const double apart = weight_ > 0 ? mean - mean_[at] / weight_ : 0;
        variance_[at] += member_weight * (variance + weight_ / (weight_ + member_weight) * apart * apart);
        mean_[at] += member_weight * mean;
        below_[at] += member_weight * normal_distribution(mean, variance, sorted.target[i]);
    });
    weight_ += member_weight;
}

uncertainty::StandardisedErrors LeaveOneOutScore::errors(std::span<const double> target, RunContext& context) const {
    uncertainty::StandardisedErrors errors(context);
    context.for_each(target.size(), 4, [&](size_t i) { errors.add(target[i] - mean_[i], variance_[i]); });
    return errors;
}

LeaveOneOut LeaveOneOutScore::total(std::span<const double> target, RunContext& context) const {
    double nll = 0, squares = 0;
    size_t covered = 0;
    context.for_each(target.size(), 4, [&](size_t i) {
        nll -= log_density_[i];
        squares += (target[i] - mean_[i]) * (target[i] - mean_[i]);
        covered += below_[i] >= 0.05 && below_[i] <= 0.95;
    });
    const double rows = target.size();
    return {target.size(), nll / rows, std::sqrt(squares / rows), static_cast<double>(covered) / rows};
}

} // namespace btml::gp
