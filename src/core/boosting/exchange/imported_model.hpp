// What readers of other libraries' models have in common.
#pragma once

#include "core/base/json_reader.hpp"
#include "core/boosting/trees/boosting_model.hpp"

#include <map>

namespace btml::boosting {

// Something that whoever imports a model would want to know.
struct ImportNotice {
    std::string message, detail, hint;
};

// A model with what it takes of memory, as readers build it.
struct ImportedModel {
    // Says where the model comes from.
    ImportedModel(const char* library, RunContext& context);

    // Names so many labels by their numbers.
    void add_labels(size_t count);

    Reservation held;
    Model model;
    std::vector<ImportNotice> notices = {};
};

// The texts of a categorical feature's categories by the library's codes, and their SQL type.
struct CategoryNames {
    std::string type;
    std::vector<std::string> names;
    bool has_null = false; // the code after the last name is NULL's
};

// Categories by the feature's name, as a caller gives them.
using GivenCategories = std::map<std::string, CategoryNames, std::less<>>;

// Reads a JSON object of arrays, {"feature": ["a", "b"], …}. Error invalid_argument.
GivenCategories read_categories(std::string_view json, Reservation& held, RunContext& context);
// Reads one of the arrays.
CategoryNames read_category_names(JsonReader& json, Reservation& held);
// Does the same where a last "(null)", which to_lightgbm writes for NULL, is no name.
CategoryNames read_categories_with_null(JsonReader& json, Reservation& held);

// Says whether a category's name is that of NULL, "(null)", or a longer one for where others have such names.
bool is_null_name(std::string_view name);

// Quotes the beginning of a text for a message.
inline std::string shown(std::string_view text) {
    size_t end = std::min<size_t>(text.size(), 40);
    while (end < text.size() && (text[end] & 0xc0) == 0x80) end--; // A character is shown whole.
    return "\"" + std::string(text.substr(0, end)) + (end < text.size() ? "...\"" : "\"");
}

// Refuses a text that is no model of `library`: error invalid_argument.
[[noreturn]] void refuse_model(const char* library, std::string detail);
// Refuses a model that has what is not supported: error not_supported, with the reason in the detail.
[[noreturn]] void refuse_feature_of(const char* library, std::string what, std::string reason);

// The numbers of features by their names, which must stay where they are.
struct FeatureNames {
    FeatureNames(const std::vector<Feature>& features, RunContext& context);

    Reservation held;
    std::map<std::string_view, size_t> numbers;
    const std::string* repeated = nullptr; // a name that two features have
};

// Returns the nodes numbered parents first, from children that are numbered as the nodes are given, 0 the root: with
// parents, and inner nodes' covers as sums of the leaves'. Nodes that the root does not reach are left out. Detail of
// the error: that a child does not exist, or has two parents. Children of leaves are −1.
Tree parents_first(std::vector<Node> nodes, const char* library, size_t tree, RunContext& context);

// Knows which features are categorical, and numbers the categories of a model, whose nodes have the library's codes:
// the names in the order of their type, as every model has them, or else the codes as decimals, of those that occur.
class CategoryNumbering {
  public:
    CategoryNumbering(Model& model, const char* library, Reservation& held, RunContext& context);

    // Says that a tree splits the feature as a number or as a category. Error not_supported where it did otherwise
    // before.
    void split(size_t feature, bool categorical);
    // Says that codes occur, whether some node has them or not.
    void add_code(size_t feature, uint32_t code);
    // Makes a feature categorical. Error invalid_argument where it is split as a number.
    void set_names(size_t feature, CategoryNames names);
    // Error invalid_argument for a feature that there is not as well.
    void set_names(GivenCategories given);
    // Gives the features their categories and every node its codes, and sends NULL where its code goes. Error
    // invalid_argument for a code without a name.
    void apply();

  private:
    // What is known of a feature's categories.
    struct Known {
        bool is_split = false;
        std::optional<CategoryNames> names;
        std::vector<uint32_t> codes; // ascending and distinct once all are known
        std::optional<uint32_t> null_code;
        std::vector<uint32_t> numbers; // of the categories, by place in codes
    };

    void make_distinct(std::vector<uint32_t>& codes);
    void find_codes();
    void number(Feature& feature, Known& known);
    std::vector<uint32_t> sorted_names(Feature& feature, Known& known);

    Model& model_;
    const char* const library_;
    Reservation& held_;
    RunContext& context_;
    std::vector<Known> known_; // by feature
};

} // namespace btml::boosting
