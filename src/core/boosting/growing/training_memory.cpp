#include "core/boosting/growing/training_memory.hpp"

#include "core/boosting/binning/binning.hpp"
#include "core/boosting/objectives/holdout_metric.hpp"

namespace btml::boosting {

namespace {

// Memory, in bytes, for n rows of the join and tables of R_t rows with f_t features:
//   Σ_t R_t · f_t · (1, 2 or 4 by number of bins)                            bins, kept
// + while binning: 32 · (rows of the longest numeric column) + 8 · R_t        values to sort, multiplicities
// + 8 · (distinct values), only where every one may be a threshold
// + while growing: the scores (n · 8 for squared loss) + n · 2 row index + scratch (TreeGrower)
// + of ranks, n · 8 hashes from before the binning until the scores begin
// + records and columns, where half of what is left has room for them
// The raw columns, 8 bytes a value or 4 a category, are given back during binning. So a row of a fact table costs
// 10 bytes, one more per feature, and 4 for each other table in the join.
class Estimate {
  public:
    Estimate(const Dataset& dataset, int max_bins) {
        std::vector<uint64_t> packing(dataset.tables.size(), 0);
        for (const FeatureColumn& column : dataset.features) {
            const uint64_t rows = dataset.tables[column.table].rows;
            const bool number = !column.categorical;
            const uint64_t limit = max_bins > 0 ? max_bins : rows;
            const uint64_t values = number ? std::min(limit, rows) : column.categories.size();
            bins_ += rows * bin_bytes(values + 1);
            raw_ += rows * (number ? sizeof(double) : sizeof(uint32_t));
            if (number) {
                sorting_ = std::max(sorting_, 32 * rows);
                thresholds_ += 8 * values;
            }
            multiplicity_ = std::max(multiplicity_, 8 * rows);
        }
    }
    Estimate(const Dataset& dataset, const Options& options, uint64_t score_bytes)
        : Estimate(dataset, options.max_bins) {
        growing_ = score_bytes + 2 * dataset.rows;
        if (objective_of(options.objective).ranks) hashes_ = sizeof(uint64_t) * dataset.rows;
    }

    uint64_t bins() const { return bins_ + thresholds_; }

    // Counts from before anything is read; `raw_` is held already.
    uint64_t peak(uint64_t parallel = 1) const {
        const uint64_t binning = sorting_ + multiplicity_ + hashes_, growing = parallel * growing_;
        return bins() + std::max(binning, growing > raw_ ? growing - raw_ : 0);
    }

  private:
    uint64_t bins_ = 0, raw_ = 0, sorting_ = 0, multiplicity_ = 0, thresholds_ = 0, growing_ = 0, hashes_ = 0;
};

} // namespace

uint64_t training_bytes(const Dataset& dataset, const Options& options, uint64_t parallel, int threads,
                        RunContext& context) {
    const Options all = completed(options, dataset.labels.size());
    const uint64_t of_target = (1 + !dataset.weight.empty() + dataset.offset.has_value() + dataset.query.has_value()) *
                               sizeof(double) * dataset.target.size();
    const uint64_t of_rows =
        (1 + dataset.row_hashes.has_value() * sizeof(uint64_t) + metric_row_bytes(all.metric)) * dataset.rows;
    const uint64_t scores = objective_of(all.objective).bytes(dataset, threads, context);
    return Estimate(dataset, all, scores + of_target + of_rows).peak(parallel);
}

uint64_t peak_bytes(const Dataset& dataset, const Options& options, uint64_t score_bytes) {
    return Estimate(dataset, options, score_bytes).peak();
}

uint64_t binned_bytes(const Dataset& dataset, int max_bins) {
    return Estimate(dataset, max_bins).bins();
}

} // namespace btml::boosting
