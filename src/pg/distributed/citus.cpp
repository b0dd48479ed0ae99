#include "pg/distributed/citus.hpp"

#include "pg/bridge/nodes.hpp"
#include "pg/source/analysis.hpp"
#include "pg/source/read_tables.hpp"

#include <map>

extern "C" {
#include "catalog/pg_namespace.h"
}

namespace btml::pg {

std::vector<CitusTable> citus_tables(const Query* query, RunContext& context) {
    const bool has_citus =
        pg_call([] { return OidIsValid(get_relname_relid("pg_dist_partition", PG_CATALOG_NAMESPACE)); });
    const ItemsOf<const ReadTable> read = read_tables(query);
    if (!has_citus || read.size() == 0) return {};
    std::string oids;
    for (const ReadTable* const table : read) oids += (oids.empty() ? "" : ",") + std::to_string(table->table);
    std::map<Oid, CitusTable> found;
    EachRow sink([&](const Datum* values, const bool* nulls) {
        CitusTable& table = found[DatumGetObjectId(values[0])];
        table.table = DatumGetObjectId(values[0]);
        if (!nulls[1]) table.key = pg_call([=] { return TextDatumGetCString(values[1]); });
        table.shards = static_cast<uint64_t>(DatumGetInt64(values[2]));
        table.servers = static_cast<uint64_t>(DatumGetInt64(values[3]));
        return true;
    });
    const std::string sql =
        "SELECT p.logicalrelid::pg_catalog.oid,"
        " CASE WHEN p.partmethod OPERATOR(pg_catalog.=) 'h'::pg_catalog.\"char\""
        " THEN pg_catalog.column_to_column_name(p.logicalrelid, p.partkey) END,"
        " s.shards, s.servers"
        " FROM pg_catalog.pg_dist_partition p, LATERAL"
        " (SELECT pg_catalog.count(DISTINCT s.shardid) AS shards, pg_catalog.count(DISTINCT l.groupid) AS servers"
        " FROM pg_catalog.pg_dist_shard s JOIN pg_catalog.pg_dist_placement l"
        " ON l.shardid OPERATOR(pg_catalog.=) s.shardid WHERE s.logicalrelid::pg_catalog.oid"
        " OPERATOR(pg_catalog.=) p.logicalrelid::pg_catalog.oid) s"
        " WHERE p.logicalrelid::pg_catalog.oid OPERATOR(pg_catalog.=) ANY ('{" +
        oids + "}'::pg_catalog.oid[])";
    run_query(parsed_query(sql), sql.c_str(), sink, nullptr, context);
    std::vector<CitusTable> tables;
    for (const ReadTable* const table : read)
        if (const auto at = found.find(table->table); at != found.end()) tables.push_back(at->second);
    return tables;
}

bool has_distributed_table(const std::vector<CitusTable>& tables) {
    return std::any_of(tables.begin(), tables.end(), [](const CitusTable& table) { return !table.key.empty(); });
}

bool has_distributed_subplan(Query* query) {
    return pg_call([=] {
        // What was computed first is read by this function. Citus's own part of a plan can be looked at as text only.
        const Oid reader = DatumGetObjectId(DirectFunctionCall1(
            regprocedurein,
            CStringGetDatum("pg_catalog.read_intermediate_result(text, pg_catalog.citus_copy_format)")));
        const PlannedStmt* const plan = pg_plan_query(query, "", 0, nullptr);
        return strstr(nodeToString(plan), psprintf(":funcid %u ", reader)) != nullptr;
    });
}

void run_over_shards(const std::string& sql, RunContext& context, const TakeRow& take) {
    run_over_shards(parsed_query(sql), sql, context, take);
}

// A setting holds until the query's end, or until the transaction's end that an error brings.
void run_over_shards(const Query* query, const std::string& sql, RunContext& context, const TakeRow& take) {
    const int level = pg_call([] {
        const int outer = NewGUCNestLevel();
        for (const auto& [name, value] :
             {std::pair("citus.max_adaptive_executor_pool_size", "1"), std::pair("standard_conforming_strings", "on")})
            set_config_option(name, value, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
        return outer;
    });
    EachRow sink([&](const Datum* values, const bool* nulls) {
        context.poll();
        return take(values, nulls);
    });
    run_query(query, sql.c_str(), sink, nullptr, context);
    pg_call([=] { AtEOXact_GUC(true, level); });
}

} // namespace btml::pg
