#include "pg/values/json.hpp"

#include "pg/bridge/guard.hpp"

extern "C" {
#include "utils/jsonb.h"
}

namespace btml::pg {

// Bytes that jsonb_in holds for each element at most: a JsonbValue or half of a JsonbPair in an array that doubles, the
// head of an allocated string, an entry of the result in a buffer that doubles. Each text is there twice as well, as a
// string of a power of two bytes and in that buffer.
static constexpr uint64_t bytes_of_element = 112, bytes_of_character = 4;
static constexpr uint64_t first_room = 4; // elements in the array that an object or an array begins with

void JsonWriter::separate() {
    elements_++;
    if (!first_) text_ << ',';
    first_ = false;
}

void JsonWriter::key(std::string_view name) {
    separate();
    elements_++;
    text_.json_string(name);
    text_ << ':';
}

void JsonWriter::open(std::string_view name, char bracket) {
    if (name.empty())
        separate();
    else
        key(name);
    text_ << bracket;
    elements_ += first_room;
    first_ = true;
}

void JsonWriter::close(char bracket) {
    text_ << bracket;
    first_ = false;
}

Datum JsonWriter::datum() {
    text_ << '\0';
    const Reservation parsed(context_.memory(), "a result as JSON",
                             bytes_of_element * elements_ + bytes_of_character * text_.text().size());
    const char* const text = text_.text().data();
    return pg_call([=] { return DirectFunctionCall1(jsonb_in, CStringGetDatum(text)); });
}

} // namespace btml::pg
