// Objectives for Gaussian processes share the posterior given the exemplars' values, and have all swaps of a candidate
// in closed form, at a cost in proportion to exemplars × validation rows.
#pragma once

#include "core/exemplar/exemplar_objective.hpp"
#include "core/exemplar/row_loops.hpp"
#include "core/exemplar/row_weights.hpp"

namespace btml::exemplar {

// Describes a candidate s beside the exemplars A. P = (K_AA + σ²I)⁻¹, Q = K_WA P, e the validation rows' targets less
// their predictions, r = k_Ws − Q k_As. Sums over validation rows are by their weights, without the exemplars and s
// unless these count.
struct CandidateTerms {
    double gamma;               // k_ss + σ² − k_As'v: variance of an observation at s
    double residual;            // y_s less its prediction
    double rr, er;              // r'r, e'r
    std::span<const double> v;  // by slot: P k_As
    std::span<const double> qr; // by slot: Q_j'r
    std::span<const double> qq; // by slot: Q_j'Q_j
    std::span<const double> qe; // by slot: Q_j'e
};

class GpObjective : public Objective {
  public:
    // `exemplars` says whether validation rows count while they are exemplars.
    GpObjective(const ObjectiveInput& input, RowWeights::Exemplars exemplars, RunContext& context);

    size_t size() const override { return size_; }
    void load(const PointSet& candidates, ThreadTeam& team) override;
    void score(size_t first, size_t last, bool add, std::span<Change> best, ThreadTeam& team) override;
    void apply(size_t candidate, size_t slot, ThreadTeam& team) override;
    double utility() const override;
    // Uses the metric of the kernel: squared distance in units of the length scales.
    Nearest nearest(size_t row) const override;

  protected:
    // These return gains in utility times total_weight().
    virtual double addition_gain(const CandidateTerms& terms) const = 0;
    virtual double swap_gain(const CandidateTerms& terms, size_t slot) const = 0;

    double total_weight() const { return total_weight_; }
    double precision(size_t slot) const { return p_[slot * capacity_ + slot]; } // P_jj
    double solution(size_t slot) const { return alpha_[slot]; }                 // (P y_A)_j
    bool counts(size_t row) const { return weight_[row] > 0; }
    double error(size_t row) const { return error_[row]; }
    double target(size_t row) const { return validation_.target(row) - kernel_.mean; }
    double variance(size_t row) const { return variance_[row]; } // is the posterior's, without noise
    double log_determinant_of_precision() const;                 // log det P
    const SquaredExponential& kernel() const { return kernel_; }

  private:
    void put_coordinates(const PointSet& points, size_t first, size_t count, double* to) const;
    void covariances(const double* rows, size_t count, const double* points, double* to) const;
    void score_group(size_t group, bool add, size_t first, size_t last, std::span<Change> best) const;
    void remove(size_t slot);
    void add(size_t slot, const PointSet& points, size_t i);
    void refresh(ThreadTeam& team);
    void sum_columns();

    RunContext& context_;
    const PointSet& validation_;
    const SquaredExponential& kernel_;
    const size_t rows_, width_, capacity_;
    const double total_weight_;
    size_t size_ = 0;
    unsigned changes_ = 0; // counts those since the last refresh
    const PointSet* candidates_ = nullptr;
    RowWeights weight_;
    Buffer<double> x_;          // holds validation rows in units of the length scales, row by row
    Buffer<double> exemplar_x_; // holds the same of the exemplars
    std::vector<uint64_t> exemplar_numbers_;
    Buffer<double> candidate_x_; // has width × 8 numbers for each group of eight
    Buffer<double> candidate_k_; // has rows × 8 numbers for each group of eight
    Buffer<double> p_;           // is capacity × capacity, and zero for slots without an exemplar
    Buffer<double> q_, qt_;      // are rows × capacity, and its transpose
    Buffer<double> error_, variance_;
    std::vector<double> exemplar_y_, alpha_, qq_, qe_;
};

} // namespace btml::exemplar
