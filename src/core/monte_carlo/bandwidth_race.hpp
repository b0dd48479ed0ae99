// Bandwidths are scored on one panel of rows that they share.
#pragma once

#include "core/monte_carlo/scores.hpp"

namespace btml::monte_carlo {

// Computes the terms of one row at any bandwidths.
class TermEvaluator {
  public:
    virtual ~TermEvaluator() = default;
    // Makes what a bandwidth needs once, before its rows; it is called on the main thread only.
    virtual void prepare(const Bandwidths& bandwidths) = 0;
    // Draws for each of the bandwidths prepared as these numbers; any thread may call it.
    virtual void draw(std::span<const size_t> bandwidths, uint32_t row, uint64_t seed, int worker,
                      std::span<Draw> draws) = 0;
};

class BandwidthRace {
  public:
    BandwidthRace(const OuterStrata& strata, const SamplingOptions& options, TermEvaluator& terms, ThreadTeam& team);

    // They join with the panel as it is.
    void add(std::span<const Bandwidths> bandwidths);
    // Adds rows to the panel, for the bandwidths still in the race, until the best is known: each other is worse with
    // the confidence asked for, or within a tenth of epsilon of the best score with it, or the panel has max_rows.
    void run();

    size_t best() const;
    size_t size() const { return bandwidths_.size(); }
    const Bandwidths& bandwidths(size_t i) const { return bandwidths_[i]; }
    double score(size_t i) const { return mean(i).mean(); }
    double std_error(size_t i) const { return mean(i).standard_error(); }

  private:
    struct PanelRow {
        size_t stratum;
        uint32_t row;
    };
    static constexpr uint64_t max_rows = 50'000;

    StratifiedMean mean(size_t i) const;
    // Takes the terms at bandwidth i less those at the other, over the rows that both have.
    StratifiedMean difference(size_t i, size_t other) const;
    void grow(const std::vector<uint64_t>& wanted);
    // Evaluates those rows of the panel that all of these bandwidths lack.
    void evaluate(const std::vector<size_t>& bandwidths);
    bool drop_losers();

    const OuterStrata& strata_;
    const SamplingOptions options_;
    TermEvaluator& terms_;
    ThreadTeam& team_;
    const double quantile_;
    std::vector<PanelRow> panel_;
    std::vector<uint64_t> drawn_; // counts the draws of each stratum
    std::vector<Bandwidths> bandwidths_;
    std::vector<std::vector<Draw>> draws_; // are those of each bandwidth, for the first rows of the panel
    std::vector<bool> racing_;
};

} // namespace btml::monte_carlo
