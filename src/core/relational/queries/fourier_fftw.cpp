// FourierTransform by FFTW.
#include "core/relational/queries/fourier.hpp"

#include <fftw3.h>
#include <mutex>

// FFTW's own allocator ends the process where memory is refused. The makefiles have a static FFTW call this one instead
// (ld --wrap); with a shared one it is never called, and all there is is the trial before a plan.
extern "C" void* __wrap_fftw_kernel_malloc(size_t bytes) {
    constexpr size_t alignment = 64;
    void* const block = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (!block) throw std::bad_alloc();
    return block;
}
extern "C" void __wrap_fftw_kernel_free(void* block) {
    std::free(block);
}

namespace btml::relational {

namespace {

constexpr const char* what_transform = "a Fourier transform";

constinit std::mutex planner; // FFTW's planner is one for the process

// Returns the most that planning was seen to take, over sizes of all kinds.
constexpr uint64_t planning_bytes(uint64_t size) {
    return (uint64_t{1} << 16) + 96 * size;
}
constexpr uint64_t held_bytes(uint64_t size) {
    return (uint64_t{1} << 14) + 40 * size;
}

fftw_plan make_plan(uint32_t size, double* input, FourierTransform::Complex* output) {
    const std::lock_guard lock(planner);
    // What earlier plans have taught could lead to other plans, with other last digits.
    fftw_forget_wisdom();
    try {
        return fftw_plan_dft_r2c_1d(static_cast<int>(size), input, reinterpret_cast<fftw_complex*>(output),
                                    FFTW_ESTIMATE | FFTW_PRESERVE_INPUT | FFTW_UNALIGNED | FFTW_NO_SIMD);
    } catch (...) {
        fftw_cleanup(); // of what was half done
        throw;
    }
}

} // namespace

struct FourierTransform::Plan {
    Plan(uint32_t size, double* input, Complex* output) : plan(make_plan(size, input, output)) {
        if (!plan) throw std::bad_alloc();
    }
    ~Plan() {
        const std::lock_guard lock(planner);
        fftw_destroy_plan(plan);
    }
    Plan(const Plan&) = delete;
    Plan& operator=(const Plan&) = delete;

    const fftw_plan plan;
};

FourierTransform::FourierTransform(uint32_t size, MemoryBudget& memory)
    : input_(memory, what_transform, size),
      output_(memory, what_transform, size / 2 + 1),
      plan_bytes_(memory, what_transform) {
    // Memory that is refused is refused here, before FFTW asks for it.
    Buffer<char>(memory, what_transform, planning_bytes(size)).clear();
    plan_bytes_.grow(held_bytes(size));
    plan_ = std::make_unique<Plan>(size, input_.data(), output_.data());
}

FourierTransform::FourierTransform(FourierTransform&&) noexcept = default;
FourierTransform::~FourierTransform() = default;

void FourierTransform::run() {
    fftw_execute(plan_->plan);
}

uint64_t FourierTransform::bytes(uint64_t size) {
    return sizeof(double) * size + sizeof(Complex) * (size / 2 + 1) + planning_bytes(size);
}

} // namespace btml::relational
