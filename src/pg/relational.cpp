// SQL functions over joins: btml.sumprod, btml.sumprod_by and the aggregate btml.sumprod_agg.
#include "pg/relational.hpp"

#include "core/relational/queries/sum_product.hpp"
#include "pg/bridge/backend_context.hpp"
#include "pg/grouped_factors.hpp"
#include "pg/source/source.hpp"
#include "pg/values/arguments.hpp"
#include "pg/values/number_array.hpp"
#include "pg/values/result.hpp"
#include "pg/values/values.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace btml::pg {

using namespace relational;

namespace {

bool is_hashable(Oid type) {
    const TypeCacheEntry* const entry = lookup_type_cache(type, TYPECACHE_HASH_PROC | TYPECACHE_EQ_OPR);
    return OidIsValid(entry->hash_proc) && OidIsValid(entry->eq_opr);
}

// The join of a source whose output columns, but for the group columns, are the factors of a SumProd query.
struct FactorQuery {
    LoadedSource loaded; // its places are those of the group columns
    Factors factors;
    bool has_factors;
};

std::vector<ColumnRequest> factor_requests(const Source& source, const std::vector<int>& groups) {
    std::vector<ColumnRequest> requests;
    for (int group : groups) requests.push_back({group, ReadAs::group});
    for (int i = 0; i < static_cast<int>(source.columns().size()); i++) {
        if (std::find(groups.begin(), groups.end(), i) != groups.end()) continue;
        const Source::Column& column = source.columns()[i];
        if (column.number == NumberKind::none)
            throw Error(ErrorCode::wrong_type,
                        format("factor \"%s\" is of type %s", column.name.c_str(), type_name(column.type)),
                        "Factors are numbers, booleans, dates or times.",
                        cast_hint(column.name, column.type) + ", or leave it out of the source's output.");
        requests.push_back({i, ReadAs::number});
    }
    return requests;
}

using ColumnsByTable = std::vector<std::vector<int>>;

// Rows with a NULL factor are skipped, as sum() skips them.
void remove_null_factors(Join& join, const ColumnsByTable& columns, RunContext& context) {
    for (size_t t = 0; t < columns.size(); t++) {
        const auto is_complete = [&](RowId row) {
            return std::none_of(columns[t].begin(), columns[t].end(),
                                [&](int column) { return is_null(join.tables()[t].columns[column].numbers[row]); });
        };
        if (!columns[t].empty()) join.filter(static_cast<int>(t), is_complete, context);
    }
}

Factors factors_of(const Join& join, const ColumnsByTable& columns, SemiringName semiring, RunContext& context) {
    Factors factors;
    for (size_t t = 0; t < columns.size(); t++)
        factors.push_back(columns[t].empty() ? Buffer<double>(context.memory(), "factors")
                                             : table_factor(join.tables()[t], columns[t], semiring, context));
    return factors;
}

// Says whether all sums on the way to a query's value are whole numbers that a double holds, so that their order and
// grouping changes no bit. sizes: absolute values of its factors.
bool is_exact(const Join& join, Factors sizes, RunContext& context) {
    for (Buffer<double>& size : sizes)
        for (double& x : size) x = std::abs(x);
    try {
        return sum_product(join, sizes, SemiringName::sum_product, context) < 0x1.0p53;
    } catch (const Error& error) {
        if (error.code() != ErrorCode::out_of_range) throw;
        return false;
    }
}

// Reads columns, the first `groups` of which are those of groups and the others factors, in the place of which grouped
// relations have totals. Nothing where the value might differ in a bit from that over rows.
std::optional<FactorQuery> load(const Source& source, const std::vector<ColumnRequest>& requests, size_t groups,
                                SemiringName semiring, const std::vector<GroupedRelation>& grouped,
                                RunContext& context) {
    std::vector<ColumnRequest> rest;
    for (size_t i = 0; i < requests.size(); i++) {
        const int relation = source.columns()[static_cast<size_t>(requests[i].output)].table;
        const auto has_totals = [=](const GroupedRelation& other) { return other.relation == relation; };
        if (i < groups || std::none_of(grouped.begin(), grouped.end(), has_totals)) rest.push_back(requests[i]);
    }
    LoadedSource loaded = source.read(rest, context, RowContents::unread, grouped);
    ColumnsByTable columns(static_cast<size_t>(loaded.join.relations()));
    for (size_t i = groups; i < rest.size(); i++) columns[loaded.places[i].table].push_back(loaded.places[i].column);
    ColumnsByTable size_columns = columns;
    for (size_t i = 0; i < grouped.size(); i++) {
        const size_t totals = loaded.totals.size() / grouped.size(); // of a relation
        const ColumnRef value = loaded.totals[i * totals], size = loaded.totals[(i + 1) * totals - 1];
        columns[value.table].push_back(value.column);
        size_columns[size.table].push_back(size.column);
    }
    loaded.places.resize(groups);
    Join& join = loaded.join;
    remove_null_factors(join, columns, context);
    if (!grouped.empty() && semiring == SemiringName::sum_product &&
        !is_exact(join, factors_of(join, size_columns, semiring, context), context))
        return std::nullopt;
    Factors factors = factors_of(join, columns, semiring, context);
    return FactorQuery{std::move(loaded), std::move(factors), requests.size() > groups || !grouped.empty()};
}

FactorQuery load(const Source& source, const std::vector<int>& groups, SemiringName semiring, RunContext& context) {
    const std::vector<ColumnRequest> requests = factor_requests(source, groups);
    const std::vector<GroupedRelation> grouped = relations_to_group(source, requests, groups.size(), semiring, context);
    std::optional<FactorQuery> query = load(source, requests, groups.size(), semiring, grouped, context);
    if (!query) query = load(source, requests, groups.size(), semiring, {}, context);
    return std::move(*query);
}

// Messages end at one table, whose rows are grouped.
void require_one_table(const Source& source, const std::vector<int>& groups) {
    const Source::Column& first = source.columns()[groups.front()];
    for (int group : groups) {
        const Source::Column& column = source.columns()[group];
        if (column.table != first.table)
            throw Error(ErrorCode::not_supported,
                        format("group columns \"%s\" and \"%s\" are of different tables", first.name.c_str(),
                               column.name.c_str()),
                        "All group columns must come from one base relation of the join.");
    }
}

// ⊕ over the rows of each group; `first_rows` gets a row of each group, in the order of first appearance.
std::vector<double> add_by_group(const FactorQuery& query, const Buffer<double>& values, SemiringName semiring,
                                 std::vector<RowId>& first_rows, RunContext& context) {
    const Table& table = query.loaded.join.tables()[query.loaded.places.front().table];
    const auto code = [&](size_t group, RowId row) {
        return table.columns[query.loaded.places[group].column].codes[row];
    };
    HashIndex index(context.memory(), "groups");
    std::vector<double> sums;
    context.for_each(table.rows, 5, [&](RowId row) {
        uint64_t hash = 0;
        for (size_t g = 0; g < query.loaded.places.size(); g++) hash = mix64(hash ^ code(g, row));
        const auto next = static_cast<uint32_t>(sums.size());
        const uint32_t group = index.find_or_add(HashIndex::hash(hash), next, [&](uint32_t other) {
            for (size_t g = 0; g < query.loaded.places.size(); g++)
                if (code(g, first_rows[other]) != code(g, row)) return false;
            return true;
        });
        if (group == next) {
            sums.push_back(zero(semiring));
            first_rows.push_back(row);
        }
        sums[group] = add(semiring, sums[group], values[row]);
    });
    return sums;
}

// Every count up to 2^53 is a double of its own.
void require_exact_counts(const std::vector<double>& counts) {
    static constexpr double limit = 0x1.0p53;
    for (double count : counts)
        if (count >= limit)
            throw Error(ErrorCode::out_of_range, "a group has 2^53 rows or more, which cannot be counted exactly");
}

} // namespace

std::vector<int> group_columns(const Source& source, const std::vector<std::string>& names) {
    if (names.empty()) throw Error(ErrorCode::invalid_argument, "group_by must name at least one column");
    std::vector<int> groups;
    for (const std::string& name : names) {
        const int column = source.column(name);
        if (std::find(groups.begin(), groups.end(), column) != groups.end())
            throw Error(ErrorCode::duplicate_column, format("group_by names column \"%s\" twice", name.c_str()));
        groups.push_back(column);
        const Oid type = source.columns()[column].type;
        if (!pg_call([=] { return is_hashable(type); }))
            throw Error(ErrorCode::wrong_type,
                        format("group column \"%s\" is of type %s, which has no default hash operator class",
                               name.c_str(), type_name(type)));
    }
    return groups;
}

void check_result_columns(TupleDesc result, const Source& source, const std::vector<int>& groups, Oid value_type) {
    if (result->natts != static_cast<int>(groups.size()) + 1)
        throw Error(ErrorCode::wrong_type,
                    format("the column list has %d columns, the result has %zu", result->natts, groups.size() + 1),
                    format("The result has the group columns, in the order of group_by, then value %s.",
                           type_name(value_type)));
    for (int i = 0; i < result->natts; i++) {
        const bool is_value = i == static_cast<int>(groups.size());
        const Source::Column value{"value", value_type, 0, value_type};
        const Source::Column& column = is_value ? value : source.columns()[groups[i]];
        const Oid declared = TupleDescAttr(result, i)->atttypid, actual = column.declared_type;
        if (declared != actual && declared != column.type)
            throw Error(ErrorCode::wrong_type,
                        format("column %d of the column list has type %s, the result has type %s", i + 1,
                               type_name(declared), type_name(actual)));
    }
}

// btml.sumprod(source text, semiring text) → float8
BTML_FUNCTION(btml_sumprod) {
    const NamedArguments arguments(fcinfo);
    const GivenSource given = given_source(arguments);
    const SemiringName semiring = parse_semiring(arguments.string("semiring"));
    BackendContext context("sumprod");
    const FactorQuery query = load(Source(given), {}, semiring, context);
    const double value = query.has_factors || semiring != SemiringName::sum_product
                             ? sum_product(query.loaded.join, query.factors, semiring, context)
                             : static_cast<double>(query.loaded.join.count(context));
    return pg_call([=] { return Float8GetDatum(value); });
}

// btml.sumprod_by(source text, group_by name[], semiring text) → setof record
BTML_FUNCTION(btml_sumprod_by) {
    const NamedArguments arguments(fcinfo);
    const GivenSource given = given_source(arguments);
    const std::vector<std::string> names = arguments.columns("group_by");
    const SemiringName semiring = parse_semiring(arguments.string("semiring"));
    ResultRows rows(fcinfo);
    BackendContext context("sumprod_by");
    const Source source(given);
    const std::vector<int> groups = group_columns(source, names);
    require_one_table(source, groups);
    check_result_columns(rows.columns(), source, groups, FLOAT8OID);
    const FactorQuery query = load(source, groups, semiring, context);
    const int table = query.loaded.places.front().table;
    const bool counting = !query.has_factors && semiring == SemiringName::sum_product;
    const Buffer<double> values = sum_product_by_row(query.loaded.join, query.factors, semiring, table, context);
    std::vector<RowId> first_rows;
    const std::vector<double> sums = add_by_group(query, values, semiring, first_rows, context);
    if (counting) require_exact_counts(sums);
    for (size_t group = 0; group < sums.size(); group++) {
        for (size_t g = 0; g < query.loaded.places.size(); g++) {
            const DataColumn& column = query.loaded.join.tables()[table].columns[query.loaded.places[g].column];
            const uint32_t code = column.codes[first_rows[group]];
            code == DataColumn::null_code ? rows.add_null()
                                          : rows.add(SqlValue{query.loaded.group_values[g]->generic_value(code)});
        }
        rows.add(sums[group]);
        rows.finish_row();
    }
    return rows.done();
}

namespace {

// State of sumprod_agg: float8[2] with the semiring's number and the value so far.
constexpr int state_size = 2;

Datum make_state(double semiring, double value) {
    return number_array(std::array<double, state_size>{semiring, value});
}

// Anybody may call the support functions with any array.
std::pair<SemiringName, double> read_state(const Arguments& arguments, int i) {
    const std::vector<double> items = arguments.numbers(i, "state");
    if (items.size() != state_size || !(items[0] >= 0 && items[0] < semiring_names.size()) ||
        items[0] != std::floor(items[0]) || is_null(items[1]))
        throw Error(ErrorCode::invalid_argument, "invalid state of sumprod_agg");
    return {static_cast<SemiringName>(static_cast<int>(items[0])), items[1]};
}

void require_same(SemiringName a, SemiringName b) {
    if (a != b) throw Error(ErrorCode::invalid_argument, "semiring must be the same in every row of an aggregate");
}

} // namespace

// btml_internal.sumprod_accumulate(state float8[], factors float8[] [, semiring text]) → float8[]
BTML_FUNCTION(btml_sumprod_accumulate) {
    const Arguments arguments(fcinfo);
    const SemiringName semiring =
        fcinfo->nargs > 2 ? parse_semiring(arguments.string(2, "semiring")) : SemiringName::sum_product;
    if (arguments.is_null(1)) return argument_or_null(fcinfo, 0);
    const std::vector<double> factors = arguments.numbers(1, "factors");
    // A NULL skips its row wherever it stands, as in a join: also if factors before it are invalid or overflow.
    if (std::any_of(factors.begin(), factors.end(), is_null)) return argument_or_null(fcinfo, 0);
    double product = one(semiring);
    for (double factor : factors) {
        if (semiring == SemiringName::max_product && factor < 0)
            throw Error(ErrorCode::invalid_argument,
                        format("max_product needs factors that are not negative, argument \"factors\" has the value %g",
                               factor));
        product = multiply(semiring, product, factor);
    }
    double sum = zero(semiring);
    if (!arguments.is_null(0)) {
        const auto [of_state, value] = read_state(arguments, 0);
        require_same(of_state, semiring);
        sum = value;
    }
    return make_state(static_cast<double>(semiring), add(semiring, sum, product));
}

// btml_internal.sumprod_combine(float8[], float8[]) → float8[]
BTML_FUNCTION(btml_sumprod_combine) {
    const Arguments arguments(fcinfo);
    if (arguments.is_null(0)) return argument_or_null(fcinfo, 1);
    if (arguments.is_null(1)) return argument_or_null(fcinfo, 0);
    const auto [semiring, a] = read_state(arguments, 0);
    const auto [other, b] = read_state(arguments, 1);
    require_same(semiring, other);
    return make_state(static_cast<double>(semiring), add(semiring, a, b));
}

// btml_internal.sumprod_final(float8[]) → float8: NULL when no row was aggregated, as for sum()
BTML_FUNCTION(btml_sumprod_final) {
    const Arguments arguments(fcinfo);
    if (arguments.is_null(0)) return argument_or_null(fcinfo, 0);
    const double value = read_state(arguments, 0).second;
    return pg_call([=] { return Float8GetDatum(value); });
}

} // namespace btml::pg
