#include "core/pairwise/convolution.hpp"

namespace btml::pairwise {

namespace {

// Returns K₀/K₁ by the trapezoid rule for ∫ exp(−x·cosh t)·cosh μt dt, which converges exponentially.
double ratio_of_first_orders(double x) {
    const double step = std::min(0.1, 0.7 / std::sqrt(x));
    double zeroth = 0.5, first = 0.5;
    for (double t = step;; t += step) {
        const double cosine = std::cosh(t), weight = std::exp(-x * (cosine - 1));
        zeroth += weight;
        first += weight * cosine;
        if (weight * cosine < 1e-18) return zeroth / first;
    }
}

// Returns K_(μ−1)/K_μ, by K_(μ+1) = K_(μ−1) + 2μ/x·K_μ from K_(−1/2) = K_(1/2) or from the first orders.
double ratio_of_orders(double order, double x) {
    if (x == 0) return 0;
    const bool is_whole = order == std::floor(order);
    double ratio = is_whole ? ratio_of_first_orders(x) : 1;
    for (double at = is_whole ? 1 : 0.5; at < order; at++) ratio = 1 / (ratio + 2 * at / x);
    return ratio;
}

// Returns the derivative of that.
double slope_of_ratio(double order, double x, double ratio) {
    return x == 0 ? 1 / (2 * (order - 1)) : (2 * order - 1) / x * ratio + ratio * ratio - 1;
}

// Integrates by Gauss and Legendre.
double integral_of_ratio(double order, double from, double to) {
    constexpr std::array nodes{0.0, 0.5384693101056831, 0.9061798459386640};
    constexpr std::array weights{0.5688888888888889, 0.4786286704993665, 0.2369268850561891};
    const double middle = (from + to) / 2, half = (to - from) / 2;
    double sum = weights[0] * ratio_of_orders(order, middle);
    for (size_t i = 1; i < nodes.size(); i++)
        sum += weights[i] *
               (ratio_of_orders(order, middle - half * nodes[i]) + ratio_of_orders(order, middle + half * nodes[i]));
    return sum * half;
}

} // namespace

Convolution::Convolution(Kernel kernel, size_t dimensions) {
    const KernelFacts& facts = facts_of(kernel);
    const auto d = static_cast<double>(dimensions);
    if (std::isinf(facts.order)) {
        log_peak_ = -facts.log_volume(std::numbers::sqrt2, d);
        return;
    }
    const double order = 2 * facts.order + d / 2;
    log_peak_ = d * (std::log(2 * facts.order / std::numbers::pi) / 2 - std::numbers::ln2) + std::lgamma(order) -
                std::lgamma(order + d / 2);
    double value = 0, slope = 0, bend = -slope_of_ratio(order, 0, 0);
    for (size_t part = first_part; value > min_exponent; part++) {
        const double start = std::bit_cast<double>(part << bits_of_part), a = start - 1,
                     end = std::bit_cast<double>((part + 1) << bits_of_part) - 1, width = end - a;
        const double ratio = ratio_of_orders(order, end), next = value - integral_of_ratio(order, a, end),
                     next_bend = -slope_of_ratio(order, end, ratio);
        // Hermite's polynomial of degree 5: value, slope and second derivative at both ends.
        const double rest = (next - value - width * (slope + width * bend / 2)) / (width * width * width),
                     of_slope = (-ratio - slope - width * bend) / (width * width), of_bend = (next_bend - bend) / width;
        parts_.push_back({start,
                          {value, slope, bend / 2, 10 * rest - 4 * of_slope + of_bend / 2,
                           (-15 * rest + 7 * of_slope - of_bend) / width,
                           (6 * rest - 3 * of_slope + of_bend / 2) / (width * width)}});
        value = next;
        slope = -ratio;
        bend = next_bend;
        last_ = std::nextafter(end, 0.0);
    }
}

} // namespace btml::pairwise
