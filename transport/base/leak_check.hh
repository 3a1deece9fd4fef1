#pragma once

/// CRESS_LEAK_CHECK is defined where the program is built with LeakSanitizer, which is part of
/// AddressSanitizer; gcc and clang signal it in different ways.
#if defined(__SANITIZE_ADDRESS__)
#define CRESS_LEAK_CHECK
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CRESS_LEAK_CHECK
#endif
#endif
