// Values of options: choices among names, and options given as a JSON object.
#pragma once

#include "pg/bridge/postgres.hpp"

namespace btml::pg {

// The one of `choices` that a text option names. Error invalid_argument, with the choices in the HINT.
size_t choice(const std::string& value, const char* option, const std::vector<std::string>& choices);

// One option of the JSON object.
struct JsonOption {
    std::string name;
    std::optional<double> number; // where its value is one
    std::string text;
};

// The members of a JSON object, given as text. Error invalid_argument for any other JSON.
std::vector<JsonOption> json_options(const std::string& json);

// Errors invalid_argument naming the option, its value and what is valid.
double number_of(const JsonOption& option);
template <class Integer>
Integer integer_of(const JsonOption& option);

// Error invalid_argument with the valid names in the DETAIL and the nearest in the HINT.
[[noreturn]] void unknown_option(const JsonOption& option, const std::vector<std::string>& names);

} // namespace btml::pg
