// Running one query of a source into columns.
#pragma once

#include "core/relational/join/table.hpp"
#include "pg/source/dictionaries.hpp"
#include "pg/source/stored_rows.hpp"
#include "pg/values/number_array.hpp"

namespace btml::pg {

// A column of arrays, each of whose elements is a column of numbers.
struct VectorColumn {
    ArrayRule rule;
    size_t length;                             // 0 until the first array is read
    bool by_model;                             // the length is what a model expects
    std::vector<Buffer<double>> elements = {}; // as many as the length; none where every row is NULL
};

// Says where one column of the query's result goes: as numbers, or an array of them, or else as codes of a dictionary,
// which are keys or those of a DataColumn.
struct ColumnSink {
    int position = 0; // in the query's result, from 0
    Oid type = InvalidOid;

    KeyDictionary* dictionary = nullptr;
    Buffer<uint32_t>* codes = nullptr;

    const char* name = ""; // of the source's column
    NumberKind number = NumberKind::none;
    PGFunction time_cast = nullptr; // before it becomes a number
    Buffer<double>* numbers = nullptr;
    VectorColumn* vector = nullptr;
};

// Plans and runs the query in the active snapshot and appends every row to the sinks and, where there is one, to
// `kept`; returns the number of rows.
// Errors of numbers name the column, and a NOTICE tells of integers that were rounded.
// Error limit_exceeded, naming `relation`, when a table would hold more than relational::max_rows.
uint64_t scan(const Query* query, const char* sql, const char* relation, const std::vector<ColumnSink>& sinks,
              KeptRows* kept, RunContext& context);

} // namespace btml::pg
