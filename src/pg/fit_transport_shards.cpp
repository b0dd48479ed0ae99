// Fits over tables of Citus: it plans one query for all servers, and adds up what their aggregates answer.
#include "pg/bridge/analysis.hpp"
#include "pg/bridge/nodes.hpp"
#include "pg/bridge/read_tables.hpp"
#include "pg/fit_transport.hpp"

#include <map>
#include <set>

namespace btml::pg {

namespace {

// As many as a row's chance to be updated or deleted meanwhile asks for.
constexpr size_t max_rows = 16;

// Rows of one shard of a table, each of which leads to the backend that holds the shard.
struct Address {
    std::set<std::string> keys, rows; // the distribution column's values, and ctids
};

std::string literal(const std::string& text) {
    const char* const bytes = text.c_str();
    return pg_call([=] { return quote_literal_cstr(bytes); });
}

std::string literals(const std::set<std::string>& texts) {
    std::string list;
    for (const std::string& text : texts) list += (list.empty() ? "" : ", ") + literal(text);
    return list;
}

std::string text_at(const Datum* values, int i) {
    const Datum value = values[i];
    return pg_call([=] { return TextDatumGetCString(value); });
}

// What the aggregate of a query answers.
std::vector<BackendAnswer> answers_of(const std::string& sql, RunContext& context) {
    std::vector<BackendAnswer> answers;
    const auto take = [&](const Datum* values, const bool* nulls) {
        if (!nulls[0]) answers = backend_answers(values[0]);
        return true;
    };
    for_each_row(context, take, [&](RowSink& sink) { run_over_shards(sql, sink, context); });
    return answers;
}

class ShardTransport : public FitTransport {
  public:
    explicit ShardTransport(std::vector<CitusTable> tables) : tables_(std::move(tables)) {}

    void check(const std::string& load, RunContext&) override {
        if (!has_distributed_subplan(load)) return;
        for (const ReadTable* const read : read_tables(parsed_query(load)))
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
        for_each_row(context, take_row, [&](RowSink& sink) { run_over_shards(sql, sink, context); });
    }

    void hold(const std::string& load, const FitToken& token, RunContext& context) override {
        context.progress("servers read their rows", 0, 0);
        for (const BackendAnswer& answer : answers_of(load, context)) backends_.insert(answer.backend);
        for (const CitusTable& table : tables_) {
            if (backends_.empty() || table.key.empty()) continue;
            through_ = &table;
            if (finds_ways(token, context)) return;
        }
        if (!backends_.empty())
            throw Error(ErrorCode::not_supported, "servers hold rows of the source without a row of their own", "",
                        "Each row of the source must come from a row of a distributed table.");
    }

    size_t backends() const override { return backends_.size(); }

    std::vector<Bytes> exchange(const FitToken& token, uint64_t round, const Bytes& message,
                                RunContext& context) override {
        std::map<uint64_t, Bytes> answers;
        ask({token, round, FitMessage::Step::exchange}, message, answers, context);
        // The rows that led to the others are gone. Who has answered does nothing when asked again.
        if (answers.size() < backends_.size() && finds_ways(token, context))
            ask({token, round, FitMessage::Step::exchange}, message, answers, context);
        std::vector<Bytes> found;
        for (const uint64_t backend : backends_) {
            const auto answer = answers.find(backend);
            if (answer == answers.end()) refuse_lost_rows("a server");
            found.push_back(std::move(answer->second));
        }
        return found;
    }

    std::string places() const override {
        return format("%" PRIu64 " shards by %s", through_->shards, through_->key.c_str());
    }

  private:
    using Addresses = std::map<uint64_t, std::map<std::string, Address>>; // by backend and shard

    void ask(const FitMessage& asked, const Bytes& message, std::map<uint64_t, Bytes>& answers,
             RunContext& context) const {
        const std::string sql =
            "SELECT " + message_call(asked, message) + " FROM " + qualified(through_->table) + " WHERE " + places_;
        for (BackendAnswer& answer : answers_of(sql, context))
            if (answer.has_answer && backends_.contains(answer.backend))
                answers.emplace(answer.backend, std::move(answer.answer));
    }

    bool finds_ways(const FitToken& token, RunContext& context) {
        return finds_all(first_rows(), token, context) || finds_all(some_rows(context), token, context);
    }

    // Where tables begin.
    static std::set<std::string> first_rows() {
        std::set<std::string> rows;
        for (size_t row = 1; row <= max_rows; row++) rows.insert(format("(0,%zu)", row));
        return rows;
    }

    // One of each shard.
    std::set<std::string> some_rows(RunContext& context) const {
        std::set<std::string> rows;
        const auto take = [&](const Datum* values, const bool*) {
            rows.insert(text_at(values, 1));
            return true;
        };
        const std::string sql = "SELECT tableoid::pg_catalog.regclass::pg_catalog.text,"
                                " pg_catalog.min(ctid::pg_catalog.text) FROM " +
                                qualified(through_->table) + " GROUP BY 1";
        for_each_row(context, take, [&](RowSink& sink) { run_over_shards(sql, sink, context); });
        return rows;
    }

    // Says whether the rows with these ctids, in any shard, lead to all backends that hold rows.
    bool finds_all(const std::set<std::string>& rows, const FitToken& token, RunContext& context) {
        if (rows.empty()) return false;
        const std::string key = quoted(through_->key);
        const std::string sql = "SELECT " + message_call({token, 0, FitMessage::Step::find}, {}) +
                                ", tableoid::pg_catalog.regclass::pg_catalog.text, ctid::pg_catalog.text, " + key +
                                "::pg_catalog.text FROM " + qualified(through_->table) + " WHERE ctid IN (" +
                                literals(rows) + ") GROUP BY tableoid, ctid, " + key;
        Addresses found;
        const auto take = [&](const Datum* values, const bool* nulls) {
            if (nulls[0]) return true;
            for (const BackendAnswer& answer : backend_answers(values[0])) {
                Address& address = found[answer.backend][text_at(values, 1)];
                if (address.rows.size() == max_rows) continue;
                address.rows.insert(text_at(values, 2));
                address.keys.insert(text_at(values, 3));
            }
            return true;
        };
        for_each_row(context, take, [&](RowSink& sink) { run_over_shards(sql, sink, context); });
        places_ = places_among(found, key);
        return std::all_of(backends_.begin(), backends_.end(),
                           [&](uint64_t backend) { return found.contains(backend); });
    }

    // A condition that is true for the rows of one shard of each backend: a message is one task for each.
    std::string places_among(const Addresses& found, const std::string& key) const {
        std::string places;
        for (const uint64_t backend : backends_) {
            const auto shards = found.find(backend);
            if (shards == found.end()) continue;
            const auto [shard, address] =
                *std::max_element(shards->second.begin(), shards->second.end(), [](const auto& a, const auto& b) {
                    return a.second.rows.size() < b.second.rows.size();
                });
            places += std::string(places.empty() ? "" : " OR ") + "(" + key + " IN (" + literals(address.keys) +
                      ") AND ctid IN (" + literals(address.rows) + "))";
        }
        return places;
    }

    const std::vector<CitusTable> tables_;
    std::set<uint64_t> backends_;         // that hold rows
    const CitusTable* through_ = nullptr; // the table whose rows lead to them
    std::string places_;                  // the condition that is true for such rows
};

} // namespace

std::unique_ptr<FitTransport> shard_transport(std::vector<CitusTable> tables) {
    return std::make_unique<ShardTransport>(std::move(tables));
}

} // namespace btml::pg
