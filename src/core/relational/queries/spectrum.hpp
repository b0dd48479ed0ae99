// Polynomials modulo z^k − 1 by their values at the k-th roots of unity, some frequencies at a time: there the circular
// convolution of tensor sketches is a product of complex numbers, frequency by frequency.
#pragma once

#include "core/base/buffer.hpp"
#include "core/relational/join/semiring.hpp"

#include <cmath>
#include <numbers>

namespace btml::relational {

// A semiring: `width` complex numbers, element by element.
struct Spectrum {
    static constexpr size_t width = 8;
    struct Value {
        double re[width], im[width];
    };

    static constexpr Value of_factor(double x) {
        Value value{};
#pragma GCC unroll 8
        for (size_t i = 0; i < width; i++) value.re[i] = x;
        return value;
    }
    static constexpr Value zero() {
        return of_factor(0);
    }
    static constexpr Value one() {
        return of_factor(1);
    }
    static constexpr Value add(const Value& a, const Value& b) {
        Value sum;
#pragma GCC unroll 8
        for (size_t i = 0; i < width; i++) {
            sum.re[i] = a.re[i] + b.re[i];
            sum.im[i] = a.im[i] + b.im[i];
        }
        return sum;
    }
    static constexpr Value multiply(const Value& a, const Value& b) {
        Value product;
#pragma GCC unroll 8
        for (size_t i = 0; i < width; i++) {
            product.re[i] = a.re[i] * b.re[i] - a.im[i] * b.im[i];
            product.im[i] = a.re[i] * b.im[i] + a.im[i] * b.re[i];
        }
        return product;
    }
};
static_assert(Semiring<Spectrum>);

// The frequencies w = 0 … k/2 of a real vector of k numbers (the others are their conjugates), in blocks.
class Frequencies {
  public:
    explicit Frequencies(uint32_t size) : size_(size) {}

    uint64_t count() const { return size_ / 2 + 1; }
    uint64_t blocks() const { return (count() + Spectrum::width - 1) / Spectrum::width; }
    static uint64_t first(uint64_t block) { return block * Spectrum::width; }

    // Σ of the squares of the vector's numbers is Σ over the blocks of these (Parseval).
    double squared_norm(uint64_t block, const Spectrum::Value& value) const {
        double sum = 0;
        for (size_t i = 0; i < Spectrum::width; i++)
            sum += weight(first(block) + i) * (value.re[i] * value.re[i] + value.im[i] * value.im[i]);
        return sum / size_;
    }
    // How often the square of frequency w counts: its conjugate's is the same.
    double weight(uint64_t w) const {
        if (w >= count()) return 0;
        return w == 0 || 2 * w == size_ ? 1 : 2;
    }
    uint32_t size() const { return size_; }

  private:
    uint32_t size_;
};

// exp(−2πi·j/k) for every j.
class RootsOfUnity {
  public:
    RootsOfUnity(uint32_t size, RunContext& context)
        : size_(size), inverse_(1.0 / size), roots_(context.memory(), "the roots of unity of a sketch", size) {
        context.progress("preparing a sketch", 0, 0);
        context.for_each(size, 1, [&](uint64_t j) {
            const double angle = -2 * std::numbers::pi * j / size;
            roots_[j] = {std::cos(angle), std::sin(angle)};
        });
    }

    // factor · exp(−2πi·bucket·w/k) for the frequencies w of a block.
    Spectrum::Value powers(uint32_t bucket, uint64_t block, double factor) const {
        const int64_t twice = wrapped(2 * int64_t{bucket});
        const Complex start = roots_[modulo(bucket * Frequencies::first(block))], step = roots_[bucket],
                      step2 = roots_[twice], step4 = roots_[wrapped(2 * twice)];
        Spectrum::Value value;
        static_assert(Spectrum::width == 8);
        value.re[0] = factor * start.re;
        value.im[0] = factor * start.im;
        extend<1>(value, step);
        extend<2>(value, step2);
        extend<4>(value, step4);
        return value;
    }

  private:
    struct Complex {
        double re, im;
    };

    // The next n values are the first n times `step`.
    template <size_t n>
    static void extend(Spectrum::Value& value, Complex step) {
#pragma GCC unroll 8
        for (size_t i = 0; i < n; i++) {
            value.re[n + i] = value.re[i] * step.re - value.im[i] * step.im;
            value.im[n + i] = value.re[i] * step.im + value.im[i] * step.re;
        }
    }

    // x for x < k, x − k for k ≤ x < 2k.
    int64_t wrapped(int64_t x) const {
        return x < size_ ? x : x - size_;
    }
    // A division of doubles and a correction by one are faster than a division of integers.
    size_t modulo(uint64_t x) const {
        const auto quotient = static_cast<int64_t>(static_cast<double>(static_cast<int64_t>(x)) * inverse_);
        auto rest = static_cast<int64_t>(x) - quotient * size_;
        if (rest < 0) rest += size_;
        return static_cast<size_t>(wrapped(rest));
    }

    int64_t size_;
    double inverse_;
    Buffer<Complex> roots_;
};

} // namespace btml::relational
