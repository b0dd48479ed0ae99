// Learns the parameters of a smooth kernel: they maximise the marginal likelihood of some rows.
#pragma once

#include "core/gp/sparse/moments.hpp"

#include <optional>

namespace btml::gp {

// What is given, and is not learned.
struct GivenParameters {
    std::optional<double> signal, noise;
    bool lengths = false; // those that the kernel has
};

// The least noise that is learned, as a part of the signal.
inline constexpr double min_noise_share = 1e-6;

// Returns the parameters' logarithms, in the order of parameters_of(), moved to where covariance matrices can be
// factorised.
std::vector<double> bounded_parameters(std::span<const double> parameters, const GivenParameters& given);

// The log marginal likelihood, nats, and its derivatives by the logarithms of the kernel's parameters, in the order of
// parameters_of() (Rasmussen, Williams 2006, 5.9). O(n³), and 2·n² + 2,048·n numbers of memory. The rows' points are in
// memory.
struct Likelihood {
    double log;
    std::vector<double> slopes;
};
Likelihood likelihood_of(const SmoothKernel& kernel, const SmoothRows& rows, ThreadTeam& team, RunContext& context);

// Moves the kernel's parameters to where the likelihood is greatest, within so many evaluations; returns how many it
// took. A signal is learned up to 30 times the targets' variance: beyond it, long length scales and a large signal say
// the same as shorter ones and a smaller signal, in matrices that cannot be factorised.
int maximise_likelihood(SmoothKernel& kernel, const SmoothRows& rows, const GivenParameters& given, int evaluations,
                        ThreadTeam& team, RunContext& context);

// Does so with 500 of the rows first, and with 1,000 in the end: an evaluation costs the cube of their number.
int learn_kernel(SmoothKernel& kernel, const SmoothRows& rows, const GivenParameters& given, uint64_t seed,
                 ThreadTeam& team, RunContext& context);

// The derivatives of the bound of rows that count `repeat` times each: by the logarithms of the kernel's parameters, in
// the order of parameters_of(), and by the inducing points' coordinates (K × width, 0 for categories). O(n·K² + K³).
struct BoundSlopes {
    std::vector<double> parameters;
    Buffer<double> points;
};
BoundSlopes slopes_of_bound(const SmoothKernel& kernel, std::span<const double> inducing, const SmoothRows& rows,
                            double repeat, ThreadTeam& team, RunContext& context);

struct PointSearch {
    int steps;
    size_t rows; // that a step looks at: others each time, which stand for all
    uint64_t seed;
};

// Moves inducing points, and the kernel's parameters with them, to where the collapsed bound is greatest, by Adam
// (Kingma, Ba, 2015), whose steps become shorter until the last. What a step sees of the bound are sums over its
// rows, times n/rows: those over all rows but for chance.
void move_points(SmoothKernel& kernel, Buffer<double>& inducing, const SmoothRows& rows, const GivenParameters& given,
                 const PointSearch& search, ThreadTeam& team, RunContext& context);

} // namespace btml::gp
