// Reading a table in a random order of its blocks.
#pragma once

#include "pg/bridge/guard.hpp"

namespace btml::pg {

// Queries that together give the rows of `query`, each those of a few neighbouring blocks of its table, in a random
// order that the seed decides. Error not_supported unless the query reads one table as it is stored: without joins,
// grouping, sorting or a limit.
std::vector<const Query*> block_queries(const Query* query, uint64_t seed);

} // namespace btml::pg
