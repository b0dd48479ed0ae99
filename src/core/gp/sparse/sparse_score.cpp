#include "core/gp/sparse/sparse_score.hpp"

#include "core/algebra/dense.hpp"
#include "core/gp/sparse/device_gp.hpp"

#include <array>
#include <cmath>

namespace btml::gp {

namespace {

using algebra::Blocks;
using algebra::blocks_of;

constexpr const char* what = "leave-one-out scores";

// k'solution, k'·reduction·k and k'·inverse·k of rows, k being their covariances with the inducing points times
// √weight.
struct Forms {
    std::vector<double> means, reduced, known;
};

// Finds them on the processor.
class SlabForms {
  public:
    SlabForms(const SparseModel::Parts& parts, const Buffer<double>& inverse, const SmoothRows& rows, ThreadTeam& team,
              RunContext& context)
        : parts_(parts),
          inverse_(inverse),
          team_(team),
          slab_(parts.kernel, parts.inducing.span(), rows, team, context),
          products_(context.memory(), what, slab_.inducing_points() * stride) {}

    // Takes CovarianceSlab::max_rows from `begin` on, or what is left.
    Forms of_rows(size_t begin) {
        slab_.load(begin);
        std::vector<double> means(slab_.size());
        for (size_t u = 0; u < slab_.inducing_points(); u++)
            for (size_t i = 0; i < means.size(); i++) means[i] += parts_.solution[u] * slab_.values()[u * stride + i];
        return {std::move(means), quadratic_forms(parts_.reduction), quadratic_forms(inverse_)};
    }

  private:
    static constexpr size_t stride = CovarianceSlab::max_rows;

    std::vector<double> quadratic_forms(const Buffer<double>& matrix) {
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

    const SparseModel::Parts& parts_;
    const Buffer<double>& inverse_;
    ThreadTeam& team_;
    CovarianceSlab slab_;
    Buffer<double> products_;
};

Forms forms_on_device(DeviceGp& device, const SmoothRows& rows, size_t begin, size_t end) {
    const size_t count = end - begin;
    std::vector<double> means(count), forms(2 * count);
    device.find_forms(rows, begin, end, means, forms);
    const auto middle = forms.begin() + static_cast<ptrdiff_t>(count);
    return {std::move(means), {forms.begin(), middle}, {middle, forms.end()}};
}

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

// With g = k'Σ⁻¹k, where Σ = K_uu + Φ/σ², a row of weight w has the leverage h = w·g/σ². Without the row its residual
// is 1/(1 − h) times as large, and so is g, which the latent variance has beside the prior's part.
template <class FormsOf>
LeaveOneOut score(const SparseModel::Parts& parts, const SmoothRows& rows, uncertainty::StandardisedErrors& errors,
                  RunContext& context, const FormsOf& forms_of) {
    constexpr double min_free = 1e-9; // of 1 − h, which rounding may bring to 0
    const double noise = parts.kernel.noise;
    Sums sums;
    for (size_t begin = 0; begin < rows.size(); begin += CovarianceSlab::max_rows) {
        const size_t end = std::min(begin + CovarianceSlab::max_rows, rows.size());
        const Forms forms = forms_of(begin, end);
        for (size_t row = begin; row < end; row++) {
            const double reduced = forms.reduced[row - begin], known = forms.known[row - begin];
            const double weight = rows.weight(row), free = std::max(min_free, 1 - known / noise);
            // FITC's weights have it already.
            const double prior = parts.fitc ? 0 : std::max(0.0, parts.kernel.signal - (reduced + known) / weight);
            const double latent = prior + known / weight / free;
            const double residual = rows.targets[row] - forms.means[row - begin] / std::sqrt(weight);
            const double error = residual / free, variance = latent + noise / weight;
            sums.add(error, variance);
            errors.add(error, variance);
        }
        context.share_progress("leaving rows out", begin, rows.size());
    }
    const double n = static_cast<double>(rows.size());
    return {rows.size(), sums.nll / n, std::sqrt(sums.squares / n), static_cast<double>(sums.covered) / n};
}

} // namespace

LeaveOneOut leave_rows_out(const SparseModel::Parts& parts, const Buffer<double>& inverse, const SmoothRows& rows,
                           uncertainty::StandardisedErrors& errors, ThreadTeam& team, RunContext& context) {
    if (const auto device = DeviceGp::worth_it(parts.kernel, parts.inducing.span(), rows.size(), context)) {
        uncertainty::StandardisedErrors found(context);
        std::optional<LeaveOneOut> result;
        const bool succeeded = device::attempt(context, [&] {
            device->begin_forms(parts.solution.span(), std::array{parts.reduction.data(), inverse.data()});
            result = score(parts, rows, found, context,
                           [&](size_t begin, size_t end) { return forms_on_device(*device, rows, begin, end); });
        });
        if (succeeded) {
            errors = std::move(found);
            return *result;
        }
    }
    SlabForms forms(parts, inverse, rows, team, context);
    return score(parts, rows, errors, context, [&](size_t begin, size_t) { return forms.of_rows(begin); });
}

} // namespace btml::gp
