// Trains boosted trees over the rows of a join: held one by one, never listed, or held by several processes.
#pragma once

#include "core/base/peers.hpp"
#include "core/base/timing.hpp"
#include "core/boosting/binning/binning.hpp"
#include "core/boosting/factorised/factorised_allowance.hpp"
#include "core/boosting/findings.hpp"
#include "core/boosting/trees/boosting_model.hpp"
#include "core/data/dataset.hpp"
#include "core/relational/join/grouped_join.hpp"

namespace btml::boosting {

struct FitResult {
    Model model;
    std::vector<Timing> timings;
    Findings findings = {};           // of fits over rows that are held
    std::string constant_reason = {}; // why the model has no trees; empty where it may have some
    std::string residuals = {};       // how those of a factorised join were summed, for people
};

// Fills in base, features, trees, log, options, rows and holdout_rows; the caller knows target, strategy and the rows
// skipped. The dataset is consumed: raw columns are freed as soon as they are binned.
// The same dataset up to the order of its rows gives the same model to the last bit, whatever context.threads() is
// (row_fraction < 1 samples by row number, so there the order of the target table's rows counts).
// Errors: invalid_argument (options; no training rows; no features), out_of_range (a target of 1e150 or more in
// magnitude, or that the objective does not take), memory_limit before the work starts, DegenerateTarget;
// may_be_constant: the model is a constant instead.
// start: a model that training continues from; its trees count among options.trees. Over the rows it was trained on,
// with its options, n trees and m that continue from them are the bytes of n + m at once. Errors as of WarmStart.
FitResult fit(Dataset dataset, const Options& options, RunContext& context, bool may_be_constant = false,
              std::optional<Model> start = {});

// Fits the same model without listing the rows of the join: the dataset's columns are in the order of the grouped
// join's tables, and its tables have no row ids. Time and memory do not grow with the number of join rows, but with the
// number of leaves or with its square (see factorised_residuals.hpp). NotWorthIt where the trees would take longer than
// allowed.
FitResult fit_factorised(Dataset dataset, relational::GroupedJoin join, const Options& options, RunContext& context,
                         std::optional<Model> start = {}, const factorised::Allowance& allowance = {});

// Fits the model that fit() gives over the rows of all others, which run serve_fit at the same time. The dataset is as
// theirs, without rows; labels are the same everywhere. Errors as of fit; not_supported naming the option.
FitResult fit_distributed(Dataset dataset, const Options& options, Coordinator& peers, RunContext& context,
                          std::optional<Model> start = {});
// Errors not_supported for what sums over the rows of several processes do not tell.
void check_distributed(const Options& options);
// Trains on these rows what the coordinator fits.
void serve_fit(Dataset dataset, const Options& options, Holder& peers, RunContext& context,
               std::optional<Model> start = {});

// Errors of fit that follow from the options and the dataset's columns alone.
void check_options(const Dataset& dataset, const Options& options);

// A training that goes on tree by tree, over bins that several may share.
class Training {
  public:
    // The dataset's features have no columns any more: the data has their bins. Both data and team must outlive it, and
    // so must `phase`, which progress shows. parallel: as many trainings as this one share what memory is left.
    // Errors as of fit; early_stopping is up to the caller.
    Training(Dataset rows, const BinnedData& data, const Options& options, ThreadTeam& team, RunContext& context,
             const char* phase, int parallel = 1);
    ~Training();
    Training(const Training&) = delete;
    Training& operator=(const Training&) = delete;

    // Grows trees until there were so many iterations, or options.trees.
    void grow(size_t iterations);
    // One entry for each iteration.
    const std::vector<LogEntry>& log() const;
    // Has bases, baseline and the trees so far.
    const Model& model() const;

  private:
    std::unique_ptr<class Booster> booster_;
};

} // namespace btml::boosting
