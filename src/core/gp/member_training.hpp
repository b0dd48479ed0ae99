// How one member is trained: the search for its bit order and kernel, then its trie.
#pragma once

#include "core/gp/model.hpp"
#include "core/gp/search/order_search.hpp"
#include "core/gp/tree/leave_one_out.hpp"

namespace btml::gp {

struct Candidate {
    Encoding encoding;
    FoundOrder found;
};

class MemberTraining {
  public:
    // Keeps references to all but the limits.
    MemberTraining(const TrainingColumns& rows, const Options& options, int value_bits, KernelLimits limits)
        : rows_(rows), options_(options), value_bits_(value_bits), limits_(std::move(limits)) {}

    // For these targets of the rows. Member 0 has its grid where the data has it, the others at random shifts.
    Candidate find(std::span<const double> target, size_t member, uint64_t evaluations, RunContext& context) const;

  private:
    const TrainingColumns& rows_;
    const Options& options_;
    const int value_bits_;
    const KernelLimits limits_;
};

// Rows in the order of a member's strings, with these targets.
struct MemberRows {
    BitRows rows;
    std::vector<uint16_t> bits; // of the levels
    SortedRows sorted;
    Observations observations; // sorted

    MemberRows(const Encoding& encoding, const BitOrder& order, const TrainingColumns& columns,
               std::span<const double> target, RunContext& context);

    // By place in the order, of the rows sorted.rows.
    Normals leave_one_out(const Kernel& kernel, RunContext& context) const;
    Trie trie(const Kernel& kernel, RunContext& context) const;
};

} // namespace btml::gp
