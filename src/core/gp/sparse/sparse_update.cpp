#include "core/gp/sparse/sparse_update.hpp"

#include "core/gp/sparse/collapsed.hpp"

#include <cmath>
#include <numeric>

namespace btml::gp {

// K_uu⁻¹k − Mk = Σ⁻¹k, where M is the reduction and Σ = K_uu + Φ/σ².
static std::vector<double> solve(const SparseModel::Parts& parts, const std::vector<double>& covariances,
                                 RunContext& context) {
    ThreadTeam team(context);
    std::vector<double> solution = covariances;
    const size_t size = covariances.size();
    inducing_factor(parts.kernel, parts.inducing.span(), team, context).solve(solution.data(), team);
    for (size_t u = 0; u < size; u++)
        for (size_t v = 0; v < size; v++) solution[u] -= parts.reduction[u * size + v] * covariances[v];
    return solution;
}

// Σ changes by ±kk'/σ², and its inverse by the formula of Sherman and Morrison.
bool condition_on(SparseModel::Parts& parts, std::span<const double> features, double target, double weight, bool more,
                  RunContext& context) {
    const size_t size = parts.inducing_points();
    std::vector<double> point(parts.coordinates.width());
    if (!parts.coordinates.find(features, point.data())) return true;
    const std::vector<double> k = covariances_of(parts, point);
    const std::vector<double> change = solve(parts, k, context);
    const auto inner = [&](const auto& x) { return std::inner_product(k.begin(), k.end(), x.begin(), 0.0); };
    const double known = std::max(0.0, inner(change));
    const double noise = parts.kernel.noise / weight;
    const double divisor = more ? noise + known : known - noise;
    if (!more && !(divisor < 0)) return false;
    const double residual = target - inner(parts.solution);
    for (size_t u = 0; u < size; u++) {
        parts.solution[u] += change[u] * residual / divisor;
        for (size_t v = 0; v < size; v++) parts.reduction[u * size + v] += change[u] * change[v] / divisor;
    }
    parts.log_likelihood.reset();
    return true;
}

} // namespace btml::gp
