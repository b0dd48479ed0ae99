// The kernels written down a second time.
#pragma once

#include "core/pairwise/kernels/kernels.hpp"

#include <stdexcept>
#include <string>
#include <vector>

namespace btml::test {

inline constexpr auto all_kernels =
    pairwise::Kernels::map([]<class Shape>(std::type_identity<Shape>) { return pairwise::kernel_of<Shape>; });

inline double kernel_value(pairwise::Kernel kernel, const std::vector<double>& a, const std::vector<double>& b,
                           double bandwidth) {
    double squares = 0, magnitudes = 0;
    for (size_t k = 0; k < a.size(); k++) {
        const double u = (a[k] - b[k]) / bandwidth;
        squares += u * u;
        magnitudes += std::abs(u);
    }
    const std::string name = pairwise::facts_of(kernel).name;
    const double root = std::sqrt(squares);
    if (name == "gaussian") return std::exp(-squares / 2);
    if (name == "laplacian") return std::exp(-magnitudes);
    if (name == "epanechnikov") return std::max(0.0, 1 - squares);
    if (name == "matern32") return (1 + std::sqrt(3) * root) * std::exp(-std::sqrt(3) * root);
    if (name == "matern52") return (1 + std::sqrt(5) * root + 5 * squares / 3) * std::exp(-std::sqrt(5) * root);
    throw std::invalid_argument("write down here as well what the kernel " + name + " is");
}

} // namespace btml::test
