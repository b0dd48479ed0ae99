#include "core/boosting/exchange/lightgbm_text.hpp"

#include "core/boosting/exchange/lightgbm_categories.hpp"
#include "core/boosting/exchange/lightgbm_tree.hpp"

namespace btml::boosting {

namespace {

[[noreturn]] void refuse(std::string detail) {
    refuse_model(lightgbm, std::move(detail));
}

class LightGbmReader {
  public:
    LightGbmReader(std::string_view text, RunContext& context)
        : lines_(text, context), context_(context), result_(lightgbm, context), tree_reader_(held_, context) {}

    ImportedModel read(std::string_view categories) {
        read_header();
        numbering_.emplace(model_, lightgbm, held_, context_);
        while (!tree_line_.empty()) read_tree();
        if (model_.trees.size() % model_.bases.size() != 0)
            refuse(format("It has %zu trees, which is no multiple of the %zu of an iteration.", model_.trees.size(),
                          model_.bases.size()));
        if (!found_end_) refuse("It ends before the line \"end of trees\".");
        read_rest();
        CategoryNaming(category_lines_, model_, *numbering_, held_, context_).name(categories, result_.notices);
        numbering_->apply();
        finish_zeros();
        for (const Tree& tree : model_.trees)
            model_.rows = std::max(model_.rows, static_cast<uint64_t>(std::min(tree[0].rows, 1e18)));
        return std::move(result_);
    }

  private:
    void read_header();
    void read_features(const LineFields& header);
    void read_objective(const LineFields& header, size_t scores);
    void read_fields(LineFields& fields);
    void read_tree();
    void read_rest();
    void finish_zeros();

    TextLines lines_;
    RunContext& context_;
    ImportedModel result_;
    Reservation& held_ = result_.held;
    Model& model_ = result_.model;
    std::string_view tree_line_; // that begins the next tree; empty: there is none
    bool found_end_ = false;     // of the trees
    CategoryLines category_lines_;
    std::optional<CategoryNumbering> numbering_;
    std::vector<ZeroUse> zeros_; // by feature
    LightGbmTreeReader tree_reader_;
};

void LightGbmReader::read_header() {
    LineFields header{
        "version",        "num_class",     "num_tree_per_iteration", "max_feature_idx",      "objective",
        "average_output", "feature_names", "feature_infos",          "monotone_constraints", "pandas_features"};
    if (lines_.next() != "tree") refuse("The first line is not \"tree\".");
    read_fields(header);
    const LineValue& version = header.require("version", "The header");
    if (version.text != "v2" && version.text != "v3" && version.text != "v4")
        refuse_line(version.line, "the version is " + shown(version.text) + ", not v2, v3 or v4");
    read_features(header);
    const LineValue& per_iteration = header.require("num_tree_per_iteration", "The header");
    const auto scores = number_of<size_t>(per_iteration.text, per_iteration.line, "num_tree_per_iteration");
    if (scores < 1 || scores > max_labels)
        refuse_line(per_iteration.line, format("num_tree_per_iteration is not between 1 and %zu", max_labels));
    model_.bases.assign(scores, 0);
    model_.imported->library = "LightGBM " + std::string(version.text);
    model_.imported->averages = static_cast<bool>(header.find("average_output"));
    read_objective(header, scores);
}

void LightGbmReader::read_features(const LineFields& header) {
    const LineValue& names = header.require("feature_names", "The header");
    for_each_word(names.text, context_, [&](std::string_view name) {
        held_.grow(sizeof(Feature) + 2 * sizeof(ZeroUse) + name.size());
        model_.features.push_back({std::string(name), "double precision", false, {}});
        context_.worked(10);
    });
    if (const std::string* const name = FeatureNames(model_.features, context_).repeated())
        refuse_line(names.line, "feature_names has " + shown(*name) + " twice");
    const LineValue& last = header.require("max_feature_idx", "The header");
    const auto count = number_of<uint32_t>(last.text, last.line, "max_feature_idx") + uint64_t{1};
    if (count != model_.features.size())
        refuse_line(names.line, format("there are %zu feature_names, max_feature_idx says %" PRIu64,
                                       model_.features.size(), count));
    zeros_.resize(model_.features.size());
    category_lines_.feature_infos = header.find("feature_infos");
    category_lines_.pandas_features = header.find("pandas_features");
    const LineValue& directions = header.find("monotone_constraints");
    if (!directions) return;
    Buffer<int32_t> found(context_.memory(), "a tree of an imported model");
    read_numbers(directions, "monotone_constraints", model_.features.size(), found, context_);
    for (const int32_t direction : found)
        model_.directions.push_back(static_cast<int8_t>(std::clamp(direction, -1, 1)));
}

// A model of a loss that its trainer wrote has no objective: predictions are scores.
void LightGbmReader::read_objective(const LineFields& header, size_t scores) {
    const LineValue& value = header.find("objective");
    Import& imported = *model_.imported;
    held_.grow(value.text.size());
    imported.objective = value ? std::string(value.text) : "custom";
    std::pair<const ForeignObjective*, ObjectiveNumber> found{nullptr, ObjectiveNumber::squared};
    std::string_view name;
    for_each_word(value.text, context_, [&](std::string_view word) {
        if (name.empty()) {
            name = word;
            found = find_objective(&Objective::lightgbm, word);
        } else if (word == "sqrt") {
            imported.link = Link::signed_square;
        } else if (word.starts_with("sigmoid:")) {
            imported.steepness = number_of<double>(word.substr(strlen("sigmoid:")), value.line, "sigmoid");
        }
    });
    if (value && !found.first)
        refuse_feature_of(lightgbm, "predictions of objective " + shown(name), "Its link is not known.");
    if (!(imported.steepness > 0 && std::isfinite(imported.steepness)))
        refuse_line(value.line, "sigmoid is not positive");
    const ForeignObjective& form = found.first ? *found.first : objective_of(found.second).lightgbm.begin()[0];
    model_.options.objective = found.second;
    if (imported.link == Link::identity) imported.link = form.link;
    if (has_scores_by_label(imported.link) != (scores > 1))
        refuse_feature_of(lightgbm, format("%zu scores of objective ", scores) + shown(imported.objective),
                          "How predictions follow from them is not known.");
    result_.add_labels(form.labels(scores));
}

// Takes the lines up to the next tree or the end of trees, and tells which it is.
void LightGbmReader::read_fields(LineFields& fields) {
    tree_line_ = {};
    while (!lines_.at_end()) {
        const std::string_view line = lines_.next();
        found_end_ = line == "end of trees";
        if (found_end_) return;
        if (line.starts_with("Tree=")) {
            tree_line_ = line;
            return;
        }
        fields.add(line, lines_.number());
    }
}

void LightGbmReader::read_tree() {
    const size_t line = lines_.number();
    LineFields fields = LightGbmTreeReader::fields();
    read_fields(fields);
    model_.trees.push_back(tree_reader_.read(fields, line, model_.trees.size(), *numbering_, zeros_));
}

// Reads what follows the trees.
void LightGbmReader::read_rest() {
    const std::pair<std::string_view, LineValue*> keys[] = {
        {"pandas_categorical:", &category_lines_.pandas_categorical},
        {"[categorical_feature:", &category_lines_.categorical_feature}};
    while (!lines_.at_end()) {
        const std::string_view line = lines_.next();
        for (const auto& [key, value] : keys)
            if (line.starts_with(key)) *value = {line.substr(key.size()), lines_.number()};
    }
}

void LightGbmReader::finish_zeros() {
    for (size_t f = 0; f < zeros_.size(); f++) {
        if (!zeros_[f].missing) continue;
        const char* const name = model_.features[f].name.c_str();
        if (zeros_[f].elsewhere)
            refuse_feature_of(lightgbm, format("zeros of feature \"%s\" that are missing in some splits only", name),
                              "Predictions take a zero for missing everywhere or nowhere.");
        std::vector<uint8_t>& missing = model_.imported->zero_is_missing;
        missing.resize(zeros_.size(), 0);
        missing[f] = 1;
    }
}

} // namespace

ImportedModel read_lightgbm(std::string_view text, std::string_view categories, RunContext& context) {
    return LightGbmReader(text, context).read(categories);
}

} // namespace btml::boosting
