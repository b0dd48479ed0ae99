#pragma once

namespace btml::gp {

// How a member finds its bit order and weights. none: the features' bits in turn, weights and noise by gradient.
enum class Search { local, bfgs, none };

} // namespace btml::gp
