// The gp at its inducing points, given all rows: the collapsed variational bound and posterior of Titsias,
// Variational Learning of Inducing Variables in Sparse Gaussian Processes (2009).
#pragma once

#include "core/algebra/cholesky.hpp"
#include "core/gp/sparse/moments.hpp"

#include <optional>

namespace btml::gp {

// The Cholesky factor of the inducing points' covariances K_uu, with the jitter of Collapsed.
algebra::Cholesky inducing_factor(const SmoothKernel& kernel, std::span<const double> inducing, ThreadTeam& team,
                                  RunContext& context);

class Collapsed {
  public:
    // jitter: what is added to the diagonal of the inducing points' covariances K_uu, as a multiple of the signal.
    static constexpr double jitter = 1e-6;

    // Reads the rows once: O(n·K²).
    Collapsed(const SmoothKernel& kernel, std::span<const double> inducing, const SmoothRows& rows, ThreadTeam& team,
              RunContext& context);

    // log p(y) ≥ this, nats; equal where the inducing points are the rows.
    double bound() const;
    // The bound under another variance of the noise; the posterior goes by it from then on. O(K³).
    double set_noise(double noise);

    // A new observation at x, whose covariances with the inducing points are k, has the mean k'·solution() and the
    // latent variance signal − k'·reduction()·k.
    std::vector<double> solution() const;
    Buffer<double> reduction() const; // K × K
    Buffer<double> inverse() const;   // K × K: (K_uu + Φ/σ²)⁻¹, with Φ = Σ w·k·k'

    // The derivatives of the bound: by the covariances K_uu of the inducing points (K × K, symmetric), and by the
    // logarithm of the noise; with reduction(), which those by the covariances k take.
    struct Slopes {
        Buffer<double> by_prior, reduction;
        double by_noise;
    };
    Slopes slopes() const;

    size_t size() const { return size_; }

  private:
    Collapsed(const SmoothKernel& kernel, std::span<const double> inducing, const SmoothRows& rows,
              algebra::Cholesky prior, ThreadTeam& team, RunContext& context);
    // The factor of B = I + X/σ² under the noise, where X = L⁻¹ΦL'⁻¹ are the moments' products.
    algebra::Cholesky posterior_factor() const;
    Buffer<double> shrinkage() const; // I − B⁻¹
    void sandwich_upper(double* matrix) const;

    ThreadTeam& team_;
    RunContext& context_;
    const size_t size_, rows_;
    const double signal_;
    double weights_ = 0, log_weights_ = 0, squares_ = 0;
    double noise_, explained_ = 0;   // explained: tr X
    algebra::Cholesky prior_;        // L, of K_uu
    Buffer<double> precision_;       // X
    std::vector<double> projection_; // p = L⁻¹ Σ w·y·k
    std::optional<algebra::Cholesky> posterior_;
    std::vector<double> weights_of_projection_; // q = B⁻¹p/σ²
};

} // namespace btml::gp
