#include "core/gp/search/order_evaluator.hpp"

#include "core/numbers/lbfgs.hpp"

#include <algorithm>
#include <cmath>

namespace btml::gp {

namespace {

// Writes a kernel as numbers without limits: w_l = e^x_l, or signal · e^x_l / Σe^x where the signal is given; the noise
// is given, or least + e^z with z the last number.
class Parameters {
  public:
    Parameters(size_t levels, const KernelLimits& limits) : levels_(levels), limits_(limits) {}

    std::vector<double> of(const Kernel& kernel) const {
        std::vector<double> x;
        for (const double weight : kernel.weights) x.push_back(logarithm(weight));
        if (!limits_.noise) x.push_back(logarithm(kernel.noise - limits_.min_noise));
        return x;
    }

    Kernel kernel(std::span<const double> x) const {
        Kernel kernel;
        for (size_t level = 0; level < levels_; level++) kernel.weights.push_back(std::exp(clamped(x[level])));
        if (limits_.signal && levels_ > 0) {
            const double factor = *limits_.signal / kernel.signal();
            for (double& weight : kernel.weights) weight *= factor;
        }
        kernel.noise = limits_.noise ? *limits_.noise : limits_.min_noise + std::exp(clamped(x.back()));
        return kernel;
    }

    // Makes derivatives by x of those by weights and noise.
    void differentiate(std::span<const double> x, const Kernel& kernel, const Gradient& by_kernel,
                       std::span<double> gradient) const {
        double mean = 0;
        if (limits_.signal)
            for (size_t level = 0; level < levels_; level++)
                mean += kernel.weights[level] * by_kernel.weights[level] / *limits_.signal;
        for (size_t level = 0; level < levels_; level++)
            gradient[level] = is_free(x[level]) ? kernel.weights[level] * (by_kernel.weights[level] - mean) : 0;
        if (!limits_.noise)
            gradient.back() = is_free(x.back()) ? (kernel.noise - limits_.min_noise) * by_kernel.noise : 0;
    }

  private:
    // Logarithms, to the variance of the targets, beyond which nothing is to be learned.
    static constexpr double least = -25, most = 9;
    static double clamped(double x) { return std::clamp(x, least, most); }
    static bool is_free(double x) { return x > least && x < most; }
    static double logarithm(double x) { return clamped(std::log(std::max(x, 1e-11))); }

    const size_t levels_;
    const KernelLimits& limits_;
};

} // namespace

OrderedKernel fit_kernel(std::span<const uint16_t> common, const Observations& sorted, const Kernel& start,
                         const KernelLimits& limits, int evaluations, RunContext& context) {
    static constexpr double min_gain = 1e-6, longest_step = 3;
    const Parameters parameters(start.levels(), limits);
    LikelihoodGradient likelihood(context);
    Gradient by_kernel;
    std::vector<double> x = parameters.of(start);
    const Minimum minimum = minimise(
        x,
        [&](std::span<const double> at, std::span<double> gradient) {
            const Kernel kernel = parameters.kernel(at);
            const double value = likelihood(common, sorted, kernel, by_kernel, context);
            parameters.differentiate(at, kernel, by_kernel, gradient);
            return value;
        },
        evaluations, min_gain, longest_step);
    return {{}, parameters.kernel(x), minimum.value, static_cast<uint64_t>(minimum.evaluations)};
}

} // namespace btml::gp
