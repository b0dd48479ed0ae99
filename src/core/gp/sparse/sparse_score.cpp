#include "core/gp/sparse/sparse_score.hpp"

#include "core/algebra/dense.hpp"

#include <cmath>

namespace btml::gp {

namespace {

using algebra::Blocks;
using algebra::blocks_of;

constexpr const char* what = "leave-one-out scores";

// c'Ac for each row c of a slab.
class QuadraticForms {
  public:
    QuadraticForms(const CovarianceSlab& slab, ThreadTeam& team, RunContext& context)
        : slab_(slab), team_(team), products_(context.memory(), what, slab.inducing_points() * stride) {}

    std::vector<double> operator()(const Buffer<double>& matrix) {
        const size_t size = slab_.inducing_points();
        const Blocks by(matrix.data(), size, size), rows(slab_.values(), size, slab_.size(), stride),
            to(products_.data(), size, slab_.size(), stride);
        const size_t parts = blocks_of(slab_.size());
        team_.for_each(blocks_of(size) * parts, [&](size_t item, int) {
            const size_t block = item / parts, part = item % parts;
            const algebra::Block target = to(block, part);
            for (size_t u = 0; u < target.rows; u++) std::fill_n(target.data + u * stride, target.columns, 0.0);
            for (size_t other = 0; other < blocks_of(size); other++)
                algebra::subtract_product(by(block, other), rows(other, part), target);
        });
        std::vector<double> forms(slab_.size());
        for (size_t u = 0; u < size; u++)
            for (size_t i = 0; i < forms.size(); i++)
                forms[i] -= slab_.values()[u * stride + i] * products_[u * stride + i];
        return forms;
    }

  private:
    static constexpr size_t stride = CovarianceSlab::max_rows;

    const CovarianceSlab& slab_;
    ThreadTeam& team_;
    Buffer<double> products_;
};

struct Sums {
    double nll = 0, squares = 0;
    uint64_t covered = 0;

    void add(double error, double variance) {
        constexpr double half_of_90 = 1.6448536269514722; // of a normal distribution, in standard deviations
        nll += (std::log(2 * M_PI * variance) + error * error / variance) / 2;
        squares += error * error;
        covered += std::abs(error) <= half_of_90 * std::sqrt(variance);
    }
};

} // namespace

// With g = k'Σ⁻¹k, where Σ = K_uu + Φ/σ², a row of weight w has the leverage h = w·g/σ². Without the row its residual
// is 1/(1 − h) times as large, and so is g, which the latent variance has beside the prior's part.
LeaveOneOut leave_rows_out(const SparseModel::Parts& parts, const Buffer<double>& inverse, const SmoothRows& rows,
                           uncertainty::StandardisedErrors& errors, ThreadTeam& team, RunContext& context) {
    constexpr double min_free = 1e-9; // of 1 − h, which rounding may bring to 0
    const double noise = parts.kernel.noise;
    CovarianceSlab slab(parts.kernel, parts.inducing.span(), rows, team, context);
    QuadraticForms forms(slab, team, context);
    Sums sums;
    for (size_t begin = 0; begin < rows.size(); begin += CovarianceSlab::max_rows) {
        slab.load(begin);
        const std::vector<double> reduced = forms(parts.reduction), known = forms(inverse);
        std::vector<double> residuals(slab.size());
        for (size_t i = 0; i < residuals.size(); i++) residuals[i] = slab.target(i);
        for (size_t u = 0; u < slab.inducing_points(); u++)
            for (size_t i = 0; i < residuals.size(); i++)
                residuals[i] -= parts.solution[u] * slab.values()[u * CovarianceSlab::max_rows + i];
        const size_t some = std::min(CovarianceSlab::max_rows, rows.size() - begin);
        for (size_t i = 0; i < some; i++) {
            const double weight = rows.weight(begin + i), free = std::max(min_free, 1 - known[i] / noise);
            const double prior = std::max(0.0, parts.kernel.signal - (reduced[i] + known[i]) / weight);
            const double latent = prior + known[i] / weight / free;
            const double error = residuals[i] / std::sqrt(weight) / free, variance = latent + noise / weight;
            sums.add(error, variance);
            errors.add(error, variance);
        }
        context.share_progress("leaving rows out", begin, rows.size());
    }
    const double n = static_cast<double>(rows.size());
    return {rows.size(), sums.nll / n, std::sqrt(sums.squares / n), static_cast<double>(sums.covered) / n};
}

} // namespace btml::gp
