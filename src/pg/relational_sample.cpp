// btml.sample_join: rows of a join that is not built, uniformly and without replacement.
#include "core/relational/queries/join_sample.hpp"
#include "pg/bridge/backend_context.hpp"
#include "pg/source/source.hpp"
#include "pg/values/arguments.hpp"
#include "pg/values/result.hpp"

namespace btml::pg {

using namespace relational;

namespace {

// "numeric(10,2)", as in a column list.
std::string type_with_modifier(Oid type, int32 typmod) {
    return pg_call([=] { return format_type_with_typemod(type, typmod); });
}

std::string column_list(const Source& source) {
    std::string list;
    for (const Source::Column& column : source.columns()) {
        const char* const name = column.name.c_str();
        list += list.empty() ? "" : ", ";
        list += pg_call([=] { return quote_identifier(name); });
        list += " " + type_with_modifier(column.declared_type, column.typmod);
    }
    return list;
}

// The columns of the caller's list must have the types of the source's; names and modifiers may be left to the caller.
void check_result_columns(TupleDesc result, const Source& source) {
    const std::vector<Source::Column>& columns = source.columns();
    const auto refuse = [&](const std::string& message) {
        throw Error(ErrorCode::wrong_type, message, "The result has the columns of the source.",
                    columns.empty() ? "Let the source output columns."
                                    : "Call it with AS sample(" + column_list(source) + ").");
    };
    if (result->natts != static_cast<int>(columns.size()))
        refuse(format("the column list has %d columns, the source has %zu", result->natts, columns.size()));
    for (int i = 0; i < result->natts; i++) {
        const FormData_pg_attribute* const declared = TupleDescAttr(result, i);
        const Source::Column& column = columns[i];
        const bool is_same_type = declared->atttypid == column.declared_type || declared->atttypid == column.type;
        if (!is_same_type || (declared->atttypmod >= 0 && declared->atttypmod != column.typmod))
            refuse(format("column %d of the column list has type %s, column \"%s\" of the source has type %s", i + 1,
                          type_with_modifier(declared->atttypid, declared->atttypmod).c_str(), column.name.c_str(),
                          type_with_modifier(column.declared_type, column.typmod).c_str()));
    }
}

// The rows of one table that are in the sample, each once.
class SampledRows {
  public:
    // numbers: of each row in the sample, in KeptRows.
    SampledRows(KeptRows& kept, Buffer<RowId> numbers, RunContext& context)
        : kept_(kept), numbers_(std::move(numbers)), distinct_(context.memory(), numbers_.what(), numbers_.size()) {
        std::copy(numbers_.begin(), numbers_.end(), distinct_.begin());
        std::sort(distinct_.begin(), distinct_.end(), [&](RowId a, RowId b) {
            context.worked(1);
            return a < b;
        });
        distinct_.resize(static_cast<size_t>(std::unique(distinct_.begin(), distinct_.end()) - distinct_.begin()));
        kept_.fetch(distinct_.span(), context);
    }

    // In the i-th row of the sample.
    KeptRows::Row row(size_t i) {
        return kept_.row(
            static_cast<size_t>(std::lower_bound(distinct_.begin(), distinct_.end(), numbers_[i]) - distinct_.begin()));
    }

  private:
    KeptRows& kept_;
    Buffer<RowId> numbers_, distinct_;
};

// Draws rows of the join, and returns what they are made of by table: nothing where no column is taken from.
std::vector<std::optional<SampledRows>> draw_sample(const LoadedSource& loaded, int64 n, int64 seed, uint64_t& drawn,
                                                    RunContext& context) {
    const Join& join = loaded.join;
    JoinRows rows = JoinSampler(join, {}, context).draw(static_cast<uint64_t>(n), static_cast<uint64_t>(seed), 0);
    drawn = rows.rows;
    std::vector<std::optional<SampledRows>> tables(loaded.kept.size());
    for (size_t t = 0; t < tables.size(); t++) {
        if (!loaded.kept[t]) continue;
        const Buffer<uint32_t>& numbers = join.tables()[t].columns.front().codes;
        context.for_each(rows.rows, 1, [&](uint64_t i) { rows.row_ids[t][i] = numbers[rows.row_ids[t][i]]; });
        tables[t].emplace(*loaded.kept[t], std::move(rows.row_ids[t]), context);
    }
    return tables;
}

} // namespace

// btml.sample_join(source text, n numeric, seed numeric) → setof record
BTML_FUNCTION(btml_sample_join) {
    const Arguments arguments(fcinfo);
    const GivenSource given = given_source(NamedArguments(fcinfo));
    const int64 n = arguments.whole_number(1, "n"), seed = arguments.whole_number(2, "seed");
    if (n < 0)
        throw Error(ErrorCode::invalid_argument, format("n must not be negative, it is %" PRId64, n),
                    "It is the number of rows to draw.");
    ResultRows rows(fcinfo);
    BackendContext context("sample_join");
    const Source source(given);
    check_result_columns(rows.columns(), source);
    std::vector<ColumnRequest> requests;
    for (int i = 0; i < static_cast<int>(source.columns().size()); i++) requests.push_back({i, ReadAs::as_is});
    const LoadedSource loaded = source.read(requests, context, RowContents::read);
    uint64_t drawn = 0;
    std::vector<std::optional<SampledRows>> tables = draw_sample(loaded, n, seed, drawn, context);
    std::vector<KeptRows::Row> row(tables.size());
    for (uint64_t i = 0; i < drawn; i++) {
        for (size_t t = 0; t < row.size(); t++)
            if (tables[t]) row[t] = tables[t]->row(i);
        for (const relational::ColumnRef& place : loaded.places) {
            if (row[place.table].nulls[place.column])
                rows.add_null();
            else
                rows.add(SqlValue{row[place.table].values[place.column]});
        }
        rows.finish_row();
    }
    return rows.done();
}

} // namespace btml::pg
