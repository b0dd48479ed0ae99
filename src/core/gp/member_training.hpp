// How one member is trained: the search for its bit order and kernel, then its trie.
#pragma once

#include "core/gp/leave_one_out.hpp"
#include "core/gp/model.hpp"
#include "core/gp/order_search.hpp"

#include <functional>

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

// Of rows and observations in the order of their strings; row[i] is the row that they are of.
using LeaveOneOutUse =
    std::function<void(const Normals& latent, const Observations& sorted, std::span<const uint32_t> row)>;

// The trie of a member with these targets of the rows; `use` gets its leave-one-out predictions before it is built.
Trie build_trie(const Encoding& encoding, const BitOrder& order, const Kernel& kernel, const TrainingColumns& rows,
                std::span<const double> target, const LeaveOneOutUse& use, RunContext& context);

} // namespace btml::gp
