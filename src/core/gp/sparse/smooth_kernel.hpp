// A smooth covariance of points: of the distance of their numbers, each in units of its length scale (automatic
// relevance determination), times a factor for each category in which they differ.
#pragma once

#include "core/base/serial.hpp"
#include "core/pairwise/kernels/gaussian.hpp"
#include "core/pairwise/kernels/matern32.hpp"
#include "core/pairwise/kernels/matern52.hpp"

#include <span>
#include <type_traits>
#include <vector>

namespace btml::gp {

// The binary tree kernel, exact for any number of rows; smooth kernels, which go by inducing points (Rasmussen,
// Williams 2006, 4.2); automatic: the one that scores better, on held-out rows or leaving rows out. Numbers are stored
// in models and known to the device: a new kernel goes before `automatic`, whose number is stored nowhere.
enum class KernelChoice : uint8_t { tree, squared_exponential, matern32, matern52, automatic };

inline constexpr const char* kernel_choice_names[] = {"tree", "squared_exponential", "matern32", "matern52", "auto"};
inline const char* name_of(KernelChoice kernel) {
    return kernel_choice_names[static_cast<size_t>(kernel)];
}
constexpr bool is_smooth(KernelChoice kernel) {
    return kernel != KernelChoice::tree && kernel != KernelChoice::automatic;
}

// Returns body(std::type_identity<Shape>()) for the class of a smooth kernel.
template <class Body>
auto with_smooth_shape(KernelChoice kernel, const Body& body) {
    switch (kernel) {
    case KernelChoice::matern32:
        return body(std::type_identity<pairwise::Matern32>());
    case KernelChoice::matern52:
        return body(std::type_identity<pairwise::Matern52>());
    case KernelChoice::squared_exponential:
        return body(std::type_identity<pairwise::Gaussian>());
    default:
        throw Error(ErrorCode::internal, "a kernel that is not smooth");
    }
}

struct SmoothKernel {
    KernelChoice kind = KernelChoice::squared_exponential; // a smooth one
    std::vector<double> inverse_lengths;                   // of numbers
    std::vector<double> penalties; // of categories: what the log of the covariance loses where two differ
    double signal = 1;             // variance of the latent function
    double noise = 0.1;            // variance of an observation of weight 1

    size_t width() const { return inverse_lengths.size() + penalties.size(); }
    // Divides a point's numbers by their length scales: numbers come first, then categories.
    void scale(const double* point, double* to) const;
    // The part of the signal that two points share which are apart by 1, or differ, in one coordinate alone.
    double share_apart(size_t coordinate) const;
};

// The logarithms of everything that is above 0, in the order of the members.
std::vector<double> parameters_of(const SmoothKernel& kernel);
void set_parameters(SmoothKernel& kernel, std::span<const double> parameters);

void encode(const SmoothKernel& kernel, Writer& writer);
// Checks every number once: error corrupt_model.
SmoothKernel decode_smooth_kernel(Reader& reader);

} // namespace btml::gp
