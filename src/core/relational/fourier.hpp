// Discrete Fourier transforms of real vectors of any size, as convolutions with a chirp (Bluestein 1970). A library's
// would be several times as fast; but FFTW ends the process where it is refused memory, and its last digits depend on
// the processor.
#pragma once

#include "core/base/buffer.hpp"

#include <cstdint>

namespace btml::relational {

class FourierTransform {
  public:
    struct Complex {
        double re, im;
    };

    // 1 ≤ size < 2^31.
    FourierTransform(uint32_t size, MemoryBudget& memory);

    uint32_t size() const { return size_; }

    // `size` real numbers and their transform F_w = Σ_j x_j·exp(−2πi·jw/size) for 0 ≤ w ≤ size/2. Of one thread.
    class Workspace {
      public:
        explicit Workspace(const FourierTransform& transform);
        double* input() { return input_.data(); }
        const Complex* output() const { return output_.data(); }

      private:
        friend FourierTransform;
        Buffer<double> input_;
        Buffer<Complex> output_; // as long as the convolution
    };
    void run(Workspace& workspace) const;

  private:
    void forward(Complex* values) const;
    void backward(Complex* values) const;

    uint32_t size_;
    size_t length_;          // of the convolution: a power of two, at least 2·size − 1
    Buffer<Complex> roots_;  // exp(−2πi·j/length) for j < length/2
    Buffer<Complex> chirp_;  // exp(−πi·j²/size) for j < size
    Buffer<Complex> filter_; // the transform of the chirp's conjugate, over length, in the order of forward()
};

} // namespace btml::relational
