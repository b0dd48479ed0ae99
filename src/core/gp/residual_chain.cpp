#include "core/gp/residual_chain.hpp"

namespace btml::gp {

ResidualChain::ResidualChain(const TrainingColumns& rows, RunContext& context)
    : rows_(rows),
      residuals_(context.memory(), "residuals", rows.rows()),
      variances_(context.memory(), "residuals", rows.rows(), 0.0) {
    std::copy(rows.target.begin(), rows.target.end(), residuals_.begin());
}

Member ResidualChain::add(Encoding encoding, BitOrder order, const Kernel& kernel, double fraction,
                          RunContext& context) {
    const MemberRows rows(encoding, order, rows_, residuals_.span(), context);
    {
        const Normals latent = rows.leave_one_out(kernel, context);
        for (size_t i = 0; i < residuals_.size(); i++) {
            const size_t row = rows.sorted.rows[i];
            residuals_[row] -= fraction * latent.mean[i];
            variances_[row] += fraction * latent.variance[i];
        }
    }
    return {std::move(encoding), std::move(order), rows.trie(kernel, context), fraction};
}

} // namespace btml::gp
