// Sums the cross-validation scores over all pairs of rows, in blocks: O(n²·d), for S_KCDE as well (its integral is
// linear in the rows, for each row). They are the reference of the sampled ones, and faster up to some thousand rows.
#pragma once

#include "core/base/threads.hpp"
#include "core/monte_carlo/score_form.hpp"
#include "core/monte_carlo/score_rows.hpp"
#include "core/pairwise/weights.hpp"

namespace btml::monte_carlo {

struct ExactScore {
    double score = 0;
    uint64_t underflows = 0; // counts rows whose weights all underflow: for those, the nearest row alone counts
};

// Holds the rows, two at least, column by column, padded to whole blocks, once for all bandwidths. Rows with targets
// are in the order of these.
class ExactRows {
  public:
    ExactRows(const ScoreRows& rows, RunContext& context);

    size_t size() const { return size_; }
    size_t padded() const { return padded_; }
    pairwise::PointColumns points() const { return {columns_.data(), padded_, dimensions_, has_targets_}; }

  private:
    size_t size_, dimensions_, padded_;
    bool has_targets_;
    Buffer<double> columns_;
};

ExactScore exact_score(const ScoreForm& form, const ExactRows& rows, const Bandwidths& bandwidths, ThreadTeam& team,
                       RunContext& context);

} // namespace btml::monte_carlo
