// JSON text, written field by field.
#pragma once

#include <concepts>
#include <string>
#include <string_view>

namespace btml::pg {

class JsonWriter {
  public:
    void begin_object(std::string_view name = {}) { open(name, '{'); }
    void end_object() { close('}'); }
    void begin_array(std::string_view name = {}) { open(name, '['); }
    void end_array() { close(']'); }

    void add(std::string_view name, std::string_view value) { key(name), quote(value); }
    void add(std::string_view name, const char* value) { add(name, std::string_view(value)); }
    void add(std::string_view name, const std::string& value) { add(name, std::string_view(value)); }
    void add(std::string_view name, double value) { key(name), number(value); } // finite
    template <std::integral T>
    void add(std::string_view name, T value) {
        key(name);
        text_ += std::to_string(value);
    }
    // A value that is JSON as it stands.
    void add_json(std::string_view name, std::string_view value) { key(name), text_ += value; }
    void add_item(std::string_view value) { separate(), quote(value); }
    void add_item(double value) { separate(), number(value); } // finite

    const std::string& text() const { return text_; }

  private:
    void open(std::string_view name, char bracket);
    void close(char bracket);
    void separate();
    void key(std::string_view name);
    void quote(std::string_view value);
    void number(double value);

    std::string text_;
    bool first_ = true; // nothing yet in the innermost object or array
};

} // namespace btml::pg
