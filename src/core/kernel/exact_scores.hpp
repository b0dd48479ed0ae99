// The cross-validation scores summed over all pairs of rows, in blocks: O(n²·d), for S_KCDE as well (its integral is
// linear in the rows, for each row). The reference of the sampled ones, and faster up to some thousand rows.
#pragma once

#include "core/base/threads.hpp"
#include "core/kernel/score_rows.hpp"

namespace btml::kernel {

struct ExactScore {
    double score = 0;
    uint64_t underflows = 0; // rows whose weights all underflow: of those, the nearest row alone counts
};

// The rows column by column, padded to whole blocks, once for all bandwidths. Rows of S_KCDE are in the order of their
// targets. Two rows at least.
class ExactRows {
  public:
    static constexpr size_t group_rows = 32; // padded() is a multiple

    ExactRows(const ScoreRows& rows, RunContext& context);

    size_t size() const { return size_; }
    size_t dimensions() const { return dimensions_; }
    size_t padded() const { return padded_; }
    const double* column(size_t k) const { return columns_.data() + k * padded_; }
    const double* targets() const { return column(dimensions_); }

  private:
    size_t size_, dimensions_, padded_;
    Buffer<double> columns_; // the target's last; padding is infinite, targets there 0
};

ExactScore exact_kr_score(const ExactRows& rows, double bandwidth, ThreadTeam& team, RunContext& context);
ExactScore exact_kde_score(const ExactRows& rows, double bandwidth, ThreadTeam& team, RunContext& context);
ExactScore exact_likelihood_score(const ExactRows& rows, double bandwidth, ThreadTeam& team, RunContext& context);
ExactScore exact_kcde_score(const ExactRows& rows, double bandwidth, double target_bandwidth, ThreadTeam& team,
                            RunContext& context);

} // namespace btml::kernel
