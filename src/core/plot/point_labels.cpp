// Texts beside points: each where it overlaps neither another, nor another's point, nor the frame.
#include "core/plot/legend.hpp"

namespace btml::plot {

namespace {

constexpr double height = 13;

struct Box {
    double left, top, right, bottom;

    bool overlaps(const Box& other) const {
        return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
    }
    bool within(const Frame& frame) const {
        static constexpr double beyond = 9;
        return left >= frame.left && right <= frame.right + beyond && top >= frame.top - beyond &&
               bottom <= frame.bottom;
    }
};

// Returns where the label could be, best first.
std::vector<Box> candidates(const TextLabel& label) {
    const double width = text_width(label.text, tick_font), gap = label.gap;
    const Point at = label.at;
    const auto box = [&](double left, double top) { return Box{left, top, left + width, top + height}; };
    const Box centre = box(at.x - width / 2, at.y - height / 2);
    const Box right = box(at.x + gap, at.y - height / 2), left = box(at.x - gap - width, at.y - height / 2);
    const Box above = box(at.x - width / 2, at.y - gap - height), below = box(at.x - width / 2, at.y + gap);
    const Box above_left = box(at.x - gap - width, at.y - gap - height);
    switch (label.side) {
    case Side::centre:
        return {centre};
    case Side::right:
        return {right, left};
    case Side::left:
        return {left, right};
    case Side::below:
        return {below, above};
    case Side::any:
        break;
    }
    return {above, right, left, below, above_left};
}

} // namespace

void draw_text_labels(Canvas& canvas) {
    if (canvas.labels.empty()) return;
    std::vector<Box> taken;
    for (const TextLabel& label : canvas.labels)
        if (label.side != Side::centre)
            taken.push_back({label.at.x - 2, label.at.y - 2, label.at.x + 2, label.at.y + 2});
    canvas.svg.put("<g class=\"ink\">\n");
    for (const TextLabel& label : canvas.labels) {
        bool placed = false;
        for (const Box& box : candidates(label)) {
            canvas.context.worked(taken.size());
            const auto is_taken = [&](const Box& other) { return box.overlaps(other); };
            if (!box.within(canvas.frame) || std::any_of(taken.begin(), taken.end(), is_taken)) continue;
            canvas.svg.put("<text class=\"label\" x=\"", box.left, "\" y=\"", box.bottom - 3, "\">",
                           escaped(label.text), "</text>\n");
            taken.push_back(box);
            placed = true;
            break;
        }
        if (!placed) canvas.unplaced_labels++;
    }
    canvas.svg.put("</g>\n");
}

} // namespace btml::plot
