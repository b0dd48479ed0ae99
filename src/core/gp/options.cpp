#include "core/gp/options.hpp"

#include <cmath>

namespace btml::gp {

namespace {

void check(const char* option, const std::string& value, bool good, const char* valid) {
    if (!good)
        throw Error(ErrorCode::invalid_argument, format("invalid value for option \"%s\": %s", option, value.c_str()),
                    {}, format("Valid values are %s.", valid));
}

template <class Choice>
Choice get_choice(Reader& reader, Choice last, const char* what) {
    const auto value = reader.get<uint8_t>();
    if (value > static_cast<uint8_t>(last)) corrupt_model(format("Its %s is unknown.", what));
    return static_cast<Choice>(value);
}

} // namespace

void put(const std::optional<double>& value, Writer& writer) {
    writer.put(value.has_value());
    if (value) writer.put(*value);
}

std::optional<double> get_optional(Reader& reader) {
    return reader.get_bool() ? std::optional(reader.get_finite()) : std::nullopt;
}

void Options::validate() const {
    static constexpr int max_members = 1000;
    check("bits", std::to_string(bits), bits >= 0 && bits <= Encoding::max_value_bits, "NULL, and 1 to 30");
    check("members", std::to_string(members), members >= 0 && members <= max_members, "NULL, and 1 to 1000");
    check("evaluations", std::to_string(evaluations), evaluations >= 0, "NULL, and 1 and more");
    if (noise)
        check("noise", shortest(*noise), *noise > 0 && *noise <= 1e6, "NULL, and greater than 0 and at most 1000000");
    if (signal)
        check("signal", shortest(*signal), *signal > 0 && *signal <= 1e6,
              "NULL, and greater than 0 and at most 1000000");
}

void encode(const Options& options, Writer& writer) {
    writer.put(int32_t{options.bits});
    writer.put(int32_t{options.members});
    writer.put(static_cast<uint8_t>(options.combine));
    writer.put(static_cast<uint8_t>(options.search));
    writer.put(int32_t{options.evaluations});
    put(options.noise, writer);
    put(options.signal, writer);
    writer.put(static_cast<uint8_t>(options.outside));
    writer.put(options.seed);
}

Options decode_options(Reader& reader) {
    Options options;
    options.bits = reader.get<int32_t>();
    options.members = reader.get<int32_t>();
    options.combine = get_choice(reader, Combine::boosted, "way to combine members");
    options.search = get_choice(reader, Search::none, "search");
    options.evaluations = reader.get<int32_t>();
    options.noise = get_optional(reader);
    options.signal = get_optional(reader);
    options.outside = get_choice(reader, Outside::prior, "treatment of points outside");
    options.seed = reader.get<int64_t>();
    try {
        options.validate();
    } catch (const Error& error) {
        corrupt_model(format("It has an %s.", error.what()));
    }
    return options;
}

const char* name_of(Combine combine) {
    static constexpr const char* names[] = {"auto", "mixture", "kernel_sum", "boosted"};
    return names[static_cast<size_t>(combine)];
}

const char* name_of(Search search) {
    static constexpr const char* names[] = {"local", "bfgs", "none"};
    return names[static_cast<size_t>(search)];
}

const char* name_of(Outside outside) {
    static constexpr const char* names[] = {"clamp", "prior"};
    return names[static_cast<size_t>(outside)];
}

} // namespace btml::gp
