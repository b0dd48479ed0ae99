// Arguments of a SQL function by position, with their names for error messages.
#pragma once

#include "pg/bridge/guard.hpp"

namespace btml::pg {

// Error wrong_type, naming the argument, for an array of more dimensions.
void require_one_dimension(const ArrayType* array, const char* name);

class Arguments {
  public:
    explicit Arguments(FunctionCallInfo fcinfo) : fcinfo_(fcinfo) {}

    bool is_null(int i) const { return i >= fcinfo_->nargs || fcinfo_->args[i].isnull; }
    Datum datum(int i, const char* name) const { return require(i, name), fcinfo_->args[i].value; }

    // Error null_value for NULL.
    std::string string(int i, const char* name) const;
    std::string column(int i, const char* name) const; // of type name
    int integer(int i, const char* name) const { return DatumGetInt32(datum(i, name)); }
    int64 bigint(int i, const char* name) const { return DatumGetInt64(datum(i, name)); }
    double number(int i, const char* name) const { return DatumGetFloat8(datum(i, name)); }
    bool boolean(int i, const char* name) const { return DatumGetBool(datum(i, name)); }
    // name[] without NULLs.
    std::vector<std::string> columns(int i, const char* name) const;
    // integer[] without NULLs.
    std::vector<int> integers(int i, const char* name) const;
    // float8[] of one dimension; NULL elements as null_number, NaN as the NaN that is not NULL.
    std::vector<double> numbers(int i, const char* name) const;
    // The same into a vector, whose memory is used again.
    void read_numbers(int i, const char* name, std::vector<double>& numbers) const;

  private:
    void require(int i, const char* name) const;

    FunctionCallInfo fcinfo_;
};

} // namespace btml::pg
