#include "core/pairwise/kernels/kernels.hpp"

namespace btml::pairwise {

namespace {

constexpr auto facts = Kernels::map([]<class Shape>(std::type_identity<Shape>) {
    using Metric = typename Shape::Metric;
    return KernelFacts{kernel_of<Shape>,
                       Shape::name,
                       Shape::is_compact,
                       Shape::takes_products,
                       Shape::least,
                       Shape::order,
                       Shape::unit,
                       sum_of<Metric>,
                       Metric::distance,
                       Metric::sum_at,
                       Metric::approach,
                       Shape::exponent,
                       Shape::template value<DoubleArithmetic>,
                       Shape::log_integral,
                       Shape::log_square_integral,
                       Shape::variance,
                       coefficient<Shape>,
                       decay<Shape>};
});

} // namespace

const KernelFacts& facts_of(Kernel kernel) noexcept {
    return facts[static_cast<size_t>(kernel)];
}

} // namespace btml::pairwise
