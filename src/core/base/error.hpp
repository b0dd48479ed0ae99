// Errors of the core. The PostgreSQL glue maps each code to one SQLSTATE; nothing here knows PostgreSQL.
#pragma once

#include <cinttypes> // has PRIu64 for format
#include <exception>
#include <string>
#include <string_view>
#include <vector>

namespace btml {

enum class ErrorCode {
    invalid_argument, // 22023: an option or argument has a value outside its domain
    null_value,       // 22004: NULL where a value is required
    out_of_range,     // 22003: a number that cannot be represented or used
    undefined_column, // 42703
    duplicate_column, // 42701
    wrong_type,       // 42804
    not_supported,    // 0A000
    limit_exceeded,   // 54000: a fixed limit of the program
    memory_limit,     // 53200: the budget btml.memory_limit, or malloc, is exhausted
    corrupt_model,    // 22P03: model bytes that do not decode
    internal,         // XX000: a broken invariant
};

class Error : public std::exception {
  public:
    Error(ErrorCode code, std::string message, std::string detail = {}, std::string hint = {})
        : code_(code), message_(std::move(message)), detail_(std::move(detail)), hint_(std::move(hint)) {}

    ErrorCode code() const noexcept { return code_; }
    const std::string& message() const noexcept { return message_; }
    const std::string& detail() const noexcept { return detail_; }
    const std::string& hint() const noexcept { return hint_; }
    const char* what() const noexcept override { return message_.c_str(); }

  private:
    ErrorCode code_;
    std::string message_, detail_, hint_;
};

// Thrown by RunContext::poll() after keep_going() said no. Deliberately not an Error: only the boundary catches it.
struct Cancelled {};

// printf into a std::string, for messages.
[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...);

// Returns the shortest decimal that reads back as x; what is no finite number has the name that SQL gives it.
std::string shortest(double x);

// "a, b, c", each quoted: the valid choices of an error's HINT.
std::string quoted_list(const std::vector<std::string>& names);

// Returns which of `choices` a reader would take `name` for a misspelling of: the one of the fewest edits, at most a
// third of the name's length, that begins with the same letter or has the first two swapped. Case does not count.
// Returns "" where there is none.
std::string nearest_name(std::string_view name, const std::vector<std::string>& choices);

} // namespace btml
