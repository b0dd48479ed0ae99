// Writes JSON text field by field.
#pragma once

#include "core/base/text_builder.hpp"
#include "pg/bridge/postgres.hpp"

namespace btml::pg {

// Its text is counted against the memory of the context, which is polled while it is written.
class JsonWriter {
  public:
    explicit JsonWriter(RunContext& context) : context_(context), text_(context, "a result as JSON") {}

    void begin_object(std::string_view name = {}) { open(name, '{'); }
    void end_object() { close('}'); }
    void begin_array(std::string_view name = {}) { open(name, '['); }
    void end_array() { close(']'); }

    void add(std::string_view name, std::string_view value) { key(name), text_.json_string(value); }
    void add(std::string_view name, const char* value) { add(name, std::string_view(value)); }
    void add(std::string_view name, const std::string& value) { add(name, std::string_view(value)); }
    // Writes a number, which must be finite; so must those below.
    template <class Number>
    void add(std::string_view name, Number value) {
        key(name), text_ << value;
    }
    // `value` is JSON as it stands.
    void add_json(std::string_view name, std::string_view value) { key(name), text_ << value; }
    void add_item(std::string_view value) { separate(), text_.json_string(value); }
    void add_item(double value) { separate(), text_ << value; }

    // Ends the text and returns it as a jsonb. Counts what PostgreSQL takes to parse the text while it does.
    Datum datum();

  private:
    void open(std::string_view name, char bracket);
    void close(char bracket);
    void separate();
    void key(std::string_view name);

    RunContext& context_;
    TextBuilder text_;
    uint64_t elements_ = 0; // keys, values and the room for them that each object or array begins with
    bool first_ = true;     // there is nothing yet in the innermost object or array
};

} // namespace btml::pg
