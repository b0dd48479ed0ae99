// The covariance matrix of rows under the binary tree kernel times a vector.
#pragma once

#include "core/gp/tree/tree_kernel.hpp"

#include "core/base/buffer.hpp"

#include <span>

namespace btml::gp {

// product[i] = Σ_j k(x_i, x_j) vector[j], noise not included, for rows in the order of their strings (see
// negative_log_likelihood): O(n + q). `product` may be `vector` itself.
void covariance_product(std::span<const uint16_t> common, const Kernel& kernel, std::span<const double> vector,
                        std::span<double> product, RunContext& context);

} // namespace btml::gp
