#include "core/features/feature_sql.hpp"

#include "core/base/text_builder.hpp"
#include "core/features/sql_names.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace btml::features {

namespace {

constexpr char row_column[] = "btml_row", what_sql[] = "the SQL of features";

// Returns the "v" of v1, v2 …, lengthened until no column of the source is called so.
std::string column_prefix(const std::vector<std::string>& source_columns) {
    std::string prefix = "v";
    const auto is_taken = [&](const std::string& name) {
        return name.starts_with(prefix) && name.find_first_of("0123456789") == prefix.size();
    };
    while (std::any_of(source_columns.begin(), source_columns.end(), is_taken)) prefix += '_';
    return prefix;
}

// What is taken of the rows of one relation with many rows, and of the relations that are joined to it.
struct RowSet {
    std::vector<int> joined;                    // relations with one row a key, in their order
    std::vector<std::string> numbers, texts;    // expressions over its rows
    std::vector<std::string> means;             // of all rows of one time
    std::vector<std::string> windows, requests; // lengths, "" for all rows; features of numbers
    bool is_used = false, is_shown = false;     // for other relations, for the result
};

class FeatureQuery {
  public:
    FeatureQuery(const Plan& plan, const PredictionSource& source, bool (*is_reserved)(std::string_view),
                 RunContext& context)
        : plan_(plan),
          source_(source),
          is_reserved_(is_reserved),
          rows_(plan.relations.size()),
          result_(plan.features.size()),
          prefix_(column_prefix(source.columns)),
          held_(context.memory(), what_sql),
          sql_(context, what_sql) {}

    Buffer<char> write() {
        check_names();
        check_times();
        for (size_t i = 0; i < plan_.features.size(); i++) add_feature(i);
        // What a relation goes by is found before it, so the last ones are asked first.
        for (size_t i = rows_.size(); i-- > 0;)
            if (rows_[i].is_used) add_key(static_cast<int>(i));
        write_predictions();
        for (size_t i = 0; i < rows_.size(); i++)
            if (rows_[i].is_used) write_rows(static_cast<int>(i));
        write_result();
        return sql_.take();
    }

  private:
    std::string name(std::string_view identifier_name) const { return identifier(identifier_name, is_reserved_); }
    std::string name_of(int relation) const { return name(plan_.at(relation).name); }
    std::string column(int relation, const std::string& column_name) const {
        return name_of(relation) + "." + name(column_name);
    }

    void check_names() const {
        std::set<std::string_view> names(source_.columns.begin(), source_.columns.end());
        if (names.contains(row_column))
            throw Error(ErrorCode::invalid_argument,
                        format("source has a column \"%s\", which the SELECT of features needs", row_column));
        for (const Definition& feature : plan_.features)
            if (names.contains(feature.name))
                throw Error(ErrorCode::invalid_argument,
                            format("source has a column \"%s\", and so have its features", feature.name.c_str()), "",
                            "Give the source's column another name.");
        if (const size_t all = source_.columns.size() + plan_.features.size(); all > max_columns)
            throw Error(ErrorCode::limit_exceeded,
                        format("source and features have %zu columns, a SELECT has at most %zu", all, max_columns), "",
                        "Give btml.relational_features a target and fewer max_features.");
    }

    // A time with a zone and one without are compared only as the session's TimeZone has it.
    void check_times() const {
        for (const Relation& relation : plan_.relations) {
            if (plan_.as_of.empty() || relation.time.empty() || go_together(relation.time_type, source_.as_of))
                continue;
            throw Error(ErrorCode::wrong_type,
                        format("as_of \"%s\" has type %s, and time \"%s\" of relation \"%s\" has type %s",
                               plan_.as_of.c_str(), time_type_names[static_cast<size_t>(source_.as_of)],
                               relation.time.c_str(), relation.name.c_str(),
                               time_type_names[static_cast<size_t>(relation.time_type)]),
                        "",
                        format("Cast as_of in the source, as in as_of::%s.",
                               relation.time_type == TimeType::timestamptz ? "timestamptz" : "timestamp"));
        }
    }

    // Adds a text to a list unless it is there; returns its number from 1.
    size_t number_in(std::vector<std::string>& list, const std::string& text) {
        const auto found = std::find(list.begin(), list.end(), text);
        const auto number = static_cast<size_t>(found - list.begin()) + 1;
        if (found != list.end()) return number;
        held_.grow(sizeof(std::string) + text.size());
        list.push_back(text);
        return number;
    }

    // Notes what a feature is computed from, and its expression in the result.
    void add_feature(size_t i) {
        const Definition& feature = plan_.features[i];
        const int rows = plan_.rows_of(feature.relation);
        if (rows == source_number) {
            const bool is_time = feature.type == ColumnType::time && !plan_.as_of.empty();
            result_[i] = "prediction." + looked_up(feature.relation, value_of(feature), is_time ? feature.column : "");
            return;
        }
        RowSet& set = used(rows);
        set.is_shown = true;
        join_to(set, feature.relation);
        if (feature.aggregate == Aggregate::last && feature.type == ColumnType::text) {
            const size_t number = number_in(set.texts, known(feature.relation, column_of(feature) + "::text"));
            result_[i] = name_of(rows) + format(".t[%zu]", number);
            return;
        }
        const size_t number =
            feature.column.empty() ? 0 : number_in(set.numbers, known(feature.relation, number_of(feature)));
        const size_t window = number_in(set.windows, feature.window);
        const size_t request =
            number_in(set.requests, format("%s %zu %zu", facts_of(feature.aggregate).name, number, window));
        result_[i] = name_of(rows) + format(".x[%zu]", request);
    }

    // A number that is a part of another column is its share, and one may be relative to the mean of its time. Both are
    // NULL where there is none, or where a float8 may not hold it.
    std::string column_of(const Definition& feature) {
        const std::string of = column(feature.relation, feature.column);
        if (feature.relative) {
            const std::string is_taken = of + " = 0 OR " + of + " BETWEEN 1e-150 AND 1e150";
            std::vector<std::string>& means = rows_[static_cast<size_t>(feature.relation)].means;
            // An exact sum is the same in any order of rows.
            const std::string taken = " FILTER (WHERE " + is_taken + ")";
            const size_t number = number_in(means, "btml.exact_sum(" + of + "::float8)" + taken +
                                                       " / nullif(pg_catalog.count(*)" + taken + ", 0)");
            return format("CASE WHEN %s THEN %s::float8 / nullif(usual.m%zu, 0) END", is_taken.c_str(), of.c_str(),
                          number);
        }
        if (feature.total.empty()) return of;
        const std::string total = column(feature.relation, feature.total);
        return "CASE WHEN " + of + " = 0 AND " + total + " > 0 THEN 0 WHEN " + of + " BETWEEN 1e-150 AND " + total +
               " AND " + total + " <= 1e150 THEN " + of + "::float8 / " + total + "::float8 END";
    }

    // A number that a float8 may not hold is 0 or infinite where it is too small or too great.
    static std::string within_float8(const Definition& feature, const std::string& number) {
        if (!feature.is_unbounded || !feature.total.empty() || feature.relative) return number;
        const std::string size = "pg_catalog.abs(" + number + ")";
        return "CASE WHEN " + size + " < 2.5e-324 THEN 0 WHEN " + size + " < 1.7976931348623158e308 THEN " + number +
               " ELSE pg_catalog.sign(" + number + ") * 'Infinity'::float8 END";
    }

    std::string number_of(const Definition& feature) {
        const std::string of = column_of(feature);
        const bool of_text = feature.type == ColumnType::text;
        if (of_text && feature.aggregate != Aggregate::distinct)
            return "(" + of + "::text = " + literal(feature.value) + ")::int";
        if (of_text) return "pg_catalog.hashtextextended(" + of + "::text, 0::bigint)";
        if (feature.aggregate == Aggregate::distinct) // A hash, as a bigint may have more digits than a float8.
            return "CASE WHEN " + of + "::numeric <> 'NaN' THEN pg_catalog.hash_record_extended(ROW(" + of +
                   "), 0::bigint) END";
        if (feature.value == "false") return "(NOT " + of + ")::int";
        return feature.type == ColumnType::boolean ? of + "::int" : within_float8(feature, of);
    }

    // An expression over a relation that is joined to rows, NULL until the time of its row.
    std::string known(int relation, const std::string& expression) const {
        const int rows = plan_.rows_of(relation);
        if (relation == rows) return expression;
        std::string condition;
        for (int at = relation; at != rows; at = plan_.at(at).of)
            if (const Relation& joined = plan_.at(at); !joined.time.empty())
                condition += (condition.empty() ? "" : " AND ") + time_of(at) + " <= " + time_of_rows(rows);
        if (condition.empty()) return expression;
        return "CASE WHEN " + condition + " THEN " + expression + " END";
    }

    RowSet& used(int rows) {
        RowSet& set = rows_[static_cast<size_t>(rows)];
        set.is_used = true;
        return set;
    }

    // Has a relation, and those between, joined to the rows it belongs to.
    void join_to(RowSet& set, int relation) {
        const Relation& joined = plan_.at(relation);
        if (!joined.unique || std::find(set.joined.begin(), set.joined.end(), relation) != set.joined.end()) return;
        if (joined.of != source_number) join_to(set, joined.of);
        set.joined.push_back(relation);
    }

    // Adds what the key of a relation is read from: columns of predictions or, by "last", a text of the relation
    // before.
    void add_key(int relation) {
        const int first = plan_.first_of(relation);
        const Relation& by = plan_.at(first);
        if (!by.last) {
            for (const KeyPair& pair : by.key)
                if (by.of != source_number) looked_up(by.of, column(by.of, pair.of_column));
            return;
        }
        RowSet& set = used(plan_.rows_of(by.of));
        join_to(set, by.of);
        number_in(set.texts, last_key(by));
    }

    // The key's values of a row that has all of them, as one text, so that they come from one row. JSON has times alike
    // whatever the session's DateStyle is.
    std::string last_key(const Relation& by) const {
        std::string values, known_all;
        for (const KeyPair& pair : by.key) {
            const std::string of = column(by.of, pair.of_column);
            values += (values.empty() ? "" : ", ") + of + (pair.of_is_time ? "" : "::text");
            known_all += (known_all.empty() ? "" : " AND ") + of + " IS NOT NULL";
        }
        return known(by.of, "CASE WHEN " + known_all + " THEN pg_catalog.jsonb_build_array(" + values + ")::text END");
    }

    // Returns one side of a key, as the type that both are compared as.
    static std::string typed(const KeyPair& pair, const std::string& value) {
        return pair.compared_as.empty() ? value : value + "::" + pair.compared_as;
    }
    // Returns the value that a key's column is compared with, by the collation of the column.
    static std::string collated(const KeyPair& pair, const std::string& value) {
        return pair.collation.empty() ? value : value + " COLLATE " + pair.collation;
    }

    // Returns the expression of a feature of one row.
    std::string value_of(const Definition& feature) {
        const std::string of = column_of(feature), as_of = "source." + name(plan_.as_of);
        if (feature.aggregate == Aggregate::years_since)
            return "CASE WHEN pg_catalog.isfinite(" + as_of + ") THEN extract(year FROM " +
                   timestamp(as_of, source_.as_of) + ")::float8 - " + within_float8(feature, of) + " END";
        if (feature.type == ColumnType::time && !plan_.as_of.empty())
            return "CASE WHEN pg_catalog.isfinite(" + as_of + ") AND pg_catalog.isfinite(" + of +
                   ") THEN (extract(epoch FROM " + as_of + ") - extract(epoch FROM " + of + "))::float8 / 86400 END";
        return feature.type == ColumnType::boolean ? of + "::int" : within_float8(feature, of);
    }

    // Returns the name of the column of predictions that has this value of a relation joined to the source. time: a
    // column of the relation that must be before as_of as well.
    std::string looked_up(int relation, std::string value, const std::string& time = {}) {
        join_to(predictions_, relation);
        std::string condition;
        const auto require = [&](int of, const std::string& column_name) {
            condition +=
                (condition.empty() ? "" : " AND ") + column(of, column_name) + before() + "source." + name(plan_.as_of);
        };
        if (!time.empty() && time != plan_.at(relation).time) require(relation, time);
        for (int at = relation; at != source_number && !plan_.as_of.empty(); at = plan_.at(at).of)
            if (const Relation& joined = plan_.at(at); !joined.time.empty()) require(at, joined.time);
        if (!condition.empty()) value = "CASE WHEN " + condition + " THEN " + value + " END";
        return prefix_ + std::to_string(number_in(predictions_.numbers, value));
    }

    const char* before() const { return plan_.inclusive ? " <= " : " < "; }

    // A time as a timestamp of UTC, in which windows are counted. Dates that no timestamp has are infinite.
    static std::string timestamp(const std::string& time, TimeType type) {
        if (type == TimeType::timestamptz) return time + " AT TIME ZONE 'UTC'";
        if (type == TimeType::timestamp) return time;
        return "CASE WHEN " + time + " < '294277-01-01' THEN " + time + "::timestamp ELSE 'infinity' END";
    }
    std::string time_of(int relation) const {
        const Relation& of = plan_.at(relation);
        return timestamp(column(relation, of.time), of.time_type);
    }
    // Returns the time from which a row counts: the latest of the rows that it is joined from.
    std::string time_of_rows(int rows) const {
        std::string times;
        size_t count = 0;
        for (int at = rows, first = plan_.first_of(rows);; at = plan_.at(at).of) {
            if (!plan_.at(at).time.empty()) times += (count++ > 0 ? ", " : "") + time_of(at);
            if (at == first) break;
        }
        return count == 0 ? "'-infinity'::timestamp" : count == 1 ? times : "greatest(" + times + ")";
    }

    std::string table_of(int relation) const {
        const Relation& of = plan_.at(relation);
        return (of.schema.empty() ? "" : name(of.schema) + ".") + name(of.table) +
               (of.table == of.name ? "" : " AS " + name(of.name));
    }
    // The join's condition; source: the alias of what relations of the source are joined to.
    std::string on_key(int relation, const char* source) const {
        const Relation& of = plan_.at(relation);
        std::string condition;
        for (const KeyPair& pair : of.key) {
            condition += (condition.empty() ? "" : " AND ") + column(relation, pair.column) + " = ";
            condition +=
                collated(pair, of.of == source_number ? source + name(pair.of_column) : column(of.of, pair.of_column));
        }
        return condition;
    }
    void write_joins(const RowSet& set, const char* indent) {
        for (const int relation : set.joined)
            sql_ << indent << "LEFT JOIN " << table_of(relation) << " ON " << on_key(relation, "source.") << "\n";
    }

    void write_list(const std::vector<std::string>& items, const char* between = ", ") {
        for (size_t i = 0; i < items.size(); i++) sql_ << (i > 0 ? between : "") << items[i];
    }

    void write_predictions() {
        sql_ << "WITH prediction AS MATERIALIZED (\n  SELECT pg_catalog.row_number() OVER () AS " << row_column
             << ", source.*";
        for (size_t i = 0; i < predictions_.numbers.size(); i++)
            sql_ << ",\n    " << predictions_.numbers[i] << " AS " << prefix_ << i + 1;
        sql_ << "\n  FROM (\n" << source_.sql << "\n  ) AS source\n";
        write_joins(predictions_, "  ");
        sql_ << ")";
    }

    // The predictions' values of the key that a relation is first reached by, and its own.
    struct Key {
        std::vector<std::string> values, columns;
        std::string from = "prediction"; // what has the values
    };

    static void add_value(Key& key, const KeyPair& pair, const std::string& value) {
        key.values.push_back(collated(pair, typed(pair, value)));
    }

    Key key_of(int first) {
        const Relation& by = plan_.at(first);
        Key key;
        for (const KeyPair& pair : by.key) key.columns.push_back(typed(pair, column(first, pair.column)));
        if (by.last) {
            const int rows = plan_.rows_of(by.of);
            const size_t number = number_in(rows_[static_cast<size_t>(rows)].texts, last_key(by));
            for (size_t i = 0; i < by.key.size(); i++)
                add_value(key, by.key[i],
                          format("(%s.t[%zu]::jsonb ->> %zu)::%s", name_of(rows).c_str(), number, i,
                                 by.key[i].of_type.c_str()));
            key.from = std::string("prediction JOIN ") + name_of(rows) + " USING (" + row_column + ")";
            return key;
        }
        for (const KeyPair& pair : by.key)
            add_value(key, pair,
                      "prediction." + (by.of == source_number ? name(pair.of_column)
                                                              : looked_up(by.of, column(by.of, pair.of_column))));
        return key;
    }

    // The features of one relation with many rows: rows and predictions by key and time, in one pass.
    void write_rows(int relation) {
        const RowSet& set = rows_[static_cast<size_t>(relation)];
        const Key key = key_of(plan_.first_of(relation));
        const bool has_texts = !set.texts.empty();
        sql_ << ",\n" << name_of(relation) << " AS ( -- " << comment(plan_.path(relation)) << "\n";
        // PostgreSQL's planner knows by DISTINCT that each prediction is there once.
        sql_ << "  SELECT DISTINCT ON (" << row_column << ") " << row_column << ", x" << (has_texts ? ", t" : "")
             << " FROM (\n    SELECT " << row_column;
        if (!set.requests.empty()) {
            sql_ << ",\n      btml.history_features(at, since, x, ARRAY[";
            for (size_t i = 0; i < set.requests.size(); i++) sql_ << (i > 0 ? ", " : "") << literal(set.requests[i]);
            sql_ << "]) OVER by_time AS x";
        } else
            sql_ << ", NULL AS x";
        if (has_texts) sql_ << ",\n      btml.history_last(at, since, t) OVER by_time AS t";
        sql_ << "\n    FROM (\n";
        write_as_of(key, set);
        sql_ << "\n      UNION ALL\n";
        write_history(relation, key, set);
        sql_ << "\n    ) AS history\n    WINDOW by_time AS (PARTITION BY ";
        for (size_t i = 0; i < key.values.size(); i++) sql_ << (i > 0 ? ", " : "") << format("k%zu", i + 1);
        sql_ << "\n      ORDER BY at, " << row_column
             << (plan_.inclusive || plan_.as_of.empty() ? " NULLS FIRST" : " NULLS LAST")
             << ")\n  ) AS features\n  WHERE " << row_column << " IS NOT NULL\n)";
    }

    void write_as_of(const Key& key, const RowSet& set) {
        sql_ << "      SELECT " << row_column;
        for (size_t i = 0; i < key.values.size(); i++) sql_ << ", " << key.values[i] << format(" AS k%zu", i + 1);
        const std::string as_of =
            plan_.as_of.empty() ? "'infinity'::timestamp" : timestamp("prediction." + name(plan_.as_of), source_.as_of);
        sql_ << ",\n        " << as_of << " AS at,\n        ARRAY[";
        for (size_t i = 0; i < set.windows.size(); i++) {
            if (i > 0) sql_ << ", ";
            if (set.windows[i].empty())
                sql_ << "'-infinity'";
            else
                sql_ << as_of << " - interval " << literal(set.windows[i]);
        }
        sql_ << "]::timestamp[] AS since,\n        NULL::float8[] AS x, NULL::text[] AS t\n      FROM " << key.from;
    }

    void write_history(int relation, const Key& key, const RowSet& set) {
        const int first = plan_.first_of(relation);
        sql_ << "      SELECT NULL, ";
        write_list(key.columns);
        sql_ << ",\n        " << time_of_rows(relation) << ", NULL,\n        ";
        write_array(set.numbers, "float8");
        sql_ << ",\n        ";
        write_array(set.texts, "text");
        sql_ << "\n      FROM " << table_of(first) << "\n";
        write_chain(relation, first);
        write_joins(set, "      ");
        if (!set.means.empty()) write_means(relation, first, set);
        sql_ << "      WHERE " << (key.columns.size() > 1 ? "(" : "");
        write_list(key.columns);
        sql_ << (key.columns.size() > 1 ? ")" : "") << " IN (SELECT ";
        write_list(key.values);
        sql_ << " FROM " << key.from << ")";
        write_timed(relation, first, "AND");
    }

    // Writes the condition that rows have all times that they are to have. word: what it begins with.
    void write_timed(int relation, int first, const char* word) {
        for (int at = relation;; at = plan_.at(at).of) {
            if (const Relation& of = plan_.at(at); !of.time.empty())
                sql_ << "\n        " << std::exchange(word, "AND") << " " << column(at, of.time) << " IS NOT NULL";
            if (at == first) break;
        }
    }

    // Joins the means of all rows that count from the same time on.
    void write_means(int relation, int first, const RowSet& set) {
        sql_ << "      LEFT JOIN (SELECT " << time_of_rows(relation) << " AS at";
        for (size_t i = 0; i < set.means.size(); i++) sql_ << ",\n        " << set.means[i] << " AS m" << i + 1;
        sql_ << "\n      FROM " << table_of(first) << "\n";
        write_chain(relation, first);
        write_timed(relation, first, "WHERE");
        sql_ << "\n        GROUP BY 1) AS usual ON usual.at = " << time_of_rows(relation) << "\n";
    }

    void write_array(const std::vector<std::string>& items, const char* type) {
        if (items.empty()) {
            sql_ << "NULL";
            return;
        }
        sql_ << "ARRAY[";
        write_list(items);
        sql_ << "]::" << type << "[]";
    }

    // Joins the relations with many rows between the first and this one.
    void write_chain(int relation, int first) {
        std::vector<int> chain;
        for (; relation != first; relation = plan_.at(relation).of) chain.push_back(relation);
        for (size_t i = chain.size(); i-- > 0;)
            sql_ << "      JOIN " << table_of(chain[i]) << " ON " << on_key(chain[i], "") << "\n";
    }

    void write_result() {
        sql_ << "\nSELECT ";
        for (size_t i = 0; i < source_.columns.size(); i++)
            sql_ << (i > 0 ? ", " : "") << "prediction." << name(source_.columns[i]);
        sql_ << (result_.empty() ? "" : ",");
        for (size_t i = 0; i < result_.size(); i++) {
            const Definition& feature = plan_.features[i];
            sql_ << "\n  " << result_[i] << " AS " << name(feature.name) << (i + 1 < result_.size() ? "," : "")
                 << " -- " << comment(plan_.words(feature));
        }
        sql_ << "\nFROM prediction";
        for (size_t i = 0; i < rows_.size(); i++)
            if (rows_[i].is_shown) sql_ << "\nJOIN " << name_of(static_cast<int>(i)) << " USING (" << row_column << ")";
        sql_ << "\n";
    }

    const Plan& plan_;
    const PredictionSource& source_;
    bool (*const is_reserved_)(std::string_view);
    RowSet predictions_;              // `joined` and `numbers`, the columns v1, v2 … of predictions
    std::vector<RowSet> rows_;        // by relation
    std::vector<std::string> result_; // by feature
    const std::string prefix_;        // "v" of v1, v2 …
    Reservation held_;                // of lists of texts
    TextBuilder sql_;
};

} // namespace

Buffer<char> feature_sql(const Plan& plan, const PredictionSource& source, bool (*is_reserved)(std::string_view),
                         RunContext& context) {
    return FeatureQuery(plan, source, is_reserved, context).write();
}

} // namespace btml::features
