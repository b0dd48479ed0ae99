// Whether a plan is one that can be run: nothing is checked after that.
#pragma once

#include "core/relational/streamed/plan.hpp"

namespace btml::relational {

// Do the child's cells and groups take part in the parent's message? Otherwise its rows only let the parent's pass.
constexpr bool multiplies(StreamedJoin join) {
    return join == StreamedJoin::inner || join == StreamedJoin::left;
}

// What is wrong with it, as a sentence's part; null: nothing.
const char* flaw_of(const StreamedPlan& plan);

} // namespace btml::relational
