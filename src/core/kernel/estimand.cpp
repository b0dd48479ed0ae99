#include "core/kernel/estimand.hpp"

#include <algorithm>
#include <cmath>

namespace btml::kernel {

Estimand::Estimand(Quantity quantity, const KeySet& keys) : quantity_(quantity), keys_(keys) {
    if (!is_mean()) return;
    std::vector<double> sums(columns(), 0.0);
    double squares = 0;
    for (size_t i = 0; i < keys.rows(); i++) {
        const uint32_t key = i;
        const double weight = value(key, 0);
        if (!(weight > 0)) continue;
        for (size_t c = 0; c < columns(); c++) sums[c] += value(key, c);
        squares += square(key, targets() + 1) / weight;
    }
    spread_ = squares / sums[0];
    for (size_t c = 1; c < columns(); c++) spread_ -= sums[c] / sums[0] * (sums[c] / sums[0]);
    spread_ = std::max(0.0, spread_);
}

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

double Estimand::error_of_hidden(double denominator, double variance, double fraction) const noexcept {
    if (!is_mean() || !(denominator > 0) || !(variance > 0) || fraction >= 1) return 0;
    // Works as if all of the variance came of one key: with its share of the estimate, and of the true denominator.
    const double estimated = std::min(1.0, std::sqrt(variance / (1 - fraction)) / denominator),
                 share = fraction * estimated / (1 - estimated + fraction * estimated);
    return (1 - fraction) / fraction * share * share * spread_;
}

} // namespace btml::kernel
