#include "core/boosting/warm_start.hpp"

#include "core/boosting/binned_trees.hpp"
#include "core/boosting/binning/shared_categories.hpp"

#include <algorithm>

namespace btml::boosting {

namespace {

template <class... Args>
[[noreturn]] void refuse(const char* hint, const char* form, Args... args) {
    throw Error(ErrorCode::invalid_argument, format(form, args...), {}, hint);
}

std::string shown(const std::vector<std::string>& labels) {
    return labels.empty() ? "a number" : "one of " + quoted_list(labels);
}

// Shows a feature's type, and how the trees take it.
std::string shown(const std::string& type, bool categorical) {
    return type + (categorical ? ", categorical" : "");
}

const char* shown(int direction) {
    return direction > 0 ? "increasing" : direction < 0 ? "decreasing" : "without a direction";
}

} // namespace

WarmStart::WarmStart(Model model, Dataset& dataset, const Options& options, RunContext& context)
    : model_(std::move(model)) {
    check_labels(dataset);
    check_options(options);
    const std::vector<int32_t> places = match_features(dataset);
    check_directions(dataset, places);
    renumber(places, dataset, context);
}

void WarmStart::check_options(const Options& options) const {
    const Options& of_start = model_.options;
    if (model_.imported)
        refuse("Continue from a model of btml.boost_fit.", "start was trained by %s", model_.imported->library.c_str());
    if (options.objective != of_start.objective)
        refuse("Trees of one objective do not go on with those of another.",
               "start was trained with objective => '%s', this is '%s'", name_of(of_start.objective),
               name_of(options.objective));
    const double alpha = options.alpha.value_or(0), alpha_of_start = of_start.alpha.value_or(0);
    if (alpha != alpha_of_start)
        refuse("Give the same alpha.", "start was trained with alpha => %s, this is %s",
               shortest(alpha_of_start).c_str(), shortest(alpha).c_str());
    if (objective_of(options.objective).takes_power && options.power != of_start.power)
        refuse("Give the same power.", "start was trained with power => %s, this is %s",
               shortest(of_start.power).c_str(), shortest(options.power).c_str());
    // No training comes to others, and grids would not hold them.
    const double most = takes_exponential(model_.link()) ? max_exponent : 1e150;
    for (const double base : model_.bases)
        if (!(std::fabs(base) <= most))
            refuse("Continue from a model of btml.boost_fit.", "start has a base of %s", shortest(base).c_str());
}

void WarmStart::check_labels(const Dataset& dataset) const {
    if (dataset.labels == model_.labels) return;
    refuse("The target of the source needs rows of every label of start, and of no other.",
           "the target of start is %s, that of the source %s", shown(model_.labels).c_str(),
           shown(dataset.labels).c_str());
}

std::vector<int32_t> WarmStart::match_features(const Dataset& dataset) const {
    const auto offset = model_.offset ? model_.features[*model_.offset].name : std::string();
    if (const std::string own = dataset.offset ? dataset.offset->name : std::string(); own != offset)
        refuse("Give the same offset.", "start has %s, this fit has %s",
               offset.empty() ? "no offset" : ("offset \"" + offset + '"').c_str(),
               own.empty() ? "no offset" : ("offset \"" + own + '"').c_str());
    std::vector<int32_t> places(model_.features.size(), -1);
    for (size_t f = 0; f < places.size(); f++) {
        if (model_.offset == static_cast<int32_t>(f)) continue;
        const Feature& feature = model_.features[f];
        const auto found = std::find_if(dataset.features.begin(), dataset.features.end(),
                                        [&](const FeatureColumn& column) { return column.name == feature.name; });
        if (found == dataset.features.end())
            refuse("The source needs every feature of start, and may have others.",
                   "feature \"%s\" of start is not a feature of the source", feature.name.c_str());
        const bool categorical = found->categorical;
        if (found->type != feature.type || categorical != feature.categorical)
            refuse("Cast the column, or name it in categorical as it was for start.",
                   "feature \"%s\" is of type %s, in start of type %s", feature.name.c_str(),
                   shown(found->type, categorical).c_str(), shown(feature.type, feature.categorical).c_str());
        places[f] = static_cast<int32_t>(found - dataset.features.begin());
    }
    return places;
}

// A promise about all trees must hold for those that are there.
void WarmStart::check_directions(const Dataset& dataset, const std::vector<int32_t>& places) const {
    for (size_t f = 0; f < places.size(); f++) {
        if (places[f] < 0) continue;
        const int of_start = model_.directions.empty() ? 0 : model_.directions[f];
        const FeatureColumn& column = dataset.features[places[f]];
        if (column.direction != of_start)
            refuse("Give the same columns in increasing and decreasing.", "feature \"%s\" is %s, in start %s",
                   column.name.c_str(), shown(column.direction), shown(of_start));
    }
}

void WarmStart::renumber(const std::vector<int32_t>& places, Dataset& dataset, RunContext& context) {
    std::vector<std::vector<uint32_t>> codes(places.size());
    for (size_t f = 0; f < places.size(); f++)
        if (model_.features[f].categorical)
            codes[f] = merge_categories(model_.features[f].categories, dataset.features[places[f]], context);
    for (Tree& tree : model_.trees)
        for (Node& node : tree) {
            context.worked(1 + node.categories.size());
            if (node.is_leaf()) continue;
            const std::vector<uint32_t>& code = codes[node.feature];
            node.feature = places[node.feature];
            if (code.empty())
                dataset.features[node.feature].thresholds.push_back(node.threshold);
            else
                for (uint32_t& category : node.categories) category = code[category];
        }
}

bool WarmStart::has_same_rows(const Model& grown) const {
    const size_t iterations = grown.log.size();
    return model_.calibration && model_.calibration->method == uncertainty::Method::split_conformal &&
           model_.rows == grown.rows && model_.holdout_rows == grown.holdout_rows &&
           model_.baseline == grown.baseline && model_.log.size() >= iterations &&
           std::equal(grown.log.begin(), grown.log.end(), model_.log.begin());
}

std::vector<TrainingSet::Leaf> WarmStart::grow_again(size_t t, TrainingSet& training) const {
    const Tree& tree = model_.trees[t];
    std::vector<int> rows(tree.size(), 0); // the training set's node, by that of the tree
    std::vector<TrainingSet::Leaf> leaves;
    for (size_t n = 0; n < tree.size(); n++) {
        const Node& node = tree[n];
        if (node.is_leaf())
            leaves.push_back({rows[n], {}, training.scores().to_value(node.value)});
        else
            std::tie(rows[node.left], rows[node.right]) =
                training.split(rows[n], split_at(node, training.features()[node.feature]));
    }
    return leaves;
}

} // namespace btml::boosting
