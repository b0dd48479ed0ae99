#include "core/kernel/estimand.hpp"

#include <algorithm>

namespace btml::kernel {

double Estimand::square(uint32_t key, size_t column) const noexcept {
    const double weight = value(key, 0);
    if (column == 0) return weight * weight;
    if (column <= targets()) return weight * value(key, column);
    double sum = 0;
    for (size_t c = 1; c <= targets(); c++) sum += value(key, c) * value(key, c);
    return sum;
}

double Estimand::magnitude(const double* sums) const noexcept {
    if (!is_mean()) return sums[0] * sums[0];
    double sum = 0;
    for (size_t c = 1; c <= targets(); c++) sum += sums[c] * sums[c];
    return sums[0] > 0 ? sum / (sums[0] * sums[0]) : 0;
}

double Estimand::error(const double* sums, const double* squares) const noexcept {
    if (!is_mean()) return std::max(0.0, squares[0]);
    if (!(sums[0] > 0)) return 0;
    double error = squares[targets() + 1];
    for (size_t c = 1; c <= targets(); c++) {
        const double mean = sums[c] / sums[0];
        error += mean * (mean * squares[0] - 2 * squares[c]);
    }
    return std::max(0.0, error) / (sums[0] * sums[0]);
}

} // namespace btml::kernel
