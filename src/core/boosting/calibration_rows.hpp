// The rows that tell how far off predictions are: held out, and without a say in what the model is.
#pragma once

#include "core/base/threads.hpp"
#include "core/boosting/binning/binning.hpp"
#include "core/boosting/trees/boosting_model.hpp"
#include "core/numbers/hashed_rows.hpp"

namespace btml::boosting {

// Returns the rows of the target's table that rows of the join come from, for which is_wanted(row of the join), in the
// order of a hash of all that trees see of them: an order at random that rows keep wherever they lie. Rows without a
// difference for the trees are next to each other.
Buffer<HashedRow> shuffled_target_rows(const Dataset& dataset, const std::function<bool(uint32_t)>& is_wanted,
                                       uint64_t seed, ThreadTeam& team, RunContext& context);

// Some rows of the join with their targets, which outlive the columns of the dataset.
class TargetRows {
  public:
    explicit TargetRows(RunContext& context);

    // Adds a row of a dataset whose columns are still there.
    void add(const Dataset& dataset, uint32_t row);
    const Buffer<uint32_t>& rows() const { return rows_; }
    uint64_t size() const { return rows_.size(); }
    // Returns y − prediction of each, by these trees of the model.
    Buffer<double> residuals(const Model& model, std::span<const Tree> trees, const BinnedData& data, ThreadTeam& team,
                             RunContext& context) const;
    // Returns base and the values of the leaves of each, without an offset.
    Buffer<double> scores(std::span<const Tree> trees, double base, const BinnedData& data, ThreadTeam& team,
                          RunContext& context) const;

  private:
    // start(i) is what the score of the row i begins with.
    template <class Start>
    Buffer<double> walk(std::span<const Tree> trees, const Start& start, const BinnedData& data, ThreadTeam& team,
                        RunContext& context) const;

    Buffer<uint32_t> rows_;
    Buffer<double> targets_, offsets_;
};

// Takes all rows that are held out or, where some of these choose the model, every second one of the target's table;
// the dataset then ignores these. It has raw columns, and the target that scores are compared with.
TargetRows take_calibration_rows(Dataset& dataset, bool others_choose, uint64_t seed, ThreadTeam& team,
                                 RunContext& context);

} // namespace btml::boosting
