// Experts, each trained on rows of its own, as one process: the robust Bayesian committee machine of Deisenroth and Ng:
// Distributed Gaussian Processes (2015).
//
// There, experts k with latent predictions N(μ_k, σ_k²) and the common prior N(0, σ**²) make N(μ, σ²) with
//   σ⁻² = Σ β_k σ_k⁻² + (1 − Σ β_k) σ**⁻²,   μ = σ² Σ β_k σ_k⁻² μ_k,   β_k = ½ (log σ**² − log σ_k²)
// (equations 20 to 22): β_k is the information that expert k has at the point, and where none has any the prior is
// left. Experts that learned their own priors N(c_k, s_k) have no common one. So each gives the committee what it has
// learned beyond its own, (N(f; μ_k, σ_k²) / N(f; c_k, s_k))^β_k, and their product is taken with N(c, s), the mean and
// the variance of the experts' priors as a mixture by their numbers of rows:
//   σ⁻² = s⁻¹ + Σ β_k (σ_k⁻² − s_k⁻¹),   μ = c + σ² Σ β_k ((μ_k − c) σ_k⁻² − (c_k − c) s_k⁻¹),
// which is the same where all priors are. An expert that knows less than its prior is left out: β_k is at least 0.
#pragma once

#include "core/gp/gp_model.hpp"

namespace btml::gp {

// The prior of an expert's latent function, in the target's units.
Normal prior_of(const Model& expert);

// Returns N(μ, σ²); latent[k] is N(μ_k, σ_k²), priors[k] is N(c_k, s_k), prior is N(c, s).
Normal combine_experts(std::span<const Normal> latent, std::span<const Normal> priors, const Normal& prior);

// Makes one model of experts with the same features; its noise is the mean of theirs by rows. The same experts give the
// same bytes in any order. Errors: internal for none, and for other features.
Model committee_of(std::vector<Model> experts, RunContext& context);

} // namespace btml::gp
