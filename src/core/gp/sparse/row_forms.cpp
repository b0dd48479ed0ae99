#include "core/gp/sparse/row_forms.hpp"

#include "core/algebra/dense.hpp"
#include "core/gp/sparse/device_gp.hpp"

namespace btml::gp {

namespace {

using algebra::Blocks;
using algebra::blocks_of;

// Finds them on the processor.
class SlabForms {
  public:
    SlabForms(const SparseModel::Parts& parts, std::span<const double* const> matrices, const SmoothRows& rows,
              ThreadTeam& team, RunContext& context)
        : parts_(parts),
          matrices_(matrices),
          rows_(rows.size()),
          team_(team),
          slab_(parts.kernel, parts.inducing.span(), rows, team, context),
          products_(context.memory(), "products of covariances", slab_.inducing_points() * stride) {}

    // Takes CovarianceSlab::max_rows from `begin` on, or what is left.
    RowForms of_rows(size_t begin) {
        slab_.load(begin);
        const size_t count = std::min(stride, rows_ - begin);
        RowForms forms{std::vector<double>(count), {}};
        for (size_t u = 0; u < slab_.inducing_points(); u++)
            for (size_t i = 0; i < count; i++) forms.means[i] += parts_.solution[u] * slab_.values()[u * stride + i];
        for (const double* const matrix : matrices_) forms.squares.push_back(squares_by(matrix, count));
        return forms;
    }

  private:
    static constexpr size_t stride = CovarianceSlab::max_rows;

    std::vector<double> squares_by(const double* matrix, size_t count) {
        const size_t size = slab_.inducing_points();
        const Blocks by(matrix, size, size), rows(slab_.values(), size, slab_.size(), stride),
            to(products_.data(), size, slab_.size(), stride);
        const size_t parts = blocks_of(slab_.size());
        team_.for_each(blocks_of(size) * parts, [&](size_t item, int) {
            const size_t block = item / parts, part = item % parts;
            const algebra::Block target = to(block, part);
            for (size_t u = 0; u < target.rows; u++) std::fill_n(target.data + u * stride, target.columns, 0.0);
            for (size_t other = 0; other < blocks_of(size); other++)
                algebra::subtract_product(by(block, other), rows(other, part), target);
        });
        std::vector<double> squares(count);
        for (size_t u = 0; u < size; u++)
            for (size_t i = 0; i < count; i++) squares[i] -= slab_.values()[u * stride + i] * products_[u * stride + i];
        return squares;
    }

    const SparseModel::Parts& parts_;
    const std::span<const double* const> matrices_;
    const size_t rows_;
    ThreadTeam& team_;
    CovarianceSlab slab_;
    Buffer<double> products_;
};

RowForms forms_on_device(DeviceGp& device, size_t matrices, const SmoothRows& rows, size_t begin, size_t end) {
    const size_t count = end - begin;
    RowForms forms{std::vector<double>(count), {}};
    std::vector<double> squares(matrices * count);
    device.find_forms(rows, begin, end, forms.means, squares);
    for (auto of_matrix = squares.begin(); of_matrix != squares.end(); of_matrix += static_cast<ptrdiff_t>(count))
        forms.squares.emplace_back(of_matrix, of_matrix + static_cast<ptrdiff_t>(count));
    return forms;
}

} // namespace

void find_forms(const SparseModel::Parts& parts, std::span<const double* const> matrices, const SmoothRows& rows,
                ThreadTeam& team, RunContext& context, const std::function<void(size_t, const RowForms&)>& use) {
    constexpr size_t at_a_time = CovarianceSlab::max_rows;
    if (const auto device = DeviceGp::worth_it(parts.kernel, parts.inducing.span(), rows.size(), context)) {
        const bool succeeded = device::attempt(context, [&] {
            device->begin_forms(parts.solution.span(), matrices);
            for (size_t begin = 0; begin < rows.size(); begin += at_a_time)
                use(begin,
                    forms_on_device(*device, matrices.size(), rows, begin, std::min(begin + at_a_time, rows.size())));
        });
        if (succeeded) return;
    }
    SlabForms forms(parts, matrices, rows, team, context);
    for (size_t begin = 0; begin < rows.size(); begin += at_a_time) use(begin, forms.of_rows(begin));
}

} // namespace btml::gp
