// FourierTransform by the kissfft that Eigen ships, for builds without FFTW. A prime factor p of the size costs p
// operations for each number.
#include "core/relational/queries/fourier.hpp"

#include <unsupported/Eigen/FFT>

namespace btml::relational {

namespace {

constexpr const char* what_transform = "a Fourier transform";

// Roots of unity, a copy of the numbers where the size is not a multiple of four, and room for a prime factor.
constexpr uint64_t plan_bytes(uint64_t size) {
    return (uint64_t{1} << 10) + 3 * sizeof(FourierTransform::Complex) * size;
}

} // namespace

struct FourierTransform::Plan {
    Eigen::internal::kissfft_impl<double> library;
};

FourierTransform::FourierTransform(uint32_t size, MemoryBudget& memory)
    : input_(memory, what_transform, size, 0.0),
      output_(memory, what_transform, size / 2 + 1),
      plan_bytes_(memory, what_transform, plan_bytes(size)),
      plan_(std::make_unique<Plan>()) {
    run(); // prepares what kissfft keeps for a size
}

FourierTransform::FourierTransform(FourierTransform&&) noexcept = default;
FourierTransform::~FourierTransform() = default;

void FourierTransform::run() {
    if (size() == 1)
        output_[0] = input_[0]; // not a size to kissfft
    else
        plan_->library.fwd(output_.data(), input_.data(), static_cast<int>(size()));
}

uint64_t FourierTransform::bytes(uint64_t size) {
    return sizeof(double) * size + sizeof(Complex) * (size / 2 + 1) + plan_bytes(size);
}

} // namespace btml::relational
