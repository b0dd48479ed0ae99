// The parameters $1, $2 … of a source's text. Their values come as texts of their own, the argument args, and become
// constants of the analysed query, so that nobody has to write values into SQL.
#pragma once

#include "pg/values/arguments.hpp"

namespace btml::pg {

// A source as a call gives it.
struct GivenSource {
    std::string text;
    List* args; // of char*: the values of $1, $2 …, null for NULL

    // It is not explicit: a text alone is a source without parameters.
    GivenSource(std::string sql = {}, List* values = NIL) : text(std::move(sql)), args(values) {}
};

// The argument args of a call with these sources. Errors: wrong_type for an array of several dimensions;
// invalid_argument for a value whose parameter no source has; those of the parser.
List* source_args(const NamedArguments& call, const std::vector<std::string>& sources);
// A source that is the only one of its call, with args. Errors also: null_value.
GivenSource given_source(const NamedArguments& call);

// What follows is used while a source is analysed, and may ereport.

// The places of parameters in a SELECT, of ParamRef*, in the order of the text.
List* parameters_in(const RawStmt* select);
// Error UNDEFINED_PARAMETER naming the first parameter that has no value among so many; `name`: of the source.
void require_values(const List* parameters, const char* sql, int values, const char* name);

// The queries of the statement after rewriting, in which each parameter is a constant of the type that the statement
// demands; *text becomes its text with the constants, as casts of quoted literals. Errors: PostgreSQL's own for types
// that cannot be found and for values that their types do not read.
List* analysed_with_values(RawStmt* statement, const char* sql, List* parameters, List* args, const char** text);

} // namespace btml::pg
