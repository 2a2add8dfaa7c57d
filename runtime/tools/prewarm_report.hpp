// What `qrow prewarm` says: a line or record per kernel, refusals with their reasons, totals.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/prewarm.hpp"
#include "runtime/tools/model_config.hpp"
#include "runtime/tools/output.hpp"

namespace qrow {

class PrewarmReport {
 public:
  // Describes `models` at once.
  PrewarmReport(Output& output, const std::vector<Model>& models);

  // One spec that one arch cannot serve; each pair counts once. A record at once; for people
  // tell_refused() has a line for each reason, since a model brings hundreds of specs with the same
  // one.
  void refused(const std::string& case_line, const std::string& arch, const std::string& reason);
  void tell_refused();
  void done(const PrewarmOutcome& outcome);
  void totals(const PrewarmTotals& totals);

  // The same without doing it: `stored` is null for a kernel that would be compiled.
  void planned(const PrewarmItem& item, const Cubin* stored, bool repeats);
  void planned_totals();

  int num_refused() const { return num_refused_; }
  int num_missing() const { return missing_; }  // of those planned

 private:
  void describe(const Model& model);

  struct Refusal {
    std::string reason;
    std::string first_case;
    std::set<std::string> archs;
    int count = 0;
  };

  Output& output_;
  std::vector<JsonObject> models_;
  std::set<std::pair<std::string, std::string>> told_;
  std::vector<Refusal> refusals_;  // by reason
  std::set<std::string> told_failures_;
  int num_refused_ = 0;
  int planned_ = 0, missing_ = 0, present_ = 0;
};

}  // namespace qrow
