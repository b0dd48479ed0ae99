#include "sros.hpp"

#include <cmath>

namespace btml::gp {

void sros_multiply(ColumnMajor<uint32_t> p, ColumnMajor<uint32_t> p_right, ColumnMajor<double> u,
                   ColumnMajor<double> u_right, size_t parts, std::span<const double> x, std::span<double> y,
                   RunContext& context) {
    Buffer<double> sums(context.memory(), "sparse rank one sums", parts);
    std::fill(y.begin(), y.end(), 0);
    for (size_t i = 0; i < p.columns; i++) {
        context.poll();
        std::fill(sums.begin(), sums.end(), 0);
        const auto part = p.column(i), part_right = p_right.column(i);
        const auto value = u.column(i), value_right = u_right.column(i);
        for (size_t j = 0; j < x.size(); j++) sums[part_right[j]] += value_right[j] * x[j];
        for (size_t j = 0; j < y.size(); j++) y[j] += sums[part[j]] * value[j];
    }
}

namespace {

// Algorithm 2 without its last step: from the finest column to the coarsest.
class Inversion {
  public:
    Inversion(ColumnMajor<uint32_t> p, ColumnMajor<double> c, size_t parts, RunContext& context)
        : p_(p),
          c_(c),
          context_(context),
          sums_(context.memory(), "sparse rank one sums", parts),
          result_{Buffer<double>(context.memory(), "sparse rank one inverse", c.rows * c.columns),
                  Buffer<double>(context.memory(), "sparse rank one inverse", c.rows * c.columns)} {}

    double* inverse_column(size_t i) { return result_.u.data() + i * c_.rows; }

    // u: column i of U; the inverse's column i of U' is complete. Leaves that of C' complete too.
    void invert_column(size_t i, std::span<const double> u) {
        context_.poll();
        const auto part = p_.column(i);
        const auto c = c_.column(i);
        const double* inverse = inverse_column(i);
        std::fill(sums_.begin(), sums_.end(), 0);
        for (size_t j = 0; j < c_.rows; j++) sums_[part[j]] += c[j] * inverse[j] * u[j];
        for (size_t j = 0; j < c_.rows; j++) result_.c[i * c_.rows + j] = -c[j] / (1 + sums_[part[j]]);
        for (const double sum : sums_) result_.log_determinant += std::log1p(sum);
    }
    // Applies column i of the inverse to a column of U whose inverse is `inverse` so far.
    void apply_column(size_t i, std::span<const double> u, double* inverse) {
        const auto part = p_.column(i);
        const double* by = inverse_column(i);
        std::fill(sums_.begin(), sums_.end(), 0);
        for (size_t j = 0; j < c_.rows; j++) sums_[part[j]] += by[j] * u[j];
        for (size_t j = 0; j < c_.rows; j++) inverse[j] += result_.c[i * c_.rows + j] * by[j] * sums_[part[j]];
    }
    SrosInverse take() { return std::move(result_); }

  private:
    const ColumnMajor<uint32_t> p_;
    const ColumnMajor<double> c_;
    RunContext& context_;
    Buffer<double> sums_; // by part
    SrosInverse result_;
};

} // namespace

SrosInverse sros_invert(ColumnMajor<uint32_t> p, ColumnMajor<double> c, ColumnMajor<double> u, size_t parts,
                        RunContext& context) {
    Inversion inversion(p, c, parts, context);
    std::copy(u.values.begin(), u.values.end(), inversion.inverse_column(0));
    for (size_t i = u.columns; i-- > 0;) {
        inversion.invert_column(i, u.column(i));
        for (size_t k = 0; k < i; k++) {
            context.poll();
            inversion.apply_column(i, u.column(k), inversion.inverse_column(k));
        }
    }
    return inversion.take();
}

SrosInverse sros_invert_equal(ColumnMajor<uint32_t> p, ColumnMajor<double> c, std::span<const double> u, size_t parts,
                              RunContext& context) {
    Inversion inversion(p, c, parts, context);
    for (size_t i = p.columns; i-- > 0;) {
        // What the finer columns made of u is the same for all the coarser ones.
        double* const inverse = inversion.inverse_column(i);
        if (i + 1 == p.columns) {
            std::copy(u.begin(), u.end(), inverse);
        } else {
            std::copy_n(inversion.inverse_column(i + 1), c.rows, inverse);
            inversion.apply_column(i + 1, u, inverse);
        }
        inversion.invert_column(i, u);
    }
    return inversion.take();
}

} // namespace btml::gp
