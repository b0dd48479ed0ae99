#include "core/gp/boosted_training.hpp"

#include "core/gp/additive/sum_training.hpp"
#include "core/gp/tree/point_encoder.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace btml::gp {

namespace {

struct Variances {
    double noise, factor;
};

// Refers to residuals with the variances that members give them.
struct Residuals {
    const TrainingColumns& rows;
    std::span<const double> residuals, variances;

    // Σ body(residual, variance), variances as if those of observations were noise/w + factor · latent.
    template <class Body>
    double sum(const Variances& of, RunContext& context, const Body& body) const {
        double total = 0;
        context.for_each(residuals.size(), 4, [&](size_t i) {
            total += body(residuals[i], of.noise / rows.weight_of(i) + of.factor * variances[i]);
        });
        return total;
    }
    double mean(const Variances& of, RunContext& context, double (*body)(double, double)) const {
        return sum(of, context, body) / static_cast<double>(residuals.size());
    }
};

// Adds up, member by member, what members say of the rows that are not trained on.
class HeldOut {
  public:
    HeldOut(const TrainingColumns& rows, const BoostedTraining& training, RunContext& context)
        : rows_(rows),
          residuals_(context.memory(), "held-out rows", rows.rows()),
          variances_(context.memory(), "held-out rows", rows.rows(), 0.0) {
        for (size_t i = 0; i < rows.rows(); i++) residuals_[i] = (rows.target[i] - training.centre) / training.scale;
    }

    Residuals add(const Member& member, RunContext& context) {
        PointEncoder encoder(member.encoding, member.order);
        std::vector<double> values(rows_.features.size());
        context.for_each(rows_.rows(), 64, [&](size_t i) {
            rows_.read_row(i, values);
            const Normal latent = member.trie.latent(encoder(values));
            residuals_[i] -= member.weight * latent.mean;
            variances_[i] += member.weight * latent.variance;
        });
        return {rows_, residuals_.span(), variances_.span()};
    }

  private:
    const TrainingColumns& rows_;
    Buffer<double> residuals_, variances_;
};

double negative_log_density(double residual, double variance) {
    return (residual * residual / variance + std::log(2 * std::numbers::pi * variance)) / 2;
}

double standardised_square(double residual, double variance) {
    return residual * residual / variance;
}

// The best noise is known for a ratio of the two; the ratio is found by golden section.
Variances likeliest_variances(const Residuals& residuals, const BoostedTraining& training, RunContext& context) {
    static constexpr double min_ratio = 1e-6, max_ratio = 1e6;
    static constexpr int evaluations = 30;
    const double unit = unit_of_weights(residuals.rows.weight.span());
    const auto at = [&](double log_ratio) {
        const double ratio = std::exp(log_ratio) / unit;
        const double noise = training.noise.value_or(
            std::max(training.min_noise, residuals.mean({1, ratio}, context, standardised_square)));
        return Variances{noise, noise * ratio};
    };
    const auto loss = [&](double log_ratio) { return residuals.mean(at(log_ratio), context, negative_log_density); };
    const double golden = 1 / std::numbers::phi;
    double from = std::log(min_ratio), to = std::log(max_ratio);
    double left = to - golden * (to - from), right = from + golden * (to - from);
    double left_loss = loss(left), right_loss = loss(right);
    for (int i = 0; i < evaluations; i++) {
        if (left_loss <= right_loss) {
            to = std::exchange(right, left);
            right_loss = left_loss;
            left_loss = loss(left = to - golden * (to - from));
        } else {
            from = std::exchange(left, right);
            left_loss = right_loss;
            right_loss = loss(right = from + golden * (to - from));
        }
    }
    return at((from + to) / 2);
}

uncertainty::StandardisedErrors errors(const Residuals& residuals, const Variances& variances, RunContext& context) {
    uncertainty::StandardisedErrors found(context);
    residuals.sum(variances, context, [&](double residual, double variance) {
        found.add(residual, variance);
        return 0;
    });
    return found;
}

} // namespace

uint64_t default_boosted_evaluations(size_t rows) {
    static constexpr uint64_t evaluations_per_member = 10000;
    return default_evaluations(rows, BoostedTraining::max_members * evaluations_per_member);
}

int boosted_members_within(uint64_t evaluations) {
    static constexpr uint64_t evaluations_per_member = 2000;
    return std::clamp<uint64_t>(evaluations / evaluations_per_member, BoostedTraining::min_members,
                                BoostedTraining::max_members);
}

TrainedBoosted train_boosted(const MemberTraining& member_training, const TrainingColumns& rows,
                             const TrainingColumns& held_out, const BoostedTraining& training, RunContext& context) {
    TrainedBoosted result{{}, 1, 1, {}, uncertainty::StandardisedErrors(context), 0};
    ResidualChain chain(rows, context);
    HeldOut others(held_out, training, context);
    const bool is_held_out = held_out.rows() > 0;
    const size_t most = training.members;
    const double fraction = 1 - std::pow(BoostedTraining::left_of_signal, 1.0 / training.members);
    double best = std::numeric_limits<double>::infinity();
    size_t kept = 0;
    for (size_t m = 0; m < most && m < kept + BoostedTraining::patience; m++) {
        const auto share = Share::of(context, m, most);
        context.progress("members", m, most);
        const uint64_t evaluations = std::max<uint64_t>(1, training.evaluations / most);
        Candidate candidate = member_training.find(chain.residuals(), m, evaluations, context);
        result.evaluations += candidate.found.evaluations;
        result.members.push_back(chain.add(std::move(candidate.encoding), std::move(candidate.found.order),
                                           candidate.found.kernel, fraction, context));
        const Residuals residuals{rows, chain.residuals(), chain.variances()};
        const Variances variances = likeliest_variances(residuals, training, context);
        const Residuals scored = is_held_out ? others.add(result.members.back(), context) : residuals;
        const double loss = scored.mean(variances, context, negative_log_density);
        context.note(format("member %zu of at most %zu: negative log density %g of standardised targets %s, noise %g, "
                            "factor %g, after %" PRIu64 " evaluations",
                            m + 1, most, loss, is_held_out ? "held out" : "left out", variances.noise, variances.factor,
                            result.evaluations));
        if (loss < best) {
            best = loss;
            kept = m + 1;
            result.noise = variances.noise;
            result.variance_factor = variances.factor;
            result.left_out = errors(residuals, variances, context);
            result.leave_one_out = left_out_score(result.left_out, context);
        }
    }
    result.members.erase(result.members.begin() + kept, result.members.end());
    return result;
}

} // namespace btml::gp
