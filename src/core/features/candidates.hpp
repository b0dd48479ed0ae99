// All features that the tables around a thing may have: relations by foreign keys or as named, and each aggregate of
// each of their columns.
#pragma once

#include "core/features/plan.hpp"

#include <functional>
#include <map>
#include <set>

namespace btml::features {

struct TableColumn {
    std::string name;
    std::optional<ColumnType> type = {}; // none: of a type that no feature is made of
    TimeType time_type = TimeType::none;
    bool of_key = false; // tells things apart, and is no quantity
};

struct CatalogueTable {
    std::string schema, name;
    std::vector<TableColumn> columns; // those that may be read
    std::vector<std::vector<std::string>> unique_keys = {};
    bool is_own = false;          // the source's own, which no path leads through
    bool has_unread_time = false; // a date or timestamp may not be read

    const TableColumn* find(std::string_view column) const;
    // Returns the names of its dates and timestamps.
    std::vector<std::string> times() const;
};

struct ForeignKey {
    int table, to;              // tables by number
    std::vector<KeyPair> pairs; // column, and to's column
};

struct SourceColumn {
    std::string name;
    int table = -1; // what it is a column of, and its name there; −1: of no table
    std::string table_column = {};
    std::optional<ColumnType> type = {};
};

// A relation as somebody names it, or what is asked for one that foreign keys lead to.
struct RelationRequest {
    std::string name;
    int table = -1; // −1: found by foreign keys
    bool left_out = false;
    std::string of = {}; // a relation named before; empty: the source
    std::vector<KeyPair> key = {};
    std::optional<std::string> time = {};
    std::optional<std::vector<std::string>> columns = {};
    bool last = false;
};

// How often texts are in a column.
struct TextValues {
    uint64_t distinct = 0;
    // Those of the three most frequent that are there twice or more, are not empty, and have 200 bytes or fewer.
    std::vector<std::string> most_frequent = {};
};

// What the numbers of a table's columns are.
struct NumberValues {
    std::set<std::string> years = {}; // columns whose values are years of our time
    // By column: those that it is a part of in every row, the one of the least maximum first.
    std::map<std::string, std::vector<std::string>> totals = {};
    // Columns to take relative to the mean of their time as well: not negative, of times that have many rows.
    std::set<std::string> relative = {};
};

struct CandidateRequest {
    std::vector<CatalogueTable> tables;
    std::vector<ForeignKey> foreign_keys;
    std::vector<SourceColumn> source;
    std::vector<RelationRequest> relations = {};
    std::string as_of = {};
    TimeType as_of_type = TimeType::none;
    bool inclusive = false;
    std::vector<std::string> windows = {""}; // "" for all rows
    int max_depth = 2;
    // Say what a table's columns hold, in rows before the last as_of where they have a time.
    std::function<TextValues(int table, const std::string& column, const std::string& time)> texts;
    std::function<NumberValues(int table, const std::string& time)> numbers;
};

// How many relations are taken of those that foreign keys lead to: the nearest.
inline constexpr size_t max_found_relations = 100;

// Relations of one table, and its times.
struct SeveralTimes {
    std::vector<std::string> relations, times;
};

// What a user should know of a plan.
struct PlanRemarks {
    // Relations that count whole, one at a time: they have no time, or several and one row a thing.
    std::vector<SeveralTimes> timeless = {};
    // Relations that were left out, as nobody said which of their times it is.
    std::vector<SeveralTimes> several_times = {};
    // Relations that were left out, as of their time and as_of only one has a time zone.
    std::vector<std::string> other_zones = {};
    std::vector<std::string> unread = {};  // tables that were left out, as their key or time may not be read
    std::vector<std::string> farther = {}; // tables one step beyond max_depth that no relation is of
    bool is_cut = false;                   // foreign keys lead to more relations than are taken
};

// Returns a plan of all candidates, in an order that only names decide. Errors invalid_argument, undefined_column,
// wrong_type where relations are named.
Plan candidate_plan(const CandidateRequest& request, PlanRemarks& remarks);

} // namespace btml::features
