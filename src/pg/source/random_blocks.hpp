// Reading a table in a random order of its blocks.
#pragma once

#include "pg/bridge/guard.hpp"

namespace btml::pg {

// Queries that together give the rows of `query`, each those of a few neighbouring blocks of its table, in a random
// order that the seed decides. Error not_supported unless the query reads one table as it is stored: without joins,
// grouping, sorting or a limit, no partitions, children, foreign table or other access method than heap.
std::vector<const Query*> block_queries(const Query* query, uint64_t seed);
// Error not_supported where such a query, which has given rows, reads no block: a distributed engine took them from
// other servers.
void require_blocks(const Query* query);
// Returns how many blocks a table has. A call of the server.
uint32_t blocks_of(Oid table);

// Tells whether parts of a table can be read by block; access methods that store columns do not. A call of the server.
bool is_heap(Oid table);

} // namespace btml::pg
