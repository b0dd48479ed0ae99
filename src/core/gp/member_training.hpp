// Trains members: a search finds bit order and kernel, then the trie is built.
#pragma once

#include "core/gp/gp_model.hpp"

namespace btml::gp {

struct Candidate {
    Encoding encoding;
    OrderedKernel found;
};

// Finds a member. Member 0 has its grid where the data has it, the others at random shifts. encoding: of the rows,
// without shifts.
Candidate find_member(const TrainingColumns& rows, const Options& options, const Encoding& encoding,
                      KernelLimits limits, size_t member, uint64_t evaluations, RunContext& context);

// Holds rows in the order of a member's strings.
struct MemberRows : StringRows {
    Observations observations; // sorted

    MemberRows(const Encoding& encoding, const BitOrder& order, const TrainingColumns& columns, RunContext& context);

    // Predicts by place in the order, of the rows sorted.rows.
    Normals leave_one_out(const Kernel& kernel, RunContext& context) const;
    Trie trie(const Kernel& kernel, RunContext& context) const;
};

} // namespace btml::gp
