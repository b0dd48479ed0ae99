#include "pg/features_values.hpp"

#include "core/features/sql_names.hpp"
#include "pg/features_catalogue.hpp"

#include <cmath>
#include <map>

namespace btml::pg {

using namespace features;

namespace {

constexpr size_t max_value_bytes = 200; // of a text that has features of its own
constexpr size_t max_totals = 8;        // columns that one is compared with
constexpr double min_rows_at_once = 10; // that a time has in the mean, for its mean to say what is usual
constexpr size_t max_selected = 1000;   // expressions in one SELECT

// A column of numbers, and what they are between.
struct NumberColumn {
    std::string name;
    double min = 0, max = 0;
    bool holds_years = false;
};

// Reads the values of one table's columns, of the rows that count.
class TableValues {
  public:
    TableValues(const CatalogueTable& table, std::string time, std::string condition, RunContext& context)
        : table_(table),
          time_(std::move(time)),
          from_(" FROM " + quoted_name(table.schema) + "." + quoted_name(table.name)),
          condition_(std::move(condition)),
          context_(context) {}

    TextValues texts(const std::string& column) const {
        constexpr int most = 3;
        const std::string name = quoted_name(column);
        const std::vector<TextRow> rows =
            text_rows("SELECT value, n::text, (count(*) OVER ())::text FROM (SELECT " + name +
                          "::text COLLATE \"C\" AS value, count(*) AS n" + from_ + " WHERE " + name + " IS NOT NULL" +
                          (condition_.empty() ? "" : " AND ") + condition_ +
                          " GROUP BY 1) AS c ORDER BY c.n DESC, c.value LIMIT " + std::to_string(most),
                      "counting texts", context_);
        TextValues values;
        for (const TextRow& row : rows) {
            values.distinct = std::stoull(row[2]);
            if (row[1] != "1" && !row[0].empty() && row[0].size() <= max_value_bytes)
                values.most_frequent.push_back(row[0]);
        }
        return values;
    }

    NumberValues numbers() const {
        NumberValues values;
        std::vector<NumberColumn> columns = number_columns();
        for (const NumberColumn& column : columns)
            if (column.holds_years) values.years.insert(column.name);
        std::erase_if(columns, [](const NumberColumn& column) {
            return column.holds_years || column.min < 0 || column.max == 0;
        });
        if (!columns.empty() && has_rows_at_once())
            for (size_t begin = 0; begin < columns.size(); begin += max_selected / 4)
                find_relative(columns, begin, std::min(columns.size(), begin + max_selected / 4), values.relative);
        find_totals(std::move(columns), values.totals);
        return values;
    }

  private:
    std::vector<NumberColumn> number_columns() const {
        std::vector<NumberColumn> columns;
        std::vector<std::string> ranges;
        for (const TableColumn& column : table_.columns) {
            if (column.type != ColumnType::number || column.of_key) continue;
            const std::string name = quoted_name(column.name);
            const std::string counts = ") FILTER (WHERE " + is_number(name);
            ranges.push_back("min(" + name + counts + ")::text || ' ' || max(" + name + counts +
                             ")::text || CASE WHEN count(*" + counts + " AND " + name + " BETWEEN 1500 AND 2500 AND " +
                             name + "::numeric % 1 = 0) > 0.9 * count(*" + counts + ") THEN ' years' ELSE '' END");
            columns.push_back({.name = column.name});
        }
        const std::vector<std::string> found = select(ranges);
        for (size_t i = 0; i < columns.size(); i++) {
            char* end = nullptr;
            columns[i].min = std::strtod(found[i].c_str(), &end);
            columns[i].max = std::strtod(end, nullptr);
            columns[i].holds_years = found[i].ends_with(" years");
        }
        return columns;
    }

    // Says whether times have enough rows. Where hardly two rows share one, groups by them would be as many as rows.
    bool has_rows_at_once() const {
        if (time_.empty()) return false;
        const std::string time = quoted_name(time_);
        return select({"(count(" + time + ") >= " + format("%g", min_rows_at_once) + " * count(DISTINCT " + time +
                       "))::text"})
                   .front() == "true";
    }

    // Finds columns whose mean says what is usual at a time: of ten rows or more in the mean, whose times differ by
    // more than chance has it, and the rows of one time, too (Fisher's F of the times is above 2). Exact sums are the
    // same in any order of rows. They are of numbers less the least one, as squares of great numbers lose digits.
    void find_relative(const std::vector<NumberColumn>& columns, size_t begin, size_t end,
                       std::set<std::string>& relative) const {
        std::vector<std::string> of_times;
        std::string at_a_time;
        for (size_t i = begin; i < end; i++) {
            const std::string name = quoted_name(columns[i].name), number = std::to_string(i);
            const std::string taken = " FILTER (WHERE " + name + " = 0 OR " + name + " BETWEEN 1e-75 AND 1e75)";
            const std::string x = "(" + name + "::float8 - " + format("'%.17g'::float8)", columns[i].min);
            at_a_time += ", count(*)" + taken + " AS n" + number + ", btml.exact_sum(" + x + ")" + taken + " AS s" +
                         number + ", btml.exact_sum(" + x + " * " + x + ")" + taken + " AS q" + number + ", max(" +
                         name + ")" + taken + " > min(" + name + ")" + taken + " AS differ" + number;
            const std::string n = "n" + number, s = "s" + number, q = "q" + number;
            of_times.push_back("CASE WHEN bool_or(differ" + number + ") THEN count(*) FILTER (WHERE " + n +
                               " > 0) || ' ' || sum(" + n + ") || ' ' || btml.exact_sum(" + s +
                               ") || ' ' || btml.exact_sum(" + q + ") || ' ' || btml.exact_sum(" + q + " - " + s +
                               " * " + s + " / nullif(" + n + ", 0)) END");
        }
        const std::vector<std::string> found = select(of_times, " FROM (SELECT " + quoted_name(time_) + " AS at" +
                                                                    at_a_time + from_where() + " GROUP BY 1) AS times");
        for (size_t i = 0; i < found.size(); i++) {
            char* at = nullptr;
            const double times = std::strtod(found[i].c_str(), &at), rows = std::strtod(at, &at);
            const double sum = std::strtod(at, &at), squares = std::strtod(at, &at), within = std::strtod(at, &at);
            const double between = squares - sum * sum / rows - within;
            if (times > 1 && rows >= min_rows_at_once * times && between * (rows - times) > 2 * within * (times - 1))
                relative.insert(columns[begin + i].name);
        }
    }

    // Neither NaN nor infinite, nor beyond what a float8 holds.
    static std::string is_number(const std::string& name) {
        return "(" + name + " = 0 OR " + name + " BETWEEN 1e-300 AND 1e300 OR " + name + " BETWEEN -1e300 AND -1e-300)";
    }

    // Finds of each column, none of which is negative, those that it is a part of, the one of the least maximum first.
    void find_totals(std::vector<NumberColumn> columns, std::map<std::string, std::vector<std::string>>& totals) const {
        std::stable_sort(columns.begin(), columns.end(),
                         [](const NumberColumn& a, const NumberColumn& b) { return a.max < b.max; });
        std::vector<std::pair<std::string, std::string>> pairs;
        std::vector<std::string> conditions;
        for (size_t part = 0; part < columns.size(); part++) {
            size_t compared = 0;
            for (size_t total = 0; total < columns.size() && compared < max_totals; total++) {
                if (total == part || columns[total].max < columns[part].max) continue;
                compared++;
                pairs.emplace_back(columns[part].name, columns[total].name);
                conditions.push_back(is_part(quoted_name(columns[part].name), quoted_name(columns[total].name)));
            }
        }
        const std::vector<std::string> found = select(conditions);
        for (size_t i = 0; i < pairs.size(); i++)
            if (found[i] == "true") totals[pairs[i].first].push_back(pairs[i].second);
    }

    // A part is never more than its total, all of it in some row, and less in another. Both are known in half of its
    // rows or more.
    static std::string is_part(const std::string& part, const std::string& total) {
        const std::string both = ") FILTER (WHERE " + is_number(part) + " AND " + is_number(total) + ")";
        return "(bool_and(" + part + " <= " + total + both + " AND bool_or(" + part + " < " + total + both +
               " AND bool_or(" + part + " = " + total + " AND " + part + " > 0" + both + " AND 2 * count(*" + both +
               " >= count(" + part + "))::text";
    }

    // Returns the values of aggregates, "" for NULL.
    std::vector<std::string> select(const std::vector<std::string>& aggregates) const {
        return select(aggregates, from_where());
    }
    std::vector<std::string> select(const std::vector<std::string>& aggregates, const std::string& from) const {
        std::vector<std::string> values;
        for (size_t begin = 0; begin < aggregates.size(); begin += max_selected) {
            std::string sql = "SELECT ";
            for (size_t i = begin; i < std::min(aggregates.size(), begin + max_selected); i++)
                sql += (i > begin ? ", " : "") + aggregates[i];
            sql += from;
            const std::vector<TextRow> rows = text_rows(sql, "comparing numbers", context_);
            values.insert(values.end(), rows.front().begin(), rows.front().end());
        }
        return values;
    }

    std::string from_where() const { return from_ + (condition_.empty() ? "" : " WHERE ") + condition_; }

    const CatalogueTable& table_;
    const std::string time_;
    const std::string from_, condition_;
    RunContext& context_;
};

} // namespace

void answer_by_queries(CandidateRequest& request, const std::string& last, RunContext& context) {
    const auto values_of = [&request, last, &context](int table, const std::string& time) {
        std::string condition;
        if (!time.empty() && last.empty())
            condition = quoted_name(time) + " IS NOT NULL";
        else if (!time.empty())
            condition = "extract(epoch FROM " + quoted_name(time) + (request.inclusive ? ") <= " : ") < ") +
                        literal(last) + "::numeric";
        return TableValues(request.tables[static_cast<size_t>(table)], time, std::move(condition), context);
    };
    // A table is met on many paths.
    request.texts = [values_of, known = std::map<std::tuple<int, std::string, std::string>, TextValues>()](
                        int table, const std::string& column, const std::string& time) mutable {
        const auto [found, is_new] = known.try_emplace({table, column, time});
        if (is_new) found->second = values_of(table, time).texts(column);
        return found->second;
    };
    request.numbers = [values_of, known = std::map<std::pair<int, std::string>, NumberValues>()](
                          int table, const std::string& time) mutable {
        const auto [found, is_new] = known.try_emplace({table, time});
        if (is_new) found->second = values_of(table, time).numbers();
        return found->second;
    };
}

} // namespace btml::pg
