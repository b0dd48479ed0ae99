// A source: a table, a view or a SELECT, analysed into a join and read into columns.
#pragma once

#include "core/base/timing.hpp"
#include "core/relational/join/join_dataset.hpp"
#include "pg/source/analysis.hpp"
#include "pg/source/dictionaries.hpp"
#include "pg/source/query_rows.hpp"
#include "pg/source/stored_rows.hpp"
#include "pg/values/number_array.hpp"

namespace btml::pg {

// How an output column is read.
enum class ReadAs {
    number,   // DataColumn of numbers
    vector,   // arrays: a DataColumn of numbers for each of their elements
    category, // DataColumn of codes, its categories in CategoryOrder; the type must have no category_fault()
    text,     // DataColumn of codes, its categories the texts that the session writes
    group,    // DataColumn of codes into the distinct values, which LoadedSource::group_values keeps
    as_is,    // column of the table's KeptRows
};

// Whether tables have the contents of their rows, which are hashes of the keys and of all columns asked for; not with
// groups; with distinct ones equal rows are told apart.
enum class RowContents { unread, read, distinct };

struct ColumnRequest {
    int output; // index into Source::columns()
    ReadAs as;
    PGFunction time_cast = nullptr; // of a point in time, before it becomes a number
    size_t length = 0;              // of a vector, as a model expects it; 0: as of the first one
    ArrayRule array = {};           // of a vector: how it is read
};

// Has a base relation that is one table read as groups of rows: by its keys and the columns asked for of it, which are
// numbers, categories or groups.
struct GroupedRelation {
    int relation;
    List* totals; // of Node*: aggregates over its columns that are float8
};

// A source's tables and what was asked for of them.
struct LoadedSource {
    relational::Join join;
    // One for each request; of a column kept as it is, that of KeptRows, of a vector that of its first element.
    std::vector<relational::ColumnRef> places;
    // One for each request: the places of a vector's elements. There are none where it is NULL in all rows and its
    // length is not known; its place has NULLs then.
    std::vector<std::vector<relational::ColumnRef>> elements;
    std::vector<relational::ColumnRef> totals;                // one for each total of grouped relations, in their order
    std::vector<std::unique_ptr<KeyDictionary>> group_values; // for requests of groups, in their order
    // One for each table, null where no column is kept as it is. Such a table has one DataColumn of codes, the numbers
    // of its rows there; the row that stands for "no match" in a left join is the last.
    std::vector<std::unique_ptr<KeptRows>> kept;
    std::vector<Timing> timings; // of reading the tables and of joining them
};

class Source {
  public:
    // name: in errors. Errors as analyse_source; the rights are the caller's.
    explicit Source(const GivenSource& given, std::string name = "source") : Source(given, false, std::move(name)) {}
    // A source that is read row by row: one query, for read_rows().
    static Source of_rows(const GivenSource& given, std::string name = "source") {
        return Source(given, true, std::move(name));
    }

    struct Column {
        std::string name;
        Oid type; // base type of a domain
        int table;
        Oid declared_type; // the domain, where there is one
        int32 typmod = -1;
        Oid collation = InvalidOid;
        NumberKind number = NumberKind::none; // what its values are as numbers
    };
    const std::string& name() const { return name_; }
    const std::vector<Column>& columns() const { return columns_; }
    // The column with this name, nothing where there is none. Error duplicate_column.
    std::optional<int> find(std::string_view name) const;
    // The column with this name. Errors undefined_column (the HINT has the nearest name), duplicate_column.
    int column(const std::string& name) const;
    // Error duplicate_column when two output columns have one name.
    void require_distinct_names() const;

    const SourceAnalysis& analysis() const { return *analysis_; }

    // Reads each base relation once, in the active snapshot, with only the columns asked for.
    LoadedSource read(const std::vector<ColumnRequest>& requests, RunContext& context,
                      RowContents contents = RowContents::unread,
                      const std::vector<GroupedRelation>& grouped = {}) const;
    // Gives each row of a source of_rows(), with all columns, to the sink, anew each time it is called. block_seed: in
    // a random order of the table's blocks; errors as block_queries.
    uint64_t read_rows(RowSink& sink, const char* phase, RunContext& context,
                       std::optional<uint64_t> block_seed = {}) const;

  private:
    Source(const GivenSource& given, bool as_one_query, std::string name);

    std::string name_;
    SourceAnalysis* analysis_;
    std::vector<Column> columns_;
};

// The values of one row of a query, its texts by column; NULL as "".
using TextRow = std::vector<std::string>;

// Runs a query of ours, all of whose columns are texts, with the caller's rights. phase: what progress calls it.
std::vector<TextRow> text_rows(const std::string& sql, const char* phase, RunContext& context);

// Errors wrong_type, which call the column what `role` says. or_else: what else may be done of a column that is no
// number, after the hint how to make one of it.
void require_number(const Source::Column& column, const char* role, const char* detail = "",
                    const std::string& or_else = "");
void require_boolean(const Source::Column& column, const char* role);
void require_category(const Source::Column& column, const char* role); // as of require_category_type

} // namespace btml::pg
