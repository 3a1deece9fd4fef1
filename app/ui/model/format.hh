#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "transport/base/time.hh"
#include "transport/base/units.hh"

namespace cress::ui {

/// Numbers with units, and names, for display; the same on every machine and in every locale.
/// Threads: none inside; pure.

/// Two significant digits: "0 kbit/s", "64 kbit/s", "210 kbit/s", "2.4 Mbit/s", "24 Mbit/s".
std::string format_rate(DataRate rate);
/// "0 ms", "45 ms", "450 ms", "1.2 s", "34 s".
std::string format_delay(Duration delay);
/// "800 B", "14 kB", "1.2 MB" (kB = 1000 bytes).
std::string format_size(DataSize size);
/// A share (0..1) in per cent: "0 %", "0.4 %", "12 %".
std::string format_share(double share);
/// The duration of a call: "0:07", "12:34", "1:02:03".
std::string format_clock(Duration length);

/// In the widest letters two lines of a notice, with a few words behind it.
inline constexpr size_t kShortNameLetters = 20;
/// A name (UTF-8) as part of a sentence: the end of a long one is replaced by "…".
std::string short_name(std::string_view name);

}  // namespace cress::ui
