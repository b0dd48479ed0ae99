// Reads JSON text value by value, and builds only the strings that a caller asks for: what is skipped takes no memory,
// and the stack does not grow with the depth. Beside the standard's numbers there are NaN, Infinity and -Infinity, as
// other languages write them.
#pragma once

#include "core/base/run_context.hpp"

#include <string>
#include <string_view>

namespace btml {

class JsonReader {
  public:
    enum class Kind : uint8_t { object, array, string, number, boolean, null };

    // Refuses with `refuse`(detail), which does not return. The text must outlive the reader, and so must the context.
    using Refuse = void (*)(std::string detail);
    JsonReader(std::string_view text, Refuse refuse, RunContext& context)
        : text_(text), refuse_(refuse), context_(context), held_(context.memory(), "a string of JSON") {}

    // Tells what comes next.
    Kind peek();
    // Calls body(key) for each member, which must read its value or skip it.
    template <class Body>
    void object(const Body& body) {
        for (bool first = enter('{', "an object"); next(first, '}'); first = false) {
            const std::string key = string();
            expect(':');
            body(key);
        }
    }
    // Calls body() for each element, which must read it or skip it.
    template <class Body>
    void array(const Body& body) {
        for (bool first = enter('[', "an array"); next(first, ']'); first = false) body();
    }
    // The reader's memory is counted as that of the longest string so far; who keeps more of them counts the others.
    std::string string();
    // Returns the number as it is written.
    std::string_view number_text();
    // Returns it without taking it.
    std::string_view next_number_text();
    // Return the number that is nearest; refuse one beyond all finite ones.
    double number();
    float number_of_32_bits();
    // Refuses a number that is not whole, or not between the bounds.
    int64_t integer(int64_t min, int64_t max);
    // Reads true, false, 0 or 1.
    bool boolean();
    // Reads any value.
    void skip();
    // Refuses text after the value.
    void finish();

    [[noreturn]] void fail(const std::string& what) const;

  private:
    bool enter(char bracket, const char* what);
    bool next(bool first, char end);
    void expect(char wanted);
    char next_character();
    bool take(std::string_view word);
    template <class Piece>
    void read_string(const Piece& piece);
    std::string escape();
    uint32_t hexadecimals();
    template <class Number>
    Number parsed_number();

    static constexpr size_t max_depth = 64, block_bytes = size_t{1} << 16;

    const std::string_view text_;
    const Refuse refuse_;
    RunContext& context_;
    Reservation held_;
    size_t at_ = 0, depth_ = 0, held_bytes_ = 0;
};

// Characters that a number is written with; the longest that is exact has fewer.
inline constexpr size_t max_number_characters = 2000;

} // namespace btml
