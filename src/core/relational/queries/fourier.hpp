// Discrete Fourier transforms of real vectors, by FFTW or, in a build without it, by the kissfft that Eigen ships. Any
// size is possible, but only sizes without a prime factor over 5 are fast, and only these ask for no memory in run().
// FFTW plans without measuring and without vector instructions: results do not depend on time, on what was transformed
// before or on the processor's instruction set. With vectors a transform takes half of the time, but no whole sketch
// was faster: planning and the memory's speed decide.
#pragma once

#include "core/base/buffer.hpp"

#include <bit>
#include <complex>
#include <memory>

namespace btml::relational {

// The least size from `size` on that has no prime factor over 5. size ≥ 1; at most 2^62.
// For each product of powers of 3 and 5, the least power of two makes it large enough.
constexpr uint64_t smooth_size(uint64_t size) {
    uint64_t best = std::bit_ceil(size);
    for (uint64_t fives = 1; fives < best; fives *= 5)
        for (uint64_t odd = fives; odd < best; odd *= 3)
            best = std::min(best, odd * std::bit_ceil((size + odd - 1) / odd));
    return best;
}

// A transform and its input and output. Of one thread at a time; different transforms may run side by side.
class FourierTransform {
  public:
    using Complex = std::complex<double>;

    // 1 ≤ size < 2^31. Errors: memory_limit, std::bad_alloc.
    FourierTransform(uint32_t size, MemoryBudget& memory);
    FourierTransform(FourierTransform&&) noexcept;
    ~FourierTransform();

    uint32_t size() const { return static_cast<uint32_t>(input_.size()); }
    double* input() { return input_.data(); }
    const Complex* output() const { return output_.data(); }
    // output F_w = Σ_j x_j·exp(−2πi·jw/size) for 0 ≤ w ≤ size/2 of `size` numbers x, which it leaves as they are.
    void run();

    // Bytes that one takes at most, while it is made.
    static uint64_t bytes(uint64_t size);

  private:
    struct Plan;

    Buffer<double> input_;
    Buffer<Complex> output_;
    Reservation plan_bytes_;
    std::unique_ptr<Plan> plan_;
};

} // namespace btml::relational
