// A smooth covariance of points: of the distance of their numbers, each in units of its length scale (automatic
// relevance determination), times a factor for each category in which they differ.
#pragma once

#include "core/base/serial.hpp"

#include <span>
#include <vector>

namespace btml::gp {

// exp(−r²/2), (1 + √3r)·exp(−√3r) and (1 + √5r + 5r²/3)·exp(−√5r) of the distance r (Rasmussen, Williams 2006, 4.2).
enum class SmoothKind : uint8_t { squared_exponential, matern32, matern52 };

const char* name_of(SmoothKind kind);

struct SmoothKernel {
    SmoothKind kind = SmoothKind::squared_exponential;
    std::vector<double> inverse_lengths; // of numbers
    std::vector<double> penalties;       // of categories: what the log of the covariance loses where two differ
    double signal = 1;                   // variance of the latent function
    double noise = 0.1;                  // variance of an observation of weight 1

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
