// Trains members: a search finds bit order and kernel, then the trie is built.
#pragma once

#include "core/gp/gp_model.hpp"

namespace btml::gp {

struct Candidate {
    Encoding encoding;
    OrderedKernel found;
};

class MemberTraining {
  public:
    // Keeps references to the rows and the options. encoding: of the rows, without shifts.
    MemberTraining(const TrainingColumns& rows, const Options& options, Encoding encoding, KernelLimits limits)
        : rows_(rows), options_(options), encoding_(std::move(encoding)), limits_(std::move(limits)) {}

    // Finds a member. Member 0 has its grid where the data has it, the others at random
    // shifts.
    Candidate find(size_t member, uint64_t evaluations, RunContext& context) const;

  private:
    const TrainingColumns& rows_;
    const Options& options_;
    const Encoding encoding_;
    const KernelLimits limits_;
};

// Holds rows in the order of a member's strings.
struct MemberRows : StringRows {
    Observations observations; // sorted

    MemberRows(const Encoding& encoding, const BitOrder& order, const TrainingColumns& columns, RunContext& context);

    // Predicts by place in the order, of the rows sorted.rows.
    Normals leave_one_out(const Kernel& kernel, RunContext& context) const;
    Trie trie(const Kernel& kernel, RunContext& context) const;
};

} // namespace btml::gp
