// How the queries of a fit reach the servers that hold its rows.
#pragma once

#include "pg/distributed/citus.hpp"
#include "pg/distributed/distributed_messages.hpp"

namespace btml::pg {

// A query that has servers hold rows.
struct LoadQuery {
    std::string sql;
    std::optional<int> addressed; // the source's output whose row's address replaces NULL::tid
};

class FitTransport {
  public:
    using Take = std::function<bool(Datum value)>; // returns false when it has enough

    virtual ~FitTransport() = default;

    // Errors: PostgreSQL's own; not_supported naming what cannot be computed where the rows are.
    virtual void check(const LoadQuery& load, RunContext& context) = 0;
    // Gives the values of a query's first column, but for NULLs. It may run once for each part of the rows.
    virtual void read(const std::string& sql, RunContext& context, const Take& take) = 0;
    // Has all servers hold their rows, after check(), and finds rows by which the backends that do are reached.
    virtual void hold(const LoadQuery& load, const FitToken& token, RunContext& context) = 0;
    // Says, after hold(), why addresses of the table's rows do not tell these apart; empty where they do.
    virtual std::string obstacle_to_addresses(Oid table, RunContext& context) = 0;

    virtual size_t backends() const = 0;
    // Gives all backends a message, and returns what they answer. Error internal where rows are not held any more.
    virtual std::vector<Bytes> exchange(const FitToken& token, uint64_t round, const Bytes& message,
                                        RunContext& context) = 0;
    // Says in which parts the rows stay, as in "6 partitions".
    virtual std::string describe_parts() const = 0;
};

// Over one partitioned table whose partitions are foreign tables of postgres_fdw, or several joined by partition.
std::unique_ptr<FitTransport> partition_transport();
// Over tables of Citus, one of which is distributed at least. Its fits run in a subtransaction, which has Citus keep
// the transactions of its connections open from one query to the next.
std::unique_ptr<FitTransport> shard_transport(std::vector<CitusTable> tables);

// An expression without a backslash, whose meaning is a setting's.
std::string bytea_literal(std::span<const std::byte> bytes);
std::string quoted_name(const std::string& name);
std::string qualified(Oid table);
// The aggregate that brings a message.
std::string message_call(const FitMessage& message, const Bytes& bytes);
[[noreturn]] void refuse_lost_rows(const std::string& what);

} // namespace btml::pg
