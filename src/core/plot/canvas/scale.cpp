#include "core/plot/canvas/scale.hpp"

#include "core/numbers/elementary.hpp"

#include <algorithm>
#include <cmath>

namespace btml::plot {

static constexpr double ln10 = 2.302585092994045684;

double power10(double x) {
    return exponential(x * ln10);
}

double logarithm10(double x) {
    const bool subnormal = x < 0x1p-1022;
    return logarithm(subnormal ? x * 0x1p60 : x) / ln10 - (subnormal ? 60 * 0.301029995663981195 : 0);
}

Scale::Scale(const Domain& domain, double begin, double end) : domain_(domain), begin_(begin), end_(end) {
    low_ = transformed(domain.low);
    high_ = transformed(domain.high);
}

// Half of numbers, so that no difference overflows.
double Scale::transformed(double value) const {
    return domain_.logarithmic ? logarithm10(value) : value / 2;
}

double Scale::operator()(double value) const {
    const double clamped = std::clamp(value, domain_.low, domain_.high);
    return begin_ + (transformed(clamped) - low_) / (high_ - low_) * (end_ - begin_);
}

} // namespace btml::plot
