#include "pg/fit_coordinator.hpp"

#include "pg/bridge/feature_type.hpp"
#include "pg/bridge/partitions.hpp"
#include "pg/bridge/result.hpp"
#include "pg/bridge/values.hpp"
#include "pg/distributed_fit.hpp"

#include <map>
#include <set>

namespace btml::pg {

using namespace boosting;

namespace {

// Takes the one value of a query's one row.
class OneValue : public RowSink {
  public:
    explicit OneValue(RunContext& context) : context_(context) {}
    void add(const Datum* values, const bool* nulls) override {
        if (!nulls[0]) answers_ = backend_answers(values[0]);
        context_.poll();
    }
    const std::vector<BackendAnswer>& answers() const { return answers_; }

  private:
    RunContext& context_;
    std::vector<BackendAnswer> answers_;
};

class OneText : public RowSink {
  public:
    void add(const Datum* values, const bool* nulls) override {
        if (nulls[0]) return;
        const Datum value = values[0];
        found_ = pg_call([=] { return text_to_cstring(DatumGetTextPP(value)); });
    }
    const std::string& found() const { return found_; }

  private:
    std::string found_;
};

// Collects texts that are not NULL.
class TextSet : public RowSink {
  public:
    TextSet(std::set<std::string>& found, RunContext& context) : found_(found), context_(context) {}
    void add(const Datum* values, const bool* nulls) override {
        context_.poll();
        if (!nulls[0]) found_.emplace(bytes_of(values[0], TEXTOID));
    }

  private:
    std::set<std::string>& found_;
    RunContext& context_;
};

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

[[noreturn]] void refuse_column(const Source::Column& column, const char* valid) {
    const Oid type = column.type;
    throw Error(ErrorCode::not_supported,
                format("column \"%s\" of type %s cannot be shipped with strategy => 'distributed'", column.name.c_str(),
                       pg_call([=] { return format_type_be(type); })),
                "", valid);
}

// The column as a float8, as it would be read here.
std::string number_expression(const Source::Column& column) {
    const std::string name = "s." + quoted(column.name);
    switch (column.type) {
    case INT2OID:
    case INT4OID:
    case INT8OID:
    case FLOAT4OID:
    case NUMERICOID:
        return name + "::pg_catalog.float8";
    case FLOAT8OID:
        return name;
    case BOOLOID:
        return name + "::pg_catalog.int4::pg_catalog.float8";
    default:
        refuse_column(column, "Numbers, booleans and texts can be shipped.");
    }
}

std::string text_expression(const Source::Column& column) {
    if (column.type != TEXTOID && column.type != VARCHAROID && column.type != BPCHAROID)
        refuse_column(column, "Categories can be shipped as text, character varying, character and boolean.");
    return "s." + quoted(column.name) + "::pg_catalog.text";
}

std::string array(const std::vector<std::string>& elements, const char* type) {
    std::string list;
    for (const std::string& element : elements) list += (list.empty() ? "" : ", ") + element;
    return "ARRAY[" + list + "]::pg_catalog." + type + "[]";
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
        OneValue sink(context_);
        query.run(place.partition, sink, nullptr, context_);
        const std::vector<BackendAnswer>& found = sink.answers();
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

// What is fitted, as the servers and the coordinator see it.
struct DistributedFit {
    FitPlan plan;
    std::vector<std::string> numbers, texts; // expressions over the source, in the order of HeldFit::add
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

// Every value of an expression over the source that is on some server, but for NULL; of more than max_labels, a few
// more than that.
std::set<std::string> distinct_values(const Source& source, const std::string& expression, RunContext& context) {
    // Grouped, since postgres_fdw does not ship DISTINCT.
    const PartitionedQuery query("SELECT v::pg_catalog.text FROM (SELECT " + expression + " AS v FROM " +
                                 inner_query(source.analysis().text) + " AS s GROUP BY 1 LIMIT " +
                                 std::to_string(max_labels + 2) + ") AS d");
    std::set<std::string> found;
    for (size_t partition = 0; partition < query.partitions() && found.size() <= max_labels; partition++) {
        TextSet sink(found, context);
        query.run(partition, sink, nullptr, context);
    }
    return found;
}

// Finds labels as the rows of one server would give them.
Labels labels_of_all(const Source& source, const BoostRequest& request, const Source::Column& target, TargetKind kind,
                     Options& options, RunContext& context) {
    Buffer<double> values(context.memory(), "target");
    std::vector<std::string> names;
    if (kind == TargetKind::boolean) {
        values.push_back(0);
        values.push_back(1);
    } else if (kind == TargetKind::label) {
        const std::set<std::string> found = distinct_values(source, text_expression(target), context);
        names.assign(found.begin(), found.end());
        for (size_t code = 0; code < names.size(); code++) values.push_back(static_cast<double>(code));
    } else if (takes_labels(options)) {
        for (const std::string& text : distinct_values(source, number_expression(target), context))
            values.push_back(strtod(text.c_str(), nullptr));
    }
    if (values.empty() && (kind == TargetKind::label || takes_labels(options)))
        throw Error(ErrorCode::invalid_argument, "source has no rows to train on",
                    "It is empty, or its target is NULL in all of its rows.");
    return find_labels({request.target.c_str(), kind, values, std::move(names)}, request.labels, options, context);
}

DistributedFit describe_fit(const Source& source, const BoostRequest& request, Options& options, RunContext& context) {
    const Roles roles = assign_roles(source, request);
    const auto column = [&](int place) -> const Source::Column& { return source.columns()[place]; };
    const Source::Column& target = column(roles.target);
    const TargetKind kind = roles.target_is_label    ? TargetKind::label
                            : target.type == BOOLOID ? TargetKind::boolean
                                                     : TargetKind::number;
    DistributedFit fit;
    fill_with_random_bytes(fit.plan.token.data(), fit.plan.token.size());
    fit.plan.target_kind = kind;
    (kind == TargetKind::label ? fit.texts : fit.numbers)
        .push_back(kind == TargetKind::label ? text_expression(target) : number_expression(target));
    Labels labels = labels_of_all(source, request, target, kind, options, context);
    for (const Labels::Notice& told : labels.notices) notice(told.message, "", told.hint);
    options.validate();
    Model& model = fit.plan.model;
    model.labels = std::move(labels.names);
    model.label_weights = std::move(labels.weights);
    model.options = completed(options, model.labels.size());
    // A model that is read must have as many as its objective has scores.
    if (has_scores_by_label(model.link())) model.bases.assign(model.labels.size(), 0);
    fit.plan.is_weighted = roles.weight.has_value();
    fit.plan.has_holdout = roles.holdout.has_value();
    for (const std::optional<int>& place : {roles.weight, roles.holdout, roles.offset})
        if (place) fit.numbers.push_back(number_expression(column(*place)));
    bool has_direction = false;
    for (size_t i = 0; i < roles.features.size(); i++) {
        const Source::Column& from = column(roles.features[i]);
        model.features.push_back({from.name, stored_type_name(from.type), roles.categorical[i], {}});
        const bool is_text = roles.categorical[i] && from.type != BOOLOID;
        (is_text ? fit.texts : fit.numbers).push_back(is_text ? text_expression(from) : number_expression(from));
        model.directions.push_back(static_cast<int8_t>(roles.directions[i]));
        has_direction = has_direction || roles.directions[i] != 0;
    }
    if (!has_direction) model.directions.clear();
    if (roles.offset) {
        model.offset = static_cast<int32_t>(model.features.size());
        const Source::Column& from = column(*roles.offset);
        model.features.push_back({from.name, stored_type_name(from.type), false, {}});
        if (has_direction) model.directions.push_back(0);
    }
    return fit;
}

Dataset empty_dataset(const DistributedFit& fit, RunContext& context) {
    const Model& model = fit.plan.model;
    Dataset dataset{.rows = 0,
                    .tables = {},
                    .features = {},
                    .target_table = 0,
                    .target = Buffer<double>(context.memory(), "target"),
                    .weight = Buffer<double>(context.memory(), "weights"),
                    .holdout_table = fit.plan.has_holdout ? 0 : -1,
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
    OneText sink;
    rows.run(partition, sink, nullptr, context);
    return sink.found();
}

// Has every server collect its rows, and returns where they are.
std::vector<ServerPeers::Place> hold_rows(const PartitionedQuery& load, RunContext& context) {
    const PartitionedQuery rows("SELECT ctid::pg_catalog.text FROM " + qualified(load.table()) + " LIMIT 1", load);
    std::map<uint64_t, ServerPeers::Place> places;
    for (size_t partition = 0; partition < load.partitions(); partition++) {
        context.progress("servers read their rows", partition, load.partitions());
        OneValue sink(context);
        load.run(partition, sink, nullptr, context);
        for (const BackendAnswer& answer : sink.answers())
            if (!places.contains(answer.backend))
                places.emplace(answer.backend,
                               ServerPeers::Place{answer.backend, partition, row_of(rows, partition, context)});
    }
    std::vector<ServerPeers::Place> found;
    for (const auto& [backend, place] : places) found.push_back(place);
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.partition < b.partition; });
    return found;
}

} // namespace

FitResult fit_over_servers(const BoostRequest& request, Options options, std::optional<Model> start,
                           RunContext& context) {
    check_distributed(options);
    const Source source = Source::of_rows(request.source);
    DistributedFit fit = describe_fit(source, request, options, context);
    fit.plan.start = start;
    const LedFit led(fit.plan.token);
    const Bytes command = encode(fit.plan, context);
    std::string arguments = bytea_literal(command) + ", " + array(fit.numbers, "float8");
    if (!fit.texts.empty()) arguments += ", " + array(fit.texts, "text");
    const PartitionedQuery load("SELECT btml_internal.hold_rows(" + arguments + ") FROM " +
                                inner_query(source.analysis().text) + " AS s");
    std::vector<ServerPeers::Place> places = hold_rows(load, context);
    if (places.empty()) throw Error(ErrorCode::invalid_argument, "source has no rows to train on", "It is empty.");
    const size_t servers = places.size(), partitions = load.partitions();
    ServerPeers peers(fit.plan.token, load, std::move(places), context);
    HeldCounts all{};
    for (size_t other = 0; other < peers.others(); other++) {
        HeldCounts counts;
        from_bytes(peers.answer_of(other), counts);
        all.rows += counts.rows;
        all.skipped += counts.skipped;
    }
    if (all.rows == 0)
        throw Error(ErrorCode::invalid_argument, "source has no rows to train on",
                    format("The target is NULL in all of its %" PRIu64 " rows.", all.skipped));
    FitResult result =
        fit_distributed(empty_dataset(fit, context), fit.plan.model.options, peers, context, std::move(start));
    result.model.target = request.target;
    result.model.rows_skipped = all.skipped;
    result.model.strategy = name_of(Strategy::distributed);
    result.model.strategy_reason =
        format("the rows of %zu partitions stay in %zu backend%s of other servers, asked %" PRIu64 " times", partitions,
               servers, servers == 1 ? "" : "s", peers.rounds());
    return result;
}

} // namespace btml::pg
