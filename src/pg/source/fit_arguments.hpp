// Arguments of a fit: those of its call and those that its options, a JSON object, give by the same names.
#pragma once

#include "pg/values/named_options.hpp"

namespace btml::pg {

// Error invalid_argument with the setting that is meant, where other libraries call a number of threads so.
void refuse_threads(const std::string& name);

// An argument that is at its default, or that the function does not have, is the member of the options. Error
// invalid_argument naming what both give with different values.
class FitArguments {
  public:
    // Takes the members from the argument `options`, where the function has one that is not NULL. apart: arguments of
    // the call that are not the fit's, although they are called as its options.
    explicit FitArguments(const NamedArguments& call, std::initializer_list<std::string_view> apart = {});

    const NamedArguments& call() const { return call_; }
    // Return nothing for NULL and for what is not given at all. Errors invalid_argument for members of other types.
    std::optional<std::string> column(const char* name) const;
    std::optional<std::vector<std::string>> columns(const char* name) const;
    std::optional<std::string> text(const char* name) const;
    std::optional<std::string> source(const char* name) const;
    // Returns a jsonb as text. valid: what an error says of an option that is neither an object nor an array.
    std::optional<std::string> json(const char* name, const char* valid) const;
    bool boolean(const char* name) const;

    // Sets the options that the function has arguments for, or that are given; `options` are the defaults.
    template <class Options>
    void read(const OptionsTable<Options>& table, Options& options) const {
        const Options defaults = options;
        for (const Option<Options>& option : table) {
            if (!option.get) continue;
            std::optional<OptionValue> value;
            if (call_.has(option.name) && std::find(apart_.begin(), apart_.end(), option.name) == apart_.end())
                value = option_value(call_, option);
            if (const JsonOption* const given = find(option.name)) {
                const OptionValue meant = given->value(option);
                option.check(meant);
                if (value && *value != option.get(defaults, option) && *value != meant)
                    refuse_two_values(option.name, value_text(*value), value_text(meant));
                value = meant;
            }
            if (value) table.assign(options, option, *value);
        }
    }

    // Says whether the option is about the rows that a single fit holds out, where folds are held out in turn.
    static bool is_of_one_holdout(std::string_view name) {
        return name == "holdout_fraction" || name == "order_by" || name == "group_by";
    }

    // Refuses members that are not in the table, or that the function has no argument for, unless it may have every
    // option that fits of folds have. Error invalid_argument with the valid names and the nearest.
    template <class Options>
    void check_names(const OptionsTable<Options>& table, bool every_option = false) const {
        std::vector<std::string> names;
        for (const Option<Options>& option : table)
            if ((every_option ? !is_of_one_holdout(option.name) : call_.has(option.name)) && may_be_member(option.name))
                names.emplace_back(option.name);
        for (const JsonOption& given : given_)
            if (std::find(names.begin(), names.end(), given.name) == names.end()) {
                refuse_threads(given.name);
                unknown_option(given.name, names, table.foreign_names);
            }
    }

    const std::vector<JsonOption>& given() const { return given_; }

  private:
    // Options have no options, and a model is no JSON.
    static bool may_be_member(std::string_view name) { return name != "options" && name != "start"; }
    const JsonOption* find(std::string_view name) const;
    bool is_given(const char* name) const; // in the call
    [[noreturn]] static void refuse_two_values(const char* name, const std::string& argument,
                                               const std::string& member);
    // Returns what of() makes of the member, nothing where it is NULL or not given.
    template <class Of>
    auto member(const char* name, const Of& of) const -> std::optional<decltype(of(JsonOption()))>;
    template <class T>
    static std::optional<T> one_of(const char* name, std::optional<T> argument, std::optional<T> member);

    const NamedArguments& call_;
    const std::vector<std::string_view> apart_;
    std::vector<JsonOption> given_;
};

} // namespace btml::pg
