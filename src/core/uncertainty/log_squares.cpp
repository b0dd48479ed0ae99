#include "core/uncertainty/log_squares.hpp"

#include "core/base/run_context.hpp"
#include "core/numbers/elementary.hpp"

#include <algorithm>

namespace btml::uncertainty {

LogSquares::LogSquares(Buffer<double> magnitudes, double part, RunContext& context, double least) {
    static constexpr double part_of_largest = 1e-6, tiny = 1e-120;
    double* const middle = magnitudes.begin() + magnitudes.size() / 2;
    std::nth_element(magnitudes.begin(), middle, magnitudes.end(), [&](double a, double b) {
        context.worked(1);
        return a < b;
    });
    const double largest = *std::max_element(middle, magnitudes.end());
    floor_ = std::max({*middle > 0 ? part * *middle : part_of_largest * largest, least, tiny});
}

double LogSquares::of(double error) const {
    const double ratio = error / floor_;
    return logarithm(1 + std::min(ratio * ratio, 1e300)) + 2 * logarithm(floor_);
}

double LogSquares::slope(double error) const {
    const double ratio = floor_ / error;
    return 1 / (1 + ratio * ratio);
}

} // namespace btml::uncertainty
