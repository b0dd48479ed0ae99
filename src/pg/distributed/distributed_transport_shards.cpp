// Fits over tables of Citus: it plans one query for all servers, and adds up what their aggregates answer.
#include "pg/bridge/nodes.hpp"
#include "pg/distributed/distributed_transport.hpp"
#include "pg/source/analysis.hpp"
#include "pg/source/read_tables.hpp"
#include "pg/source/row_address.hpp"

#include <map>
#include <set>

extern "C" {
#include "catalog/pg_inherits.h"
#include "catalog/pg_operator.h"
#include "utils/syscache.h"
#include "utils/typcache.h"
}

namespace btml::pg {

namespace {

// As many as a row's chance to be updated or deleted meanwhile asks for.
constexpr size_t max_rows = 16;

// Rows of one shard of a table, each of which leads to the backend that holds the shard.
struct Address {
    std::set<std::string> keys, rows; // literals of the distribution column's values, and of ctids
};

std::string literal(const std::string& text) {
    const char* const bytes = text.c_str();
    return pg_call([=] { return quote_literal_cstr(bytes); });
}

// A condition that a column has one of these values. The search path has no say in it.
std::string is_among(const std::string& column, const std::string& equals, const std::set<std::string>& literals,
                     const std::string& type) {
    std::string list;
    for (const std::string& value : literals) list += (list.empty() ? "" : ", ") + value;
    return column + " " + equals + " ANY (ARRAY[" + list + "]::" + type + "[])";
}

std::string is_row_among(const std::set<std::string>& literals) {
    return is_among("ctid", "OPERATOR(pg_catalog.=)", literals, "pg_catalog.tid");
}

// The distribution column of a table.
class DistributionColumn {
  public:
    explicit DistributionColumn(const CitusTable& table) : name_(quoted_name(table.key)) {
        pg_call([&] {
            const AttrNumber number = get_attnum(table.table, table.key.c_str());
            type_ = get_atttype(table.table, number);
            // What the column's own operator compares it with, which Citus finds shards by.
            const TypeCacheEntry* const entry = lookup_type_cache(type_, TYPECACHE_EQ_OPR);
            Oid left;
            op_input_types(entry->eq_opr, &left, &other_);
            if (IsPolymorphicType(other_)) other_ = type_;
            operator_ = entry->eq_opr;
            bool is_variable;
            getTypeOutputInfo(type_, &output_, &is_variable);
        });
    }

    const std::string& name() const { return name_; }
    std::string literal_of(Datum value) const {
        return pg_call([=, this] { return quote_literal_cstr(OidOutputFunctionCall(output_, value)); });
    }
    std::string is_among(const std::set<std::string>& literals) const {
        const char* const equals = pg_call([this] {
            return psprintf("OPERATOR(%s.%s)", quote_identifier(get_namespace_name(namespace_of(operator_))),
                            get_opname(operator_));
        });
        const char* const type =
            pg_call([this] { return format_type_extended(other_, -1, FORMAT_TYPE_FORCE_QUALIFY); });
        return pg::is_among(name_, equals, literals, type);
    }

  private:
    static Oid namespace_of(Oid number) {
        const HeapTuple tuple = SearchSysCache1(OPEROID, ObjectIdGetDatum(number));
        const Oid found = reinterpret_cast<const FormData_pg_operator*>(GETSTRUCT(tuple))->oprnamespace;
        ReleaseSysCache(tuple);
        return found;
    }

    const std::string name_;
    Oid type_, other_, operator_, output_;
};

std::string text_at(const Datum* values, int i) {
    const Datum value = values[i];
    return pg_call([=] { return TextDatumGetCString(value); });
}

// What the aggregate of a query answers.
std::vector<BackendAnswer> answers_of(const Query* query, const std::string& sql, RunContext& context) {
    std::vector<BackendAnswer> answers;
    const auto take = [&](const Datum* values, const bool* nulls) {
        if (!nulls[0]) answers = backend_answers(values[0]);
        return true;
    };
    run_over_shards(query, sql, context, take);
    return answers;
}

Query* addressed_query(const LoadQuery& load) {
    Query* const query = parsed_query(load.sql);
    if (load.addressed) put_row_address(query, *load.addressed);
    return query;
}

class ShardTransport : public FitTransport {
  public:
    explicit ShardTransport(std::vector<CitusTable> tables) : tables_(std::move(tables)) {}

    void check(const LoadQuery& load, RunContext&) override {
        if (!has_distributed_subplan(addressed_query(load))) return;
        for (const ReadTable* const read : read_tables(parsed_query(load.sql)))
            if (std::none_of(tables_.begin(), tables_.end(),
                             [=](const CitusTable& table) { return table.table == read->table; }))
                throw Error(ErrorCode::not_supported,
                            format("table %s is on this server only", qualified(read->table).c_str()),
                            "Citus would send its rows to all others.",
                            "create_reference_table() gives all servers a copy that they join with.");
        throw Error(ErrorCode::not_supported, "Citus would not compute the source where its rows are", "",
                    "EXPLAIN shows what it computes first as a Distributed Subplan.");
    }

    void read(const std::string& sql, RunContext& context, const Take& take) override {
        const auto take_row = [&](const Datum* values, const bool* nulls) { return nulls[0] || take(values[0]); };
        run_over_shards(sql, context, take_row);
    }

    void hold(const LoadQuery& load, const FitToken& token, RunContext& context) override {
        context.progress("servers read their rows", 0, 0);
        for (const BackendAnswer& answer : answers_of(addressed_query(load), load.sql, context))
            backends_.insert(answer.backend);
        for (const CitusTable& table : tables_) {
            if (backends_.empty() || table.key.empty()) continue;
            through_ = &table;
            conditions_.clear();
            if (finds_ways(backends_, token, context)) return;
        }
        if (!backends_.empty())
            throw Error(ErrorCode::not_supported, "servers hold rows of the source without a row of their own", "",
                        "Each row of the source must come from a row of a distributed table.");
    }

    // Servers have copies of a reference table, with ctids of their own.
    std::string obstacle_to_addresses(Oid table, RunContext&) override {
        const auto is_distributed = [=](const CitusTable& of) { return of.table == table && !of.key.empty(); };
        if (std::none_of(tables_.begin(), tables_.end(), is_distributed))
            return format("Each server has a copy of table %s.", qualified(table).c_str());
        if (pg_call([=] { return has_subclass(table); }))
            return format("Rows of table %s are in its partitions.", qualified(table).c_str());
        return "";
    }

    size_t backends() const override { return backends_.size(); }

    std::vector<Bytes> exchange(const FitToken& token, uint64_t round, const Bytes& message,
                                RunContext& context) override {
        const FitMessage asked{token, round, FitMessage::Step::exchange};
        std::map<uint64_t, Bytes> answers;
        ask(asked, message, backends_, answers, context);
        std::set<uint64_t> left;
        for (const uint64_t backend : backends_)
            if (!answers.contains(backend)) left.insert(backend);
        // The rows that led to them are gone. Who has answered may not hold its rows any more.
        if (!left.empty() && finds_ways(left, token, context)) ask(asked, message, left, answers, context);
        std::vector<Bytes> found;
        for (const uint64_t backend : backends_) {
            const auto answer = answers.find(backend);
            if (answer == answers.end()) refuse_lost_rows("a server");
            found.push_back(std::move(answer->second));
        }
        return found;
    }

    std::string describe_parts() const override {
        return format("%" PRIu64 " shards by %s", through_->shards, through_->key.c_str());
    }

  private:
    using Addresses = std::map<uint64_t, std::map<std::string, Address>>; // by backend and shard

    void ask(const FitMessage& asked, const Bytes& message, const std::set<uint64_t>& backends,
             std::map<uint64_t, Bytes>& answers, RunContext& context) const {
        std::string condition;
        for (const uint64_t backend : backends)
            condition += (condition.empty() ? "" : " OR ") + conditions_.at(backend);
        const std::string sql =
            "SELECT " + message_call(asked, message) + " FROM " + qualified(through_->table) + " WHERE " + condition;
        for (BackendAnswer& answer : answers_of(parsed_query(sql), sql, context))
            if (answer.has_answer && backends_.contains(answer.backend))
                answers.emplace(answer.backend, std::move(answer.answer));
    }

    // Says whether it finds a place by which each of the backends is reached.
    bool finds_ways(const std::set<uint64_t>& backends, const FitToken& token, RunContext& context) {
        return finds_all(backends, first_rows(), token, context) ||
               finds_all(backends, some_rows(context), token, context);
    }

    // Where tables begin.
    static std::set<std::string> first_rows() {
        std::set<std::string> rows;
        for (size_t row = 1; row <= max_rows; row++) rows.insert(format("'(0,%zu)'", row));
        return rows;
    }

    // A row of each shard.
    std::set<std::string> some_rows(RunContext& context) const {
        std::set<std::string> rows;
        const auto take = [&](const Datum* values, const bool*) {
            rows.insert(literal(text_at(values, 1)));
            return true;
        };
        const std::string sql = "SELECT tableoid::pg_catalog.regclass::pg_catalog.text,"
                                " pg_catalog.min(ctid::pg_catalog.text) FROM " +
                                qualified(through_->table) + " GROUP BY 1";
        run_over_shards(sql, context, take);
        return rows;
    }

    // Says whether the rows with these ctids, in any shard, lead to all of these backends.
    bool finds_all(const std::set<uint64_t>& backends, const std::set<std::string>& rows, const FitToken& token,
                   RunContext& context) {
        if (rows.empty()) return false;
        const DistributionColumn key(*through_);
        const std::string sql = "SELECT " + message_call({token, 0, FitMessage::Step::find}, {}) +
                                ", tableoid::pg_catalog.regclass::pg_catalog.text, ctid::pg_catalog.text, " +
                                key.name() + " FROM " + qualified(through_->table) + " WHERE " + is_row_among(rows) +
                                " GROUP BY tableoid, ctid, " + key.name();
        Addresses found;
        const auto take = [&](const Datum* values, const bool* nulls) {
            if (nulls[0]) return true;
            for (const BackendAnswer& answer : backend_answers(values[0])) {
                Address& address = found[answer.backend][text_at(values, 1)];
                if (address.rows.size() == max_rows) continue;
                address.rows.insert(literal(text_at(values, 2)));
                address.keys.insert(key.literal_of(values[3]));
            }
            return true;
        };
        run_over_shards(sql, context, take);
        for (const uint64_t backend : backends)
            if (const auto shards = found.find(backend); shards != found.end())
                conditions_[backend] = condition_among(shards->second, key);
        return std::all_of(backends.begin(), backends.end(), [&](uint64_t backend) { return found.contains(backend); });
    }

    // A condition that is true for the rows of one shard alone: a message is one task for each backend.
    static std::string condition_among(const std::map<std::string, Address>& shards, const DistributionColumn& key) {
        const auto [shard, address] = *std::max_element(shards.begin(), shards.end(), [](const auto& a, const auto& b) {
            return a.second.rows.size() < b.second.rows.size();
        });
        return "(" + key.is_among(address.keys) + " AND " + is_row_among(address.rows) + ")";
    }

    const std::vector<CitusTable> tables_;
    std::set<uint64_t> backends_;                // that hold rows
    const CitusTable* through_ = nullptr;        // the table whose rows lead to them
    std::map<uint64_t, std::string> conditions_; // by backend, a condition that is true for such rows
};

} // namespace

std::unique_ptr<FitTransport> shard_transport(std::vector<CitusTable> tables) {
    return std::make_unique<ShardTransport>(std::move(tables));
}

} // namespace btml::pg
