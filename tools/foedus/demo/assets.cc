#include "tools/foedus/demo/assets.h"

// The assembler copies the files: a list of numbers would take the compiler seconds. The macros
// with the paths come from the build.
#define FOEDUS_ASSET(name, path)                                                    \
  __asm__(                                                                          \
      ".pushsection .rodata\n"                                                      \
      ".hidden foedus_demo_" #name                                                  \
      "\n"                                                                          \
      ".hidden foedus_demo_" #name                                                  \
      "_end\n"                                                                      \
      ".global foedus_demo_" #name                                                  \
      "\n"                                                                          \
      ".global foedus_demo_" #name                                                  \
      "_end\n"                                                                      \
      "foedus_demo_" #name ":\n.incbin \"" path                                     \
      "\"\n"                                                                        \
      "foedus_demo_" #name "_end:\n.byte 0\n.popsection\n");                        \
  extern "C" __attribute__((visibility("hidden"))) const char foedus_demo_##name[]; \
  extern "C" __attribute__((visibility("hidden"))) const char foedus_demo_##name##_end[];

FOEDUS_ASSET(html, FOEDUS_DEMO_FOLDER "/page.html")
FOEDUS_ASSET(css, FOEDUS_DEMO_FOLDER "/page.css")
FOEDUS_ASSET(js, FOEDUS_DEMO_FOLDER "/page.js")
FOEDUS_ASSET(chart, FOEDUS_DEMO_CHART_JS)

namespace foedus::cli {

const DemoAsset* demo_assets() {
  static const DemoAsset assets[kDemoAssets] = {
      {"/", "text/html; charset=utf-8", {foedus_demo_html, foedus_demo_html_end}},
      {"/page.css", "text/css; charset=utf-8", {foedus_demo_css, foedus_demo_css_end}},
      {"/page.js", "text/javascript; charset=utf-8", {foedus_demo_js, foedus_demo_js_end}},
      {"/chart.js", "text/javascript; charset=utf-8", {foedus_demo_chart, foedus_demo_chart_end}},
  };
  return assets;
}

}  // namespace foedus::cli
