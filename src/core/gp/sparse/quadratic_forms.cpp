#include "core/gp/sparse/quadratic_forms.hpp"

#include "core/algebra/dense.hpp"

namespace btml::gp {

using algebra::Blocks;
using algebra::blocks_of;

QuadraticForms::OfRows QuadraticForms::on_processor(const SmoothRows& rows, size_t begin) {
    rows_ = rows;
    if (!covariances_) {
        covariances_.emplace(parts_.kernel, parts_.inducing.span(), rows_, team_, context_);
        products_.resize(parts_.inducing_points() * stride);
    }
    covariances_->load(begin);
    const size_t count = std::min(max_rows, rows.size() - begin);
    OfRows found{std::vector<double>(count), {}};
    for (size_t u = 0; u < parts_.inducing_points(); u++)
        for (size_t i = 0; i < count; i++)
            found.means[i] += parts_.solution[u] * covariances_->values()[u * stride + i];
    for (const double* const matrix : matrices_) found.forms.push_back(forms_of(matrix, count));
    return found;
}

std::vector<double> QuadraticForms::forms_of(const double* matrix, size_t count) {
    const size_t size = parts_.inducing_points();
    const Blocks by(matrix, size, size), rows(covariances_->values(), size, covariances_->size(), stride),
        to(products_.data(), size, covariances_->size(), stride);
    const size_t parts = blocks_of(covariances_->size());
    team_.for_each(blocks_of(size) * parts, [&](size_t item, int) {
        const size_t block = item / parts, part = item % parts;
        const algebra::Block target = to(block, part);
        for (size_t u = 0; u < target.rows; u++) std::fill_n(target.data + u * stride, target.columns, 0.0);
        for (size_t other = 0; other < blocks_of(size); other++)
            algebra::subtract_product(by(block, other), rows(other, part), target);
    });
    std::vector<double> forms(count);
    for (size_t u = 0; u < size; u++)
        for (size_t i = 0; i < count; i++)
            forms[i] -= covariances_->values()[u * stride + i] * products_[u * stride + i];
    return forms;
}

QuadraticForms::QuadraticForms(const SparseModel::Parts& parts, std::vector<const double*> matrices, size_t rows,
                               ThreadTeam& team, RunContext& context)
    : parts_(parts),
      matrices_(std::move(matrices)),
      team_(team),
      context_(context),
      device_(DeviceGp::worth_it(parts.kernel, parts.inducing.span(), rows, context)),
      rows_({}, parts.kernel.width()),
      products_(context.memory(), CovarianceSlab::what) {
    if (device_ && !device::attempt(context, [&] { device_->begin_forms(parts_.solution.span(), matrices_); }))
        device_.reset();
}

QuadraticForms::OfRows QuadraticForms::on_device(const SmoothRows& rows, size_t begin) {
    const size_t count = std::min(max_rows, rows.size() - begin);
    OfRows found{std::vector<double>(count), {}};
    std::vector<double> forms(matrices_.size() * count);
    device_->find_forms(rows, begin, begin + count, found.means, forms);
    for (size_t m = 0; m < matrices_.size(); m++) {
        const auto of_matrix = forms.begin() + static_cast<ptrdiff_t>(m * count);
        found.forms.emplace_back(of_matrix, of_matrix + static_cast<ptrdiff_t>(count));
    }
    return found;
}

QuadraticForms::OfRows QuadraticForms::of_rows(const SmoothRows& rows, size_t begin) {
    if (device_) {
        OfRows found;
        if (device::attempt(context_, [&] { found = on_device(rows, begin); })) return found;
        device_.reset();
    }
    return on_processor(rows, begin);
}

} // namespace btml::gp
