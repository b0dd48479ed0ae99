#include "core/relational/streamed/queries.hpp"

#include <numeric>

namespace btml::relational {

namespace {

using Column = RowBatch::Column;

void load_factor(const Column& column, uint32_t row, CellKind, WideInteger& value) {
    value = column.words[row];
}

void load_factor(const Column& column, uint32_t row, CellKind kind, double& value) {
    value = std::bit_cast<double>(column.words[row]);
    if (is_extremum(kind) ? std::isnan(value) : !std::isfinite(value)) [[unlikely]]
        refuse(not_finite);
}

void load_factor(const Column& column, uint32_t row, CellKind kind, WideDecimal& value) {
    value = {column.mantissas[row], static_cast<int32_t>(column.words[row])};
    if (value.mantissa == absent_integer) [[unlikely]]
        refuse(beyond_128_bits);
    if (kind == CellKind::decimal_max_product && value.mantissa < 0)
        refuse("a maximum of products with a negative factor");
}

// A cell's value as what it is multiplied with.
template <class To, class From>
void convert(const From& from, To& to) {
    if constexpr (std::is_same_v<To, From>)
        to = from;
    else if constexpr (std::is_same_v<To, WideDecimal>)
        to = {from, 0};
    else
        to = static_cast<To>(from);
}

// The matches that are left of those picked, and their values so far: products, or of most extrema sums.
template <class Value>
struct Product {
    const Matches& matches;
    uint32_t* picked;
    Value* values;
    uint32_t count;
    CellKind kind;
    bool empty = true; // no factor so far: all values are 1

    Value with(const Value& value, const Value& factor) const {
        if constexpr (std::is_same_v<Value, WideDecimal>)
            if (kind == CellKind::decimal_max_product) return max_product(value, factor);
        if constexpr (!std::is_same_v<Value, double>)
            if (is_extremum(kind)) return sum(value, factor);
        return product(value, factor);
    }

    void multiply_column(const Column& column) {
        const auto each = [&](auto combine) {
            for (uint32_t i = 0; i < count; i++) {
                Value factor;
                load_factor(column, matches.rows[picked[i]], kind, factor);
                combine(values[i], factor);
            }
        };
        if (std::exchange(empty, false))
            each([](Value& value, const Value& factor) { value = factor; });
        else
            each([this](Value& value, const Value& factor) { value = with(value, factor); });
    }

    // Matches without a value of the child's query are out.
    template <class Cell, class Combine>
    void keep_present(const Matches::Entries& from, size_t cell, const Combine& combine) {
        uint32_t kept = 0;
        for (uint32_t i = 0; i < count; i++) {
            const uint32_t match = picked[i];
            typename Cell::Value value;
            if (!Cell::load(from[match] + cell, value)) continue;
            picked[kept] = match;
            values[kept] = values[i];
            combine(values[kept], value);
            kept++;
        }
        count = kept;
    }

    template <class Cell>
    void multiply_cells(const Matches::Entries& from, size_t cell) {
        using Read = typename Cell::Value;
        if (std::exchange(empty, false))
            keep_present<Cell>(from, cell, [](Value& value, const Read& read) { convert(read, value); });
        else
            keep_present<Cell>(from, cell, [this](Value& value, const Read& read) {
                Value factor;
                convert(read, factor);
                value = with(value, factor);
            });
    }

    template <class Cell>
    void only_present(const Matches::Entries& from, size_t cell) {
        keep_present<Cell>(from, cell, [](Value&, const typename Cell::Value&) {});
    }

    void fill_ones() {
        if (!empty) return;
        Value one;
        convert(WideInteger{1}, one);
        std::fill_n(values, count, one);
    }
};

} // namespace

struct QueryEvaluator::Values {
    union {
        WideInteger integers[Matches::max];
        double numbers[Matches::max];
    };
    std::array<WideDecimal, Matches::max> decimals;

    WideInteger* of(WideInteger) { return integers; }
    double* of(double) { return numbers; }
    WideDecimal* of(const WideDecimal&) { return decimals.data(); }
};

QueryEvaluator::QueryEvaluator(const StreamedPlan& plan, int table, const std::vector<const Message*>& children,
                               const MessageLayout& layout)
    : values_(new Values) {
    const StreamedTable& of = plan.tables[table];
    for (size_t q = 0; q < of.queries.size(); q++) {
        const StreamedQuery& query = of.queries[q];
        Query& made = queries_.emplace_back(
            Query{query.kind, layout.cells[q], query.factors, query.present, query.conditions, {}});
        made.present.insert(made.present.end(), query.factors.begin(), query.factors.end());
        std::sort(made.present.begin(), made.present.end());
        made.present.erase(std::unique(made.present.begin(), made.present.end()), made.present.end());
        for (size_t c = 0; c < of.children.size(); c++) {
            if (!multiplies(of.children[c].join)) continue;
            const MessageLayout& child = children[c]->layout();
            made.children.push_back({c, child.cells[query.children[c]], child.kinds[query.children[c]]});
        }
    }
}

QueryEvaluator::~QueryEvaluator() = default;

// Picks the matches whose rows meet the conditions and have all factors; returns how many they are.
uint32_t QueryEvaluator::pick(const Query& query, const Matches& matches) {
    std::iota(picked_.begin(), picked_.begin() + matches.count, 0U);
    uint32_t count = matches.count;
    const auto keep = [&](auto passes) {
        uint32_t kept = 0;
        for (uint32_t i = 0; i < count; i++) {
            const uint32_t match = picked_[i];
            picked_[kept] = match;
            kept += passes(matches.rows[match]);
        }
        count = kept;
    };
    for (int number : query.present) {
        const Column& column = matches.columns[number];
        keep([&](uint32_t row) { return column.nulls[row] == 0; });
    }
    for (int number : query.conditions) {
        const Column& column = matches.columns[number];
        keep([&](uint32_t row) { return column.nulls[row] == 0 && column.words[row] != 0; });
    }
    return count;
}

template <class Cell>
void QueryEvaluator::add_query(const Query& query, const Matches& matches) {
    using Value = typename Cell::Value;
    Product<Value> row{matches, picked_.data(), values_->of(Value{}), pick(query, matches), query.kind};
    for (int factor : query.factors) row.multiply_column(matches.columns[factor]);
    for (const Factor& child : query.children) {
        const Matches::Entries& from = matches.from[child.child];
        if (child.kind == CellKind::count) {
            if (is_extremum(query.kind))
                row.template only_present<CountCell>(from, child.cell);
            else
                row.template multiply_cells<CountCell>(from, child.cell);
        } else if (child.kind == CellKind::integer_sum)
            row.template multiply_cells<IntegerCell>(from, child.cell);
        else if constexpr (std::is_same_v<Value, double>)
            row.template multiply_cells<NumberCell>(from, child.cell);
        else if constexpr (std::is_same_v<Value, WideDecimal>)
            row.template multiply_cells<DecimalCell>(from, child.cell);
        else
            row.template multiply_cells<IntegerCell>(from, child.cell);
    }
    row.fill_ones();
    for (uint32_t i = 0; i < row.count; i++) Cell::add(matches.to[row.picked[i]] + query.cell, row.values[i]);
}

void QueryEvaluator::add(const Matches& matches) {
    for (const Query& query : queries_)
        with_cell(query.kind, [&](auto cell) { add_query<decltype(cell)>(query, matches); });
}

} // namespace btml::relational
