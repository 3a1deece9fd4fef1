#pragma once

#include <array>
#include <string_view>

/// Published numbers. Each block names its source; none of these is measured by us.
namespace cress::reproduce::paper {

inline constexpr std::string_view kSprout =
    "Winstein, Sivaraman, Balakrishnan, \"Stochastic Forecasts Achieve High Throughput and Low "
    "Delay over Cellular Networks\", NSDI 2013";

/// §1, both tables: the mean over eight links, down and up. `speedup`: Sprout's throughput over
/// the scheme's; `delay_s`: mean self-inflicted delay; `over`: that over Sprout's, as printed.
struct Mean {
  std::string_view scheme;  ///< our name
  std::string_view printed;
  double speedup;
  double delay_s;
  double over;
};
inline constexpr std::array kMeans = {Mean{"sprout", "Sprout", 1.0, 0.32, 1.0},
                                      Mean{"skype-like", "Skype", 2.2, 2.52, 7.9},
                                      Mean{"hangouts-like", "Hangout", 4.4, 2.28, 7.2},
                                      Mean{"facetime-like", "Facetime", 1.9, 2.75, 8.7},
                                      Mean{"compound", "Compound", 1.3, 1.53, 4.8},
                                      Mean{"vegas", "TCP Vegas", 1.1, 0.67, 2.1},
                                      Mean{"ledbat", "LEDBAT", 1.0, 0.88, 2.8},
                                      Mean{"cubic", "Cubic", 0.91, 25, 79},
                                      Mean{"cubic-codel", "Cubic-CoDel", 0.70, 0.50, 1.6}};
/// The second table, compared with Sprout-EWMA: its throughput over the scheme's.
inline constexpr std::array kEwmaMeans = {
    Mean{"sprout-ewma", "Sprout-EWMA", 1.0, 0.53, 1.0}, Mean{"sprout", "Sprout", 2.0, 0.32, 0.60},
    Mean{"cubic", "Cubic", 1.8, 25, 48}, Mean{"cubic-codel", "Cubic-CoDel", 1.3, 0.50, 0.95}};

/// §5.6: Sprout over Verizon LTE, with random loss in each direction.
struct Loss {
  bool down;
  double share;
  double throughput_kbps;
  double delay_ms;  ///< self-inflicted
};
inline constexpr std::array kLosses = {Loss{true, 0, 4741, 73},      Loss{true, 0.05, 3971, 60},
                                       Loss{true, 0.10, 2768, 58},   Loss{false, 0, 3703, 332},
                                       Loss{false, 0.05, 2598, 378}, Loss{false, 0.10, 1163, 314}};

/// §5.7: Cubic and Skype share the Verizon LTE downlink, directly and through SproutTunnel.
struct Tunnel {
  std::string_view what;
  double direct;
  double tunnelled;
};
inline constexpr std::array kTunnel = {Tunnel{"Cubic throughput, kbit/s", 8336, 3776},
                                       Tunnel{"Skype throughput, kbit/s", 78, 490},
                                       Tunnel{"Skype delay95, s", 6.0, 0.17}};

/// Figure 2, Verizon LTE downlink.
inline constexpr double kTailExponent = 3.27;
inline constexpr double kShareWithin20Ms = 0.9999;
/// §3.3 and Figure 1: packets arrive within this with probability 0.95.
inline constexpr double kDelayAimMs = 100;

inline constexpr std::string_view kVerus =
    "Zaki, Pötsch, Chen, Subramanian, Görg, \"Adaptive Congestion Control for Unpredictable "
    "Cellular Networks\", SIGCOMM 2015";
/// Its abstract: Cubic's delay over Verus's.
inline constexpr double kVerusDelayFactor = 10;

}  // namespace cress::reproduce::paper
