#include "core/uncertainty/calibration.hpp"

#include "core/numbers/elementary.hpp"
#include "core/numbers/usual_range.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

namespace btml::uncertainty {

namespace {

// Rows are taken whose errors are at most so many deviations, but one.
using Taken = std::pair<double, size_t>;
constexpr Taken all_rows{HUGE_VAL, SIZE_MAX};

// Variances are taken for s·(v/V + r) of what a model tells, v, and its mean, V: the likeliest s is known for each r.
class NormalLikelihood {
  public:
    NormalLikelihood(std::span<const double> errors, std::span<const double> deviations, const Taken& taken,
                     RunContext& context)
        : errors_(errors), deviations_(deviations), taken_(taken), context_(context) {
        for_rows([&](size_t) { rows_++; });
        for_rows([&](size_t i) { unit_ = std::max(unit_, std::fabs(errors[i])); });
        for_rows([&](size_t i) { mean_ += variance(i) / rows_; });
    }

    bool is_proper() const { return std::isnormal(unit_) && std::isnormal(mean_); }

    struct Found {
        double ratio, scale, nll;
    };
    Found at(double ratio) const {
        double scale = 0, logarithms = 0;
        for_rows([&](size_t i) {
            const double error = errors_[i] / unit_, told = variance(i) / mean_ + ratio;
            scale += error * error / told;
            logarithms += logarithm(told);
        });
        scale /= rows_;
        const double nll = (logarithm(scale) + logarithms / rows_) / 2;
        return {ratio, scale, std::isnan(nll) || !std::isnormal(scale) ? HUGE_VAL : nll};
    }
    VarianceCalibration calibration(const Found& found) const {
        return {found.scale / mean_, found.scale * found.ratio * unit_ * unit_};
    }
    // Returns the mean negative log density, without what is the same for all calibrations.
    double nll(const VarianceCalibration& calibration) const {
        double sum = 0;
        for_rows([&](size_t i) {
            const double error = errors_[i] / unit_,
                         told = calibration.factor * variance(i) + calibration.floor / unit_ / unit_;
            sum += (error * error / told + std::log(told)) / 2;
        });
        return sum / rows_;
    }

  private:
    // Is in units of the greatest error, squared.
    double variance(size_t i) const {
        const double deviation = deviations_[i] / unit_;
        return deviation * deviation;
    }
    template <class Body>
    void for_rows(const Body& body) const {
        context_.for_each(errors_.size(), 8, [&](size_t i) {
            if (i != taken_.second && !(std::fabs(errors_[i] / deviations_[i]) > taken_.first)) body(i);
        });
    }

    const std::span<const double> errors_, deviations_;
    const Taken taken_;
    RunContext& context_;
    double rows_ = 0, unit_ = 0, mean_ = 0;
};

// The ratio is found on a grid of logarithms, which gets finer about its best point; 0 is tried, too. Where a floor
// hides the variances, the likelihood hardly depends on the factor: of what is as likely but for little, the factor
// nearest to 1 is taken.
VarianceCalibration search(const NormalLikelihood& likelihood, size_t rows) {
    static constexpr double limit = 23; // e^23 is 1e10
    static constexpr int points = 21, rounds = 4;
    const double little = 0.02 / std::sqrt(static_cast<double>(rows));
    std::vector<NormalLikelihood::Found> tried{likelihood.at(0)};
    double from = -limit, to = limit, least = tried[0].nll;
    for (int round = 0; round < rounds; round++) {
        const double step = (to - from) / (points - 1);
        double best_at = (from + to) / 2, least_of_round = HUGE_VAL;
        for (int i = 0; i < points; i++) {
            const double at = from + i * step;
            tried.push_back(likelihood.at(exponential(at)));
            if (!(tried.back().nll < least_of_round)) continue;
            least_of_round = tried.back().nll;
            best_at = at;
        }
        least = std::min(least, least_of_round);
        from = best_at - step;
        to = best_at + step;
    }
    VarianceCalibration best{0, 0};
    double nearest = HUGE_VAL;
    for (const NormalLikelihood::Found& found : tried) {
        const VarianceCalibration calibration = likelihood.calibration(found);
        const double distance = std::fabs(std::log(calibration.factor));
        if (!(found.nll <= least + little) || !(distance < nearest)) continue;
        nearest = distance;
        best = calibration;
    }
    return best;
}

// Returns the rows but those whose errors are far from all others, in deviations, and but the farthest of the others.
Taken without_far(std::span<const double> errors, std::span<const double> deviations, RunContext& context) {
    const auto for_each_z = [&](const auto& body) {
        context.for_each(errors.size(), 8, [&](size_t i) { body(std::fabs(errors[i] / deviations[i])); });
    };
    const UsualRange usual = usual_range(for_each_z);
    const double most = usual.median + usual.reach;
    double farthest = -1;
    size_t i = 0, but = SIZE_MAX;
    for_each_z([&](double z) {
        if (z > farthest && !(z > most)) {
            farthest = z;
            but = i;
        }
        i++;
    });
    return {most, but};
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
    const NormalLikelihood all(errors, deviations, all_rows, context),
        others(errors, deviations, without_far(errors, deviations, context), context);
    if (!all.is_proper() || !others.is_proper()) return {};
    const auto is_better = [&](const NormalLikelihood& likelihood, const VarianceCalibration& found) {
        const double as_told = likelihood.nll({}), calibrated = likelihood.nll(found);
        return std::isfinite(as_told) ? is_clearly_better(calibrated, as_told, errors.size())
                                      : std::isfinite(calibrated);
    };
    for (const NormalLikelihood* const likelihood : {&all, &others}) {
        const VarianceCalibration found = search(*likelihood, errors.size());
        if (!std::isfinite(found.factor) || !std::isfinite(found.floor) || !(found.factor + found.floor > 0)) continue;
        if (is_better(all, found) && is_better(others, found)) return found;
    }
    return {};
}

bool is_clearly_better(double nll, double than, size_t rows) {
    return nll < than - 0.5 / std::sqrt(static_cast<double>(rows));
}

} // namespace btml::uncertainty
