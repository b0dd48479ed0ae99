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
    Buffer<double> next(context.memory(), "residuals", residuals_.size());
    Trie trie = build_trie(
        encoding, order, kernel, rows_, residuals_.span(),
        [&](const Normals& latent, const Observations& sorted, std::span<const uint32_t> row) {
            for (size_t i = 0; i < row.size(); i++) {
                next[row[i]] = sorted.target[i] - fraction * latent.mean[i];
                variances_[row[i]] += fraction * latent.variance[i];
            }
        },
        context);
    residuals_ = std::move(next);
    return {std::move(encoding), std::move(order), std::move(trie), fraction};
}

} // namespace btml::gp
