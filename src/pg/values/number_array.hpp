// SQL arrays of numbers, and what can be cast to one, as numbers.
#pragma once

#include "pg/bridge/guard.hpp"
#include "pg/values/values.hpp"

namespace btml::pg {

// How values of a type become arrays of numbers.
struct ArrayRule {
    NumberKind element = NumberKind::none; // none: they do not
    int16 length = 0;                      // of an element, as PostgreSQL stores it
    bool by_value = false;
    char alignment = 0;
    FmgrInfo* cast = nullptr; // to real[] or float8[], for types that are no arrays
    int cast_arguments = 0;
    Oid distrusted_cast = InvalidOid; // the function of a cast that is not taken

    bool reads() const { return element != NumberKind::none; }
};

// Arrays of integers, reals or numerics, and types with a cast to real[] or float8[]. The caller did not ask for that
// cast, so its function, which runs with the current user's rights, must be that user's own or a superuser's. Lives as
// long as the context. May ereport.
ArrayRule array_rule(Oid type, MemoryContext context);

// Puts a value's numbers in the place of `numbers`; NULL elements as null_number, NaN as the NaN that is not NULL.
// Errors of an element name the column. Returns the array's dimensions: 0 for an empty one; numbers of arrays of more
// than one are not read.
int read_numbers(const ArrayRule& rule, Datum value, std::vector<double>& numbers, NumberColumn& column);

struct ArrayShape {
    size_t elements; // of one dimension
    int dimensions;  // 0: it is empty
    int first;       // the lower bound
};

// Checks one array of a column whose elements become features. length: what all of them have, 0 where this is the first
// one; by_model: it is what the model expects. Errors naming the column: invalid_argument for another length, an empty
// array and one that does not begin at 1, wrong_type for more than one dimension.
void check_vector(const ArrayShape& shape, size_t length, bool by_model, const NumberColumn& column);
// Reads such an array as read_numbers() does. Errors: those of read_numbers() and of check_vector().
void read_vector(const ArrayRule& rule, Datum value, size_t length, bool by_model, std::vector<double>& numbers,
                 NumberColumn& column);
// The name of the array type that such a column is read as.
std::string array_type_name(const ArrayRule& rule);

// Say why a cast is not taken, and what to do, in an error about a column that has no other.
std::string detail_of_distrust(const ArrayRule& rule);
std::string hint_of_distrust(const ArrayRule& rule, const std::string& column);

// A float8[] of one dimension, of zeros or of these numbers; an integer[] of zeros.
ArrayType* new_number_array(size_t count);
ArrayType* new_integer_array(size_t count);
Datum number_array(std::span<const double> numbers);

} // namespace btml::pg
