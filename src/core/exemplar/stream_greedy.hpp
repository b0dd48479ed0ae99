// STREAMGREEDY (Gomes, Krause: Budgeted Nonparametric Learning from Data Streams, Algorithm 1) chooses exemplars from
// rows that stream by, in memory that does not grow with their number.
#pragma once

#include "core/exemplar/exemplar_objective.hpp"
#include "core/exemplar/reservoir.hpp"

#include <unordered_set>

namespace btml::exemplar {

struct Exemplar {
    std::string id;
    bool has_id;
    std::vector<double> x;
    double members;                           // is the weight of the rows nearest to it: their number, if all weigh 1
    std::optional<double> mean_dissimilarity; // is that of these, or nothing where the second sample has none
};

struct Selection {
    std::vector<Exemplar> exemplars;           // are in the order of their slots
    double utility = 0, utility_std_error = 0; // are measured on a sample that had no part in the choice
    uint64_t rows = 0, candidates = 0, swaps = 0;
};

// Call sample() for every row first; then start(), offer() for every row of a pass and finish_pass(), as often as that
// says; then finish(). Rows have numbers from 0 and come in the same order in every pass. A swap is made at once when
// its gain exceeds eta (the paper's algorithm swaps first and tests then; its proof needs the test first). The result
// is the same for any number of threads.
class StreamGreedy {
  public:
    // `options` are validated and outlive this; `function` goes with Metric::function.
    StreamGreedy(const Options& options, DissimilarityFunction* function, RunContext& context);

    // Throws out_of_range for a weight that is not from 0 to 1e50.
    void sample(const Point& point);
    // Returns false if there were no rows. Throws invalid_argument when all their weights are 0.
    bool start();
    // Returns false once more rows of this pass would change nothing.
    bool offer(const Point& point);
    // Says whether another pass is to be made.
    bool finish_pass();
    Selection finish();

    const Objective& objective() const { return *objective_; }

  private:
    void require_memory() const;
    void make_reference();
    size_t random_row(const PointSet& rows) const;
    void take_batch();
    void add_from_batch();
    void swap_through_batch();
    void take(size_t candidate, size_t slot);
    bool is_candidate();
    bool may_change() const;

    const Options& options_;
    DissimilarityFunction* const function_;
    RunContext& context_;
    ThreadTeam team_;
    SizeMeasure size_measure_;
    Reservoir validation_, second_;
    size_t large_rows_ = 0; // of validation_ are to be summed in every race
    PointSet reference_, one_row_, batch_, exemplars_;
    SquaredExponential kernel_;
    std::unique_ptr<Objective> objective_;
    std::unordered_set<uint64_t> exemplar_numbers_;
    std::vector<bool> taken_; // says which of the batch are exemplars
    uint64_t rows_ = 0;       // counts those of the source
    double weight_ = 0;       // adds up theirs
    uint64_t offered_ = 0;    // counts the rows of all passes
    uint64_t candidates_ = 0, max_candidates_ = 0, swaps_ = 0;
    uint64_t last_change_ = 0; // is how many candidates there were until then
    int pass_ = 0;
};

} // namespace btml::exemplar
