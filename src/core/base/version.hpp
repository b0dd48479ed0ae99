#pragma once

namespace btml {

inline constexpr char version[] = "0.1.0";

} // namespace btml
