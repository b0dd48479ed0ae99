// The binary tree kernel with observation noise: k(x, x') = c_l for strings that share their first l bits,
// c_l = w_1 + … + w_l (Binary Tree Gaussian Processes, Definition 1, without its condition Σw = 1).
#pragma once

#include "core/base/serial.hpp"

#include <cstddef>

namespace btml::gp {

inline constexpr size_t max_levels = 32767;

struct Normal {
    double mean = 0, variance = 0;
};

struct Kernel {
    std::vector<double> weights; // w_1 … w_q ≥ 0, one per level of the bit order
    double noise = 1;            // λ > 0: variance of an observation of weight 1 about the latent function

    size_t levels() const { return weights.size(); }
    // Σw: the variance of the latent function before any observation.
    double signal() const;
    // c_0 = 0, c_1 … c_q.
    std::vector<double> covariances() const;
    // Throws invalid_argument, or limit_exceeded beyond max_levels, naming the value and what is valid.
    void validate() const;
};

void encode(const Kernel& kernel, Writer& writer);
// Throws corrupt_model.
Kernel decode_kernel(Reader& reader);

} // namespace btml::gp
