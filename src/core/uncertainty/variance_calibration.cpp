#include "core/uncertainty/variance_calibration.hpp"

#include "core/base/elementary.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace btml::uncertainty {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Variances are taken for s·(v/V + r) of what a model tells, v, and its mean, V: the likeliest s is known for each r.
class Likelihood {
  public:
    Likelihood(std::span<const double> errors, std::span<const double> deviations, RunContext& context)
        : errors_(errors), deviations_(deviations), context_(context) {
        for (const double error : errors) unit_ = std::max(unit_, std::fabs(error));
        for (size_t i = 0; i < errors.size(); i++) mean_ += variance(i) / static_cast<double>(errors.size());
    }

    bool is_proper() const { return std::isnormal(unit_) && std::isnormal(mean_); }

    struct Found {
        double ratio, scale, nll;
    };
    Found at(double ratio) const {
        double scale = 0, logarithms = 0;
        const double count = static_cast<double>(errors_.size());
        context_.for_each(errors_.size(), 8, [&](size_t i) {
            const double error = errors_[i] / unit_, told = variance(i) / mean_ + ratio;
            scale += error * error / told;
            logarithms += logarithm(told);
        });
        scale /= count;
        const double nll = (logarithm(scale) + logarithms / count) / 2;
        return {ratio, scale, std::isnan(nll) || !std::isnormal(scale) ? infinity : nll};
    }
    VarianceCalibration calibration(const Found& found) const {
        return {found.scale / mean_, found.scale * found.ratio * unit_ * unit_};
    }

  private:
    // Is in units of the greatest error, squared.
    double variance(size_t i) const {
        const double deviation = deviations_[i] / unit_;
        return deviation * deviation;
    }

    const std::span<const double> errors_, deviations_;
    RunContext& context_;
    double unit_ = 0, mean_ = 0;
};

// The ratio is found on a grid of logarithms, which gets finer about its best point; 0 is tried, too.
Likelihood::Found search(const Likelihood& likelihood) {
    static constexpr double limit = 23; // e^23 is 1e10
    static constexpr int points = 21, rounds = 4;
    Likelihood::Found best = likelihood.at(0);
    double from = -limit, to = limit;
    for (int round = 0; round < rounds; round++) {
        const double step = (to - from) / (points - 1);
        double best_at = (from + to) / 2, least = infinity;
        for (int i = 0; i < points; i++) {
            const double at = from + i * step;
            const Likelihood::Found found = likelihood.at(exponential(at));
            if (found.nll < best.nll) best = found;
            if (!(found.nll < least)) continue;
            least = found.nll;
            best_at = at;
        }
        from = best_at - step;
        to = best_at + step;
    }
    return best;
}

} // namespace

double mean_nll_normal(std::span<const double> errors, std::span<const double> deviations,
                       const VarianceCalibration& calibration, RunContext& context) {
    double sum = 0;
    context.for_each(errors.size(), 8, [&](size_t i) {
        const double deviation = calibration.is_identity() ? deviations[i]
                                                           : std::sqrt(calibration(deviations[i] * deviations[i])),
                     z = errors[i] / deviation;
        sum += (std::log(2 * std::numbers::pi) + z * z) / 2 + std::log(deviation);
    });
    return sum / static_cast<double>(errors.size());
}

VarianceCalibration likeliest_variances(std::span<const double> errors, std::span<const double> deviations,
                                        RunContext& context) {
    static constexpr size_t min_rows = 100; // of fewer, two numbers would be mostly chance
    if (errors.size() < min_rows) return {};
    const Likelihood likelihood(errors, deviations, context);
    if (!likelihood.is_proper()) return {};
    const VarianceCalibration found = likelihood.calibration(search(likelihood));
    if (!std::isfinite(found.factor) || !std::isfinite(found.floor)) return {};
    const double as_told = mean_nll_normal(errors, deviations, {}, context),
                 calibrated = mean_nll_normal(errors, deviations, found, context);
    const bool is_better =
        std::isfinite(as_told) ? is_clearly_better(calibrated, as_told, errors.size()) : std::isfinite(calibrated);
    return is_better ? found : VarianceCalibration{};
}

bool is_clearly_better(double nll, double than, size_t rows) {
    return nll < than - 0.5 / std::sqrt(static_cast<double>(rows));
}

} // namespace btml::uncertainty
