// Queries of a partitioned table that are run for one of its partitions at a time.
#pragma once

#include "pg/source/query_rows.hpp"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace btml::pg {

// The foreign tables that a query reads, those among them that are partitions included.
struct ForeignTables {
    std::set<Oid> tables;
    std::set<std::string> servers;
    bool are_partitions = false; // some of them
};
ForeignTables foreign_tables(const Query* query);

// How many rows the planner expects of the query.
double expected_rows(const Query* query);

class PartitionedQuery {
  public:
    // Errors: PostgreSQL's own for SQL that cannot be parsed, found or permitted; not_supported where it does not read
    // one partitioned table whose partitions are all foreign tables, or several that are joined by partition.
    // addressed: as of put_row_address; NULL::tid stays where there is none.
    explicit PartitionedQuery(const std::string& sql, std::optional<int> addressed = {});
    // SELECT output FROM the partitions of one of the other query's tables, its first one unless told, with the rights
    // that the other has to it. Output and end read no columns but ctid.
    PartitionedQuery(const std::string& output, const std::string& end, const PartitionedQuery& other,
                     Oid table = InvalidOid);

    // How many there are that conditions leave rows of.
    size_t partitions() const { return tables_[0].partitions.size(); }
    std::string name_of(size_t partition) const;
    // The name of the partition's server.
    std::string server_of(size_t partition) const;
    // Says whether the partition's server has the extension among those that it is sent functions of.
    bool ships_extension(size_t partition) const;
    // Says whether rows of the partition would be fetched and aggregated here.
    bool is_read_here(size_t partition) const;
    // Runs the query as if the tables had this partition only.
    uint64_t run(size_t partition, RowSink& sink, const char* phase, RunContext& context) const;

  private:
    struct Table {
        Oid table;
        std::vector<Oid> partitions;
    };

    const std::vector<Oid>& partitions_of_table(Oid table) const;
    void leave_out_pruned();
    void check_partitions() const;
    Query* query_of(size_t partition) const;

    const std::string sql_;
    Query* query_; // after rewriting: the rights and the row security are the partitioned tables'
    Oid reader_;
    std::vector<Table> tables_;
};

} // namespace btml::pg
