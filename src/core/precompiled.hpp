// Headers that nearly every file of the core reads, compiled once for all of them.
#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/threads.hpp"
