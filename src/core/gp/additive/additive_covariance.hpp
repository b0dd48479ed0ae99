// The covariance matrix of observations under a sum of binary tree kernels, K = Σ K_m + Λ, as an operator on sixteen
// vectors at once. Λ is the noise over each row's weight, on the diagonal.
//
// Members are worked on side by side: always in the same groups, whose sums are added in the same order, so that
// results do not depend on the number of threads.
#pragma once

#include "core/base/threads.hpp"
#include "core/gp/additive/member_tree.hpp"

#include <functional>

namespace btml::gp {

// Sixteen vectors.
using Block = Buffer<Columns>;

// body(begin, end, part) for parts of the rows of fixed size, side by side; part < parts_of(rows).
size_t parts_of(size_t rows);
void for_rows(ThreadTeam& team, size_t rows, const std::function<void(size_t, size_t, size_t)>& body);
// Calls body(i) for every row.
template <class Body>
void for_each_row(ThreadTeam& team, size_t rows, const Body& body) {
    for_rows(team, rows, [&](size_t begin, size_t end, size_t) {
        for (size_t i = begin; i < end; i++) body(i);
    });
}
// Multiplies each column by its counterpart; `scratch` keeps its memory.
ColumnValues dot(ThreadTeam& team, const Block& a, const Block& b, Buffer<ColumnValues>& scratch);

class AdditiveCovariance {
  public:
    static constexpr size_t max_groups = 8;
    struct Member {
        MemberTree tree;
        std::vector<double> weights; // w_1 … w_q ≥ 0
        double share;                // in the preconditioner, > 0: how well its kernel fits the data alone
    };

    // `weight` of the rows; empty: 1 each. At least one member, all of as many rows.
    AdditiveCovariance(std::vector<Member> members, std::span<const double> weight, double noise, ThreadTeam& team,
                       RunContext& context);

    size_t rows() const noexcept { return inverse_weight_.size(); }
    const std::vector<Member>& members() const noexcept { return members_; }
    const Covariances& covariances(size_t member) const { return covariances_[member]; }
    const Buffer<float>& inverse_weight() const noexcept { return inverse_weight_; }
    double noise() const noexcept { return noise_; }
    double signal() const;
    ThreadTeam& team() const noexcept { return team_; }
    // Returns how many passes over a member with sixteen columns were made.
    uint64_t passes() const noexcept { return passes_; }
    // Returns another number after every set().
    uint64_t version() const noexcept { return version_; }

    void set(std::vector<std::vector<double>> weights, double noise);
    std::vector<Member> take() && { return std::move(members_); }

    // y = K·x.
    void multiply(const Block& x, Block& y);
    // r = b − K·x, in double precision up to the result; two passes.
    void residual(const Block& b, const Block& x, Block& r);
    // Multiplies by an approximate inverse: every member alone, scaled to the variance of all of them, solves exactly;
    // the mean of the solutions by shares, Σ ρ_m (s_m K_m + Λ)⁻¹ x. Without it conjugate gradients do not converge on
    // real data.
    void precondition(const Block& x, Block& y);
    // Draws independent samples of observations into all columns: of each member, signs of (seed, stream + member), and
    // of the noise, signs of (seed, stream + number of members).
    void draw_samples(const Signs& signs, Block& y);
    // Returns those of each member.
    std::vector<LevelSquares> squares(const Block& x);

  private:
    // Holds what members' results are added up in: a sum for each group of them, and scratch space for each worker.
    template <class C>
    struct Workspace {
        std::vector<Buffer<C>> sums, scratch;
    };
    template <class C>
    void allocate(Workspace<C>& space) const;
    template <class C, class Body>
    void for_members(Workspace<C>& space, Body&& body);
    template <class Finish>
    void add_up(Block& y, Finish&& finish);
    void subtract_half(size_t first_column, const Block& b, const Block& x, Workspace<DoubleColumns>& space, Block& r);

    std::vector<Member> members_;
    std::vector<Covariances> covariances_;
    std::vector<double> scales_; // of the members in the preconditioner; 0: left out
    double noise_ = 1, shares_ = 0;
    Buffer<float> inverse_weight_, precision_;
    std::vector<Buffer<float>> factors_; // of the preconditioner, per node
    ThreadTeam& team_;
    MemoryBudget& memory_;
    size_t max_nodes_ = 0; // of a member's tree
    Workspace<Columns> space_;
    uint64_t passes_ = 0, version_ = 0;
};

} // namespace btml::gp
