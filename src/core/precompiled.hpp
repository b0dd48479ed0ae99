// The standard library's headers that nearly every file reads, compiled once for all of them. A header of ours here
// would have all of them compiled anew whenever it changes.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cinttypes>
#include <cmath>
#include <condition_variable>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <variant>
#include <vector>
