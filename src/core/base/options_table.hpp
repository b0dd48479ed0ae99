// Options of a capability, each stated once in a table: whatever reads, checks, stores, shows or documents options goes
// by it.
//
//   static constexpr Option<Options> rows[] = {
//       option<&Options::trees>("trees", between(1, 1'000'000), "number of trees"),
//       …
//   };
//   constinit const OptionsTable<Options> options_table{rows};
//
// The default is the member's initialiser. A path of members, as in option<&Request::options, &Options::trees>, leads
// to a member of a member.
#pragma once

#include "core/base/serial.hpp"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <span>
#include <variant>

namespace btml {

// NULL, or a value as SQL, JSON and stored models have it; of a choice, its name.
using OptionValue = std::variant<std::monostate, bool, int64_t, double, std::string>;

// Returns the value as it is written, a text without quotes.
std::string value_text(const OptionValue& value);

// Which numbers are valid. Those that are not finite never are.
struct Range {
    double least = -std::numeric_limits<double>::infinity(), most = std::numeric_limits<double>::infinity();
    bool above = false, below = false; // the least or the most itself is not valid
    const char* zero = nullptr;        // what 0 means, where it is valid beside the others

    bool holds(double x) const;
};
constexpr Range any_number() {
    return {};
}
constexpr Range from(double least) {
    return {.least = least};
}
constexpr Range between(double least, double most) {
    return {.least = least, .most = most};
}
constexpr Range above(double least) {
    return {.least = least, .above = true};
}
constexpr Range above_to(double least, double most) {
    return {.least = least, .most = most, .above = true};
}
constexpr Range inside(double least, double most) {
    return {.least = least, .most = most, .above = true, .below = true};
}
constexpr Range zero_or(const char* meaning_of_zero, Range range) {
    range.zero = meaning_of_zero;
    return range;
}

using Choices = std::span<const char* const>; // names in the order of an enumeration

// What other systems call a choice or an option.
struct OtherNames {
    const char* ours;
    std::initializer_list<const char*> names;

    bool has(std::string_view name) const { return std::find(names.begin(), names.end(), name) != names.end(); }
};
using ForeignNames = std::span<const OtherNames>;

// Returns our names that a similar one stands for: one of ours, or all that others call by the most similar foreign
// name. Empty where no name is similar.
std::vector<std::string> meant_names(const std::string& given, const std::vector<std::string>& ours,
                                     ForeignNames foreign);

// An argument is no option but a parameter beside them, which is documented here and read by hand.
enum class OptionType : uint8_t { boolean, integer, number, choice, argument };

struct OptionFacts {
    const char* name;
    OptionType type;
    const char* meaning; // for the documentation, as are the next three
    const char* null_meaning = "";
    const char* argument_values = "";
    const char* argument_default = nullptr; // nothing for NULL
    Range range = {};
    Choices choices = {};
    ForeignNames synonyms = {};      // of choices, which are taken for them
    ForeignNames foreign_names = {}; // of choices, for hints
    int64_t max_integer = std::numeric_limits<int64_t>::max();
    std::optional<double> null_value = {}; // the member's value that stands for NULL
    bool nullable = false;
    bool required = false;  // there is no default
    bool stored = true;     // in models and their summaries
    bool aggregated = true; // an option of the aggregate as well

    // Error invalid_argument naming the option, its value and the valid ones; of a choice also the one that is meant.
    void check(const OptionValue& value) const;
    // Returns what follows "Valid values are"; empty where every number is.
    std::string valid_values() const;
    // Returns the same of numbers, NULL apart.
    std::string valid_numbers() const;
    // Returns the place of the choice that has this name or synonym; the number of choices where none has it.
    size_t index_of(const std::string& choice) const;
    // Returns the choice that a similar name is of, ours or a foreign one; empty where no name is similar.
    std::string meant_by(const std::string& given) const;
};

// Says what an option needs of another one: where that is otherwise, the option would change nothing.
template <class Options>
struct Need {
    const char* other; // the other option
    bool (*holds)(const Options&);
    const char* instead; // a value of the other with which it holds, as SQL has it
};

template <class Options>
struct Option : OptionFacts {
    OptionValue (*get)(const Options&, const OptionFacts&) = nullptr; // there is none of an argument
    void (*set)(Options&, const OptionFacts&, const OptionValue&) = nullptr;
    bool (*matters)(const Options&) = nullptr; // says whether a summary shows it; null: it always does
    std::span<const Need<Options>> needs = {};
    bool (*given)(const Options&) = nullptr; // says whether an argument was given that has needs

    template <class Class, class Field>
    constexpr Option with(Field Class::*field, std::type_identity_t<Field> value) const {
        Option changed = *this;
        changed.*field = value;
        return changed;
    }
    // NULL is what an optional member without a value has. The text says what it means.
    constexpr Option null_means(const char* text) const {
        return with(&Option::nullable, true).with(&Option::null_meaning, text);
    }
    // NULL is this value of the member, which is not valid itself or what the option is by default.
    constexpr Option null_is(double value, const char* text) const {
        return null_means(text).with(&Option::null_value, value);
    }
    constexpr Option also_called(ForeignNames names) const { return with(&Option::synonyms, names); }
    constexpr Option elsewhere_called(ForeignNames names) const { return with(&Option::foreign_names, names); }
    constexpr Option default_is(const char* text) const { return with(&Option::argument_default, text); }
    constexpr Option is_required() const { return with(&Option::required, true); }
    constexpr Option not_stored() const { return with(&Option::stored, false); }
    constexpr Option also_aggregated() const { return with(&Option::aggregated, true); }
    constexpr Option not_aggregated() const { return with(&Option::aggregated, false); }
    constexpr Option matters_if(bool (*condition)(const Options&)) const { return with(&Option::matters, condition); }
    constexpr Option only_with(std::span<const Need<Options>> others) const { return with(&Option::needs, others); }
    constexpr Option given_if(bool (*condition)(const Options&)) const { return with(&Option::given, condition); }
};

namespace option_members {

template <class Class, class Member>
Class class_of(Member Class::*);

template <class T>
struct Plain {
    using Type = T;
    static constexpr bool is_optional = false;
};
template <class T>
struct Plain<std::optional<T>> {
    using Type = T;
    static constexpr bool is_optional = true;
};

template <class T>
OptionValue get(const T& member, const OptionFacts& facts) {
    if constexpr (Plain<T>::is_optional) {
        return member ? get(*member, facts) : OptionValue();
    } else if constexpr (std::is_enum_v<T>) {
        return std::string(facts.choices[static_cast<size_t>(member)]);
    } else if constexpr (std::is_same_v<T, bool>) {
        return facts.type == OptionType::choice ? OptionValue(std::string(facts.choices[member])) : OptionValue(member);
    } else {
        if (facts.null_value && static_cast<double>(member) == *facts.null_value) return {};
        return static_cast<std::conditional_t<std::is_integral_v<T>, int64_t, double>>(member);
    }
}

// `value` has passed OptionFacts::check().
template <class T>
void set(T& member, const OptionFacts& facts, const OptionValue& value) {
    if constexpr (Plain<T>::is_optional) {
        member.reset();
        if (value.index() != 0) set(member.emplace(), facts, value);
    } else if constexpr (std::is_enum_v<T>) {
        member = static_cast<T>(facts.index_of(std::get<std::string>(value)));
    } else if constexpr (std::is_same_v<T, bool>) {
        const auto* const choice = std::get_if<std::string>(&value);
        member = choice ? facts.index_of(*choice) != 0 : std::get<bool>(value);
    } else {
        using Value = std::conditional_t<std::is_integral_v<T>, int64_t, double>;
        member = static_cast<T>(value.index() == 0 ? static_cast<Value>(*facts.null_value) : std::get<Value>(value));
    }
}

template <auto First, auto... Rest>
constexpr auto row(OptionFacts facts) {
    using Options = decltype(class_of(First));
    using Member = std::remove_cvref_t<decltype(((std::declval<Options&>().*First).*....*Rest))>;
    using T = typename Plain<Member>::Type;
    if (facts.choices.empty())
        facts.type = std::is_same_v<T, bool> ? OptionType::boolean
                     : std::is_integral_v<T> ? OptionType::integer
                                             : OptionType::number;
    if constexpr (std::is_integral_v<T> && sizeof(T) < sizeof(int64_t))
        facts.max_integer = std::numeric_limits<T>::max();
    Option<Options> option{facts};
    option.get = [](const Options& options, const OptionFacts& of) { return get(((options.*First).*....*Rest), of); };
    option.set = [](Options& options, const OptionFacts& of, const OptionValue& value) {
        set(((options.*First).*....*Rest), of, value);
    };
    return option;
}

} // namespace option_members

// A number.
template <auto... Path>
constexpr auto option(const char* name, Range range, const char* meaning) {
    return option_members::row<Path...>({.name = name, .type = OptionType::number, .meaning = meaning, .range = range});
}

// One of the names.
template <auto... Path>
constexpr auto option(const char* name, Choices choices, const char* meaning) {
    return option_members::row<Path...>(
        {.name = name, .type = OptionType::choice, .meaning = meaning, .choices = choices});
}

// A boolean.
template <auto... Path>
constexpr auto option(const char* name, const char* meaning) {
    return option_members::row<Path...>({.name = name, .type = OptionType::boolean, .meaning = meaning});
}

template <class Options>
constexpr Option<Options> argument(const char* name, const char* values, const char* meaning) {
    return {{.name = name,
             .type = OptionType::argument,
             .meaning = meaning,
             .argument_values = values,
             .stored = false,
             .aggregated = false}};
}

// Error invalid_argument: the option does not go with this value of the other, NULL for an argument that was given.
[[noreturn]] void refuse_together(const char* option, const char* other, const OptionValue& value, const char* instead);

// A stored option: its name, the type of its value, the value.
inline constexpr size_t min_option_bytes = sizeof(uint32_t) + 2;
void write_option(const OptionFacts& option, const OptionValue& value, Writer& writer);
std::string read_option_name(Reader& reader);
OptionValue read_option_value(Reader& reader);

template <class Options>
struct OptionsTable {
    std::span<const Option<Options>> rows;
    ForeignNames foreign_names = {}; // of options, for hints

    auto begin() const { return rows.begin(); }
    auto end() const { return rows.end(); }
    const Option<Options>* find(std::string_view name) const {
        for (const Option<Options>& option : rows)
            if (option.name == name && option.get) return &option;
        return nullptr;
    }

    // Error invalid_argument naming the option, its value and the valid ones, or the option that it does not go with.
    void check(const Options& options) const {
        for (const Option<Options>& option : rows)
            if (option.get) option.check(option.get(options, option));
        for (const Option<Options>& option : rows)
            for (const Need<Options>& need : option.needs)
                if (is_given(options, option) && !need.holds(options)) refuse(options, option, need);
    }
    // Says whether it is other than by default.
    static bool is_given(const Options& options, const Option<Options>& option) {
        return option.get ? option.get(options, option) != option.get(Options(), option) : option.given(options);
    }
    [[noreturn]] void refuse(const Options& options, const Option<Options>& option, const Need<Options>& need) const {
        const Option<Options>* const other = find(need.other);
        refuse_together(option.name, need.other, other ? other->get(options, *other) : OptionValue(), need.instead);
    }
    static void assign(Options& options, const Option<Options>& option, const OptionValue& value) {
        option.check(value);
        option.set(options, option, value);
    }

    void write(const Options& options, Writer& writer) const {
        const auto is_stored = [](const Option<Options>& option) { return option.stored; };
        writer.put_count(static_cast<size_t>(std::count_if(begin(), end(), is_stored)));
        for (const Option<Options>& option : rows)
            if (option.stored) write_option(option, option.get(options, option), writer);
    }
    // Options that an older version did not have get their defaults. Error corrupt_model for those that this one does
    // not know, naming them, and for values that are not valid.
    Options read(Reader& reader) const {
        Options options;
        std::vector<const Option<Options>*> found;
        for (size_t rest = reader.get_count(min_option_bytes); rest > 0; rest--) {
            const std::string name = read_option_name(reader);
            const Option<Options>* const option = find(name);
            if (!option || !option->stored)
                corrupt_model("It has the option \"" + name + "\", which this version of btml does not know.");
            if (std::find(found.begin(), found.end(), option) != found.end())
                corrupt_model("It has the option \"" + name + "\" twice.");
            found.push_back(option);
            try {
                assign(options, *option, read_option_value(reader));
            } catch (const Error& error) {
                if (error.code() == ErrorCode::corrupt_model) throw;
                corrupt_model(format("It has an %s.", error.what()));
            }
        }
        return options;
    }
};

} // namespace btml
