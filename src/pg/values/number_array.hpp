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
};

// Arrays of integers, reals or numerics, and types with a cast to real[] or float8[]. The caller did not ask for that
// cast, so its function, which runs with the current user's rights, must be that user's own or a superuser's. Lives as
// long as the context. May ereport.
ArrayRule array_rule(Oid type, MemoryContext context);

// Puts a value's numbers in the place of `numbers`; NULL elements as null_number, NaN as the NaN that is not NULL.
// Errors of an element name the column. Returns the array's dimensions: 0 for an empty one; numbers of arrays of more
// than one are not read.
int read_numbers(const ArrayRule& rule, Datum value, std::vector<double>& numbers, NumberColumn& column);

// A float8[] of one dimension, of zeros or of these numbers; an integer[] of zeros.
ArrayType* new_number_array(size_t count);
ArrayType* new_integer_array(size_t count);
Datum number_array(std::span<const double> numbers);

} // namespace btml::pg
