#include "core/pairwise/kernels/kernels.hpp"

namespace btml::pairwise {

namespace {

template <class Metric>
double sum(const double* a, const double* b, size_t dimensions) {
    double sum = 0;
    for (size_t k = 0; k < dimensions; k++) sum = Metric::template add<DoubleArithmetic>(sum, a[k] - b[k]);
    return sum;
}

constexpr auto facts = Kernels::map([]<class Shape>(std::type_identity<Shape>) {
    using Metric = typename Shape::Metric;
    return KernelFacts{kernel_of<Shape>,   Shape::name,      Shape::is_compact, Shape::takes_products,
                       Shape::least,       Shape::unit,      sum<Metric>,       Metric::distance,
                       Metric::sum_at,     Metric::approach, Shape::exponent,   Shape::template value<DoubleArithmetic>,
                       Shape::log_integral};
});

} // namespace

const KernelFacts& facts_of(Kernel kernel) noexcept {
    return facts[static_cast<size_t>(kernel)];
}

} // namespace btml::pairwise
