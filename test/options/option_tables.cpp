// Prints what the tables of options say, for the pages of the documentation and for a check of the SQL functions.
//
//   option_tables page FILE    the page; what stands between <!-- options: TABLE --> and <!-- end --> is that table
//   option_tables functions    function|parameter|default of every option and argument
#include "core/boosting/trees/boosting_options.hpp"
#include "core/exemplar/exemplar_options.hpp"
#include "core/explanation/explanation_options.hpp"
#include "core/features/features_options.hpp"
#include "core/gp/gp_options.hpp"
#include "core/kernel/kernel_options.hpp"
#include "core/linear/linear_options.hpp"
#include "core/monte_carlo/approx_sum.hpp"
#include "core/monte_carlo/bandwidth_selection.hpp"
#include "core/plot/plot_options.hpp"
#include "core/relational/queries/sketch_size.hpp"
#include "core/validation/validation_options.hpp"

#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>

using namespace btml;

namespace {

template <class Options>
struct Function {
    std::string name;
    Options defaults;
    std::vector<std::string> without; // options that it has no parameter for

    Function(std::string function, Options start = Options(), std::vector<std::string> none = {})
        : name(std::move(function)), defaults(std::move(start)), without(std::move(none)) {}

    bool has(const OptionFacts& option) const {
        return std::find(without.begin(), without.end(), option.name) == without.end();
    }
};

struct Texts {
    std::map<std::string, std::string> pages;
    std::vector<std::string> functions;
};

template <class Options>
OptionValue default_of(const Option<Options>& option, const Options& defaults) {
    if (option.get) return option.get(defaults, option);
    return option.argument_default ? OptionValue(std::string(option.argument_default)) : OptionValue();
}

// As the documentation has it.
std::string shown(const OptionFacts& option, const OptionValue& value) {
    if (option.required) return "none, it must be given";
    if (value.index() == 0) return option.null_meaning;
    const std::string text = value_text(value);
    return std::holds_alternative<std::string>(value) && text != "true" && text != "false" ? '`' + text + '`' : text;
}

std::string values(const OptionFacts& option) {
    if (option.type == OptionType::argument) return option.argument_values;
    if (option.type != OptionType::choice) return option.valid_numbers();
    std::string list;
    for (const char* const choice : option.choices) {
        list += (list.empty() ? "`" : ", `") + std::string(choice) + '`';
        for (const OtherNames& other : option.synonyms)
            if (std::string_view(other.ours) == choice)
                for (const char* const synonym : other.names) list += " (or `" + std::string(synonym) + "`)";
    }
    return list;
}

// The first function's default, then those of the others that differ.
template <class Options>
std::string defaults(const Option<Options>& option, const std::vector<Function<Options>>& functions) {
    std::optional<std::string> first;
    std::string text;
    for (const Function<Options>& function : functions) {
        if (!function.has(option)) continue;
        const std::string own = shown(option, default_of(option, function.defaults));
        if (!first)
            first = text = own;
        else if (own != *first)
            text += " (`" + function.name + "`: " + own + ')';
    }
    return text;
}

std::string line(std::initializer_list<std::string> cells) {
    std::string text = "|";
    for (const std::string& cell : cells) text += ' ' + cell + (cell.empty() ? "|" : " |");
    return text + '\n';
}

// Stands beside the options of every function of a source: it is a part of the source.
constexpr char args_row[] = "| `args` | none | an array of texts | values of `$1`, `$2` … in "
                            "[the source's text](relational.md#parameters) |\n";

template <class Options>
void add(Texts& texts, const std::string& name, const OptionsTable<Options>& table,
         const std::vector<Function<Options>>& functions, bool has_source = true) {
    std::string& page = texts.pages[name];
    page = line({"option", "default", "values", "meaning"}) + line({"---", "---", "---", "---"});
    for (const Option<Options>& option : table) {
        page +=
            line({'`' + std::string(option.name) + '`', defaults(option, functions), values(option), option.meaning});
        for (const Function<Options>& function : functions)
            if (function.has(option))
                texts.functions.push_back(
                    function.name + '|' + option.name + '|' +
                    (option.required ? "required" : value_text(default_of(option, function.defaults))));
    }
    if (!has_source) return;
    page += args_row;
    for (const Function<Options>& function : functions)
        texts.functions.push_back(function.name + "|args|" + value_text(OptionValue()));
}

Texts all_texts() {
    Texts texts;
    add<boosting::Options>(
        texts, "boosting", boosting::options_table,
        {{"boost_fit", boosting::boost_fit_defaults()},
         {"tree_fit", boosting::tree_fit_defaults(), {"trees", "learning_rate", "start", "deviation"}}});
    add<explanation::ElementsOptions>(texts, "elements", explanation::elements_options_table,
                                      {{"explain"}, {"shap_interactions"}, {"feature_importance"}, {"gp_relevance"}},
                                      false);
    add<explanation::ImportanceOptions>(texts, "shap_importance", explanation::importance_options_table,
                                        {{"shap_importance"}});
    add<explanation::DependenceOptions>(texts, "partial_dependence", explanation::dependence_options_table,
                                        {{"partial_dependence"}});
    add<explanation::PermutationOptions>(texts, "permutation_importance", explanation::permutation_options_table,
                                         {{"permutation_importance"}});
    add<linear::Options>(texts, "linear", linear::options_table, {{"linear_fit"}});
    add<linear::CoefficientOptions>(texts, "coefficients", linear::coefficient_options_table, {{"coefficients"}},
                                    false);
    add<gp::Options>(texts, "gp", gp::options_table,
                     {{"gp_fit"},
                      {"gp_regression", {}, {"options", "exclude", "mean", "holdout_fraction", "order_by", "group_by"}},
                      {"gp_fit_members",
                       gp::gp_fit_members_defaults(),
                       {"mean", "combine", "holdout", "options", "exclude", "kernel", "exemplars", "exemplar_objective",
                        "varying_noise", "exemplar_source", "holdout_fraction", "order_by", "group_by"}}});
    add<gp::SampleOptions>(texts, "gp_sample", gp::sample_options_table, {{"gp_sample"}});
    add<kernel::Options>(texts, "kernel", kernel::options_table,
                         {{"kernel_sum", {}, {"prefixes"}},
                          {"density", {}, {"prefixes"}},
                          {"kernel_regression", {}, {"prefixes"}},
                          {"attention", {}, {"bandwidth", "kernel", "prefixes"}},
                          {"kernel_tail_ratio", {}, {"epsilon", "confidence", "prefixes", "verbose"}},
                          {"kernel_tail_profile", {}, {"epsilon", "confidence", "method", "seed", "verbose"}}});
    const std::vector<std::string> of_search = {"score", "target", "lower", "upper", "steps"};
    std::vector<std::string> of_one = of_search;
    of_one.emplace_back("target_bandwidth");
    add<monte_carlo::ScoreRequest>(texts, "scores", monte_carlo::score_options_table,
                                   {{"select_bandwidth", {}, {"bandwidth", "target_bandwidth"}},
                                    {"kde_score", {}, of_one},
                                    {"likelihood_score", {}, of_one},
                                    {"kr_score", {}, of_one},
                                    {"kcde_score", {}, of_search}});
    add<monte_carlo::PageSampling>(texts, "approx_sum", monte_carlo::page_sampling_table, {{"approx_sum"}});
    add<relational::NormOptions>(texts, "sketch_norm", relational::norm_options_table, {{"sketch_norm"}});
    add<validation::Options>(texts, "cross_validate", validation::cross_validate_options_table, {{"cross_validate"}});
    add<validation::Options>(texts, "tune", validation::tune_options_table, {{"tune"}});
    add<features::Options>(texts, "features", features::options_table, {{"relational_features"}});
    add<plot::Options>(texts, "plot", plot::options_table, {{"plot"}});
    add<exemplar::Options>(texts, "exemplars", exemplar::options_table, {{"exemplars"}});
    return texts;
}

int print_page(const Texts& texts, const char* path) {
    std::ifstream file(path);
    if (!file) return std::fprintf(stderr, "cannot read %s\n", path), 1;
    static const std::string begin = "<!-- options: ", end = "<!-- end -->";
    bool in_table = false;
    for (std::string text; std::getline(file, text);) {
        if (text == end) in_table = false;
        if (!in_table) std::cout << text << '\n';
        if (!text.starts_with(begin)) continue;
        const std::string name = text.substr(begin.size(), text.find(' ', begin.size()) - begin.size());
        const auto found = texts.pages.find(name);
        if (found == texts.pages.end()) return std::fprintf(stderr, "%s: no table %s\n", path, name.c_str()), 1;
        std::cout << found->second;
        in_table = true;
    }
    return in_table ? (std::fprintf(stderr, "%s: a table has no %s\n", path, end.c_str()), 1) : 0;
}

} // namespace

int main(int count, char** arguments) {
    const Texts texts = all_texts();
    if (count == 3 && arguments[1] == std::string("page")) return print_page(texts, arguments[2]);
    if (count != 2 || arguments[1] != std::string("functions"))
        return std::fprintf(stderr, "option_tables page FILE | functions\n"), 2;
    for (const std::string& function : texts.functions) std::cout << function << '\n';
}
