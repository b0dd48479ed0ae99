#include "core/relational/fourier.hpp"

#include <bit>
#include <cmath>
#include <numbers>

namespace btml::relational {

namespace {

using Complex = FourierTransform::Complex;

constexpr const char* what = "a Fourier transform";

Complex operator*(Complex a, Complex b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
Complex operator+(Complex a, Complex b) {
    return {a.re + b.re, a.im + b.im};
}
Complex operator-(Complex a, Complex b) {
    return {a.re - b.re, a.im - b.im};
}
Complex conjugate(Complex a) {
    return {a.re, -a.im};
}

// exp(−2πi·part/whole)
Complex root(uint64_t part, uint64_t whole) {
    const double angle = -2 * std::numbers::pi * static_cast<double>(part) / static_cast<double>(whole);
    return {std::cos(angle), std::sin(angle)};
}

} // namespace

FourierTransform::Workspace::Workspace(const FourierTransform& transform)
    : input_(transform.roots_.budget(), what, transform.size_, 0.0),
      output_(transform.roots_.budget(), what, transform.length_) {}

FourierTransform::FourierTransform(uint32_t size, MemoryBudget& memory)
    : size_(size),
      length_(std::bit_ceil(2 * size_t{size} - 1)),
      roots_(memory, what, length_ / 2),
      chirp_(memory, what, size),
      filter_(memory, what, length_, Complex{0, 0}) {
    for (size_t j = 0; j < length_ / 2; j++) roots_[j] = root(j, length_);
    // exp(−πi·x) has the period 2.
    for (uint64_t j = 0; j < size; j++) chirp_[j] = root(j * j % (2 * uint64_t{size}), 2 * uint64_t{size});
    for (size_t j = 0; j < size; j++) filter_[j] = conjugate(chirp_[j]);
    for (size_t j = 1; j < size; j++) filter_[length_ - j] = filter_[j];
    forward(filter_.data());
    for (Complex& value : filter_)
        value = {value.re / static_cast<double>(length_), value.im / static_cast<double>(length_)};
}

// Decimation in frequency: the output is in bit-reversed order, which is the input's order of backward().
void FourierTransform::forward(Complex* values) const {
    for (size_t half = length_ / 2; half > 0; half /= 2) {
        const size_t stride = length_ / (2 * half);
        for (size_t first = 0; first < length_; first += 2 * half)
            for (size_t j = 0; j < half; j++) {
                const Complex a = values[first + j], b = values[first + half + j];
                values[first + j] = a + b;
                values[first + half + j] = (a - b) * roots_[j * stride];
            }
    }
}

// Decimation in time: the inverse, times the length.
void FourierTransform::backward(Complex* values) const {
    for (size_t half = 1; half < length_; half *= 2) {
        const size_t stride = length_ / (2 * half);
        for (size_t first = 0; first < length_; first += 2 * half)
            for (size_t j = 0; j < half; j++) {
                const Complex a = values[first + j], b = values[first + half + j] * conjugate(roots_[j * stride]);
                values[first + j] = a + b;
                values[first + half + j] = a - b;
            }
    }
}

// jw = (j² + w² − (w − j)²)/2 makes the transform a convolution of x_j·chirp_j with the chirp's conjugate.
void FourierTransform::run(Workspace& workspace) const {
    Complex* const values = workspace.output_.data();
    for (size_t j = 0; j < size_; j++) {
        const double x = workspace.input_[j];
        values[j] = {x * chirp_[j].re, x * chirp_[j].im};
    }
    std::fill(values + size_, values + length_, Complex{0, 0});
    forward(values);
    for (size_t j = 0; j < length_; j++) values[j] = values[j] * filter_[j];
    backward(values);
    for (size_t w = 0; w <= size_ / 2; w++) values[w] = values[w] * chirp_[w % size_];
}

} // namespace btml::relational
