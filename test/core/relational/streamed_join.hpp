// Random streamed joins, and what they add up to by brute force over the rows of the join.
#pragma once

#include "random_join.hpp"

#include "core/relational/streamed/aggregate.hpp"
#include "core/relational/streamed/cells.hpp"

#include <cmath>
#include <map>
#include <memory>
#include <optional>

namespace btml::relational::test {

struct Value {
    int64_t word = 0; // as in a RowBatch
    WideInteger mantissa = 0;
    bool null = false;
};

inline Value integer_value(int64_t x) {
    return {x, 0, false};
}
inline Value number_value(double x) {
    return {std::bit_cast<int64_t>(x), 0, false};
}
inline Value decimal_value(WideInteger mantissa, int scale) {
    return {scale, mantissa, false};
}
// What lies under a NULL might be a key, or a condition that holds.
inline Value null_value() {
    return {2, 99, true};
}

inline double double_of(const Value& value, StreamedType type) {
    if (type == StreamedType::number) return std::bit_cast<double>(value.word);
    if (type == StreamedType::integer) return static_cast<double>(value.word);
    return static_cast<double>(value.mantissa) / std::pow(10.0, static_cast<double>(value.word));
}

using Rows = std::vector<std::vector<Value>>; // by row, by column

// Hands rows out in batches of this size.
class VectorSource : public RowSource {
  public:
    VectorSource(const Rows& rows, uint32_t batch_rows) : rows_(rows), batch_rows_(batch_rows) {}
    void next(RowBatch& batch) override {
        batch.rows = 0;
        while (batch.rows < batch_rows_ && at_ < rows_.size()) put(batch, rows_[at_++]);
    }

  private:
    static void put(RowBatch& batch, const std::vector<Value>& row) {
        for (size_t c = 0; c < row.size(); c++) {
            RowBatch::Column& column = batch.columns()[c];
            column.words[batch.rows] = row[c].word;
            column.nulls[batch.rows] = row[c].null;
            if (column.mantissas) column.mantissas[batch.rows] = row[c].mantissa;
        }
        batch.rows++;
    }

    const Rows& rows_;
    const uint32_t batch_rows_;
    size_t at_ = 0;
};

// An aggregate over the whole join. Columns are (table, column).
struct Aggregate {
    CellKind kind = CellKind::count;
    std::vector<std::pair<int, int>> factors, present, conditions;
};

struct StreamedJoinTest {
    StreamedPlan plan;
    std::vector<Rows> rows;
    std::vector<Aggregate> aggregates; // by query of the root
};

// Numbers the queries of each table that the aggregates need.
class QueryMaker {
  public:
    explicit QueryMaker(StreamedJoinTest& test) : plan_(test.plan) {
        for (StreamedTable& table : plan_.tables) {
            table.queries.clear();
            table.queries.emplace_back().children.assign(table.children.size(), 0);
        }
        for (const Aggregate& aggregate : test.aggregates) add(aggregate, plan_.root());
    }

  private:
    static std::vector<int> columns_of(const std::vector<std::pair<int, int>>& columns, int table) {
        std::vector<int> of;
        for (const auto& [t, column] : columns)
            if (t == table) of.push_back(column);
        return of;
    }

    int add(const Aggregate& aggregate, int number) {
        StreamedTable& table = plan_.tables[number];
        StreamedQuery query;
        query.factors = columns_of(aggregate.factors, number);
        query.present = columns_of(aggregate.present, number);
        query.conditions = columns_of(aggregate.conditions, number);
        std::vector<CellKind> kinds;
        if (!query.factors.empty()) kinds.push_back(kind_of(aggregate.kind, table.columns[query.factors.front()]));
        for (const StreamedChild& child : table.children) {
            const bool multiplies = child.join == StreamedJoin::inner || child.join == StreamedJoin::left;
            query.children.push_back(multiplies ? add(aggregate, child.table) : 0);
            const CellKind kind = plan_.tables[child.table].queries[query.children.back()].kind;
            if (multiplies && kind != CellKind::count) kinds.push_back(kind);
        }
        for (CellKind kind : kinds)
            if (query.kind == CellKind::count || kind == aggregate.kind) query.kind = kind;
        const bool counts_rows = kinds.empty() && query.present.empty() && query.conditions.empty() &&
                                 query.children == std::vector<int>(query.children.size(), 0);
        if (counts_rows && number != plan_.root()) return 0;
        // The root's queries are those of the aggregates, behind the one that counts.
        table.queries.push_back(std::move(query));
        return static_cast<int>(table.queries.size()) - 1;
    }

    // Factors that are integers are summed up as such, until they meet those of another type.
    static CellKind kind_of(CellKind kind, StreamedType type) {
        const bool sum = kind == CellKind::number_sum || kind == CellKind::decimal_sum;
        return sum && type == StreamedType::integer ? CellKind::integer_sum : kind;
    }

    StreamedPlan& plan_;
};

struct StreamedShape {
    int max_tables = 6, max_rows = 8, domain = 4;
    double null = 0.1, empty_table = 0.06, inner = 0.6, groups = 0.3, orders = 0.25;
    int64_t max_integer = 5;
};

class StreamedJoinMaker {
  public:
    StreamedJoinMaker(uint64_t seed, const StreamedShape& shape) : random_(seed), shape_(shape) {}

    StreamedJoinTest make() {
        const int count = 1 + random_.below(shape_.max_tables);
        test_.plan.tables.resize(count);
        for (int t = 0; t + 1 < count; t++) hang(t, t + 1 + random_.below(count - t - 1));
        for (int t = 0; t < count; t++) add_columns(t);
        for (int t = 0; t < count; t++) add_rows(t);
        for (int i = 1 + random_.below(8); i > 0; i--) add_aggregate();
        QueryMaker{test_};
        for (int t = 0; t < count; t++)
            for (StreamedChild& child : table(t).children)
                if (!may_be_in_order(child)) child.order = KeyOrder::equal;
        return std::move(test_);
    }

  private:
    StreamedTable& table(int number) { return test_.plan.tables[number]; }

    int add_column(int number, StreamedType type) {
        table(number).columns.push_back(type);
        return static_cast<int>(table(number).columns.size()) - 1;
    }

    // Key columns may serve several joins.
    int key_column(int number) {
        std::vector<int>& keys = keys_[number];
        if (!keys.empty() && random_.chance(0.4))
            return keys[static_cast<size_t>(random_.below(static_cast<int>(keys.size())))];
        keys.push_back(add_column(number, StreamedType::integer));
        return keys.back();
    }

    void hang(int child, int parent) {
        StreamedChild edge{child, StreamedJoin::inner, {}};
        if (!random_.chance(shape_.inner)) edge.join = static_cast<StreamedJoin>(1 + random_.below(3));
        for (int i = random_.chance(0.06) ? 0 : 1 + random_.below(5) / 4; i > 0; i--) {
            edge.key.push_back(key_column(parent));
            table(child).key.push_back(key_column(child));
        }
        if (shape_.orders > 0 && random_.chance(shape_.orders))
            edge.order = static_cast<KeyOrder>(1 + random_.below(4));
        table(parent).children.push_back(edge);
    }

    bool may_be_in_order(const StreamedChild& child) {
        const auto& queries = table(child.table).queries;
        return !child.key.empty() && test_.plan.message_groups(child.table) == 0 &&
               std::none_of(queries.begin(), queries.end(),
                            [](const StreamedQuery& query) { return query.kind == CellKind::number_sum; });
    }

    bool reaches_root(int number) const {
        for (size_t parent = 0; parent < test_.plan.tables.size(); parent++)
            for (const StreamedChild& child : test_.plan.tables[parent].children)
                if (child.table == number)
                    return (child.join == StreamedJoin::inner || child.join == StreamedJoin::left) &&
                           reaches_root(static_cast<int>(parent));
        return true;
    }

    void add_columns(int number) {
        for (StreamedType type :
             {StreamedType::integer, StreamedType::integer, StreamedType::number, StreamedType::number,
              StreamedType::decimal, StreamedType::decimal, StreamedType::decimal})
            add_column(number, type);
        const int columns = static_cast<int>(table(number).columns.size());
        for (int c = 0; c < columns; c++) {
            const bool integer = table(number).columns[c] == StreamedType::integer;
            if (integer && reaches_root(number) && random_.chance(shape_.groups / columns * 2))
                table(number).groups.push_back(c);
            if (random_.chance(0.2)) table(number).measured.push_back(c);
        }
    }

    bool is_key(int number, int column) {
        const std::vector<int>& keys = keys_[number];
        return std::find(keys.begin(), keys.end(), column) != keys.end();
    }

    Value draw(StreamedType type, bool key) {
        if (random_.chance(shape_.null)) return null_value();
        if (key) { // some values are far apart, and one is frequent
            const int value = random_.chance(0.3) ? 0 : random_.below(shape_.domain);
            return integer_value(value % 2 == 0 ? value : INT64_MIN + value * 1'000'000'007LL);
        }
        const int64_t span = 2 * shape_.max_integer + 1;
        const auto integer = [&] { return random_.below(static_cast<int>(span)) - shape_.max_integer; };
        if (type == StreamedType::integer) return integer_value(integer());
        if (type == StreamedType::decimal)
            return decimal_value(integer() * (1 + 9 * random_.below(2)), random_.below(3));
        return number_value(random_.chance(0.1) ? -0.0 : 0.5 * (random_.below(9) - 4));
    }

    void add_rows(int number) {
        Rows& rows = test_.rows.emplace_back();
        for (int i = random_.chance(shape_.empty_table) ? 0 : 1 + random_.below(shape_.max_rows); i > 0; i--) {
            std::vector<Value>& row = rows.emplace_back();
            for (size_t c = 0; c < table(number).columns.size(); c++)
                row.push_back(draw(table(number).columns[c], is_key(number, static_cast<int>(c))));
            // The last column has no negative numbers.
            if (row.back().mantissa < 0) row.back().mantissa = -row.back().mantissa;
        }
    }

    int column_of(int number, StreamedType type) {
        std::vector<int> columns;
        for (size_t c = 0; c < table(number).columns.size(); c++)
            if (table(number).columns[c] == type && !is_key(number, static_cast<int>(c)))
                columns.push_back(static_cast<int>(c));
        return columns[static_cast<size_t>(random_.below(static_cast<int>(columns.size())))];
    }

    void add_aggregate() {
        std::vector<int> tables;
        for (int t = 0; t <= test_.plan.root(); t++)
            if (reaches_root(t)) tables.push_back(t);
        const auto any_table = [&] {
            return tables[static_cast<size_t>(random_.below(static_cast<int>(tables.size())))];
        };
        Aggregate aggregate;
        aggregate.kind = static_cast<CellKind>(random_.below(static_cast<int>(CellKind::decimal_max_product) + 1));
        const StreamedType type = is_integer(aggregate.kind)  ? StreamedType::integer
                                  : is_number(aggregate.kind) ? StreamedType::number
                                                              : StreamedType::decimal;
        const bool extremum = is_extremum(aggregate.kind);
        const int factors = aggregate.kind == CellKind::count          ? 0
                            : extremum && type == StreamedType::number ? 1
                                                                       : 1 + random_.below(3);
        for (int i = 0; i < factors; i++) {
            const int t = any_table();
            // Leaves may have integers among factors of other types.
            const bool plain =
                i > 0 && !extremum && table(t).children.empty() && random_.chance(0.3) && !has_factor(aggregate, t);
            const int last = static_cast<int>(table(t).columns.size()) - 1;
            aggregate.factors.emplace_back(
                t, aggregate.kind == CellKind::decimal_max_product
                       ? last
                       : column_of(t, plain ? StreamedType::integer : first_type(aggregate, t, type)));
        }
        while (random_.chance(0.25)) {
            const int t = any_table();
            aggregate.present.emplace_back(t, random_.below(static_cast<int>(table(t).columns.size())));
        }
        while (random_.chance(0.25)) {
            const int t = any_table();
            aggregate.conditions.emplace_back(t, column_of(t, StreamedType::integer));
        }
        test_.aggregates.push_back(std::move(aggregate));
    }

    static bool has_factor(const Aggregate& aggregate, int number) {
        return std::any_of(aggregate.factors.begin(), aggregate.factors.end(),
                           [&](const auto& factor) { return factor.first == number; });
    }
    // All factors of one table have one type.
    StreamedType first_type(const Aggregate& aggregate, int number, StreamedType type) {
        for (const auto& [t, column] : aggregate.factors)
            if (t == number) return table(t).columns[column];
        return type;
    }

    Random random_;
    StreamedShape shape_;
    StreamedJoinTest test_;
    std::map<int, std::vector<int>> keys_;
};

inline StreamedJoinTest random_streamed_join(uint64_t seed, const StreamedShape& shape = {}) {
    return StreamedJoinMaker(seed, shape).make();
}

// The value of an aggregate over rows of the join, and whether it can be decided.
struct Expected {
    bool absent = true;
    WideInteger integer = 0;
    int scale = 0;
    double number = 0;
    bool ambiguous = false;
    double magnitude = 0; // the sum of absolute values
};

using GroupKey = std::vector<std::optional<int64_t>>;

class BruteForce {
  public:
    explicit BruteForce(const StreamedJoinTest& test) : test_(test) {
        kept.resize(test.plan.tables.size());
        joined.resize(test.plan.tables.size());
        for (const std::vector<int>& row : rows_of(test.plan.root())) {
            add(row);
            for (size_t t = 0; t < row.size(); t++)
                if (row[t] >= 0) joined[t].insert(row[t]);
        }
        if (test.plan.message_groups(test.plan.root()) == 0) groups.try_emplace({}, test.aggregates.size());
    }
    // Over these rows of the join: by table the number of its row, -1 where it has none.
    BruteForce(const StreamedJoinTest& test, const std::vector<std::vector<int>>& rows) : test_(test) {
        for (const std::vector<int>& row : rows) add(row);
        if (test.plan.message_groups(test.plan.root()) == 0) groups.try_emplace({}, test.aggregates.size());
    }

    std::map<GroupKey, std::vector<Expected>> groups;
    std::vector<std::set<int>> kept;   // rows with partners below, by table
    std::vector<std::set<int>> joined; // those of them that are in a row of the join

  private:
    using Tuple = std::vector<int>; // by table: its row, or -1 for NULLs; tables not read count as NULLs

    const Value& value(int table, int row, int column) const {
        static const Value null = null_value();
        return row < 0 ? null : test_.rows[table][row][column];
    }

    bool partners(const StreamedChild& edge, int parent, int parent_row, int child_row) const {
        for (size_t k = 0; k < edge.key.size(); k++) {
            const Value& a = value(parent, parent_row, edge.key[k]);
            const Value& b = value(edge.table, child_row, test_.plan.tables[edge.table].key[k]);
            if (a.null || b.null) return false;
            if (!compares(b.word, k + 1 == edge.key.size() ? edge.order : KeyOrder::equal, a.word)) return false;
        }
        return true;
    }

    static bool compares(int64_t word, KeyOrder order, int64_t bound) {
        switch (order) {
        case KeyOrder::less:
            return word < bound;
        case KeyOrder::less_equal:
            return word <= bound;
        case KeyOrder::greater:
            return word > bound;
        case KeyOrder::greater_equal:
            return word >= bound;
        default:
            return word == bound;
        }
    }

    // The rows of the join of a table with all below it.
    std::vector<Tuple> rows_of(int number) {
        const StreamedTable& table = test_.plan.tables[number];
        std::vector<std::vector<Tuple>> below;
        for (const StreamedChild& child : table.children) below.push_back(rows_of(child.table));
        std::vector<Tuple> all;
        for (size_t row = 0; row < test_.rows[number].size(); row++) {
            Tuple alone(test_.plan.tables.size(), -1);
            alone[number] = static_cast<int>(row);
            std::vector<Tuple> tuples{alone};
            for (size_t c = 0; c < table.children.size(); c++)
                tuples = extend(tuples, table.children[c], number, static_cast<int>(row), below[c]);
            const bool keyed = std::none_of(table.key.begin(), table.key.end(),
                                            [&](int k) { return test_.rows[number][row][k].null; });
            if (!tuples.empty() && keyed) kept[number].insert(static_cast<int>(row));
            all.insert(all.end(), tuples.begin(), tuples.end());
        }
        return all;
    }

    std::vector<Tuple> extend(const std::vector<Tuple>& tuples, const StreamedChild& edge, int parent, int row,
                              const std::vector<Tuple>& below) const {
        std::vector<Tuple> matching;
        for (const Tuple& tuple : below)
            if (partners(edge, parent, row, tuple[edge.table])) matching.push_back(tuple);
        if (edge.join == StreamedJoin::semi) return matching.empty() ? std::vector<Tuple>{} : tuples;
        if (edge.join == StreamedJoin::anti) return matching.empty() ? tuples : std::vector<Tuple>{};
        if (edge.join == StreamedJoin::left && matching.empty()) return tuples;
        std::vector<Tuple> extended;
        for (const Tuple& tuple : tuples)
            for (const Tuple& match : matching) {
                Tuple& both = extended.emplace_back(tuple);
                for (size_t t = 0; t < both.size(); t++)
                    if (match[t] >= 0) both[t] = match[t];
            }
        return extended;
    }

    void append_groups(int number, const Tuple& tuple, GroupKey& key) const {
        const StreamedTable& table = test_.plan.tables[number];
        for (int column : table.groups) {
            const Value& group = value(number, tuple[number], column);
            key.push_back(group.null ? std::nullopt : std::optional(group.word));
        }
        for (const StreamedChild& child : table.children)
            if (child.join == StreamedJoin::inner || child.join == StreamedJoin::left)
                append_groups(child.table, tuple, key);
    }

    void add(const Tuple& tuple) {
        GroupKey key;
        append_groups(test_.plan.root(), tuple, key);
        std::vector<Expected>& of = groups.try_emplace(key, test_.aggregates.size()).first->second;
        for (size_t a = 0; a < of.size(); a++) add(test_.aggregates[a], tuple, of[a]);
    }

    void add(const Aggregate& aggregate, const Tuple& tuple, Expected& to) const {
        const auto at = [&](const std::pair<int, int>& column) -> const Value& {
            return value(column.first, tuple[column.first], column.second);
        };
        for (const auto& column : aggregate.conditions)
            if (at(column).null || at(column).word == 0) return;
        for (const auto& column : aggregate.present)
            if (at(column).null) return;
        for (const auto& column : aggregate.factors)
            if (at(column).null) return;
        const bool sums = is_extremum(aggregate.kind) && aggregate.kind != CellKind::decimal_max_product;
        Expected row{false, sums ? 0 : 1, 0, 1, false, 1};
        for (const auto& [table, column] : aggregate.factors) {
            const Value& factor = at({table, column});
            const StreamedType type = test_.plan.tables[table].columns[column];
            const WideInteger integer = type == StreamedType::decimal ? factor.mantissa : factor.word;
            const double number =
                type == StreamedType::number ? std::bit_cast<double>(factor.word) : static_cast<double>(integer);
            const int scale = type == StreamedType::decimal ? static_cast<int>(factor.word) : 0;
            if (sums) {
                const Expected term{false, integer, scale};
                const int common = std::max(row.scale, scale);
                row.integer = scaled(row, common) + scaled(term, common);
                row.scale = common;
            } else {
                row.integer *= integer;
                row.scale += scale;
            }
            row.number *= number;
            row.magnitude *= std::abs(number);
        }
        combine(aggregate.kind, row, to);
    }

    static WideInteger scaled(const Expected& x, int scale) {
        WideInteger value = x.integer;
        for (int i = x.scale; i < scale; i++) value *= 10;
        return value;
    }

    static void combine(CellKind kind, const Expected& row, Expected& to) {
        if (to.absent) {
            to = row;
            return;
        }
        const int scale = std::max(row.scale, to.scale);
        const bool max = kind == CellKind::integer_max || kind == CellKind::number_max ||
                         kind == CellKind::decimal_max || kind == CellKind::decimal_max_product;
        if (!is_extremum(kind)) {
            to.integer = scaled(row, scale) + scaled(to, scale);
            to.scale = scale;
            to.number += row.number;
            to.magnitude += row.magnitude;
            return;
        }
        const bool number = is_number(kind);
        const bool less = number ? row.number < to.number : scaled(row, scale) < scaled(to, scale);
        const bool equal = number ? row.number == to.number : scaled(row, scale) == scaled(to, scale);
        if (equal)
            to.ambiguous |= number ? std::signbit(row.number) != std::signbit(to.number) : row.scale != to.scale;
        else if (less != max)
            to = row;
    }

    const StreamedJoinTest& test_;
};

} // namespace btml::relational::test
