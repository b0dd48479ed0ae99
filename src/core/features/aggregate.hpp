// What the rows of a thing become: the closed list of aggregates that features are made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace btml::features {

enum class Aggregate : uint8_t {
    value,
    years_since,
    count,
    since_first,
    since_last,
    mean_gap,
    mean,
    sum,
    min,
    max,
    sd,
    change,
    growth,
    slope,
    last,
    previous,
    share,
    matches,
    distinct,
};

// What the values of a column are.
enum class ColumnType : uint8_t { number, boolean, time, text };
inline constexpr const char* column_type_names[] = {"number", "boolean", "time", "text"};

constexpr unsigned type_bit(ColumnType type) {
    return 1U << static_cast<unsigned>(type);
}

struct AggregateFacts {
    const char* name;
    unsigned types;    // bits of the columns that it takes; none: it is of rows
    bool windowed;     // is also computed of the rows of a window
    bool timed;        // needs the time of rows
    const char* words; // what it is, before "column of relation" or "relation"
};

constexpr unsigned of_numbers = type_bit(ColumnType::number), any_type = 15;

// In the order of Aggregate. Times are in days.
inline constexpr AggregateFacts aggregates[] = {
    {"value", any_type, false, false, ""},
    {"years_since", of_numbers, false, false, "years since"},
    {"count", 0, true, false, "number of rows of"},
    {"since_first", 0, false, true, "days since the first row of"},
    {"since_last", 0, false, true, "days since the last row of"},
    {"mean_gap", 0, false, true, "mean number of days between rows of"},
    {"mean", of_numbers, true, false, "mean of"},
    {"sum", of_numbers, true, false, "sum of"},
    {"min", of_numbers, true, false, "least"},
    {"max", of_numbers, true, false, "greatest"},
    {"sd", of_numbers, true, false, "standard deviation of"},
    {"change", of_numbers, true, true, "change of"},
    {"growth", of_numbers, true, true, "growth of"},
    {"slope", of_numbers, true, true, "slope by day of"},
    {"last", of_numbers | type_bit(ColumnType::boolean) | type_bit(ColumnType::text), false, true, "last"},
    {"previous", of_numbers, false, true, "last but one"},
    {"share", type_bit(ColumnType::boolean) | type_bit(ColumnType::text), true, false, "share of"},
    {"matches", type_bit(ColumnType::boolean) | type_bit(ColumnType::text), true, false, "number of rows of"},
    {"distinct", of_numbers | type_bit(ColumnType::text), true, false, "number of distinct"},
};

constexpr const AggregateFacts& facts_of(Aggregate aggregate) {
    return aggregates[static_cast<size_t>(aggregate)];
}

// Says whether the aggregate is of the one row that a thing has in a table, rather than of many.
constexpr bool is_of_one_row(Aggregate aggregate) {
    return aggregate == Aggregate::value || aggregate == Aggregate::years_since;
}

inline std::optional<Aggregate> aggregate_named(std::string_view name) {
    for (size_t i = 0; i < std::size(aggregates); i++)
        if (aggregates[i].name == name) return static_cast<Aggregate>(i);
    return {};
}

} // namespace btml::features
