#include "core/features/candidates.hpp"

#include "caught.hpp"
#include "random_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

namespace btml::features::test {
namespace {

using btml::test::Caught;
using btml::test::caught;

TableColumn key(std::string name) {
    return {.name = std::move(name), .type = ColumnType::number, .of_key = true};
}
TableColumn number(std::string name) {
    return {.name = std::move(name), .type = ColumnType::number};
}
TableColumn time_column(std::string name, TimeType type = TimeType::timestamp) {
    return {.name = std::move(name), .type = ColumnType::time, .time_type = type};
}

// Makes a request of tables, whose first is the source's own.
struct Schema {
    CandidateRequest request;

    Schema() {
        request.as_of = "as_of";
        request.as_of_type = TimeType::timestamp;
        request.texts = [](int, const std::string&, const std::string&) {
            return TextValues{.distinct = 2, .most_frequent = {"a", "b"}};
        };
        request.numbers = [](int, const std::string&) {
            return NumberValues{.years = {"born"}, .totals = {{"part", {"whole"}}}, .relative = {"minutes", "price"}};
        };
        add("task", {key("customer"), time_column("as_of")});
        request.tables[0].is_own = true;
        request.source = {{.name = "customer", .table = 0, .table_column = "customer"},
                          {.name = "as_of", .table = 0, .table_column = "as_of"}};
    }

    int add(const std::string& name, std::vector<TableColumn> columns,
            std::vector<std::vector<std::string>> unique = {}) {
        request.tables.push_back(
            {.schema = "s", .name = name, .columns = std::move(columns), .unique_keys = std::move(unique)});
        return static_cast<int>(request.tables.size()) - 1;
    }
    // A table whose key is "id".
    int add_things(const std::string& name, std::vector<TableColumn> more = {}) {
        more.insert(more.begin(), key("id"));
        return add(name, std::move(more), {{"id"}});
    }
    void refer(int table, const std::string& column, int to, const std::string& to_column = "id") {
        request.foreign_keys.push_back({table, to, {{column, to_column}}});
    }

    Plan plan() {
        remarks = {};
        return candidate_plan(request, remarks);
    }
    // The relations' paths, "1" behind those of one row a key.
    std::vector<std::string> paths() {
        const Plan made = plan();
        std::vector<std::string> all;
        for (size_t i = 0; i < made.relations.size(); i++)
            all.push_back(made.path(static_cast<int>(i)) + (made.relations[i].unique ? " 1" : ""));
        return all;
    }
    PlanRemarks remarks;
};

using Texts = std::vector<std::string>;

std::vector<std::string> names_of(const Plan& plan) {
    std::vector<std::string> names;
    for (const Definition& feature : plan.features) names.push_back(feature.name);
    return names;
}

Texts names_of(const std::vector<SeveralTimes>& timeless) {
    Texts names;
    for (const SeveralTimes& relation : timeless) names.push_back(relation.relations.front());
    return names;
}

bool has(const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

// Customers, their calls and orders with lines of products.
struct Shop : Schema {
    int customer, call, orders, line, product;

    Shop() {
        customer = add_things("customer", {{.name = "region", .type = ColumnType::text}, number("age")});
        call = add("call", {key("customer"), time_column("at"), number("minutes")});
        orders = add_things("orders", {key("customer"), time_column("at")});
        line = add("line", {key("orders"), key("product"), number("n")});
        product = add_things("product", {number("price")});
        refer(0, "customer", customer);
        refer(call, "customer", customer);
        refer(orders, "customer", customer);
        refer(line, "orders", orders);
        refer(line, "product", product);
    }
};

TEST(Candidates, FollowForeignKeysInBothDirections) {
    Shop shop;
    EXPECT_EQ(shop.paths(), (Texts{"source -> customer -> customer 1", "source -> customer -> call",
                                   "source -> customer -> orders", "source -> customer -> orders -> id -> line",
                                   "source -> customer -> orders -> id -> line -> product -> product 1"}));
    const auto paths_at = [&](int depth) {
        shop.request.max_depth = depth;
        return shop.paths().size();
    };
    EXPECT_EQ(paths_at(0), 1U); // what the source's row refers to
    EXPECT_EQ(shop.remarks.farther, (Texts{"call", "orders"}));
    EXPECT_EQ(paths_at(1), 3U);
    EXPECT_EQ(shop.remarks.farther, Texts{"line"});
    EXPECT_EQ(paths_at(2), 5U);
    EXPECT_EQ(shop.remarks.farther, Texts{});
    EXPECT_EQ(paths_at(3), 6U); // and the lines of the last product
    EXPECT_EQ(paths_at(5), 6U);
}

// What refers to a thing by the source's columns does not lie behind the thing's own row.
TEST(Candidates, ReachRowsOfAThingThatIsLeftOut) {
    Shop shop;
    const Texts all = shop.paths();
    shop.request.relations = {{.name = "customer", .left_out = true}};
    EXPECT_EQ(shop.paths(), Texts(all.begin() + 1, all.end()));
    shop.request.relations = {};
    shop.request.tables[static_cast<size_t>(shop.customer)].columns.push_back(
        time_column("seen", TimeType::timestamptz));
    EXPECT_EQ(shop.paths(), Texts(all.begin() + 1, all.end()));
    EXPECT_EQ(shop.remarks.other_zones, Texts{"customer"});
}

TEST(Candidates, CompareNoNumberThatIsAlone) {
    Shop shop;
    const int note = shop.add("note", {key("customer"), number("stars")});
    shop.refer(note, "customer", shop.customer);
    std::vector<int> read;
    shop.request.numbers = [&](int table, const std::string&) {
        read.push_back(table);
        return NumberValues{};
    };
    shop.plan();
    EXPECT_TRUE(std::find(read.begin(), read.end(), note) == read.end());
    EXPECT_TRUE(std::find(read.begin(), read.end(), shop.customer) != read.end()); // which may hold years
    shop.request.tables[static_cast<size_t>(note)].columns.push_back(number("cost"));
    shop.plan();
    EXPECT_TRUE(std::find(read.begin(), read.end(), note) != read.end());
}

TEST(Candidates, MakeYearsAndShares) {
    Shop shop;
    for (const int table : {shop.customer, shop.line, shop.call})
        for (const char* const column : {"born", "part", "whole"})
            shop.request.tables[static_cast<size_t>(table)].columns.push_back(number(column));
    const std::vector<std::string> names = names_of(shop.plan());
    for (const char* const name :
         {"customer_born", "customer_born_years_since", "customer_part_per_whole", "call_part_growth",
          "line_part_per_whole_mean", "line_part_per_whole_sum", "line_part_per_whole_max"})
        EXPECT_TRUE(has(names, name)) << name;
    EXPECT_FALSE(has(names, "line_part_per_whole_sd"));
    EXPECT_FALSE(has(names, "customer_whole_per_part"));
    shop.request.as_of = "";
    EXPECT_FALSE(has(names_of(shop.plan()), "customer_born_years_since"));
}

// Customers, and transfers with the columns from one of them to another.
struct Transfers : Schema {
    explicit Transfers(std::vector<TableColumn> columns) {
        const int customer = add_things("customer");
        columns.insert(columns.end(), {key("payer"), key("payee")});
        const int transfer = add("transfer", std::move(columns));
        refer(0, "customer", customer);
        refer(transfer, "payee", customer);
        refer(transfer, "payer", customer);
        request.max_depth = 1;
    }
};

// The time that is asked for a table's first relation is that of its others.
TEST(Candidates, TakeTheTimeOfATableOnce) {
    Transfers schema({time_column("sent"), time_column("came")});
    EXPECT_EQ(schema.plan().relations.size(), 1U);
    ASSERT_EQ(schema.remarks.several_times.size(), 1U);
    EXPECT_EQ(schema.remarks.several_times[0].relations, (Texts{"transfer", "transfer_with_payer"}));
    EXPECT_EQ(schema.remarks.several_times[0].times, (Texts{"sent", "came"}));
    schema.request.relations = {{.name = "transfer", .time = "came"}};
    const Plan plan = schema.plan();
    EXPECT_EQ(plan.relations.size(), 5U);
    for (const Relation& relation : plan.relations)
        EXPECT_EQ(relation.time, relation.table == "transfer" ? "came" : "");
}

TEST(Candidates, ReachTheSourcesOwnThingBySeveralColumns) {
    Schema schema;
    schema.request.tables[0].columns = {key("country"), key("number"), time_column("as_of")};
    schema.request.source = {{.name = "nation", .table = 0, .table_column = "country"},
                             {.name = "no", .table = 0, .table_column = "number"},
                             {.name = "as_of", .table = 0, .table_column = "as_of"}};
    const int customer =
        schema.add("customer", {key("country"), key("number"), number("age")}, {{"country", "number"}});
    const int call = schema.add("call", {key("c"), key("n"), time_column("at")});
    schema.request.foreign_keys = {{0, customer, {{"country", "country"}, {"number", "number"}}},
                                   {call, customer, {{"n", "number"}, {"c", "country"}}}};
    EXPECT_EQ(schema.paths(), (Texts{"source -> nation, no -> customer 1", "source -> no, nation -> call"}));
    // A source with a part of the key does not reach it.
    schema.request.source.erase(schema.request.source.begin());
    EXPECT_EQ(schema.paths(), Texts{});
}

TEST(Candidates, FollowATableThatRefersToItself) {
    Schema schema;
    const int person = schema.add_things("person", {key("boss"), number("salary"), time_column("since")});
    schema.refer(0, "customer", person);
    schema.refer(person, "boss", person);
    const std::string person_path = "source -> customer -> person", boss = person_path + " -> boss -> person_by_boss",
                      staff = "source -> customer -> person_with_boss", top = boss + " -> boss -> person_by_boss_2",
                      peers = boss + " -> id -> person_of_person_by_boss",
                      seconds = top + " -> id -> person_of_person_by_boss_2";
    EXPECT_EQ(schema.paths(), (Texts{person_path + " 1", boss + " 1", staff, peers, top + " 1",
                                     staff + " -> id -> person_of_person_with_boss",
                                     peers + " -> id -> person_of_person_of_person_by_boss", seconds,
                                     seconds + " -> id -> person_of_person_of_person_by_boss_2"}));
    // A relation has the same name whatever max_depth is.
    Texts nearer;
    for (int depth = 0; depth <= 5; depth++) {
        schema.request.max_depth = depth;
        const Plan plan = schema.plan();
        EXPECT_LE(plan.relations.size(), 40U) << depth;
        const Texts paths = schema.paths();
        for (const std::string& path : nearer) EXPECT_TRUE(has(paths, path)) << path << " at " << depth;
        nearer = paths;
    }
}

TEST(Candidates, TellTwoForeignKeysToOneTableApart) {
    Transfers schema({time_column("at"), number("amount")});
    EXPECT_EQ(schema.paths(),
              (Texts{"source -> customer -> customer 1", "source -> customer -> transfer",
                     "source -> customer -> transfer_with_payer",
                     "source -> customer -> transfer -> payer -> customer_of_transfer 1",
                     "source -> customer -> transfer_with_payer -> payee -> customer_of_transfer_with_payer 1"}));
}

// The rows that many rows were reached from are not looked up again, nor the many rows of what they refer to.
TEST(Candidates, DoNotGoBack) {
    Shop shop;
    shop.request.max_depth = 5;
    for (const std::string& path : shop.paths()) {
        EXPECT_EQ(path.find("call -> customer"), std::string::npos) << path;
        EXPECT_EQ(path.find("product -> id"), std::string::npos) << path;
    }
}

TEST(Candidates, LeaveTheSourcesOwnTablesOut) {
    Shop shop;
    shop.request.tables[static_cast<size_t>(shop.orders)].is_own = true;
    for (const std::string& path : shop.paths()) {
        EXPECT_EQ(path.find("orders"), std::string::npos) << path;
        EXPECT_EQ(path.find("task"), std::string::npos) << path;
    }
}

TEST(Candidates, HaveTheRowsOfTheLastParent) {
    Schema schema;
    const int driver = schema.add_things("driver");
    const int team = schema.add_things("team", {number("budget")});
    const int start = schema.add("start", {key("driver"), key("team"), time_column("at"), number("place")});
    const int result = schema.add("result", {key("team"), time_column("at"), number("points")});
    schema.refer(0, "customer", driver);
    schema.refer(result, "team", team);
    schema.refer(start, "driver", driver);
    schema.refer(start, "team", team);
    const Texts paths = schema.paths();
    EXPECT_TRUE(has(paths, "source -> customer -> start -> last team -> result"));
    EXPECT_TRUE(has(paths, "source -> customer -> start -> last team -> start_of_last_start"));
    // Rows without a time have no last one.
    schema.request.tables[static_cast<size_t>(start)].columns.erase(
        schema.request.tables[static_cast<size_t>(start)].columns.begin() + 2);
    for (const std::string& path : schema.paths()) EXPECT_EQ(path.find("last"), std::string::npos) << path;
}

bool is_valid_end(const std::string& name) {
    size_t continuations = 0;
    while (continuations < name.size() &&
           (static_cast<unsigned char>(name[name.size() - 1 - continuations]) & 0xC0) == 0x80)
        continuations++;
    if (continuations == name.size()) return false;
    const auto lead = static_cast<unsigned char>(name[name.size() - 1 - continuations]);
    return continuations == (lead < 0x80 ? 0U : lead < 0xE0 ? 1U : lead < 0xF0 ? 2U : 3U);
}

TEST(Candidates, CutNamesAtACharactersEnd) {
    for (size_t bytes = 40; bytes <= 63; bytes++)
        for (const std::string& character : {std::string("x"), std::string("ä"), std::string("€"), std::string("😀")}) {
            std::string long_name;
            while (long_name.size() + character.size() <= bytes) long_name += character;
            Schema schema;
            const int customer = schema.add_things("customer");
            const int call =
                schema.add(long_name, {key("customer"), time_column("at"), number(long_name), number(long_name + "2")});
            schema.refer(0, "customer", customer);
            schema.refer(call, "customer", customer);
            schema.request.windows = {"30 days", "1 year 2 months 3 days 4 hours 5 minutes 6 seconds 7 microseconds",
                                      ""};
            std::set<std::string> names;
            for (const std::string& name : names_of(schema.plan())) {
                EXPECT_LE(name.size(), 63U) << name;
                EXPECT_TRUE(is_valid_end(name)) << name;
                EXPECT_TRUE(names.insert(name).second) << name;
            }
            EXPECT_GT(names.size(), 30U);
        }
}

TEST(Candidates, HaveNamesThatTheSourceHasNot) {
    Shop shop;
    shop.request.source.push_back({.name = "call_count_30d"});
    shop.request.windows = {"30 days"};
    const std::vector<std::string> names = names_of(shop.plan());
    EXPECT_FALSE(has(names, "call_count_30d"));
    EXPECT_TRUE(has(names, "call_count_30d_2"));
}

TEST(Candidates, LabelWindows) {
    Shop shop;
    shop.request.windows = {"30 days", "1 year",   "2 months",       "2 minutes",       "1 hour 30 seconds",
                            "",        "1 second", "7 microseconds", "1 month 1 minute"};
    const std::vector<std::string> names = names_of(shop.plan());
    for (const char* const label : {"_30d", "_1y", "_2mon", "_2min", "_1h30s", "", "_1s", "_1mon1min"})
        EXPECT_TRUE(has(names, std::string("call_count") + label)) << label;
}

TEST(Candidates, KnowTheTimesOfRelations) {
    const auto with_times = [](std::vector<TableColumn> times) {
        Shop shop;
        shop.request.windows = {"30 days", ""};
        std::vector<TableColumn>& columns = shop.request.tables[static_cast<size_t>(shop.call)].columns;
        columns = {key("customer"), number("minutes")};
        columns.insert(columns.end(), times.begin(), times.end());
        return shop;
    };
    Shop none = with_times({});
    const Plan timeless = none.plan();
    EXPECT_EQ(names_of(none.remarks.timeless), (Texts{"customer", "call", "product"}));
    for (const std::string& name : names_of(timeless))
        if (name.starts_with("call_")) {
            EXPECT_EQ(name.find("since"), std::string::npos);
            EXPECT_EQ(name.find("_30d"), std::string::npos);
        }
    Shop several = with_times({time_column("began"), time_column("ended")});
    EXPECT_EQ(several.plan().relations.size(), 4U);
    ASSERT_EQ(several.remarks.several_times.size(), 1U);
    EXPECT_EQ(several.remarks.several_times[0].relations, Texts{"call"});
    several.request.relations = {{.name = "call", .time = "ended"}};
    EXPECT_EQ(several.plan().relations[1].time, "ended");
    EXPECT_TRUE(several.remarks.several_times.empty());
    several.request.relations = {{.name = "call", .time = ""}};
    EXPECT_EQ(several.plan().relations[1].time, "");
    EXPECT_FALSE(has(names_of(several.remarks.timeless), "call")); // as it is meant
    several.request.relations = {{.name = "call", .left_out = true}};
    several.plan();
    EXPECT_TRUE(several.remarks.several_times.empty());
}

TEST(Candidates, SetNumbersBesideTheMeanOfTheirTime) {
    Shop shop;
    shop.request.tables[static_cast<size_t>(shop.line)].columns.push_back(number("minutes"));
    Texts relative;
    for (const Definition& feature : shop.plan().features)
        if (feature.relative && feature.window.empty()) relative.push_back(feature.name);
    // A line has no time of its own, and a price belongs to many lines.
    EXPECT_EQ(relative, (Texts{"call_minutes_relative_mean", "call_minutes_relative_sum", "call_minutes_relative_min",
                               "call_minutes_relative_max", "call_minutes_relative_sd", "call_minutes_relative_change",
                               "call_minutes_relative_growth", "call_minutes_relative_slope",
                               "call_minutes_relative_last", "call_minutes_relative_previous"}));
}

TEST(Candidates, TellHowLongAThingIsKnown) {
    Shop shop;
    shop.request.tables[static_cast<size_t>(shop.customer)].columns.push_back(time_column("joined"));
    const Plan plan = shop.plan();
    EXPECT_EQ(plan.relations[0].time, "joined");
    EXPECT_TRUE(has(names_of(plan), "customer_joined"));
    EXPECT_FALSE(has(names_of(plan), "call_at"));
}

// One row a key is joined as it is where nobody knows which of its times is its own.
TEST(Candidates, JoinThingsWithSeveralTimes) {
    Shop shop;
    std::vector<TableColumn>& columns = shop.request.tables[static_cast<size_t>(shop.customer)].columns;
    columns.push_back(time_column("born"));
    columns.push_back(time_column("joined"));
    columns.push_back(time_column("seen", TimeType::timestamptz));
    const Plan plan = shop.plan();
    EXPECT_EQ(plan.relations[0].time, "");
    EXPECT_TRUE(has(names_of(plan), "customer_born"));
    // Days from a time without a zone to one with a zone depend on the session's.
    EXPECT_FALSE(has(names_of(plan), "customer_seen"));
    shop.request.as_of = "";
    EXPECT_TRUE(has(names_of(shop.plan()), "customer_seen"));
}

TEST(Candidates, RefuseTimesOfAnotherKind) {
    Shop shop;
    shop.request.windows = {"30 days", ""};
    shop.request.as_of_type = TimeType::timestamptz;
    for (const Relation& relation : shop.plan().relations) EXPECT_NE(relation.name, "call");
    EXPECT_TRUE(has(shop.remarks.other_zones, "call"));
    const std::vector<RelationRequest> found = std::exchange(
        shop.request.relations, {{.name = "call", .table = shop.call, .key = {{"customer", "customer"}}}});
    const Caught error = caught([&] { shop.plan(); });
    EXPECT_EQ(error.code, ErrorCode::wrong_type);
    EXPECT_EQ(error.message,
              "as_of \"as_of\" has type timestamptz, and time \"at\" of relation \"call\" has type timestamp");
    shop.request.relations = found;
    shop.request.as_of = "";
    shop.request.as_of_type = TimeType::none;
    for (const std::string& name : names_of(shop.plan())) {
        EXPECT_EQ(name.find("_30d"), std::string::npos) << name;
        EXPECT_EQ(name.find("since"), std::string::npos) << name;
    }
}

TEST(Candidates, LeaveOutTablesWhoseKeyMayNotBeRead) {
    Shop shop;
    std::vector<TableColumn>& columns = shop.request.tables[static_cast<size_t>(shop.call)].columns;
    columns.erase(columns.begin());
    const Plan plan = shop.plan();
    EXPECT_EQ(shop.remarks.unread, Texts{"call"});
    for (const Relation& relation : plan.relations) EXPECT_NE(relation.name, "call");
}

// A time that may not be read hides what is past: the table is left out, as its key were not readable.
TEST(Candidates, LeaveOutTablesWhoseTimeMayNotBeRead) {
    Shop shop;
    CatalogueTable& call = shop.request.tables[static_cast<size_t>(shop.call)];
    call.columns.erase(call.columns.begin() + 1);
    call.has_unread_time = true;
    for (const Relation& relation : shop.plan().relations) EXPECT_NE(relation.name, "call");
    EXPECT_EQ(shop.remarks.unread, Texts{"call"});
    // Somebody may say that it counts whole.
    shop.request.relations = {{.name = "call", .time = ""}};
    EXPECT_EQ(shop.plan().relations[1].name, "call");
    EXPECT_EQ(shop.remarks.unread, Texts{});
}

TEST(Candidates, TakeWordsOnRelationsThatAreThere) {
    Shop shop;
    shop.request.relations = {{.name = "call", .columns = Texts{"minutes"}}, {.name = "product", .left_out = true}};
    EXPECT_EQ(shop.plan().relations.size(), 4U);
    const auto error_of = [&](RelationRequest word) {
        shop.request.relations = {std::move(word)};
        return caught([&] { shop.plan(); });
    };
    const Caught misspelt = error_of({.name = "cal", .left_out = true});
    EXPECT_EQ(misspelt.code, ErrorCode::invalid_argument);
    EXPECT_EQ(misspelt.message, "relation \"cal\" is none that foreign keys lead to");
    EXPECT_EQ(misspelt.hint, "Perhaps you meant \"call\".");
    EXPECT_EQ(error_of({.name = "nothing", .time = "at"}).message,
              "relation \"nothing\" is none that foreign keys lead to");
    EXPECT_EQ(error_of({.name = "call", .time = "ta"}).message,
              "relation \"call\" has no column \"ta\" that you may read");
    EXPECT_EQ(error_of({.name = "call", .time = "minutes"}).message,
              "time \"minutes\" of relation \"call\" is no date or timestamp");
    EXPECT_EQ(error_of({.name = "call", .columns = Texts{"minuts"}}).message,
              "relation \"call\" has no column \"minuts\" that you may read");
}

struct Named : Shop {
    Named() {
        request.relations = {
            {.name = "calls", .table = call, .key = {{"customer", "customer"}}},
            {.name = "person", .table = customer, .key = {{"id", "customer"}}},
            {.name = "bought", .table = orders, .of = "person", .key = {{"customer", "id"}}, .time = "at"},
            {.name = "lines", .table = line, .of = "bought", .key = {{"orders", "id"}}, .columns = Texts{"n"}},
            {.name = "goods", .table = product, .of = "lines", .key = {{"id", "product"}}},
            {.name = "others", .table = line, .of = "goods", .key = {{"product", "id"}}, .last = true}};
    }
    Caught error_of(const std::function<void(RelationRequest&)>& change, size_t relation = 0) const {
        Named changed = *this;
        change(changed.request.relations[relation]);
        return caught([&] { changed.plan(); });
    }
};

TEST(Candidates, AreOfRelationsAsNamed) {
    Named named;
    EXPECT_EQ(
        named.paths(),
        (Texts{
            "source -> customer -> calls", "source -> customer -> person 1",
            "source -> customer -> person -> id -> bought",
            "source -> customer -> person -> id -> bought -> id -> lines",
            "source -> customer -> person -> id -> bought -> id -> lines -> product -> goods 1",
            "source -> customer -> person -> id -> bought -> id -> lines -> product -> goods -> last id -> others"}));
    const std::vector<std::string> names = names_of(named.plan());
    EXPECT_TRUE(has(names, "lines_n_mean"));
    EXPECT_FALSE(has(names, "lines_product_distinct"));
}

TEST(Candidates, RefuseRelationsByName) {
    const Named named;
    const auto message = [&](const std::function<void(RelationRequest&)>& change, size_t relation = 0) {
        const Caught error = named.error_of(change, relation);
        EXPECT_TRUE(error.code == ErrorCode::invalid_argument || error.code == ErrorCode::undefined_column ||
                    error.code == ErrorCode::wrong_type);
        return error.message;
    };
    EXPECT_EQ(message([](RelationRequest& r) { r.table = -1; }), "relation \"calls\" has no \"table\"");
    EXPECT_EQ(message([](RelationRequest& r) { r.name = "source"; }), "relation \"source\" has a name that is taken");
    EXPECT_EQ(message([](RelationRequest& r) { r.name = "prediction"; }),
              "relation \"prediction\" has a name that is taken");
    EXPECT_EQ(message([](RelationRequest& r) { r.name = "calls"; }, 1), "relation \"calls\" has a name that is taken");
    EXPECT_EQ(message([](RelationRequest& r) { r.of = "nobody"; }),
              "relation \"calls\" is of \"nobody\", which is no relation before it");
    EXPECT_EQ(message([](RelationRequest& r) { r.of = "calls"; }),
              "relation \"calls\" is of \"calls\", which is no relation before it");
    EXPECT_EQ(message([](RelationRequest& r) {
                  r.key = {{"custmer", "customer"}};
              }),
              "relation \"calls\" has no column \"custmer\" that you may read");
    EXPECT_EQ(message([](RelationRequest& r) {
                  r.key = {{"customer", "custmer"}};
              }),
              "source has no column \"custmer\", the key of relation \"calls\"");
    EXPECT_EQ(message(
                  [](RelationRequest& r) {
                      r.key = {{"customer", "ident"}};
                  },
                  2),
              "relation \"person\" has no column \"ident\" that you may read");
    EXPECT_EQ(message([](RelationRequest& r) { r.time = "minutes"; }),
              "time \"minutes\" of relation \"calls\" is no date or timestamp");
    EXPECT_EQ(message([](RelationRequest& r) { r.time = "when"; }),
              "relation \"calls\" has no column \"when\" that you may read");
    EXPECT_EQ(message([](RelationRequest& r) { r.columns = Texts{"seconds"}; }),
              "relation \"calls\" has no column \"seconds\" that you may read");
    EXPECT_EQ(message([](RelationRequest& r) { r.last = true; }), "relations do not go together");
    EXPECT_EQ(message([](RelationRequest& r) { r.last = false; }, 5), "relations do not go together");
    Named several = named;
    several.request.tables[static_cast<size_t>(several.call)].columns.push_back(time_column("ended"));
    EXPECT_EQ(caught([&] { several.plan(); }).message, "relation \"calls\" has several times");
    Named unread = named;
    unread.request.tables[static_cast<size_t>(unread.call)].has_unread_time = true;
    unread.request.tables[static_cast<size_t>(unread.call)].columns.erase(
        unread.request.tables[static_cast<size_t>(unread.call)].columns.begin() + 1);
    EXPECT_EQ(caught([&] { unread.plan(); }).message, "relation \"calls\" has a time that you may not read");
}

// Random foreign keys among few tables, with cycles and references to themselves.
Schema random_schema(unsigned seed, const std::vector<int>& order) {
    std::mt19937 random(seed);
    const auto below = [&](size_t n) { return static_cast<int>(random() % n); };
    Schema schema;
    const size_t count = order.size();
    std::vector<CatalogueTable> tables(count);
    const auto place = [&](int table) { return 1 + order[static_cast<size_t>(table)]; };
    for (size_t i = 0; i < count; i++) {
        CatalogueTable& table = tables[static_cast<size_t>(order[i])];
        table = {
            .schema = "s", .name = format("t%zu", i), .columns = {key("id"), number("x")}, .unique_keys = {{"id"}}};
        if (below(3) > 0) table.columns.push_back(time_column("at"));
    }
    std::vector<ForeignKey> keys;
    schema.refer(0, "customer", place(0));
    for (int i = 0; i < static_cast<int>(count) + below(3); i++) {
        const int from = below(count), to = below(count);
        tables[static_cast<size_t>(order[static_cast<size_t>(from)])].columns.push_back(key(format("r%d", i)));
        schema.refer(place(from), format("r%d", i), place(to));
    }
    schema.request.tables.insert(schema.request.tables.end(), tables.begin(), tables.end());
    return schema;
}

size_t many_steps(const Plan& plan, int relation) {
    size_t steps = 0;
    for (; relation != source_number; relation = plan.at(relation).of) steps += plan.at(relation).unique ? 0 : 1;
    return steps;
}

TEST(Candidates, EndWithCyclesAndDoNotDependOnTheOrderOfTables) {
    size_t most = 0;
    for (unsigned seed = 0; seed < 40; seed++) {
        SCOPED_TRACE(seed);
        std::vector<int> order(2 + seed % 4), other;
        std::iota(order.begin(), order.end(), 0);
        other = order;
        std::shuffle(other.begin(), other.end(), std::mt19937(seed));
        for (int depth = 0; depth <= 5; depth++) {
            Schema schema = random_schema(seed, order), same = random_schema(seed, other);
            schema.request.max_depth = same.request.max_depth = depth;
            const Plan plan = schema.plan();
            EXPECT_LE(plan.relations.size(), max_found_relations);
            most = std::max(most, plan.relations.size());
            EXPECT_EQ(json_of(plan), json_of(same.plan()));
            const std::vector<std::string> names = names_of(plan);
            EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
            for (size_t i = 0; i < plan.relations.size(); i++) {
                EXPECT_LE(plan.relations[i].name.size(), 63U);
                EXPECT_LE(many_steps(plan, static_cast<int>(i)), static_cast<size_t>(depth));
            }
        }
    }
    EXPECT_GT(most, 50U);
}

// Forty tables each of which refers to all: paths grow by forty a step, and the nearest relations are taken.
TEST(Candidates, EndWhereEachTableRefersToAll) {
    Schema schema;
    for (int i = 0; i < 40; i++) schema.add_things(format("t%d", i), {time_column("at")});
    schema.refer(0, "customer", 1);
    for (int from = 1; from <= 40; from++)
        for (int to = 1; to <= 40; to++) {
            schema.request.tables[static_cast<size_t>(from)].columns.push_back(key(format("r%d", to)));
            schema.refer(from, format("r%d", to), to);
        }
    schema.request.max_depth = 5;
    PlanRemarks remarks;
    EXPECT_EQ(candidate_plan(schema.request, remarks).relations.size(), max_found_relations);
    EXPECT_TRUE(remarks.is_cut);
}

// How often texts are in a column says what is made of them.
TEST(Candidates, KnowKindsFromNames) {
    Shop shop;
    std::vector<TableColumn>& columns = shop.request.tables[static_cast<size_t>(shop.call)].columns;
    columns.push_back({.name = "topic", .type = ColumnType::text});
    shop.request.windows = {""};
    const auto names_with = [&](TextValues values) {
        shop.request.texts = [=](int, const std::string&, const std::string&) { return values; };
        return names_of(shop.plan());
    };
    std::vector<std::string> names = names_with({.distinct = 3, .most_frequent = {"bill", "a'b", ""}});
    for (const char* const name :
         {"call_topic_share_bill", "call_topic_share_a_b", "call_topic_distinct", "call_topic_last"})
        EXPECT_TRUE(has(names, name)) << name;
    EXPECT_TRUE(has(names, "customer_region"));
    names = names_with({.distinct = 300, .most_frequent = {"bill"}});
    EXPECT_TRUE(has(names, "call_topic_distinct"));
    EXPECT_FALSE(has(names, "call_topic_last"));
    EXPECT_FALSE(has(names, "customer_region"));
    names = names_with({.distinct = 200});
    EXPECT_FALSE(has(names, "call_topic_distinct"));
}

} // namespace
} // namespace btml::features::test
