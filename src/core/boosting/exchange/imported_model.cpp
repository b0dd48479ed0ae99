#include "core/boosting/exchange/imported_model.hpp"

#include "core/base/json_reader.hpp"

namespace btml::boosting {

ImportedModel::ImportedModel(const char* library, RunContext& context) : held(context.memory(), "an imported model") {
    model.target = "target";
    model.strategy = "import";
    model.strategy_reason = format("the model was trained by %s", library);
    model.imported.emplace();
}

void ImportedModel::add_labels(size_t count) {
    for (size_t label = 0; label < count; label++) model.labels.push_back(std::to_string(label));
}

void refuse_model(const char* library, std::string detail) {
    throw Error(ErrorCode::invalid_argument, format("invalid %s model", library), std::move(detail));
}

void refuse_feature_of(const char* library, std::string what, std::string reason) {
    throw Error(ErrorCode::not_supported, format("%s model has ", library) + what + ", which are not supported",
                std::move(reason));
}

namespace {

// Returns the source's numbers of the nodes that the root reaches, parents first.
std::vector<int32_t> reached_nodes(const std::vector<Node>& nodes, const char* library, size_t tree,
                                   RunContext& context) {
    const auto count = static_cast<int32_t>(nodes.size());
    std::vector<uint8_t> seen(nodes.size(), 0);
    std::vector<int32_t> order, rest{0};
    while (!rest.empty()) {
        const int32_t i = rest.back();
        rest.pop_back();
        if (i < 0 || i >= count)
            refuse_model(library, format("Tree %zu of %d nodes has a child with the number %d.", tree, count, i));
        if (std::exchange(seen[static_cast<size_t>(i)], uint8_t{1}) != 0)
            refuse_model(library, format("Node %d of tree %zu has two parents.", i, tree));
        order.push_back(i);
        context.worked(10);
        const Node& node = nodes[static_cast<size_t>(i)];
        if (node.is_leaf()) continue;
        rest.push_back(node.right);
        rest.push_back(node.left);
    }
    return order;
}

} // namespace

Tree parents_first(std::vector<Node> nodes, const char* library, size_t tree, RunContext& context) {
    const std::vector<int32_t> order = reached_nodes(nodes, library, tree, context);
    std::vector<int32_t> number(nodes.size(), -1);
    Tree ordered;
    ordered.reserve(order.size());
    for (const int32_t i : order) {
        number[static_cast<size_t>(i)] = static_cast<int32_t>(ordered.size());
        ordered.push_back(std::move(nodes[static_cast<size_t>(i)]));
        context.worked(5);
    }
    for (size_t i = ordered.size(); i-- > 0;) {
        Node& node = ordered[i];
        context.worked(5);
        if (node.is_leaf()) continue;
        node.left = number[static_cast<size_t>(node.left)];
        node.right = number[static_cast<size_t>(node.right)];
        ordered[static_cast<size_t>(node.left)].parent = static_cast<int32_t>(i);
        ordered[static_cast<size_t>(node.right)].parent = static_cast<int32_t>(i);
        node.rows = ordered[static_cast<size_t>(node.left)].rows + ordered[static_cast<size_t>(node.right)].rows;
    }
    return ordered;
}

FeatureNames::FeatureNames(const std::vector<Feature>& features, RunContext& context)
    : held(context.memory(), "names of features", features.size() * (sizeof(*numbers.begin()) + 6 * sizeof(void*))) {
    for (size_t f = 0; f < features.size(); f++) {
        if (!numbers.emplace(features[f].name, f).second) repeated = &features[f].name;
        context.worked(20 + features[f].name.size());
    }
}

namespace {

[[noreturn]] void refuse_categories(std::string detail) {
    throw Error(ErrorCode::invalid_argument, "invalid categories", std::move(detail),
                R"(Categories are an object of arrays: {"feature": ["a", "b"]}.)");
}

bool is_integer(std::string_view number) {
    if (number.starts_with('-')) number.remove_prefix(1);
    return !number.empty() && number.find_first_not_of("0123456789") == std::string_view::npos;
}

// Reads a category as SQL writes it, and says what type it has.
const char* read_category(JsonReader& json, std::string& name) {
    switch (json.peek()) {
    case JsonReader::Kind::string:
        name = json.string();
        return "text";
    case JsonReader::Kind::boolean:
        name = json.boolean() ? "true" : "false";
        return "boolean";
    case JsonReader::Kind::number: {
        const std::string_view digits = json.next_number_text();
        const double value = json.number();
        name = is_integer(digits) ? std::string(digits) : shortest(value);
        return is_integer(digits) ? "bigint" : "double precision";
    }
    default:
        json.fail("a category is neither a string, nor a number, nor a boolean");
    }
}

} // namespace

bool is_null_name(std::string_view name) {
    while (name.starts_with('(') && name.ends_with(')') && name != "(null)") name = name.substr(1, name.size() - 2);
    return name == "(null)";
}

namespace {

// Reads names, each with its type.
std::vector<std::pair<std::string, std::string>> read_typed_names(JsonReader& json, Reservation& held) {
    std::vector<std::pair<std::string, std::string>> names;
    json.array([&] {
        held.grow(4 * sizeof(std::string)); // the list may have grown to twice its size
        auto& [name, type] = names.emplace_back();
        type = read_category(json, name);
        held.grow(name.size());
    });
    return names;
}

// Returns the names with the one type that all have.
CategoryNames of_one_type(std::vector<std::pair<std::string, std::string>> typed) {
    const auto is_number = [](const std::string& type) { return type == "bigint" || type == "double precision"; };
    CategoryNames names{"", {}};
    for (auto& [name, type] : typed) {
        names.names.push_back(std::move(name));
        if (names.type.empty())
            names.type = type;
        else if (names.type != type)
            names.type = is_number(type) && is_number(names.type) ? "double precision" : "text";
    }
    if (names.type.empty()) names.type = "text";
    return names;
}

} // namespace

CategoryNames read_category_names(JsonReader& json, Reservation& held) {
    return of_one_type(read_typed_names(json, held));
}

CategoryNames read_categories_with_null(JsonReader& json, Reservation& held) {
    auto typed = read_typed_names(json, held);
    const bool has_null = !typed.empty() && typed.back().second == "text" && is_null_name(typed.back().first);
    if (has_null) typed.pop_back();
    CategoryNames names = of_one_type(std::move(typed));
    names.has_null = has_null;
    return names;
}

GivenCategories read_categories(std::string_view text, Reservation& held, RunContext& context) {
    JsonReader json(text, refuse_categories, context);
    GivenCategories given;
    if (json.peek() != JsonReader::Kind::object) json.fail("an object is missing");
    json.object([&](const std::string& feature) {
        held.grow(sizeof(GivenCategories::value_type) + 4 * sizeof(void*) + feature.size());
        given.insert_or_assign(feature, read_category_names(json, held));
    });
    json.finish();
    return given;
}

CategoryNumbering::CategoryNumbering(Model& model, const char* library, Reservation& held, RunContext& context)
    : model_(model), library_(library), held_(held), context_(context), known_(model.features.size()) {
    held_.grow(known_.size() * sizeof(Known));
}

void CategoryNumbering::split(size_t feature, bool categorical) {
    Feature& of = model_.features[feature];
    if (std::exchange(known_[feature].is_split, true) && of.categorical != categorical)
        refuse_feature_of(library_,
                          format("splits of feature \"%s\" both as a number and as a category", of.name.c_str()),
                          "A column has one type.");
    of.categorical = categorical;
}

void CategoryNumbering::add_code(size_t feature, uint32_t code) {
    held_.grow(sizeof(code));
    known_[feature].codes.push_back(code);
}

void CategoryNumbering::set_names(size_t feature, CategoryNames names) {
    Feature& of = model_.features[feature];
    if (known_[feature].is_split && !of.categorical)
        throw Error(ErrorCode::invalid_argument,
                    format("feature \"%s\" has no categories: the model splits it as a number", of.name.c_str()));
    of.categorical = true;
    known_[feature].names = std::move(names);
}

namespace {

// Lists the model's features where a reader would take the list in.
[[noreturn]] void refuse_unknown(const std::string& name, const std::vector<Feature>& features) {
    constexpr size_t max_listed = 100, max_bytes = 10000;
    std::vector<std::string> known;
    size_t bytes = name.size();
    for (size_t f = 0; f < features.size() && known.size() <= max_listed && bytes <= max_bytes; f++) {
        known.push_back(features[f].name);
        bytes += known.back().size();
    }
    if (known.size() > max_listed || bytes > max_bytes)
        throw Error(ErrorCode::invalid_argument, "categories are given of a feature that the model does not have",
                    shown(name) + format(" is none of its %zu features.", features.size()));
    const std::string nearest = nearest_name(name, known);
    throw Error(ErrorCode::invalid_argument, format("model has no feature \"%s\"", name.c_str()),
                "Its features are " + quoted_list(known) + ".",
                nearest.empty() ? "" : format("Perhaps you meant \"%s\".", nearest.c_str()));
}

} // namespace

void CategoryNumbering::set_names(GivenCategories given) {
    if (given.empty()) return;
    const FeatureNames features(model_.features, context_);
    for (auto& [name, names] : given) {
        const auto found = features.numbers.find(name);
        if (found == features.numbers.end()) refuse_unknown(name, model_.features);
        context_.worked(name.size() + 100);
        set_names(found->second, std::move(names));
    }
}

void CategoryNumbering::make_distinct(std::vector<uint32_t>& codes) {
    std::sort(codes.begin(), codes.end(), [&](uint32_t a, uint32_t b) {
        context_.worked(1);
        return a < b;
    });
    codes.erase(std::unique(codes.begin(), codes.end()), codes.end());
}

// Finds the codes that nodes have.
void CategoryNumbering::find_codes() {
    for (const Tree& tree : model_.trees) {
        for (const Node& node : tree) {
            if (node.categories.empty()) continue;
            std::vector<uint32_t>& codes = known_[static_cast<size_t>(node.feature)].codes;
            // Sorting whenever they have doubled keeps few of those that occur again and again.
            if (codes.size() + node.categories.size() > codes.capacity()) {
                make_distinct(codes);
                const size_t capacity = 2 * (codes.size() + node.categories.size());
                if (capacity > codes.capacity()) {
                    held_.grow(sizeof(uint32_t) * capacity);
                    codes.reserve(capacity);
                }
            }
            codes.insert(codes.end(), node.categories.begin(), node.categories.end());
            context_.worked(node.categories.size());
        }
    }
    for (Known& known : known_) make_distinct(known.codes);
}

// Gives a feature its categories and returns, by code or by place among the codes, the number of each.
std::vector<uint32_t> CategoryNumbering::sorted_names(Feature& feature, Known& known) {
    std::vector<std::string> names;
    held_.grow(std::max(known.codes.size(), known.names ? known.names->names.size() : 0) *
               (sizeof(std::string) + 2 * sizeof(uint32_t)));
    if (known.names)
        names = std::move(known.names->names);
    else
        for (const uint32_t code : known.codes) names.push_back(std::to_string(code));
    std::vector<uint32_t> order(names.size()), numbers(names.size());
    for (uint32_t i = 0; i < order.size(); i++) order[i] = i;
    feature.type = known.names ? known.names->type : "bigint";
    const CategoryOrder is_less(feature.type);
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
        context_.worked(1);
        return is_less(names[a], names[b]);
    });
    feature.categories.reserve(names.size());
    for (uint32_t i = 0; i < order.size(); i++) {
        std::string& name = names[order[i]];
        if (i > 0 && feature.categories.back() == name)
            throw Error(ErrorCode::invalid_argument,
                        format("feature \"%s\" has the category \"%s\" twice", feature.name.c_str(), name.c_str()));
        feature.categories.push_back(std::move(name));
        numbers[order[i]] = i;
    }
    return numbers;
}

void CategoryNumbering::number(Feature& feature, Known& known) {
    std::vector<uint32_t>& codes = known.codes;
    const size_t named = known.names ? known.names->names.size() : 0;
    if (known.names && known.names->has_null) { // which has no name and no number, but sides
        known.null_code = static_cast<uint32_t>(named);
        std::erase(codes, *known.null_code);
    }
    if (known.names && !codes.empty() && codes.back() >= named)
        throw Error(ErrorCode::invalid_argument,
                    format("feature \"%s\" has %zu categories, the model splits by one of the code %u",
                           feature.name.c_str(), named, codes.back()),
                    "Codes count from 0.", "Give all its categories, in the order of their codes.");
    std::vector<uint32_t> numbers = sorted_names(feature, known);
    if (named == 0)
        known.numbers = std::move(numbers);
    else
        for (const uint32_t code : codes) known.numbers.push_back(numbers[code]);
}

void CategoryNumbering::apply() {
    find_codes();
    for (size_t f = 0; f < known_.size(); f++)
        if (model_.features[f].categorical) number(model_.features[f], known_[f]);
    for (Tree& tree : model_.trees) {
        for (Node& node : tree) {
            if (node.categories.empty()) continue;
            const Known& known = known_[static_cast<size_t>(node.feature)];
            if (known.null_code) node.null_left = std::erase(node.categories, *known.null_code) > 0;
            for (uint32_t& code : node.categories) {
                const auto place = std::lower_bound(known.codes.begin(), known.codes.end(), code);
                code = known.numbers[static_cast<size_t>(place - known.codes.begin())];
            }
            std::sort(node.categories.begin(), node.categories.end());
            context_.worked(10 * node.categories.size());
        }
    }
}

} // namespace btml::boosting
