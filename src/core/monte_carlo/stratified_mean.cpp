#include "core/monte_carlo/stratified_mean.hpp"

#include <cmath>

namespace btml::monte_carlo {

namespace {

constexpr double proportional_share = 0.15;  // of the draws
constexpr double max_growth = 2;             // of the number of draws from one look to the next
constexpr double draw_margin = 1.1;          // draws beyond those that the standard deviations so far ask for
constexpr double worth_exhausting = 2.0 / 3; // of a stratum's members
constexpr size_t max_neighbours = 6;         // on either side, strata whose variances stand for this one's
constexpr size_t strata_per_neighbour = 10;  // few strata are not alike, and have more draws each
constexpr double telling_draws = 500;        // of a stratum; only those beyond tell of its variance

} // namespace

// Acklam's rational approximation, then one step of Halley's method: to rounding.
double normal_quantile(double p) {
    static constexpr double a[] = {-3.969683028665376e+01, 2.209460984245205e+02,  -2.759285104469687e+02,
                                   1.383577518672690e+02,  -3.066479806614716e+01, 2.506628277459239e+00};
    static constexpr double b[] = {-5.447609879822406e+01, 1.615858368580409e+02, -1.556989798598866e+02,
                                   6.680131188771972e+01, -1.328068155288572e+01};
    static constexpr double c[] = {-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                                   -2.549732539343734e+00, 4.374664141464968e+00,  2.938163982698783e+00};
    static constexpr double d[] = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
                                   3.754408661907416e+00};
    if (p > 0.5) return -normal_quantile(1 - p);
    double x;
    if (p < 0.02425) {
        const double q = std::sqrt(-2 * std::log(p));
        x = (((((c[0] * q + c[1]) * q + c[2]) * q + c[3]) * q + c[4]) * q + c[5]) /
            ((((d[0] * q + d[1]) * q + d[2]) * q + d[3]) * q + 1);
    } else {
        const double q = p - 0.5, r = q * q;
        x = (((((a[0] * r + a[1]) * r + a[2]) * r + a[3]) * r + a[4]) * r + a[5]) * q /
            (((((b[0] * r + b[1]) * r + b[2]) * r + b[3]) * r + b[4]) * r + 1);
    }
    const double error = 0.5 * std::erfc(-x * std::sqrt(0.5)) - p;
    const double step = error * 2.5066282746310002 * std::exp(x * x / 2);
    return x - step / (1 + x * step / 2);
}

StratifiedMean::StratifiedMean(std::vector<uint64_t> sizes, const SamplingOptions& options)
    : options_(options), quantile_(normal_quantile((1 + options.confidence) / 2)) {
    for (const uint64_t size : sizes) {
        strata_.push_back({size});
        population_ += size;
    }
}

void StratifiedMean::add(size_t number, const Draw& draw) {
    Stratum& stratum = strata_[number];
    stratum.draws++;
    const double difference = draw.value - stratum.mean;
    stratum.mean += difference / stratum.draws;
    stratum.squares += difference * (draw.value - stratum.mean);
    stratum.noise += draw.noise;
}

double StratifiedMean::mean() const {
    double sum = 0;
    for (const Stratum& stratum : strata_) sum += weight(stratum) * stratum.mean;
    return sum;
}

// Two-stage sampling: with s² the variance of noisy values, w the mean noise, m of N drawn: (1 − m/N)·s²/m + w/N.
double StratifiedMean::variance(const Stratum& stratum, double draws) const {
    const double size = stratum.size, p = weight(stratum);
    const double noise = stratum.draws ? stratum.noise / stratum.draws : 0;
    return p * p * ((1 - draws / size) * stratum.variance() / draws + noise / size);
}

double StratifiedMean::standard_error() const {
    double sum = 0;
    for (const Stratum& stratum : strata_) sum += variance(stratum, stratum.draws);
    return std::sqrt(sum);
}

double StratifiedMean::noise_variance() const {
    double sum = 0;
    for (const Stratum& stratum : strata_) {
        const double draws = stratum.draws, p = weight(stratum);
        sum += p * p * stratum.noise / draws / draws;
    }
    return sum;
}

double StratifiedMean::target_variance() const {
    const double relative = options_.epsilon * std::abs(mean()) / (1 + options_.epsilon);
    const double error = std::max(options_.is_logarithm ? options_.epsilon : relative, options_.tolerance) / quantile_;
    return error * error;
}

bool StratifiedMean::precise_enough() const {
    if (draws() < std::min(options_.min_samples, static_cast<uint64_t>(population_))) return false;
    const double error = standard_error();
    return error * error <= target_variance();
}

bool StratifiedMean::exhausted() const {
    return std::all_of(strata_.begin(), strata_.end(), [](const Stratum& s) { return s.draws == s.size; });
}

uint64_t StratifiedMean::draws() const {
    uint64_t sum = 0;
    for (const Stratum& stratum : strata_) sum += stratum.draws;
    return sum;
}

uint64_t StratifiedMean::wanted(const Stratum& stratum, double scale) const {
    const double size = stratum.size;
    const double draws = std::max({scale * size, static_cast<double>(min_draws), static_cast<double>(stratum.draws)});
    return draws >= worth_exhausting * size ? stratum.size : static_cast<uint64_t>(std::ceil(draws));
}

// A stratum whose few draws missed the rare large values has a small mean and a small variance. Were draws allocated by
// the latter, the former would stay, while strata that met them were drawn again and came down: a bias. So the few
// draws of a stratum do not decide how many more it gets, unless it has no neighbours. Strata that are always drawn to
// the last tell nothing of their neighbours.
std::vector<double> StratifiedMean::deviations() const {
    std::vector<double> deviations;
    const size_t neighbours = std::min(max_neighbours, strata_.size() / strata_per_neighbour);
    for (size_t s = 0; s < strata_.size(); s++) {
        double sum = 0, rows = 0;
        const size_t end = std::min(strata_.size(), s + neighbours + 1);
        for (size_t t = s - std::min(s, neighbours); t < end; t++) {
            if (t == s || strata_[t].size <= min_draws) continue;
            const double size = strata_[t].size;
            sum += size * strata_[t].variance();
            rows += size;
        }
        const double own = strata_[s].variance(), draws = strata_[s].draws;
        if (!(rows > 0)) {
            deviations.push_back(std::sqrt(own));
            continue;
        }
        const double share = std::min(1.0, telling_draws / std::max(draws, 1.0)); // of the neighbours
        deviations.push_back(std::sqrt(share * sum / rows + (1 - share) * own));
    }
    return deviations;
}

std::vector<uint64_t> StratifiedMean::allocate(double total) const {
    const std::vector<double> deviation = deviations();
    double mean_deviation = 0;
    for (size_t s = 0; s < strata_.size(); s++) mean_deviation += weight(strata_[s]) * deviation[s];
    std::vector<uint64_t> draws;
    for (size_t s = 0; s < strata_.size(); s++) {
        const double neyman = mean_deviation > 0 ? deviation[s] / mean_deviation : 1;
        draws.push_back(
            wanted(strata_[s], total / population_ * (proportional_share + (1 - proportional_share) * neyman)));
    }
    return draws;
}

double StratifiedMean::total_needed() const {
    const auto variance_with = [&](const std::vector<uint64_t>& draws) {
        double sum = 0;
        for (size_t s = 0; s < strata_.size(); s++) sum += variance(strata_[s], draws[s]);
        return sum;
    };
    double total = std::max(draws(), options_.min_samples);
    const double target = target_variance();
    while (variance_with(allocate(total)) > target && total < 4 * population_) total *= 1.1;
    return total;
}

uint64_t StratifiedMean::needed() const {
    uint64_t sum = 0;
    for (const uint64_t draws : allocate(total_needed())) sum += draws;
    return sum;
}

std::vector<uint64_t> StratifiedMean::plan() const {
    const uint64_t drawn = draws();
    if (drawn == 0) return allocate(options_.min_samples);
    const double least = std::max(drawn, options_.min_samples);
    double total = std::max(least * 1.02, std::min(total_needed() * draw_margin, max_growth * least));
    std::vector<uint64_t> draws = allocate(total);
    // Where the allocation only moves draws about, something must still be drawn.
    while (std::equal(draws.begin(), draws.end(), strata_.begin(),
                      [](uint64_t d, const Stratum& s) { return d == s.draws; }) &&
           !exhausted())
        draws = allocate(total *= 1.5);
    return draws;
}

} // namespace btml::monte_carlo
