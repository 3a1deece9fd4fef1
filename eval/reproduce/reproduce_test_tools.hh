#pragma once

#include <string>

#include "eval/reproduce/figure.hh"
#include "transport/base/golden_test_tools.hh"

namespace cress::reproduce {

/// A page or picture without its style sheets, which have their own tests.
inline std::string body_of(std::string text) {
  for (size_t from = text.find("<style>"); from != std::string::npos; from = text.find("<style>")) {
    text.erase(from, text.find("</style>", from) + 8 - from);
  }
  return text;
}

/// One digest per output format of a figure.
inline std::string digests_of(const Figure& figure) {
  return figure.name + ": text " + golden_digest(figure_text(figure)) + " csv " +
         golden_digest(figure_csv(figure)) + " json " + golden_digest(figure_json(figure)) +
         " svg " + golden_digest(body_of(figure_svg(figure))) + " page " +
         golden_digest(body_of(index_page({&figure, 1})));
}

}  // namespace cress::reproduce
