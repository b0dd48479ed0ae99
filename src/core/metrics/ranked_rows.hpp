// Rows held until they are ranked by their scores: the state of aggregates.
#pragma once

#include "core/base/buffer.hpp"
#include "core/numbers/exact_sum.hpp"

#include <optional>

namespace btml::metrics {

// Values do not depend on the order of the rows: those of equal scores are taken together.
class RankedRows {
  public:
    static constexpr double max_relevance = 31;

    explicit RankedRows(MemoryBudget& budget)
        : rows_(budget, "the rows of a metric"), weighted_rows_(budget, "the rows of a metric") {}

    // Makes room for rows with weights.
    void reserve(uint64_t rows) { weighted_rows_.reserve(rows); }
    // Adds a row with its relevance, where 1 and 0 stand for the positive and the negative class. All rows have
    // weights, or none has. Errors: out_of_range for a relevance that is not from 0 to max_relevance, a score that is
    // NaN and a weight that is negative or not finite; invalid_argument for rows with weights after those without.
    void add(double relevance, double score);
    void add(double relevance, double score, double weight);
    // Sets how many rows count. Error invalid_argument for less than 1, and for another number than before.
    void set_k(int k);
    void append(const RankedRows& other, RunContext& context);

    uint64_t rows() const { return rows_.size() + weighted_rows_.size(); }
    // The probability that a positive row has a higher score than a negative one, where equal scores count half;
    // nothing unless both classes have weight.
    std::optional<double> auc(RunContext& context) const;
    // Σ (recall − recall before) · precision over the thresholds, from the highest score on; nothing unless there are
    // positive rows with weight.
    std::optional<double> average_precision(RunContext& context) const;
    // Σ (2^relevance − 1)/log2(1 + rank) over the k highest scores, beside the most that it could be (Järvelin,
    // Kekäläinen: Cumulated Gain-Based Evaluation of IR Techniques, 2002). Rows of equal scores share their ranks
    // (McSherry, Najork: Computing Information Retrieval Performance Measures Efficiently in the Presence of Tied
    // Scores, 2008). Nothing where every relevance is 0. Weights do not count.
    std::optional<double> ndcg(RunContext& context) const;

    // Portable bytes, for moving a state between processes.
    uint64_t flat_size() const noexcept;
    void flatten(std::byte* to) const noexcept; // flat_size() bytes
    // Error corrupt_model for bytes that flatten() does not write.
    static RankedRows parse(std::span<const std::byte> bytes, MemoryBudget& budget, RunContext& context);

  private:
    // The total weight of rows is exact: without weights as a count, and with them in whatever order they come.
    struct Row {
        using Total = double;
        double score, relevance;
    };
    struct WeightedRow {
        using Total = ExactSum;
        double score, relevance, weight;
    };

    void require_weights(bool weighted) const;
    template <class Ranked>
    static void sort(Buffer<Ranked>& rows, RunContext& context);
    template <class Ranked>
    static std::optional<double> auc_of(Buffer<Ranked>& rows, RunContext& context);
    template <class Ranked>
    static std::optional<double> average_precision_of(Buffer<Ranked>& rows, RunContext& context);
    double gain_of_ranking(RunContext& context) const;
    double best_gain(RunContext& context) const;

    int k_ = 0; // is 0 where all rows count
    // Sorting them changes nothing that can be seen, so const functions do.
    mutable Buffer<Row> rows_;
    mutable Buffer<WeightedRow> weighted_rows_;
};

} // namespace btml::metrics
