// Joins of partitioned tables whose rows meet within partitions only.
#pragma once

#include "pg/bridge/postgres.hpp"

#include <vector>

namespace btml::pg {

// The table's partitions in the order of their bounds, those that are partitioned themselves included.
std::vector<Oid> direct_partitions(Oid table);

// Says whether two tables have the same partition key and bounds, so that their partitions are pairs.
bool are_partitioned_alike(Oid a, Oid b);

// Says whether the query, which reads so many partitioned tables, all of them alike, joins each with others by equality
// of all columns of the partition key, so that its rows are those that it has for pairs of partitions.
bool joins_by_partition(const Query* query, size_t tables);

} // namespace btml::pg
