// A plan of features: which tables are read for a thing as of a time, and what of their rows becomes a feature. It is
// kept as JSON, which people read and which may come from anywhere.
#pragma once

#include "core/base/buffer.hpp"
#include "core/features/aggregate.hpp"

#include <string>
#include <vector>

namespace btml::features {

enum class TimeType : uint8_t { none, date, timestamp, timestamptz };
inline constexpr const char* time_type_names[] = {"none", "date", "timestamp", "timestamptz"};

// Says whether the two are compared alike whatever the session's TimeZone is.
constexpr bool go_together(TimeType a, TimeType b) {
    return (a == TimeType::timestamptz) == (b == TimeType::timestamptz);
}

inline constexpr int source_number = -1; // of a relation: the source itself
inline constexpr size_t max_relations = 1000;
// What PostgreSQL keeps of a name.
inline constexpr size_t max_name_bytes = 63;

// A column of a relation, and the column that it equals: of the relation it is reached from, or of the source.
struct KeyPair {
    std::string column, of_column;
    // What the catalogue says, which is not kept: the type of of_column, in SQL, and whether that is a time; the type
    // and the collation that the two are compared by where theirs differ.
    std::string of_type = "text";
    bool of_is_time = false;
    std::string compared_as = {}, collation = {};
};

struct Relation {
    std::string name = {}, schema = {}, table = {};
    int of = source_number; // the number of the relation before it that it is reached from
    std::vector<KeyPair> key = {};
    std::string time = {}; // the column, empty: none
    TimeType time_type = TimeType::none;
    bool unique = false; // at most one row a key
    bool last = false;   // the key's values are those of the last row of `of` that has them all
};

struct Definition {
    std::string name;
    int relation;
    Aggregate aggregate;
    std::string column = {}; // empty for an aggregate of rows
    ColumnType type = ColumnType::number;
    std::string window = {}; // an interval, empty: all rows
    std::string value = {};  // what share and matches compare with
    std::string total = {};  // a column that the column's values are parts of; empty: they are taken as they are
    bool relative = false;   // to the mean of all rows that count from the same time on
    std::optional<double> gain = {};
    bool is_unbounded = false; // a number that a float8 may not hold, as the catalogue says; not kept
};

struct Plan {
    std::string as_of = {}; // the source's column, empty: none, and all rows count
    bool inclusive = false; // rows of the time itself count as well
    std::vector<Relation> relations = {};
    std::vector<Definition> features = {};

    const Relation& at(int relation) const { return relations[static_cast<size_t>(relation)]; }
    // Returns the number of the relation whose rows the relation's columns are columns of: its own, or that of the
    // relation with many rows that it is joined to. source_number where it is joined to the source.
    int rows_of(int relation) const;
    // Says whether rows of a relation with many rows have a time: their own or that of a relation they are reached by.
    bool has_time(int relation) const;
    // Returns the relation that the joins to these rows begin with: one of the source, or one by "last".
    int first_of(int relation) const;
    // Says what the feature is, in words.
    std::string words(const Definition& feature) const;
    // Returns the names of the tables to the relation from the source, with arrows in between.
    std::string path(int relation) const;

    // Errors invalid_argument, naming the relation or the feature, for what does not go together.
    void check() const;
};

Buffer<char> to_json(const Plan& plan, RunContext& context);
// Errors invalid_argument for what is no plan.
Plan parse_plan(std::string_view json, RunContext& context);

} // namespace btml::features
