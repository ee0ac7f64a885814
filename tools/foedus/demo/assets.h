#pragma once
// The files of the page, which are part of the program.

#include <string_view>

namespace foedus::cli {

struct DemoAsset {
  std::string_view path;  // as in the URL
  std::string_view type;  // of the content
  std::string_view bytes;
};

inline constexpr int kDemoAssets = 4;
// Returns kDemoAssets assets.
const DemoAsset* demo_assets();

}  // namespace foedus::cli
