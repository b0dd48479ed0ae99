#include "core/kernel/far_sums.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace btml::kernel {

// A key whose kernel is 2^−60 of the nearest one's no longer counts, however many there are.
static constexpr double negligible = 60;

double FarSums::bound_of(const double* query, size_t block) const {
    const Frame& frame = keys_.distinct.frame;
    const double from_centre = frame.kernel.distance(frame.sum(query, keys_.blocks.centre(block))),
                 nearest = std::max(0.0, from_centre - keys_.blocks.radius(block));
    return frame.kernel.exponent(frame.kernel.sum_at(nearest) * (1 - 1e-9));
}

void FarSums::add(uint32_t key, double exponent) {
    const bool nearest_only = keys_.distinct.frame.kernel.is_compact;
    double factor = 1;
    if (exponent < exponent_) {
        const double rescale = nearest_only ? 0 : std::exp2(exponent - exponent_);
        for (double& sum : sums_) sum *= rescale;
        exponent_ = exponent;
    } else if (nearest_only) {
        factor = exponent == exponent_;
    } else {
        factor = std::exp2(exponent_ - exponent);
    }
    if (factor == 0) return;
    for (size_t c = 0; c < sums_.size(); c++) sums_[c] += factor * keys_.value(key, c);
}

// Beyond this distance sums of differences in double do not tell keys apart, or overflow. The nearest keys are those of
// a point nearer by: keys are within 10^12 of the origin.
void FarSums::approach(const double* query) {
    constexpr double farthest = 1e14, finite = 1e300;
    query_.assign(query, query + query_.size());
    double largest = 0;
    for (double& x : query_) largest = std::max(largest, std::abs(x = std::clamp(x, -finite, finite)));
    if (largest <= farthest) return;
    for (double& x : query_) x = keys_.distinct.frame.kernel.approach(x, largest, farthest);
}

void FarSums::find(const double* of_query) {
    approach(of_query);
    const double* const query = query_.data();
    candidates_.clear();
    for (size_t block = 0; block < keys_.blocks.blocks(); block++)
        candidates_.push_back({bound_of(query, block), block});
    std::sort(candidates_.begin(), candidates_.end(), [](const Candidate& a, const Candidate& b) {
        return a.bound != b.bound ? a.bound < b.bound : a.block < b.block;
    });
    exponent_ = std::numeric_limits<double>::max();
    std::fill(sums_.begin(), sums_.end(), 0.0);
    for (const Candidate& candidate : candidates_) {
        if (candidate.bound > exponent_ + negligible) break;
        for (const uint32_t key : keys_.tree.keys(candidate.block))
            add(key, keys_.distinct.frame.exponent(query, keys_.distinct.points.row(key)));
    }
}

} // namespace btml::kernel
