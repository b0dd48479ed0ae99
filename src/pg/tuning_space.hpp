// The space that btml.tune searches: read from JSON, its points as options of fits, and written as JSON again.
#pragma once

#include "core/validation/search_space.hpp"
#include "pg/source/training_join.hpp"
#include "pg/values/json.hpp"

namespace btml::pg {

struct Space {
    std::vector<validation::Dimension> dimensions;
    std::vector<validation::Point> points = {{}}; // of nothing to choose, the one

    void draw(size_t count, uint64_t seed) { points = points_of(dimensions, count, seed); }
    // Returns the options of each point. Error invalid_argument for those that do not go with each other.
    template <class Options>
    std::vector<Options> trials(const OptionsTable<Options>& table, const Options& options) const {
        std::vector<Options> trials;
        for (const validation::Point& point : points) {
            Options& trial = trials.emplace_back(options);
            for (size_t d = 0; d < point.size(); d++) table.assign(trial, *table.find(dimensions[d].name), point[d]);
            trial.validate();
        }
        return trials;
    }
};

// Reads a list of the option's values, or a range {"from": …, "to": …, "scale": "linear" or "log"}. Errors
// invalid_argument naming the option.
validation::Dimension read_dimension(const JsonOption& given, const OptionFacts& option);

[[noreturn]] void refuse_to_tune(const std::string& name);
[[noreturn]] void refuse_given_and_tuned(const std::string& name);
// Error invalid_argument for a space of no option.
std::vector<JsonOption> space_members(const NamedArguments& call);

// Reads the argument `space` of options in the table, but for those that are not to be tuned. Errors invalid_argument
// naming the option.
template <class Options>
Space read_space(const FitArguments& arguments, const OptionsTable<Options>& table,
                 std::initializer_list<std::string_view> not_tuned) {
    Space space;
    std::vector<std::string> names;
    for (const Option<Options>& option : table)
        if (option.get && std::find(not_tuned.begin(), not_tuned.end(), option.name) == not_tuned.end())
            names.emplace_back(option.name);
    for (const JsonOption& given : space_members(arguments.call())) {
        const auto has_name = [&](const auto& other) { return given.name == other.name; };
        if (std::find(names.begin(), names.end(), given.name) == names.end()) {
            if (std::any_of(table.begin(), table.end(), has_name)) refuse_to_tune(given.name);
            refuse_threads(given.name);
            unknown_option(given.name, names, table.foreign_names);
        }
        const std::vector<JsonOption>& others = arguments.given();
        if (std::any_of(others.begin(), others.end(), has_name)) refuse_given_and_tuned(given.name);
        space.dimensions.push_back(read_dimension(given, *table.find(given.name)));
    }
    return space;
}

// Returns what a fit takes to train as a trial did, with so many trees: the options that were given, the trial's own,
// and the columns that were no features of it. A jsonb.
Datum trial_options(const Space& space, size_t trial, const FitArguments& arguments, const TrainingRequest& request,
                    std::optional<int> trees, RunContext& context);

} // namespace btml::pg
