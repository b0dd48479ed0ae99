// Adds up weights over all pairs of rows, each pair once for both of its rows, at several bandwidths in one pass.
#pragma once

#include "core/base/threads.hpp"
#include "core/monte_carlo/score_form.hpp"
#include "core/monte_carlo/score_rows.hpp"
#include "core/pairwise/pair_strips.hpp"

#include <span>

namespace btml::monte_carlo {

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

struct RowSums {
    double first, second;
};

// Holds for each row, over the others, Σ weight and, of rows with targets, Σ weight·target; or, for kde, Σ of the
// kernel's convolution with itself, as a multiple of its peak, and Σ of the kernel.
class PairSums {
  public:
    // The form is of any kind but kcde.
    PairSums(const ScoreForm& form, const ExactRows& rows, std::span<const Bandwidths> bandwidths, ThreadTeam& team,
             RunContext& context);

    RowSums of(size_t bandwidth, size_t row) const {
        return {side(bandwidth, 0)[row] + side(bandwidth, 1)[row],
                side(bandwidth, 0)[rows_.padded() + row] + side(bandwidth, 1)[rows_.padded() + row]};
    }

    // So many that their sums do not take much more memory than the rows, or some megabytes, nor all that is left.
    static size_t bandwidths_at_once(const ExactRows& rows, const MemoryBudget& memory);

  private:
    void add_block(size_t first, size_t second, double* sums);
    void add_strip(const pairwise::Strip& strip, double* sums, bool is_own);
    // Sums of rows as the first and as the second of a pair are apart, since threads add to both.
    const double* side(size_t bandwidth, size_t number) const {
        return totals_.data() + (2 * bandwidth + number) * 2 * rows_.padded();
    }
    pairwise::StripTotals totals(size_t bandwidth, size_t number, size_t row) {
        double* const at = totals_.data() + (2 * bandwidth + number) * 2 * rows_.padded() + row;
        return {at, at + rows_.padded()};
    }

    const ScoreForm& form_;
    const ExactRows& rows_;
    const size_t block_;
    std::vector<double> coefficients_;
    Buffer<double> totals_;
};

// Sums the cross-validation scores over all pairs of rows, in blocks: O(n²·d), for S_KCDE as well (its integral is
// linear in the rows, for each row). They are the reference of the sampled ones, and faster up to some thousand rows.
// Returns the scores at each of the bandwidths; distances are found once for many of them. Of rows whose weights all
// underflow, the nearest row alone counts.
std::vector<ScoreEstimate> exact_scores(const ScoreForm& form, const ExactRows& rows,
                                        std::span<const Bandwidths> bandwidths, ThreadTeam& team, RunContext& context);

} // namespace btml::monte_carlo
