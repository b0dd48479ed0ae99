// Tables that Citus distributes. Nothing of Citus is linked: its catalog and its planner tell what there is to know.
#pragma once

#include "pg/source/query_rows.hpp"

#include <string>
#include <vector>

namespace btml::pg {

// A table of Citus, of any kind.
struct CitusTable {
    Oid table;
    std::string key; // the column by whose hash it is distributed; empty: it is not
    uint64_t shards;
    uint64_t servers; // that have shards
};

// The tables of Citus that the query reads, in its order; none where there is no Citus.
std::vector<CitusTable> citus_tables(const Query* query, RunContext& context);
bool has_distributed_table(const std::vector<CitusTable>& tables);

// Says whether Citus would compute a part of the query first, and send what comes out to all servers. Errors:
// PostgreSQL's own, and those of Citus for what it cannot plan.
bool has_distributed_subplan(Query* query);

// Takes a row; returns false when it has enough.
using TakeRow = std::function<bool(const Datum* values, const bool* nulls)>;

// Plans and runs the query as run_query, with one connection to each server, which a transaction's queries then have in
// common; what Citus makes of the query has literals as its servers read them.
void run_over_shards(const std::string& sql, RunContext& context, const TakeRow& take);
// query: the parsed SQL, with addresses of rows put in.
void run_over_shards(const Query* query, const std::string& sql, RunContext& context, const TakeRow& take);

} // namespace btml::pg
