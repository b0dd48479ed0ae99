#include "core/relational/queries/sketch_size.hpp"

#include <cmath>

namespace btml::relational {

static constexpr Option<NormOptions> norm_rows[] = {
    option<&NormOptions::sketch_size>("sketch_size", from(1), "numbers of the sketch")
        .null_is(0, "by `epsilon` and `delta`"),
    option<&NormOptions::epsilon>("epsilon", inside(0, 1), "relative error of the estimate"),
    option<&NormOptions::delta>("delta", inside(0, 1), "probability of a larger one"),
    option<&NormOptions::seed>("seed", any_number(), "of the sketch"),
    option<&NormOptions::verify>("verify", "an INFO message with the exact sum and the error"),
};
constinit const OptionsTable<NormOptions> norm_options_table{norm_rows};

namespace {

double variance_factor(int tables) {
    return 2 + std::pow(3.0, tables);
}

} // namespace

uint64_t sketch_size(double epsilon, double delta, int tables) {
    // Rounding errors must not add one to what is a whole number.
    const double size = std::ceil(variance_factor(tables) / (epsilon * epsilon * delta) * (1 - 1e-14));
    return size < 0x1p63 ? static_cast<uint64_t>(size) : uint64_t{1} << 63;
}

double sketch_relative_sd(uint64_t size, int tables) {
    return std::sqrt(variance_factor(tables) / static_cast<double>(size));
}

// A median of m is off only if m/2 of the sketches are. If each is off with probability p, that has probability at most
// exp(−m·K), K = ½·ln(1/(4p(1 − p))) (Chernoff). m·k is least near p = 1/8.
SketchPlan sketch_plan(double epsilon, double delta, uint64_t groups, int tables) {
    constexpr double p = 1.0 / 8;
    const double exponent = -0.5 * std::log(4 * p * (1 - p));
    const double each = delta / static_cast<double>(groups);
    const auto sketches = static_cast<int>(std::ceil(std::log(1 / each) / exponent)) | 1;
    const SketchPlan median{sketch_size(epsilon, p, tables), sketches}, one{sketch_size(epsilon, each, tables), 1};
    const bool one_is_less = static_cast<double>(one.size) <= static_cast<double>(median.size) * median.sketches;
    return one_is_less ? one : median;
}

} // namespace btml::relational
