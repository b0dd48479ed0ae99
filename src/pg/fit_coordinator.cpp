#include "pg/fit_coordinator.hpp"

#include "pg/bridge/feature_type.hpp"
#include "pg/bridge/function_rights.hpp"
#include "pg/bridge/nodes.hpp"
#include "pg/bridge/partitions.hpp"
#include "pg/bridge/result.hpp"
#include "pg/bridge/values.hpp"
#include "pg/distributed_fit.hpp"

#include <map>
#include <set>

namespace btml::pg {

using namespace boosting;

namespace {

// Calls take(value) for each row that the query has for a partition, with the first column's value, but for NULLs.
template <class Take>
void for_each_value(const PartitionedQuery& query, size_t partition, RunContext& context, const Take& take) {
    struct Sink : RowSink {
        Sink(RunContext& context_, const Take& take_) : context(context_), take(take_) {}
        void add(const Datum* values, const bool* nulls) override {
            context.poll();
            if (!nulls[0]) take(values[0]);
        }
        RunContext& context;
        const Take& take;
    } sink(context, take);
    query.run(partition, sink, nullptr, context);
}

// Has no backslash, whose meaning is a setting's.
std::string bytea_literal(std::span<const std::byte> bytes) {
    static constexpr char digits[] = "0123456789abcdef";
    std::string text = "pg_catalog.decode('";
    text.reserve(text.size() + 2 * bytes.size() + 8);
    for (const std::byte byte : bytes) {
        text += digits[static_cast<unsigned>(byte) >> 4];
        text += digits[static_cast<unsigned>(byte) & 15];
    }
    return text + "', 'hex')";
}

// A source as it stands within another query.
std::string inner_query(std::string text) {
    while (!text.empty() && (text.back() == ';' || isspace(static_cast<unsigned char>(text.back())))) text.pop_back();
    return "(\n" + text + "\n)";
}

std::string quoted(const std::string& name) {
    const char* const text = name.c_str();
    return pg_call([=] { return quote_identifier(text); });
}

std::string qualified(Oid table) {
    return pg_call(
        [=] { return quote_qualified_identifier(get_namespace_name(get_rel_namespace(table)), get_rel_name(table)); });
}

// The column as a float8, as it would be read here.
std::string number_expression(const Source::Column& column) {
    const std::string name = "s." + quoted(column.name);
    const Oid type = column.type;
    const NumberKind kind = pg_call([=] { return number_kind(type); });
    if (kind == NumberKind::float8) return name;
    if (kind == NumberKind::boolean) return name + "::pg_catalog.int4::pg_catalog.float8";
    if (is_plain_number(kind)) return name + "::pg_catalog.float8";
    return "btml_internal.number(" + name + ")";
}

std::string text_expression(const Source::Column& column) {
    const Oid type = column.type;
    if (type != TEXTOID && type != VARCHAROID && type != BPCHAROID)
        throw Error(
            ErrorCode::not_supported,
            format("categories of type %s, in column \"%s\", cannot be shipped", type_name(type), column.name.c_str()),
            "", "Categories can be shipped as text, character varying, character and boolean.");
    return "s." + quoted(column.name) + "::pg_catalog.text";
}

std::string array(const std::vector<std::string>& elements, const char* type) {
    std::string list;
    for (const std::string& element : elements) list += (list.empty() ? "" : ", ") + element;
    return "ARRAY[" + list + "]::pg_catalog." + type + "[]";
}

// What the aggregate of a query answers for a partition.
std::vector<BackendAnswer> answers_of(const PartitionedQuery& query, size_t partition, RunContext& context) {
    std::vector<BackendAnswer> answers;
    for_each_value(query, partition, context, [&](Datum state) { answers = backend_answers(state); });
    return answers;
}

// The servers' backends, reached through one partition each.
class ServerPeers : public Coordinator {
  public:
    struct Place {
        uint64_t backend;
        size_t partition;
        std::string row; // a ctid of the partition
    };

    ServerPeers(const FitToken& token, const PartitionedQuery& load, std::vector<Place> places, RunContext& context)
        : Coordinator(places.size()), token_(token), load_(load), places_(std::move(places)), context_(context) {}

    uint64_t rounds() const { return round_; }

  private:
    // All servers work at once: each gets the message before the first answer is waited for.
    std::vector<Bytes> exchange(const Bytes& message) override {
        std::vector<Bytes> answers;
        for (const Place& place : places_) ask(place, false, message);
        for (const Place& place : places_) answers.push_back(ask(place, true, {}));
        round_++;
        return answers;
    }

    // Gives back what PostgreSQL allocates; after an error it all goes with the call.
    Bytes ask(const Place& place, bool collects, const Bytes& message) {
        const MemoryContext memory =
            pg_call([] { return AllocSetContextCreate(CurrentMemoryContext, "btml round", ALLOCSET_DEFAULT_SIZES); });
        const MemoryContext before = MemoryContextSwitchTo(memory);
        Bytes answer = ask_within(place, collects, message);
        MemoryContextSwitchTo(before);
        pg_call([=] { MemoryContextDelete(memory); });
        return answer;
    }

    Bytes ask_within(const Place& place, bool collects, const Bytes& message) {
        Bytes command = to_bytes(FitMessage{token_, round_, collects});
        command.insert(command.end(), message.begin(), message.end());
        const PartitionedQuery query("SELECT btml_internal.exchange_messages(" + bytea_literal(command) + ") FROM " +
                                         qualified(load_.table()) + " WHERE ctid = '" + place.row + "'",
                                     load_);
        const std::vector<BackendAnswer> found = answers_of(query, place.partition, context_);
        if (found.size() != 1 || found[0].backend != place.backend || found[0].has_answer != collects)
            throw Error(
                ErrorCode::internal,
                format("partition \"%s\" does not hold its rows any more", query.name_of(place.partition).c_str()),
                "Its connection, or the row that it was reached by, is gone.",
                "Repeat the fit: the same rows give the same model.");
        return found[0].answer;
    }

    const FitToken token_;
    const PartitionedQuery& load_;
    const std::vector<Place> places_;
    RunContext& context_;
    uint64_t round_ = 0;
};

FeatureColumn empty_column(const Feature& feature, int direction, RunContext& context) {
    FeatureColumn column{feature.name,
                         feature.type,
                         feature.categorical ? FeatureKind::category : FeatureKind::number,
                         0,
                         Buffer<double>(context.memory(), "columns"),
                         Buffer<uint32_t>(context.memory(), "columns"),
                         {}};
    column.direction = direction;
    return column;
}

// What the servers read: the source, with the columns that a fit takes.
class ShippedSource {
  public:
    // Errors: those of Source and of assign_roles; not_supported naming what cannot be shipped.
    explicit ShippedSource(const BoostRequest& request)
        : source_(Source::of_rows(request.source)), roles_(assign_roles(source_, request)) {
        for (const std::optional<int>& place :
             {std::optional(roles_.target), roles_.weight, roles_.holdout, roles_.offset})
            if (place) add(column(*place), place == roles_.target && roles_.target_is_label);
        for (size_t i = 0; i < roles_.features.size(); i++) {
            const Source::Column& from = column(roles_.features[i]);
            add(from, roles_.categorical[i] && from.type != BOOLOID);
        }
        const PartitionedQuery load = query_of_all({});
        for (size_t partition = 0; partition < load.partitions(); partition++) {
            if (!load.is_read_here(partition)) continue;
            throw Error(ErrorCode::not_supported,
                        format("rows of partition \"%s\" would be read here, not where they are",
                               load.name_of(partition).c_str()),
                        "PostgreSQL does not ship the query to the other server.",
                        "The server's option \"extensions\" must have btml; EXPLAIN VERBOSE of the source shows what "
                        "else is not shipped.");
        }
    }

    const Roles& roles() const { return roles_; }
    const Source::Column& column(int place) const { return source_.columns()[place]; }

    // Has each server collect its rows.
    PartitionedQuery query_of_all(const Bytes& command) const {
        std::string arguments = bytea_literal(command) + ", " + array(numbers_, "float8");
        if (!texts_.empty()) arguments += ", " + array(texts_, "text");
        return query("btml_internal.hold_rows(" + arguments + ")", "");
    }

    // The target's values, but for NULLs; of more than max_labels, a few more than that.
    template <class Value, class Read>
    std::set<Value> targets(const Read& read, RunContext& context) const {
        // Grouped, since postgres_fdw does not ship DISTINCT.
        const PartitionedQuery values = query(roles_.target_is_label ? texts_[0] : numbers_[0],
                                              " GROUP BY 1 LIMIT " + std::to_string(max_labels + 2));
        std::set<Value> found;
        for (size_t partition = 0; partition < values.partitions() && found.size() <= max_labels; partition++)
            for_each_value(values, partition, context, [&](Datum value) { found.insert(read(value)); });
        return found;
    }

  private:
    void add(const Source::Column& from, bool is_text) {
        if (is_text)
            texts_.push_back(text_expression(from));
        else
            numbers_.push_back(number_expression(from));
    }
    PartitionedQuery query(const std::string& output, const std::string& end) const {
        return PartitionedQuery("SELECT " + output + " FROM " + inner_query(source_.analysis().text) + " AS s" + end);
    }

    const Source source_;
    const Roles roles_;
    std::vector<std::string> numbers_, texts_; // expressions over the source, in the order of HeldFit::add
};

[[noreturn]] void refuse_no_rows(const std::string& detail) {
    throw Error(ErrorCode::invalid_argument, "source has no rows to train on", detail);
}

// Finds labels as the rows of one server would give them.
Labels labels_of_all(const ShippedSource& source, const BoostRequest& request, TargetKind kind, Options& options,
                     RunContext& context) {
    Buffer<double> values(context.memory(), "target");
    std::vector<std::string> names;
    if (kind == TargetKind::boolean) {
        values.push_back(0);
        values.push_back(1);
    } else if (kind == TargetKind::label) {
        const auto text = [](Datum value) { return std::string(bytes_of(value, TEXTOID)); };
        const std::set<std::string> found = source.targets<std::string>(text, context);
        names.assign(found.begin(), found.end());
        for (size_t code = 0; code < names.size(); code++) values.push_back(static_cast<double>(code));
    } else if (takes_labels(options)) {
        const auto number = [](Datum value) { return to_number(value, NumberKind::float8); };
        for (const double value : source.targets<double>(number, context)) values.push_back(value);
    }
    if (values.empty() && (kind == TargetKind::label || takes_labels(options)))
        refuse_no_rows("It is empty, or its target is NULL in all of its rows.");
    return find_labels({request.target.c_str(), kind, values, std::move(names)}, request.labels, options, context);
}

FitPlan describe_fit(const ShippedSource& source, const BoostRequest& request, Options& options, RunContext& context) {
    const Roles& roles = source.roles();
    FitPlan plan;
    fill_with_random_bytes(plan.token.data(), plan.token.size());
    plan.target_kind = roles.target_is_label                         ? TargetKind::label
                       : source.column(roles.target).type == BOOLOID ? TargetKind::boolean
                                                                     : TargetKind::number;
    Labels labels = labels_of_all(source, request, plan.target_kind, options, context);
    for (const Labels::Notice& told : labels.notices) notice(told.message, "", told.hint);
    options.validate();
    Model& model = plan.model;
    model.labels = std::move(labels.names);
    model.label_weights = std::move(labels.weights);
    model.options = completed(options, model.labels.size());
    // A model that is read must have as many as its objective has scores.
    if (has_scores_by_label(model.link())) model.bases.assign(model.labels.size(), 0);
    plan.is_weighted = roles.weight.has_value();
    plan.has_holdout = roles.holdout.has_value();
    bool has_direction = false;
    const auto add_feature = [&](int place, bool is_categorical, int direction) {
        const Source::Column& from = source.column(place);
        model.features.push_back({from.name, stored_type_name(from.type), is_categorical, {}});
        model.directions.push_back(static_cast<int8_t>(direction));
        has_direction = has_direction || direction != 0;
    };
    for (size_t i = 0; i < roles.features.size(); i++)
        add_feature(roles.features[i], roles.categorical[i], roles.directions[i]);
    if (roles.offset) {
        model.offset = static_cast<int32_t>(model.features.size());
        add_feature(*roles.offset, false, 0);
    }
    if (!has_direction) model.directions.clear();
    return plan;
}

Dataset empty_dataset(const FitPlan& plan, RunContext& context) {
    const Model& model = plan.model;
    Dataset dataset{.rows = 0,
                    .tables = {},
                    .features = {},
                    .target_table = 0,
                    .target = Buffer<double>(context.memory(), "target"),
                    .weight = Buffer<double>(context.memory(), "weights"),
                    .holdout_table = plan.has_holdout ? 0 : -1,
                    .holdout = Buffer<uint8_t>(context.memory(), "holdout flags"),
                    .labels = model.labels,
                    .label_weights = model.label_weights};
    dataset.tables.push_back({0, Buffer<uint32_t>(context.memory(), "row ids")});
    for (size_t f = 0; f < model.features.size(); f++) {
        if (model.offset == static_cast<int32_t>(f))
            dataset.offset = empty_column(model.features[f], 0, context);
        else
            dataset.features.push_back(
                empty_column(model.features[f], model.directions.empty() ? 0 : model.directions[f], context));
    }
    return dataset;
}

// A row by which a partition's server is reached; empty where there is none.
std::string row_of(const PartitionedQuery& rows, size_t partition, RunContext& context) {
    std::string found;
    for_each_value(rows, partition, context,
                   [&](Datum value) { found = pg_call([=] { return TextDatumGetCString(value); }); });
    return found;
}

// Has every server collect its rows, and returns where they are.
std::vector<ServerPeers::Place> hold_rows(const PartitionedQuery& load, RunContext& context) {
    const PartitionedQuery rows("SELECT ctid::pg_catalog.text FROM " + qualified(load.table()) + " LIMIT 1", load);
    std::map<uint64_t, ServerPeers::Place> places;
    for (size_t partition = 0; partition < load.partitions(); partition++) {
        context.progress("servers read their rows", partition, load.partitions());
        for (const BackendAnswer& answer : answers_of(load, partition, context))
            if (!places.contains(answer.backend))
                places.emplace(answer.backend,
                               ServerPeers::Place{answer.backend, partition, row_of(rows, partition, context)});
    }
    std::vector<ServerPeers::Place> found;
    for (const auto& [backend, place] : places) found.push_back(place);
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.partition < b.partition; });
    return found;
}

// Training over servers takes less time than to fetch as many rows first.
constexpr double min_rows_to_distribute = 5e6;

// How many rows of other servers' partitions the planner expects that a source would have to fetch.
double foreign_rows(const Source& source) {
    double rows = 0;
    for (const SourceRelation* const relation : items<const SourceRelation>(source.analysis().relations))
        if (foreign_tables(relation->query).are_partitions) rows += expected_rows(relation->query);
    return rows;
}

// Says what keeps a fit from being distributed; empty where nothing does.
std::string obstacle_to(const BoostRequest& request, const Options& options) {
    try {
        check_distributed(options);
        const ShippedSource source(request);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::not_supported) throw;
        return error.message();
    }
    const bool may_lead = pg_call([] {
        for (const char* const function :
             {"btml_internal.hold_rows(bytea,float8[])", "btml_internal.hold_rows(bytea,float8[],text[])",
              "btml_internal.exchange_messages(bytea)"})
            if (!may_execute(DatumGetObjectId(DirectFunctionCall1(regprocedurein, CStringGetDatum(function)))))
                return false;
        return true;
    });
    return may_lead ? "" : "the right to lead a fit is not granted";
}

} // namespace

bool pays_over_servers(const BoostRequest& request, const Options& options, RunContext& context) {
    const Source source(request.source);
    const double rows = foreign_rows(source);
    const double bytes = rows * sizeof(double) * static_cast<double>(source.columns().size());
    if (rows <= min_rows_to_distribute && bytes <= static_cast<double>(context.memory().left())) return false;
    const std::string obstacle = obstacle_to(request, options);
    if (!obstacle.empty()) notice(format("about %.0f rows of other servers are fetched: %s", rows, obstacle.c_str()));
    return obstacle.empty();
}

FitResult fit_over_servers(const BoostRequest& request, Options options, std::optional<Model> start,
                           RunContext& context) {
    check_distributed(options);
    const ShippedSource source(request);
    FitPlan plan = describe_fit(source, request, options, context);
    plan.start = start;
    const PartitionedQuery load = source.query_of_all(encode(plan, context));
    std::vector<ServerPeers::Place> places = hold_rows(load, context);
    if (places.empty()) refuse_no_rows("It is empty.");
    const size_t servers = places.size(), partitions = load.partitions();
    ServerPeers peers(plan.token, load, std::move(places), context);
    HeldCounts all{};
    for (size_t other = 0; other < peers.others(); other++) {
        HeldCounts counts;
        from_bytes(peers.answer_of(other), counts);
        all.rows += counts.rows;
        all.skipped += counts.skipped;
    }
    if (all.rows == 0) refuse_no_rows(format("The target is NULL in all of its %" PRIu64 " rows.", all.skipped));
    FitResult result =
        fit_distributed(empty_dataset(plan, context), plan.model.options, peers, context, std::move(start));
    result.model.target = request.target;
    result.model.rows_skipped = all.skipped;
    result.model.strategy = name_of(Strategy::distributed);
    result.model.strategy_reason =
        format("the rows of %zu partitions stay in %zu backend%s of other servers, asked %" PRIu64 " times", partitions,
               servers, servers == 1 ? "" : "s", peers.rounds());
    return result;
}

} // namespace btml::pg
