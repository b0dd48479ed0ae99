#include "core/kernel/frame.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace btml::kernel {

namespace {

constexpr uint64_t units_of_visit = 4; // of work: a row of the keys in an order that is not memory's
constexpr double widest = 1e12;        // bandwidths; beyond, pairs of float32 would be too coarse

// From differences in bandwidths to the units of tiles.hpp.
double unit_of(Kernel kernel) {
    switch (kernel) {
    case Kernel::gaussian:
        return std::sqrt(std::numbers::log2e / 2);
    case Kernel::laplacian:
        return std::numbers::log2e;
    case Kernel::epanechnikov:
        break;
    }
    return 1;
}

struct Moments {
    double mean = 0, squares = 0, least = 0, greatest = 0;
};

Moments moments_of(const Points& keys, const Buffer<uint32_t>& order, size_t k, RunContext& context) {
    Moments moments;
    double count = 0;
    moments.least = moments.greatest = keys.row(order[0])[k];
    for (const uint32_t row : order) { // Welford's recurrence
        const double x = keys.row(row)[k], difference = x - moments.mean;
        moments.mean += difference / ++count;
        moments.squares += difference * (x - moments.mean);
        moments.least = std::min(moments.least, x);
        moments.greatest = std::max(moments.greatest, x);
        context.worked(units_of_visit);
    }
    return moments;
}

} // namespace

Frame::Frame(const Points& keys, const Buffer<uint32_t>& order, const Options& options, RunContext& context)
    : kernel(options.kernel),
      centre(keys.dimensions()),
      factor(keys.dimensions()),
      log_volume(static_cast<double>(keys.dimensions()) * std::log(options.bandwidth)) {
    const double unit = unit_of(kernel);
    for (size_t k = 0; k < keys.dimensions(); k++) {
        const Moments moments = moments_of(keys, order, k, context);
        double width = options.bandwidth;
        if (options.scale == Scale::sd && moments.squares > 0) {
            const double sd = std::sqrt(moments.squares / static_cast<double>(order.size() - 1));
            width *= sd;
            log_volume += std::log(sd);
        }
        centre[k] = moments.mean;
        factor[k] = unit / width;
        const double spread = (moments.greatest - moments.least) / width;
        if (!std::isfinite(moments.mean) || !std::isfinite(moments.squares) || !std::isfinite(factor[k]) ||
            !(spread <= widest))
            throw Error(
                ErrorCode::out_of_range,
                format("coordinate %zu of the keys spreads over more than 1e12 bandwidths", k + 1),
                format("It runs from %s to %s.", shortest(moments.least).c_str(), shortest(moments.greatest).c_str()),
                "Choose a larger bandwidth, or leave out keys that are far off.");
    }
}

double Frame::exponent(const double* a, const double* b) const noexcept {
    double sum = 0;
    if (kernel == Kernel::laplacian)
        for (size_t k = 0; k < centre.size(); k++) sum += std::abs(a[k] - b[k]);
    else
        for (size_t k = 0; k < centre.size(); k++) sum += (a[k] - b[k]) * (a[k] - b[k]);
    return sum;
}

double Frame::value(const double* a, const double* b) const noexcept {
    const double of_pair = exponent(a, b);
    return kernel == Kernel::epanechnikov ? std::max(0.0, 1 - of_pair) : std::exp2(-of_pair);
}

double Frame::log_integral() const noexcept {
    const double d = static_cast<double>(centre.size());
    switch (kernel) {
    case Kernel::gaussian:
        return d / 2 * std::log(2 * std::numbers::pi);
    case Kernel::laplacian:
        return d * std::numbers::ln2;
    case Kernel::epanechnikov:
        break;
    }
    // The volume of the unit ball times 2/(d + 2).
    return d / 2 * std::log(std::numbers::pi) - std::lgamma(d / 2 + 1) + std::log(2 / (d + 2));
}

} // namespace btml::kernel
