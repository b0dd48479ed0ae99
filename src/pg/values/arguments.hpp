// Arguments of a SQL function: by name, and for calls row by row by position.
#pragma once

#include "pg/bridge/guard.hpp"

namespace btml::pg {

// Error wrong_type, naming the argument, for an array of more dimensions.
void require_one_dimension(const ArrayType* array, const char* name);

// The elements of an array. The value of one that is NULL has no meaning.
struct ArrayElements {
    std::span<const Datum> values;
    std::span<const bool> nulls;

    bool has_null() const;
};
// Takes an array of one dimension apart; type: that of its elements. The name is for error messages.
ArrayElements elements_of(Datum array, Oid type, const char* name);
// The same with error null_value for an element that is NULL.
std::span<const Datum> elements_without_null(Datum array, Oid type, const char* name);
// Reads a float8[] of one dimension: NULL elements as null_number, NaN as the NaN that is not NULL.
void read_numbers(Datum array, const char* name, std::vector<double>& numbers);

std::string text_of_numeric(Datum numeric);
// Reads such a text where it is an integer of 64 bits.
std::optional<int64> whole_number(std::string_view text);

// Returns an argument as the function's result, NULL included.
inline Datum argument_or_null(FunctionCallInfo fcinfo, int i) {
    fcinfo->isnull = fcinfo->args[i].isnull;
    return fcinfo->args[i].value;
}

// Reads arguments by position; names are for error messages.
class Arguments {
  public:
    explicit Arguments(FunctionCallInfo fcinfo) : fcinfo_(fcinfo) {}

    int count() const { return fcinfo_->nargs; }
    bool is_null(int i) const { return i >= fcinfo_->nargs || fcinfo_->args[i].isnull; }
    Datum datum(int i, const char* name) const { return require(i, name), fcinfo_->args[i].value; }

    // Error null_value for NULL.
    std::string string(int i, const char* name) const;
    std::string column(int i, const char* name) const; // of type name
    // Reads an argument of type bigint, which is called for every row. Error out_of_range for what is no int.
    int integer(int i, const char* name) const;
    int64 bigint(int i, const char* name) const { return DatumGetInt64(datum(i, name)); }
    // Reads an argument of type numeric, to which integers of every type are cast. Error invalid_argument for other
    // numbers.
    int64 whole_number(int i, const char* name) const;
    double number(int i, const char* name) const { return DatumGetFloat8(datum(i, name)); }
    bool boolean(int i, const char* name) const { return DatumGetBool(datum(i, name)); }
    // name[] without NULLs.
    std::vector<std::string> columns(int i, const char* name) const;
    // numeric[] without NULLs; errors as of whole_number.
    std::vector<int64> whole_numbers(int i, const char* name) const;
    // float8[] as of read_numbers.
    std::vector<double> numbers(int i, const char* name) const;

  private:
    void require(int i, const char* name) const;

    FunctionCallInfo fcinfo_;
};

// Reads arguments by the names that the function was declared with, which are looked up at construction.
class NamedArguments {
  public:
    explicit NamedArguments(FunctionCallInfo fcinfo);

    // Tells whether the function has an argument of this name; the others below are for arguments that it has.
    bool has(std::string_view name) const { return find(name) < parameters_.size(); }
    bool is_null(const char* name) const { return arguments_.is_null(position(name)); }
    Oid type(const char* name) const { return parameters_[position(name)].second; }

    Datum datum(const char* name) const { return arguments_.datum(position(name), name); }
    std::string string(const char* name) const { return arguments_.string(position(name), name); }
    std::string column(const char* name) const { return arguments_.column(position(name), name); }
    bool boolean(const char* name) const { return arguments_.boolean(position(name), name); }
    std::vector<std::string> columns(const char* name) const { return arguments_.columns(position(name), name); }
    std::vector<int64> whole_numbers(const char* name) const { return arguments_.whole_numbers(position(name), name); }
    std::vector<double> numbers(const char* name) const { return arguments_.numbers(position(name), name); }
    // Return nothing for NULL, and where the function has no such argument.
    std::optional<std::string> optional_column(const char* name) const;
    std::optional<std::vector<std::string>> optional_columns(const char* name) const;

  private:
    size_t find(std::string_view name) const;
    int position(const char* name) const;

    Arguments arguments_;
    std::vector<std::pair<std::string, Oid>> parameters_; // names and types of those of input
};

} // namespace btml::pg
