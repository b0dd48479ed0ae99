// Convolves a kernel with itself. For a Gaussian kernel that is another; for a Matérn kernel of order ν in d
// dimensions, whose Fourier transform is a power of 1 + ‖ω‖²/2ν, it is proportional to the Matérn kernel of the order
// μ = 2ν + d/2 in the same a = √(2ν)·‖u‖,
//   M_μ(a) = 2^(1−μ)/Γ(μ)·a^μ·K_μ(a),   ln M_μ(a) = −∫ K_(μ−1)/K_μ from 0 to a,
// of which a table holds the logarithm: a polynomial of degree 5 in each part of the axis, 64 parts to a power of two
// of 1 + a. It is off by less than 1e-11.
#pragma once

#include "core/pairwise/kernel_weight.hpp"

#include <array>
#include <vector>

namespace btml::pairwise {

class Convolution {
  public:
    // Takes a kernel whose order is not 0.
    Convolution(Kernel kernel, size_t dimensions);

    // Returns ln M_μ.
    double logarithm(double a) const {
        const double x = 1 + std::min(last_, a); // last_ where a is no number, as where 0 meets infinity
        const size_t part = (std::bit_cast<uint64_t>(x) >> bits_of_part) - first_part;
        const auto& [start, c] = parts_[part];
        const double t = x - start;
        return c[0] + t * (c[1] + t * (c[2] + t * (c[3] + t * (c[4] + t * c[5]))));
    }
    // Returns the logarithm of its value at 0 for a bandwidth of 1, that of the kernel's integral being 1.
    double log_peak() const { return log_peak_; }

  private:
    struct Part {
        double start;
        std::array<double, 6> coefficients;
    };
    static constexpr int bits_of_part = 52 - 6;
    static constexpr size_t first_part = std::bit_cast<uint64_t>(1.0) >> bits_of_part;

    std::vector<Part> parts_; // none for a Gaussian kernel
    double last_ = 0;         // beyond it M_μ underflows
    double log_peak_;
};

// Turns sums into the convolution, a multiple of its peak, and the kernel, a multiple of the former, for a coefficient
// as of KernelWeight. T is double with uint64_t, or a vector with its bits.
template <class Shape, class T, class Bits>
[[gnu::always_inline]] inline void convolve(T& sum, T& ratio, double coefficient, const Convolution& convolution) {
    if constexpr (Shape::is_rooted) {
        T a = sum * coefficient;
        take_root(a);
        double logarithms[sizeof(T) / sizeof(double)];
        __builtin_memcpy(logarithms, &a, sizeof(T));
        for (double& x : logarithms) x = convolution.logarithm(x);
        __builtin_memcpy(&sum, logarithms, sizeof(T));
        ratio = (a + sum) * steps_of_e;
        decay_by_sixteenths<T, Bits>(ratio);
        Shape::template multiply<DoubleArithmetic>(ratio, a);
        sum *= -steps_of_e;
        decay_by_sixteenths<T, Bits>(sum);
        ratio = sum > 0 ? ratio : T{}; // where coordinates are infinite, it is no number
    } else {
        sum *= coefficient / 2 * steps_of_e;
        decay_by_sixteenths<T, Bits>(sum);
        ratio = sum;
    }
}

} // namespace btml::pairwise
