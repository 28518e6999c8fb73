// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/exec/forms.h"

#include <algorithm>
#include <cctype>

namespace gacer::simdevice::test {
namespace {

struct Row {
  int least_sm;
  const char* text;
};
constexpr Row kRows[] = {
#define FORM(SECTION, SM, TEXT) {SM, TEXT},
#include "tests/unit/exec/forms.inc"
#undef FORM
};

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> out;
  int depth = 0;
  std::string word;
  for (char c : text) {
    if (c == '{') ++depth;
    if (c == '}') --depth;
    if (c == at && depth == 0) {
      out.push_back(word);
      word.clear();
    } else if (c != ' ' || !word.empty()) {
      word += c;
    }
  }
  out.push_back(word);
  return out;
}

// The first <a,b> replaced by each of its words, and so on.
void expand(const std::string& text, std::vector<std::string>& out) {
  const size_t open = text.find('<'), close = text.find('>', open);
  if (open == std::string::npos) {
    out.push_back(text);
    return;
  }
  for (const std::string& word : split(text.substr(open + 1, close - open - 1), ','))
    expand(text.substr(0, open) + word + text.substr(close + 1), out);
}

bool is_prefix(const std::string& modifier) {
  for (const char* word : {"rn", "rz", "rm", "rp", "ftz", "sat", "relu", "approx"})
    if (modifier == word) return true;
  return false;
}

Form parse(const std::string& text, int least_sm) {
  const size_t space = text.find(' ');
  Form form;
  form.text = text;
  form.least_sm = least_sm;
  form.modifiers = split(text.substr(0, space), '.');
  form.opcode = form.modifiers.front();
  form.modifiers.erase(form.modifiers.begin());
  // "f32.ftz": the references look for the type at the end.
  if (form.opcode != "set" && form.opcode != "setp")
    std::stable_partition(form.modifiers.begin(), form.modifiers.end(), is_prefix);
  form.operands = split(text.substr(space + 1), ',');
  return form;
}

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '%' || c == '.';
}

}  // namespace

const std::vector<Form>& all_forms() {
  static const std::vector<Form> forms = [] {
    std::vector<Form> out;
    for (const Row& row : kRows) {
      std::vector<std::string> texts;
      expand(row.text, texts);
      for (const std::string& text : texts) out.push_back(parse(text, row.least_sm));
    }
    return out;
  }();
  return forms;
}

std::string with_registers(const Form& form) {
  const std::string& text = form.text;
  std::string out = text.substr(0, text.find(' '));
  int number = 0;
  for (size_t i = out.size(); i < text.size(); ++i) {
    out += text[i];
    const bool alone = !is_word(text[i - 1]) && (i + 1 == text.size() || !is_word(text[i + 1]));
    if (alone && std::string("phrdqb").find(text[i]) != std::string::npos)
      out += std::to_string(++number);
  }
  return out + ";";
}

std::string module_of(const std::string& instructions, int sm) {
  std::string out = ".version 9.0\n.target sm_" + std::to_string(sm) + "\n.address_size 64\n";
  out += R"(.global .align 8 .u32 global_words[8];
.const .align 8 .u32 constant_words[4];
.shared .align 8 .u32 shared_words[4];
.func function() { ret; }
.visible .entry kernel() {
.reg .pred p<9>;
.reg .b8 b<9>;
.reg .b16 h<9>;
.reg .b32 r<9>;
.reg .b64 d<9>;
.reg .b128 q<9>;
)";
  return out + instructions + "ret;\n}\n";
}

}  // namespace gacer::simdevice::test
