#include "core/base/options_table.hpp"

#include <algorithm>
#include <cmath>

namespace btml {

namespace {

// Writes whole numbers in full, and no sign in the exponent of 1e150.
std::string plain(double x) {
    if (std::abs(x) < 1e15 && x == std::floor(x)) return format("%.0f", x);
    std::string text = shortest(x);
    std::erase(text, '+');
    return text;
}

} // namespace

std::string value_text(const OptionValue& value) {
    if (const auto* const boolean = std::get_if<bool>(&value)) return *boolean ? "true" : "false";
    if (const auto* const integer = std::get_if<int64_t>(&value)) return std::to_string(*integer);
    if (const auto* const number = std::get_if<double>(&value)) return shortest(*number);
    if (const auto* const text = std::get_if<std::string>(&value)) return *text;
    return "NULL";
}

bool Range::holds(double x) const {
    if (!std::isfinite(x)) return false;
    if (zero && x == 0) return true;
    return (above ? x > least : x >= least) && (below ? x < most : x <= most);
}

std::string OptionFacts::valid_numbers() const {
    const bool has_least = std::isfinite(range.least), has_most = std::isfinite(range.most);
    std::string text = range.zero ? format("0 (%s), and ", range.zero) : "";
    if (!has_least) return text;
    const std::string least = plain(range.least);
    if (!has_most && type == OptionType::number)
        return text + (range.above ? "finite numbers greater than " : "finite numbers from ") + least;
    if (!range.above) return text + least + (has_most ? " to " + plain(range.most) : " and more");
    text += "greater than " + least;
    if (has_most) text += (range.below ? " and less than " : " and at most ") + plain(range.most);
    return text;
}

std::string OptionFacts::valid_values() const {
    const std::string values =
        type == OptionType::choice ? quoted_list({choices.begin(), choices.end()}) : valid_numbers();
    return nullable && !values.empty() ? "NULL, and " + values : values;
}

size_t OptionFacts::index_of(const std::string& choice) const {
    std::string_view own = choice;
    for (const OtherNames& other : synonyms)
        if (other.has(choice)) own = other.ours;
    return static_cast<size_t>(std::find(choices.begin(), choices.end(), own) - choices.begin());
}

std::vector<std::string> meant_names(const std::string& given, const std::vector<std::string>& ours,
                                     ForeignNames foreign) {
    constexpr size_t max_length = 63; // what is longer is no name
    if (given.size() > max_length) return {};
    const auto is_ours = [&](std::string_view name) { return std::find(ours.begin(), ours.end(), name) != ours.end(); };
    std::vector<std::string> names = ours;
    for (const OtherNames& other : foreign)
        if (is_ours(other.ours)) names.insert(names.end(), other.names.begin(), other.names.end());
    const std::string nearest = nearest_name(given, names);
    if (is_ours(nearest)) return {nearest};
    std::vector<std::string> meant;
    for (const OtherNames& other : foreign)
        if (is_ours(other.ours) && other.has(nearest)) meant.emplace_back(other.ours);
    return meant;
}

std::string OptionFacts::meant_by(const std::string& given) const {
    const std::vector<std::string> meant = meant_names(given, {choices.begin(), choices.end()}, foreign_names);
    return meant.empty() ? "" : meant[0];
}

void OptionFacts::check(const OptionValue& value) const {
    const auto is_valid = [&] {
        if (value.index() == 0) return nullable;
        switch (type) {
        case OptionType::boolean:
            return std::holds_alternative<bool>(value);
        case OptionType::integer: {
            const auto* const integer = std::get_if<int64_t>(&value);
            return integer && *integer <= max_integer && range.holds(static_cast<double>(*integer));
        }
        case OptionType::number: {
            const auto* const number = std::get_if<double>(&value);
            return number && range.holds(*number);
        }
        case OptionType::choice: {
            const auto* const choice = std::get_if<std::string>(&value);
            return choice && index_of(*choice) < choices.size();
        }
        case OptionType::argument:
            break;
        }
        return false;
    };
    if (is_valid()) return;
    const std::string valid = valid_values();
    const auto* const choice = std::get_if<std::string>(&value);
    const std::string meant = type == OptionType::choice && choice ? meant_by(*choice) : "";
    throw Error(ErrorCode::invalid_argument,
                format(choice ? "invalid value for option \"%s\": \"%s\"" : "invalid value for option \"%s\": %s", name,
                       value_text(value).c_str()),
                "",
                (meant.empty() ? "" : "Perhaps you meant \"" + meant + "\". ") +
                    (valid.empty() ? "" : "Valid values are " + valid + "."));
}

void refuse_together(const char* option, const char* other, const OptionValue& value, const char* instead) {
    std::string with = other;
    if (value.index() != 0) with += " => " + (value.index() == 4 ? "'" + value_text(value) + "'" : value_text(value));
    throw Error(ErrorCode::invalid_argument, format("%s takes no %s", with.c_str(), option), "",
                format("Use %s, or leave out %s.", instead, option));
}

void write_option(const OptionFacts& option, const OptionValue& value, Writer& writer) {
    writer.put(std::string_view(option.name));
    writer.put(static_cast<uint8_t>(value.index()));
    if (const auto* const boolean = std::get_if<bool>(&value)) writer.put(*boolean);
    if (const auto* const integer = std::get_if<int64_t>(&value)) writer.put(*integer);
    if (const auto* const number = std::get_if<double>(&value)) writer.put(*number);
    if (const auto* const text = std::get_if<std::string>(&value)) writer.put(std::string_view(*text));
}

// Names are shown in errors, and bytes from outside may be text in no encoding.
std::string read_option_name(Reader& reader) {
    static constexpr size_t max_name = 63;
    std::string name = reader.get_string();
    const auto is_plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
    if (name.empty() || name.size() > max_name || !std::all_of(name.begin(), name.end(), is_plain))
        corrupt_model("The name of an option, or of its choice, is none.");
    return name;
}

OptionValue read_option_value(Reader& reader) {
    switch (const auto type = reader.get<uint8_t>()) {
    case 0:
        return {};
    case 1:
        return reader.get_bool();
    case 2:
        return reader.get<int64_t>();
    case 3:
        return reader.get_finite();
    case 4:
        return read_option_name(reader);
    default:
        corrupt_model(format("The value of an option has the unknown type %d.", type));
    }
}

} // namespace btml
