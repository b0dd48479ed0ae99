// A trained sum of binary tree kernels, for prediction. f = Σ f_m is known through the solution of K·α = y, which gives
// its mean, and through samples of its posterior (Matheron's rule: a sample s of the prior with its own noisy
// observations o becomes s − K(·, X)K⁻¹o + the mean), whose deviations give its variance. Both are sums over the nodes
// above a point's place in each member's tree.
#pragma once

#include "core/gp/additive/additive_covariance.hpp"
#include "core/gp/tree/row_sorter.hpp"
#include "core/gp/tree/training_columns.hpp"
#include "core/gp/tree/trie.hpp"

namespace btml::gp {

// Says what random numbers are for, with a stream of each use for each member.
enum class SumStream : uint64_t { shifts, features, rows, probes, first_samples, second_samples };
constexpr uint64_t stream_of(SumStream use, size_t member = 0) {
    return static_cast<uint64_t>(use) << 32 | member;
}
// Returns the encoding of a member, whose numbers lie on a grid of their own.
Encoding encoding_of_member(const Encoding& encoding, uint64_t seed, size_t member);

// Says how far the systems of a model are from being solved, as |b − K·x| / |b|, from products in double precision: of
// the targets, and the worst of the samples'.
struct SumResiduals {
    double targets = 0, samples = 0;

    // Returns infinity where one is no number.
    double worst() const;
};

class SumModel {
  public:
    // A sum has fewer rows than this.
    static constexpr size_t max_rows = size_t{1} << 30;
    // Right-hand sides of the first block of solutions: the targets, then samples. Of the second, which has only
    // samples, the last one is not used.
    static constexpr size_t samples = 2 * Columns::count - 2, samples_of_first = Columns::count - 1;

    struct Member {
        BitOrder order;
        std::vector<double> weights;
    };
    struct Parts {
        Parts(Encoding its_encoding, uint64_t its_seed, MemoryBudget& budget)
            : encoding(std::move(its_encoding)),
              seed(its_seed),
              rows(budget),
              first(budget, "solutions of a kernel sum"),
              second(budget, "solutions of a kernel sum") {}

        Encoding encoding; // without shifts
        uint64_t seed;
        double noise = 0;       // variance of an observation of weight 1
        double calibration = 1; // factor of the variances
        SumResiduals residuals;
        std::vector<Member> members;
        TrainingColumns rows; // one at least, that it was trained on
        Block first, second;  // solutions, by row
    };

    // Makes the members' trees, O(members · n): about 6 ms for 10,000 rows and a member. Holds
    // about 150 bytes per member and distinct string, and what encode() writes.
    SumModel(Parts parts, RunContext& context);

    // Returns the latent function at a point, features as Encoding::value_bits takes them; with the calibration.
    // O(members · (log n + q/64)). Not thread-safe (scratch space).
    Normal latent(std::span<const double> features);
    double noise() const noexcept { return parts_.calibration * parts_.noise; }
    double calibration() const noexcept { return parts_.calibration; }
    const SumResiduals& residuals() const noexcept { return parts_.residuals; }
    const Encoding& encoding() const noexcept { return parts_.encoding; }
    const std::vector<Member>& members() const noexcept { return parts_.members; }
    size_t rows() const noexcept { return parts_.first.size(); }
    const Parts& parts() const noexcept { return parts_; }
    Parts take() && { return std::move(parts_); }

    // The rows as of encode(TrainingColumns) and 124 bytes for each, whatever the number of members: trees and samples
    // are made again from them and the seed. decode checks every number once: error corrupt_model.
    void encode(Writer& writer) const;
    static SumModel decode(Reader& reader, RunContext& context);

  private:
    static constexpr uint32_t leaf = uint32_t{1} << 31;
    // Describes the posterior at a node: its mean, and how far samples lie from it, as the upper halves of floats
    // (bfloat16).
    struct Values {
        float mean;
        uint16_t deviations[samples];
    };
    static_assert(sizeof(Values) == 64);
    struct Tree {
        PointEncoder encoder;
        Covariances covariances;
        size_t words;
        Buffer<uint32_t> next; // right child; of a leaf: its number
        Buffer<uint16_t> level;
        Buffer<uint64_t> keys; // strings of the leaves
        Buffer<Values> values;
    };
    // Σ over the members at a point.
    struct Sums {
        double mean = 0, variance = 0;
        float deviations[samples] = {};
    };

    void add_member(size_t member, std::span<const FeatureView> points, Block& scratch1, Block& scratch2,
                    RunContext& context);
    void add(const Tree& tree, const String& point, Sums& sums);

    Parts parts_;
    std::vector<Tree> trees_;
    std::vector<uint32_t> path_; // from a root to a leaf
};

} // namespace btml::gp
