#include "core/features/plan.hpp"

#include "caught.hpp"
#include "random_plan.hpp"

#include <gtest/gtest.h>

namespace btml::features::test {
namespace {

using btml::test::Caught;
using btml::test::caught;

Plan parsed(std::string_view json) {
    QuietContext context;
    return parse_plan(json, context);
}

bool operator==(const KeyPair& a, const KeyPair& b) {
    return a.column == b.column && a.of_column == b.of_column;
}

void expect_same(const Plan& a, const Plan& b) {
    EXPECT_EQ(a.as_of, b.as_of);
    EXPECT_EQ(a.inclusive, b.inclusive);
    ASSERT_EQ(a.relations.size(), b.relations.size());
    for (size_t i = 0; i < a.relations.size(); i++) {
        const Relation &x = a.relations[i], &y = b.relations[i];
        EXPECT_EQ(x.name, y.name);
        EXPECT_EQ(x.schema, y.schema);
        EXPECT_EQ(x.table, y.table);
        EXPECT_EQ(x.of, y.of);
        EXPECT_TRUE(std::equal(x.key.begin(), x.key.end(), y.key.begin(), y.key.end(),
                               [](const KeyPair& p, const KeyPair& q) { return p == q; }));
        EXPECT_EQ(x.time, y.time);
        EXPECT_EQ(x.time_type, y.time_type);
        EXPECT_EQ(x.unique, y.unique);
        EXPECT_EQ(x.last, y.last);
    }
    ASSERT_EQ(a.features.size(), b.features.size());
    for (size_t i = 0; i < a.features.size(); i++) {
        const Definition &x = a.features[i], &y = b.features[i];
        EXPECT_EQ(x.name, y.name);
        EXPECT_EQ(x.relation, y.relation);
        EXPECT_EQ(x.aggregate, y.aggregate);
        EXPECT_EQ(x.column, y.column);
        EXPECT_EQ(x.type, y.type);
        EXPECT_EQ(x.window, y.window);
        EXPECT_EQ(x.value, y.value);
        EXPECT_EQ(x.total, y.total);
        EXPECT_EQ(x.relative, y.relative);
        EXPECT_EQ(x.gain, y.gain);
    }
}

TEST(Plan, IsWhatItsJsonSays) {
    for (unsigned seed = 0; seed < 300; seed++) {
        SCOPED_TRACE(seed);
        const Plan plan = RandomPlan(seed, seed % 2 == 0 ? numbered_names("n") : hostile_names(seed)).make();
        const std::string json = json_of(plan);
        const Plan again = parsed(json);
        expect_same(plan, again);
        EXPECT_EQ(json_of(again), json);
    }
}

// What parses must be a plan that can be written, listed and read again.
void expect_plan_or_refusal(std::string_view json) {
    const Caught refusal = caught([&] {
        const Plan plan = parsed(json);
        plan.check();
        for (const Definition& feature : plan.features) {
            EXPECT_FALSE(plan.words(feature).empty());
            EXPECT_FALSE(plan.path(feature.relation).empty());
        }
        const std::string written = json_of(plan);
        EXPECT_EQ(json_of(parsed(written)), written) << json;
    });
    if (!refusal.thrown) return;
    EXPECT_EQ(refusal.code, ErrorCode::invalid_argument) << json;
    EXPECT_EQ(refusal.message, "invalid plan of features") << json;
    EXPECT_FALSE(refusal.detail.empty()) << json;
}

// Changes some bytes: drops, doubles, swaps, or takes words of other places.
std::string mutated(std::string json, std::mt19937& random) {
    const auto below = [&](size_t n) { return random() % n; };
    static constexpr const char* words[] = {"null",
                                            "true",
                                            "-1",
                                            "1e999",
                                            "NaN",
                                            "Infinity",
                                            "\"\"",
                                            "[]",
                                            "{}",
                                            "\\u0000",
                                            "\"value\"",
                                            "\"count\"",
                                            "\"text\"",
                                            "\"date\"",
                                            "\"none\"",
                                            "\"last\": true",
                                            "\"of\": \"n1\"",
                                            "\"unique\": true",
                                            ",",
                                            "\"",
                                            "}"};
    for (size_t changes = 1 + below(3); changes > 0 && json.size() > 8; changes--) {
        const size_t at = below(json.size()), length = std::min(1 + below(30), json.size() - at);
        switch (below(4)) {
        case 0:
            json.erase(at, length);
            break;
        case 1:
            json.insert(below(json.size()), json.substr(at, length));
            break;
        case 2:
            json[at] = static_cast<char>(below(256));
            break;
        default:
            json.replace(at, below(2) == 0 ? 0 : length, words[below(std::size(words))]);
        }
    }
    return json;
}

TEST(Plan, RefusesOrTakesAnyBytes) {
    std::mt19937 random(1);
    for (unsigned seed = 0; seed < 40; seed++) {
        const std::string json = json_of(RandomPlan(seed, numbered_names("n")).make());
        for (int i = 0; i < 150; i++) expect_plan_or_refusal(mutated(json, random));
        for (size_t bytes = 0; bytes < json.size(); bytes += 1 + random() % 40)
            EXPECT_TRUE(caught([&] { parsed(std::string_view(json).substr(0, bytes)); }).thrown) << bytes;
    }
}

// Members in another order, with spaces, relations of features that come before them.
TEST(Plan, TakesMembersInAnyOrder) {
    const Plan plan =
        parsed(R"( {"features": [{"window": "1 day", "name": "n", "aggregate": "count", "relation": "calls",
        "definition": {"whatever": [1, 2]}, "gain": 0.25}], "relations": [{"time": "at", "time_type": "date", "table": "call",
        "key": {"who": "id"}, "name": "calls"}], "as_of": "day"} )");
    ASSERT_EQ(plan.features.size(), 1U);
    EXPECT_EQ(plan.words(plan.features[0]), "number of rows of calls in the day before day");
    EXPECT_EQ(plan.path(0), "source -> id -> calls");
    EXPECT_EQ(plan.features[0].gain, 0.25);
    EXPECT_FALSE(plan.inclusive);
}

// A source, its customer, the customer's region, calls and what is joined to calls.
Plan small_plan() {
    Plan plan{.as_of = "as_of"};
    plan.relations = {
        {.name = "customer", .table = "customer", .key = {{"id", "customer"}}, .unique = true},
        {.name = "region", .table = "region", .of = 0, .key = {{"id", "region"}}, .unique = true},
        {.name = "call", .table = "call", .key = {{"customer", "customer"}}, .time = "at", .time_type = TimeType::date},
        {.name = "agent", .table = "agent", .of = 2, .key = {{"id", "agent"}}, .unique = true},
        {.name = "stock", .table = "stock", .key = {{"customer", "customer"}}}};
    plan.features = {
        {.name = "where", .relation = 1, .aggregate = Aggregate::value, .column = "name", .type = ColumnType::text},
        {.name = "calls", .relation = 2, .aggregate = Aggregate::count, .window = "30 days"}};
    return plan;
}

std::string fault_after(const std::function<void(Plan&)>& change) {
    Plan plan = small_plan();
    plan.check();
    change(plan);
    const Caught found = caught([&] { plan.check(); });
    EXPECT_EQ(found.code, ErrorCode::invalid_argument);
    EXPECT_EQ(found.hint, "A plan is what btml.relational_features returns.");
    return found.detail;
}

TEST(Plan, RefusesRelationsByName) {
    const auto fault = [](int relation, const std::function<void(Relation&)>& change) {
        return fault_after([&](Plan& plan) { change(plan.relations[static_cast<size_t>(relation)]); });
    };
    EXPECT_EQ(fault(2, [](Relation& r) { r.name = ""; }), R"(Relation "" needs a name and a table.)");
    EXPECT_EQ(fault(2, [](Relation& r) { r.table = ""; }), R"(Relation "call" needs a name and a table.)");
    for (const char* const taken : {"source", "prediction"})
        EXPECT_EQ(fault(2, [&](Relation& r) { r.name = taken; }),
                  format(R"(Relation "%s" has a name that the SELECT of features needs.)", taken));
    for (const int of : {2, 3, 100, -2})
        EXPECT_EQ(fault(2, [&](Relation& r) { r.of = of; }), R"(Relation "call" is not of a relation before it.)");
    EXPECT_EQ(fault(2, [](Relation& r) { r.key.clear(); }), R"(Relation "call" has no key.)");
    EXPECT_EQ(fault(2, [](Relation& r) { r.key[0].column = ""; }), R"(Relation "call" has a key without a column.)");
    EXPECT_EQ(fault(2, [](Relation& r) { r.key[0].of_column = ""; }), R"(Relation "call" has a key without a column.)");
    EXPECT_EQ(fault(2, [](Relation& r) { r.time = ""; }),
              R"(Relation "call" has a time without a type, or a type alone.)");
    EXPECT_EQ(fault(2, [](Relation& r) { r.time_type = TimeType::none; }),
              R"(Relation "call" has a time without a type, or a type alone.)");
    EXPECT_EQ(fault(4, [](Relation& r) { r.last = true; }), R"(Relation "stock" has no last row to go by.)");
    EXPECT_EQ(fault(1, [](Relation& r) { r.last = true; }), R"(Relation "region" has no last row to go by.)");
    EXPECT_EQ(fault(3, [](Relation& r) { r.last = true; }),
              R"(Relation "agent" has one row for each key, which need not be the last.)");
    EXPECT_EQ(fault(4, [](Relation& r) { r.of = 3; }),
              R"(Relation "stock" would have its rows repeated: its key needs "last".)");
}

TEST(Plan, RefusesFeaturesByName) {
    const auto fault = [](int feature, const std::function<void(Definition&)>& change) {
        return fault_after([&](Plan& plan) { change(plan.features[static_cast<size_t>(feature)]); });
    };
    EXPECT_EQ(fault(1, [](Definition& f) { f.name = ""; }), R"(Feature "" has no name.)");
    for (const int relation : {-1, 5, 1000})
        EXPECT_EQ(fault(1, [&](Definition& f) { f.relation = relation; }), R"(Feature "calls" is of no relation.)");
    EXPECT_EQ(fault(1, [](Definition& f) { f.column = "x"; }), R"(Feature "calls" is of rows, not of a column.)");
    EXPECT_EQ(fault(1, [](Definition& f) { f.aggregate = Aggregate::mean; }), R"(Feature "calls" needs a column.)");
    EXPECT_EQ(fault(0, [](Definition& f) { f.aggregate = Aggregate::last; }),
              R"(Feature "where" is of one row, of which only "value" and "years_since" can be taken.)");
    EXPECT_EQ(fault(1, [](Definition& f) { f.aggregate = Aggregate::value, f.column = "x"; }),
              R"(Feature "calls" is of many rows.)");
    EXPECT_EQ(fault(1, [](Definition& f) { f.aggregate = Aggregate::mean, f.column = "x", f.type = ColumnType::text; }),
              R"(Feature "calls" is a mean of type "text".)");
    EXPECT_EQ(fault(1, [](Definition& f) { f.value = "x"; }), R"(Feature "calls" has a value that it has no use for.)");
    for (const char* const value : {"", "t", "TRUE"})
        EXPECT_EQ(fault(1,
                        [&](Definition& f) {
                            f.aggregate = Aggregate::matches, f.column = "x", f.type = ColumnType::boolean,
                            f.value = value;
                        }),
                  R"(Feature "calls" is of a truth value that is neither "true" nor "false".)");
    EXPECT_EQ(fault(0, [](Definition& f) { f.total = "t"; }),
              R"(Feature "where" has a "total" that it has no use for.)");
    EXPECT_EQ(
        fault(0,
              [](Definition& f) { f.aggregate = Aggregate::years_since, f.type = ColumnType::number, f.total = "t"; }),
        R"(Feature "where" has a "total" that it has no use for.)");
    EXPECT_EQ(fault(1, [](Definition& f) { f.aggregate = Aggregate::distinct, f.column = "x", f.total = "t"; }),
              R"(Feature "calls" has a "total" that it has no use for.)");
    EXPECT_EQ(fault(1, [](Definition& f) { f.total = "t"; }),
              R"(Feature "calls" has a "total" that it has no use for.)");
    const auto fault_of_mean = [](const char* total, TimeType time) {
        return fault_after([=](Plan& plan) {
            Definition& mean = plan.features[1];
            mean.aggregate = Aggregate::mean, mean.column = "x", mean.total = total, mean.relative = true;
            Relation& rows = plan.relations[static_cast<size_t>(mean.relation)];
            rows.time = time == TimeType::none ? "" : "t", rows.time_type = time, mean.window = "";
        });
    };
    const char no_relative[] =
        R"(Feature "calls" cannot be "relative": it is no number of many rows that have a time.)";
    EXPECT_EQ(fault_of_mean("t", TimeType::date), no_relative);
    EXPECT_EQ(fault_of_mean("", TimeType::none), no_relative);
    EXPECT_EQ(fault(1, [](Definition& f) { f.relative = true; }), no_relative);
    EXPECT_EQ(fault(0, [](Definition& f) { f.type = ColumnType::number, f.relative = true; }),
              R"(Feature "where" cannot be "relative": it is no number of many rows that have a time.)");
    EXPECT_EQ(fault_after([](Plan& plan) {
                  plan.as_of = "";
                  plan.features[0].aggregate = Aggregate::years_since;
                  plan.features[0].type = ColumnType::number;
              }),
              R"(Feature "where" needs an as_of.)");
    EXPECT_EQ(fault(1, [](Definition& f) { f.relation = 4; }), R"(Feature "calls" cannot have a window.)");
    EXPECT_EQ(fault(1, [](Definition& f) { f.aggregate = Aggregate::since_last; }),
              R"(Feature "calls" cannot have a window.)");
    EXPECT_EQ(fault_after([](Plan& plan) { plan.as_of = ""; }), R"(Feature "calls" cannot have a window.)");
    EXPECT_EQ(fault(1, [](Definition& f) { f.relation = 4, f.window = "", f.aggregate = Aggregate::mean_gap; }),
              R"(Feature "calls" needs a time.)");
    EXPECT_EQ(fault_after([](Plan& plan) { plan.features.push_back(plan.features[1]); }),
              R"(Feature "calls" is there twice.)");
}

std::string refusal(std::string_view json) {
    return caught([&] { parsed(json); }).detail;
}

TEST(Plan, RefusesJsonOfAnotherForm) {
    EXPECT_EQ(refusal(R"({"format": 2})"), "It was made by a newer version of btml.");
    EXPECT_EQ(refusal(R"({"asof": "x"})"), R"(A plan has no "asof".)");
    EXPECT_EQ(refusal(R"({"relations": [{"tabel": "x"}]})"), R"(A relation has no "tabel".)");
    EXPECT_EQ(refusal(R"({"features": [{"sql": "now"}]})"), R"(A feature has no "sql".)");
    EXPECT_EQ(refusal(R"({"features": [{"aggregate": "pg_sleep"}]})"), R"(There is no aggregate "pg_sleep".)");
    EXPECT_EQ(refusal(R"({"features": [{"type": "oid"}]})"),
              R"(Valid types are "number", "boolean", "time", "text", not "oid".)");
    EXPECT_EQ(refusal(R"({"relations": [{"time_type": "time"}]})"),
              R"(Valid types are "none", "date", "timestamp", "timestamptz", not "time".)");
    EXPECT_EQ(refusal(R"({"relations": [{"name": "a", "of": "b"}]})"),
              R"(Relation "a" is of "b", which is not before it.)");
    EXPECT_EQ(refusal(R"({"relations": [{"name": "a", "of": "a"}]})"),
              R"(Relation "a" is of "a", which is not before it.)");
    EXPECT_EQ(refusal(R"({"relations": [{"name": "a"}, {"name": "a"}]})"), R"(Relation "a" is there twice.)");
    EXPECT_EQ(refusal(R"({"features": [{"name": "f", "relation": "x"}]})"), R"(Feature "f" is of no relation.)");
    for (const char* const json :
         {"", "null", "3", "[]", "\"x\"", "{", "{} {}", R"({"relations": {}})", R"({"features": [3]})",
          R"({"as_of": 3})", R"({"inclusive": "yes"})", R"({"format": 0})", R"({"format": 1.5})",
          R"({"relations": [{"key": ["a"]}]})", R"({"features": [{"gain": "1"}]})",
          R"({"features": [{"gain": Infinity}]})", R"({"features": [{"gain": NaN}]})"})
        EXPECT_FALSE(refusal(json).empty()) << json;
}

std::string plan_of_relations(int count) {
    std::string json = R"({"relations": [)";
    for (int i = 0; i < count; i++)
        json += format(R"(%s{"name": "r%d", "table": "t", "key": {"a": "a"}})", i > 0 ? ", " : "", i);
    return json + "]}";
}

TEST(Plan, HasAThousandRelationsAtMost) {
    EXPECT_EQ(parsed(plan_of_relations(1000)).relations.size(), 1000U);
    EXPECT_EQ(refusal(plan_of_relations(1001)), "It has more than 1000 relations.");
    // As soon as they are too many: what follows is not looked at.
    EXPECT_EQ(refusal(plan_of_relations(1001).substr(0, plan_of_relations(1001).size() - 2) + ", 3"),
              "It has more than 1000 relations.");
}

TEST(Plan, CountsItsMemory) {
    const std::string json = plan_of_relations(900);
    QuietContext little(1, 16 * json.size() - 1), enough(1, 17 * json.size());
    EXPECT_EQ(caught([&] { parse_plan(json, little); }).code, ErrorCode::memory_limit);
    const Plan plan = parse_plan(json, enough);
    EXPECT_EQ(enough.memory().used(), 0U);
    QuietContext none(1, 1000);
    EXPECT_EQ(caught([&] { to_json(plan, none); }).code, ErrorCode::memory_limit);
}

// Many features of the last of many relations are read in pieces of work between which a call may be cancelled.
TEST(Plan, IsReadWithPolls) {
    std::string json = plan_of_relations(1000);
    json.resize(json.size() - 1);
    json += R"(, "features": [)";
    for (int i = 0; i < 20'000; i++)
        json += format(R"(%s{"name": "f%d", "relation": "r999", "aggregate": "count"})", i > 0 ? ", " : "", i);
    json += "]}";
    btml::test::ImpatientContext context;
    EXPECT_EQ(parse_plan(json, context).features.size(), 20'000U);
    EXPECT_GT(context.polls, 20U);
    btml::test::ImpatientContext impatient(10);
    EXPECT_THROW(parse_plan(json, impatient), Cancelled);
}

} // namespace
} // namespace btml::features::test
