#include "core/features/plan.hpp"

#include "core/base/json_reader.hpp"
#include "core/base/text_builder.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace btml::features {

namespace {

constexpr int64_t plan_format = 1, max_number = 1'000'000;

[[noreturn]] void refuse(std::string detail) {
    throw Error(ErrorCode::invalid_argument, "invalid plan of features", std::move(detail),
                "A plan is what btml.relational_features returns.");
}

[[noreturn]] void refuse(const char* what, const std::string& name, const std::string& fault) {
    refuse(format("%s \"%s\" %s.", what, name.c_str(), fault.c_str()));
}

[[noreturn]] void refuse_relations() {
    refuse(format("It has more than %zu relations.", max_relations));
}

// Refuses a relation that is not reached from the source or one before it, in one of the ways that there are.
void check_relation(const Plan& plan, size_t number) {
    const Relation& relation = plan.relations[number];
    const auto fail = [&](const char* fault) { refuse("Relation", relation.name, fault); };
    if (relation.name.empty() || relation.table.empty()) fail("needs a name and a table");
    if (relation.name.size() > max_name_bytes) fail("has a name of more than 63 bytes");
    if (relation.name == "source" || relation.name == "prediction" || relation.name == "usual")
        fail("has a name that the SELECT of features needs");
    if (relation.of < source_number || relation.of >= static_cast<int>(number)) fail("is not of a relation before it");
    if (relation.key.empty()) fail("has no key");
    for (const KeyPair& pair : relation.key)
        if (pair.column.empty() || pair.of_column.empty()) fail("has a key without a column");
    if (relation.time.empty() != (relation.time_type == TimeType::none))
        fail("has a time without a type, or a type alone");
    const bool of_many = relation.of != source_number && plan.rows_of(relation.of) != source_number;
    if (relation.last && !of_many) fail("has no last row to go by");
    if (relation.last && relation.unique) fail("has one row for each key, which need not be the last");
    if (!relation.unique && !relation.last && of_many && plan.at(relation.of).unique)
        fail("would have its rows repeated: its key needs \"last\"");
}

// Refuses a value where none is compared with, and a truth value that is none.
void check_value(const Definition& feature) {
    const bool of_text = feature.type == ColumnType::text;
    const bool takes_value =
        feature.aggregate == Aggregate::matches || (feature.aggregate == Aggregate::share && of_text);
    if (!takes_value && !feature.value.empty()) refuse("Feature", feature.name, "has a value that it has no use for");
    if (takes_value && !of_text && feature.value != "true" && feature.value != "false")
        refuse("Feature", feature.name, "is of a truth value that is neither \"true\" nor \"false\"");
}

void check_feature(const Plan& plan, const Definition& feature) {
    const AggregateFacts& facts = facts_of(feature.aggregate);
    const auto fail = [&](const std::string& fault) { refuse("Feature", feature.name, fault); };
    if (feature.name.empty()) fail("has no name");
    if (feature.name.size() > max_name_bytes) fail("has a name of more than 63 bytes");
    if (feature.relation < 0 || feature.relation >= static_cast<int>(plan.relations.size())) fail("is of no relation");
    const int rows = plan.rows_of(feature.relation);
    const bool of_rows = facts.types == 0;
    if (of_rows != feature.column.empty()) fail(of_rows ? "is of rows, not of a column" : "needs a column");
    if (is_of_one_row(feature.aggregate) != (rows == source_number))
        fail(rows == source_number ? "is of one row, of which only \"value\" and \"years_since\" can be taken"
                                   : "is of many rows");
    if (feature.aggregate == Aggregate::years_since && plan.as_of.empty()) fail("needs an as_of");
    if (!of_rows && (facts.types & type_bit(feature.type)) == 0)
        fail(format("is a %s of type \"%s\"", facts.name, column_type_names[static_cast<size_t>(feature.type)]));
    check_value(feature);
    const bool takes_total = !of_rows && feature.type == ColumnType::number &&
                             feature.aggregate != Aggregate::distinct && feature.aggregate != Aggregate::years_since;
    if (!takes_total && !feature.total.empty()) fail("has a \"total\" that it has no use for");
    if (feature.relative &&
        (!takes_total || !feature.total.empty() || rows != feature.relation || plan.at(feature.relation).time.empty()))
        fail("cannot be \"relative\": it is no number of many rows that have a time");
    if (rows == source_number) return;
    const bool has_time = plan.has_time(rows);
    if (!feature.window.empty() && (!facts.windowed || !has_time || plan.as_of.empty())) fail("cannot have a window");
    if (facts.timed && !has_time) fail("needs a time");
}

class PlanReader {
  public:
    PlanReader(std::string_view text, RunContext& context)
        : json_(
              text, [](std::string detail) { refuse(std::move(detail)); }, context),
          context_(context),
          held_(context.memory(), "a plan of features", 16 * text.size()) {}

    Plan read() {
        members("plan", [&](const std::string& key) {
            if (key == "format") {
                if (json_.integer(1, max_number) > plan_format) refuse("It was made by a newer version of btml.");
            } else if (key == "as_of")
                plan_.as_of = string_or_null();
            else if (key == "inclusive")
                plan_.inclusive = json_.boolean();
            else if (key == "relations")
                json_.array([&] { read_relation(); });
            else if (key == "features")
                json_.array([&] { read_feature(); });
            else
                return false;
            return true;
        });
        json_.finish();
        resolve();
        plan_.check();
        return std::move(plan_);
    }

  private:
    template <class Read>
    void members(const char* what, const Read& read) {
        json_.object([&](const std::string& key) {
            if (!read(key)) refuse(format("A %s has no \"%s\".", what, key.c_str()));
        });
    }

    std::string string_or_null() {
        if (json_.peek() != JsonReader::Kind::null) return json_.string();
        json_.skip();
        return {};
    }

    template <class Enum, size_t count>
    Enum choice(const char* const (&names)[count]) {
        const std::string name = json_.string();
        for (size_t i = 0; i < count; i++)
            if (name == names[i]) return static_cast<Enum>(i);
        refuse(format("Valid types are %s, not \"%s\".", quoted_list({names, names + count}).c_str(), name.c_str()));
    }

    Aggregate read_aggregate() {
        const std::string name = json_.string();
        const std::optional<Aggregate> aggregate = aggregate_named(name);
        if (!aggregate) refuse(format("There is no aggregate \"%s\".", name.c_str()));
        return *aggregate;
    }

    double read_gain() {
        const double gain = json_.number();
        if (!std::isfinite(gain)) refuse("A gain is no number.");
        return gain;
    }

    void read_relation() {
        if (plan_.relations.size() == max_relations) refuse_relations();
        Relation relation;
        std::string of;
        members("relation", [&](const std::string& key) {
            if (key == "name")
                relation.name = json_.string();
            else if (key == "schema")
                relation.schema = json_.string();
            else if (key == "table")
                relation.table = json_.string();
            else if (key == "of")
                of = string_or_null();
            else if (key == "key")
                json_.object([&](const std::string& column) { relation.key.push_back({column, json_.string()}); });
            else if (key == "time")
                relation.time = string_or_null();
            else if (key == "time_type")
                relation.time_type = choice<TimeType>(time_type_names);
            else if (key == "unique")
                relation.unique = json_.boolean();
            else if (key == "last")
                relation.last = json_.boolean();
            else
                return false;
            return true;
        });
        if (!of.empty() && (relation.of = number_of(of)) == source_number)
            refuse("Relation", relation.name, "is of \"" + of + "\", which is not before it");
        if (number_of(relation.name) != source_number) refuse("Relation", relation.name, "is there twice");
        plan_.relations.push_back(std::move(relation));
    }

    void read_feature() {
        Definition feature{.name = {}, .relation = source_number, .aggregate = Aggregate::value};
        std::string relation;
        members("feature", [&](const std::string& key) {
            if (key == "name")
                feature.name = json_.string();
            else if (key == "relation")
                relation = json_.string();
            else if (key == "aggregate")
                feature.aggregate = read_aggregate();
            else if (key == "column")
                feature.column = string_or_null();
            else if (key == "type")
                feature.type = choice<ColumnType>(column_type_names);
            else if (key == "window")
                feature.window = string_or_null();
            else if (key == "value")
                feature.value = string_or_null();
            else if (key == "total")
                feature.total = string_or_null();
            else if (key == "relative")
                feature.relative = json_.boolean();
            else if (key == "gain")
                feature.gain = read_gain();
            else if (key == "definition")
                json_.skip(); // which follows from the others
            else
                return false;
            return true;
        });
        relation_names_.push_back(std::move(relation));
        plan_.features.push_back(std::move(feature));
    }

    int number_of(const std::string& name) const {
        for (size_t i = 0; i < plan_.relations.size(); i++)
            if (plan_.relations[i].name == name) return static_cast<int>(i);
        return source_number;
    }

    // Finds the relations of features, which may be written before them.
    void resolve() {
        for (size_t i = 0; i < plan_.features.size(); i++) {
            plan_.features[i].relation = number_of(relation_names_[i]);
            context_.worked(plan_.relations.size());
        }
    }

    JsonReader json_;
    RunContext& context_;
    Reservation held_;
    Plan plan_;
    std::vector<std::string> relation_names_; // of features
};

class PlanWriter {
  public:
    PlanWriter(const Plan& plan, RunContext& context) : plan_(plan), text_(context, "a plan of features") {}

    Buffer<char> write() {
        text_ << "{\"format\": " << plan_format << ", ";
        add("as_of", plan_.as_of);
        text_ << "\"inclusive\": " << (plan_.inclusive ? "true" : "false") << ", \"relations\": [";
        list(plan_.relations, [&](const Relation& relation) { write_relation(relation); });
        text_ << "], \"features\": [";
        list(plan_.features, [&](const Definition& feature) { write_feature(feature); });
        text_ << "]}";
        return text_.take();
    }

  private:
    template <class Item, class Write>
    void list(const std::vector<Item>& items, const Write& write) {
        for (size_t i = 0; i < items.size(); i++) {
            if (i > 0) text_ << ", ";
            write(items[i]);
        }
    }

    // Writes a member that others follow.
    void add(const char* name, std::string_view value, bool null_if_empty = true) {
        text_ << '"' << name << "\": ";
        if (value.empty() && null_if_empty)
            text_ << "null";
        else
            text_.json_string(value);
        text_ << ", ";
    }

    void write_relation(const Relation& relation) {
        text_ << '{';
        add("name", relation.name);
        add("schema", relation.schema, false);
        add("table", relation.table);
        add("of", relation.of == source_number ? std::string() : plan_.at(relation.of).name);
        text_ << "\"key\": {";
        list(relation.key, [&](const KeyPair& pair) {
            text_.json_string(pair.column);
            text_ << ": ";
            text_.json_string(pair.of_column);
        });
        text_ << "}, ";
        add("time", relation.time);
        add("time_type", time_type_names[static_cast<size_t>(relation.time_type)]);
        text_ << "\"unique\": " << (relation.unique ? "true" : "false");
        text_ << ", \"last\": " << (relation.last ? "true" : "false") << '}';
    }

    void write_feature(const Definition& feature) {
        text_ << '{';
        add("definition", plan_.words(feature));
        add("relation", plan_.at(feature.relation).name);
        add("aggregate", facts_of(feature.aggregate).name);
        add("column", feature.column);
        if (!feature.column.empty()) add("type", column_type_names[static_cast<size_t>(feature.type)]);
        if (!feature.value.empty()) add("value", feature.value);
        if (!feature.total.empty()) add("total", feature.total);
        if (feature.relative) text_ << "\"relative\": true, ";
        if (feature.gain) text_ << "\"gain\": " << *feature.gain << ", ";
        add("window", feature.window);
        text_ << "\"name\": ";
        text_.json_string(feature.name);
        text_ << '}';
    }

    const Plan& plan_;
    TextBuilder text_;
};

} // namespace

int Plan::rows_of(int relation) const {
    while (relation != source_number && at(relation).unique) relation = at(relation).of;
    return relation;
}

int Plan::first_of(int relation) const {
    while (!at(relation).last) {
        const int of = at(relation).of;
        if (of == source_number || rows_of(of) == source_number) break;
        relation = of;
    }
    return relation;
}

bool Plan::has_time(int relation) const {
    for (const int first = first_of(relation);; relation = at(relation).of) {
        if (!at(relation).time.empty()) return true;
        if (relation == first) return false;
    }
}

// Says of which numbers an aggregate is. time: the relation's column.
static std::string number_words(const Definition& feature, const std::string& time) {
    if (feature.relative) return "(" + feature.column + " / mean " + feature.column + " of that " + time + ")";
    return feature.column + (feature.total.empty() ? "" : " / " + feature.total);
}

std::string Plan::words(const Definition& feature) const {
    const Relation& relation = at(feature.relation);
    const int rows = rows_of(feature.relation);
    std::string words = facts_of(feature.aggregate).words;
    if (!words.empty()) words += ' ';
    if (feature.aggregate == Aggregate::matches)
        words += at(rows).name + (rows == feature.relation ? " with " : " whose " + relation.name + " has ") +
                 feature.column +
                 (feature.type == ColumnType::text ? " = '" + feature.value + "'" : " " + feature.value);
    else if (feature.aggregate == Aggregate::share)
        words += feature.type == ColumnType::text ? feature.column + " = '" + feature.value + "' in " + relation.name
                                                  : feature.column + " in " + relation.name;
    else
        words += (feature.column.empty() ? "" : number_words(feature, relation.time) + " of ") + relation.name;
    if (feature.aggregate == Aggregate::value && feature.type == ColumnType::time && !as_of.empty())
        words = "days since " + words;
    if (rows != source_number && rows != feature.relation && feature.aggregate != Aggregate::matches)
        words += " of " + at(rows).name;
    if (feature.window.empty()) return words;
    const bool is_one = feature.window.starts_with("1 ") && feature.window.find(' ', 2) == std::string::npos;
    words += " in the " + (is_one ? feature.window.substr(2) : feature.window) + " before " + as_of;
    return words;
}

std::string Plan::path(int relation) const {
    const Relation& last = at(relation);
    const std::string arrow = last.last ? " -> last " : " -> ";
    std::string columns;
    for (const KeyPair& pair : last.key) columns += (columns.empty() ? "" : ", ") + pair.of_column;
    const std::string before = last.of == source_number ? "source" : path(last.of);
    return before + arrow + columns + " -> " + last.name;
}

void Plan::check() const {
    if (relations.size() > max_relations) refuse_relations();
    for (size_t i = 0; i < relations.size(); i++) check_relation(*this, i);
    std::set<std::string_view> names;
    for (const Definition& feature : features) {
        check_feature(*this, feature);
        if (!names.insert(feature.name).second) refuse("Feature", feature.name, "is there twice");
    }
}

Buffer<char> to_json(const Plan& plan, RunContext& context) {
    return PlanWriter(plan, context).write();
}

Plan parse_plan(std::string_view json, RunContext& context) {
    return PlanReader(json, context).read();
}

} // namespace btml::features
