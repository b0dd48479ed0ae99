// What the columns of the tables around a thing hold.
#pragma once

#include "core/features/candidates.hpp"
#include "pg/bridge/backend_context.hpp"

namespace btml::pg {

// Has the request answer what columns hold, by queries that run when it is asked. last: the greatest as_of in seconds
// since 1970, as text, after which rows do not count; empty where all do. request and context outlive the answers.
void answer_by_queries(features::CandidateRequest& request, const std::string& last, RunContext& context);

} // namespace btml::pg
