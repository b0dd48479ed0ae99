// Fits over partitions: PostgreSQL ships an aggregate of one foreign table to its server, and asks one after another.
#include "pg/bridge/subtransaction.hpp"
#include "pg/distributed/distributed_transport.hpp"
#include "pg/source/partitions.hpp"

#include <map>
#include <optional>

extern "C" {
#include "mb/pg_wchar.h"
}

namespace btml::pg {

namespace {

// What is to be done on a server about an error of its, as a format of its name; null where that is not known.
const char* hint_of(int code) {
    switch (code) {
    case ERRCODE_OUT_OF_MEMORY:
        return "It is the memory of server \"%s\": raise btml.memory_limit there, of the role that its user mapping "
               "names.";
    case ERRCODE_UNDEFINED_SCHEMA:
    case ERRCODE_UNDEFINED_FUNCTION:
        return "Server \"%s\" needs the same version of btml: run CREATE EXTENSION btml, or ALTER EXTENSION btml "
               "UPDATE, there.";
    case ERRCODE_INSUFFICIENT_PRIVILEGE:
        return "Server \"%s\" must grant the right to lead a fit, and its tables, to the role that its user mapping "
               "names.";
    default:
        return nullptr;
    }
}

// Has errors of a server, which come with the command that was sent, say what is to be done there, and repeat the
// command's beginning alone.
template <class Work>
void on_server(const PartitionedQuery& query, size_t partition, const Work& work) {
    try {
        work();
    } catch (const PgError& error) {
        constexpr int max_context = 300;
        ErrorData* const data = error.data;
        if (!data->context) throw;
        const std::string server = query.server_of(partition);
        pg_call([=, name = server.c_str()] {
            if (const char* const hint = hint_of(data->sqlerrcode)) data->hint = psprintf(hint, name);
            const int length = pg_mbcliplen(data->context, static_cast<int>(strlen(data->context)), max_context);
            data->context = pnstrdup(data->context, static_cast<Size>(length));
        });
        throw;
    }
}

// Gives the first column's values for a partition, but for NULLs. Returns whether take() always wanted more.
template <class Take>
bool read_partition(const PartitionedQuery& query, size_t partition, RunContext& context, const Take& take) {
    bool more = true;
    EachRow sink([&](const Datum* values, const bool* nulls) {
        context.poll();
        if (!nulls[0]) more = take(values[0]);
        return more;
    });
    on_server(query, partition, [&] { query.run(partition, sink, nullptr, context); });
    return more;
}

// What the aggregate of a query answers for a partition.
std::vector<BackendAnswer> answers_of(const PartitionedQuery& query, size_t partition, RunContext& context) {
    std::vector<BackendAnswer> answers;
    read_partition(query, partition, context, [&](Datum state) {
        answers = backend_answers(state);
        return true;
    });
    return answers;
}

[[noreturn]] void refuse_to_read_here(const PartitionedQuery& query, size_t partition) {
    const char* const shipped =
        "postgres_fdw ships columns, conditions and expressions of built-in types, functions and operators whose "
        "results are the same everywhere; of the source no GROUP BY, DISTINCT, ORDER BY, LIMIT or sub-query.";
    throw Error(
        ErrorCode::not_supported,
        format("rows of partition \"%s\" would be read here, not where they are", query.name_of(partition).c_str()),
        format("PostgreSQL does not ship the query to server \"%s\".", query.server_of(partition).c_str()),
        query.ships_extension(partition)
            ? shipped
            : format("ALTER SERVER %s OPTIONS (ADD extensions 'btml') has functions of btml shipped.",
                     quoted_name(query.server_of(partition)).c_str()));
}

class PartitionTransport : public FitTransport {
  public:
    void check(const LoadQuery& load, RunContext& context) override {
        const PartitionedQuery query(load.sql, load.addressed);
        for (size_t partition = 0; partition < query.partitions(); partition++)
            if (query.is_read_here(partition)) refuse_to_read_here(query, partition);
        find_rows(query, context);
    }

    void read(const std::string& sql, RunContext& context, const Take& take) override {
        const PartitionedQuery query(sql);
        for (size_t partition = 0; partition < query.partitions(); partition++)
            if (!read_partition(query, partition, context, take)) return;
    }

    void hold(const LoadQuery& load, const FitToken&, RunContext& context) override {
        load_.emplace(load.sql, load.addressed);
        std::map<uint64_t, size_t> places; // by backend
        for (size_t partition = 0; partition < load_->partitions(); partition++) {
            context.progress("servers read their rows", partition, load_->partitions());
            for (const BackendAnswer& answer : answers_of(*load_, partition, context)) {
                size_t& place = places.try_emplace(answer.backend, partition).first->second;
                if (rows_[place].empty()) place = partition;
            }
        }
        for (const auto& [backend, partition] : places) {
            // An outer join has rows of another table for a partition that is empty.
            if (rows_[partition].empty())
                throw Error(ErrorCode::not_supported, "a server has no row of the first table of the join", "",
                            "Name first in the join the table of which each row of the source has one.");
            places_.emplace_back(partition, backend);
        }
        std::sort(places_.begin(), places_.end());
    }

    // A foreign table may stand for several tables: its server's partitions of it, say.
    std::string obstacle_to_addresses(Oid table, RunContext& context) override {
        const PartitionedQuery query("pg_catalog.count(*) OPERATOR(pg_catalog.=) pg_catalog.count(DISTINCT ctid)", "",
                                     *load_, table);
        bool are_distinct = true;
        for (size_t partition = 0; partition < query.partitions(); partition++) {
            read_partition(query, partition, context, [&](Datum same) { return are_distinct = DatumGetBool(same); });
            if (!are_distinct)
                return format("Partition \"%s\" stands for several tables on its server.",
                              query.name_of(partition).c_str());
        }
        return "";
    }

    size_t backends() const override { return places_.size(); }

    // All servers work at once: each gets the message before the first answer is waited for.
    std::vector<Bytes> exchange(const FitToken& token, uint64_t round, const Bytes& message,
                                RunContext& context) override {
        std::vector<Bytes> answers;
        for (const auto& [partition, backend] : places_)
            ask(partition, backend, {token, round, FitMessage::Step::give}, message, context);
        for (const auto& [partition, backend] : places_)
            answers.push_back(ask(partition, backend, {token, round, FitMessage::Step::collect}, {}, context));
        return answers;
    }

    std::string describe_parts() const override {
        const size_t count = load_->partitions();
        return format("%zu partition%s", count, count == 1 ? "" : "s");
    }

  private:
    // The rows by which the partitions' servers are reached. Error not_supported where rows have no address.
    void find_rows(const PartitionedQuery& load, RunContext& context) {
        const PartitionedQuery query("ctid::pg_catalog.text", "LIMIT 1", load);
        size_t partition = 0;
        rows_.assign(load.partitions(), "");
        const auto find = [&] {
            for (; partition < load.partitions(); partition++)
                read_partition(query, partition, context, [&](Datum row) {
                    rows_[partition] = pg_call([=] { return TextDatumGetCString(row); });
                    return true;
                });
            return true;
        };
        try {
            in_subtransaction(find);
        } catch (const PgError& error) {
            if (error.data->sqlerrcode != ERRCODE_UNDEFINED_COLUMN) throw;
            throw Error(ErrorCode::not_supported,
                        format("partition \"%s\" is no table on its server", load.name_of(partition).c_str()),
                        "Its rows have no ctid, by which they are reached there.",
                        "Foreign tables over views are fetched by the other strategies.");
        }
    }

    Bytes ask(size_t partition, uint64_t backend, const FitMessage& message, const Bytes& bytes, RunContext& context) {
        const PartitionedQuery query(message_call(message, bytes),
                                     "WHERE ctid OPERATOR(pg_catalog.=) '" + rows_[partition] + "'::pg_catalog.tid",
                                     *load_);
        const std::vector<BackendAnswer> found = answers_of(query, partition, context);
        if (found.size() != 1 || found[0].backend != backend ||
            found[0].has_answer != (message.step == FitMessage::Step::collect))
            refuse_lost_rows(format("partition \"%s\"", query.name_of(partition).c_str()));
        return found[0].answer;
    }

    std::optional<PartitionedQuery> load_;
    std::vector<std::string> rows_;                   // by partition: a ctid, empty where there is none
    std::vector<std::pair<size_t, uint64_t>> places_; // partitions by which backends are reached
};

} // namespace

std::unique_ptr<FitTransport> partition_transport() {
    return std::make_unique<PartitionTransport>();
}

} // namespace btml::pg
