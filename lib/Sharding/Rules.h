//===- Rules.h - rules by family --------------------------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_SHARDING_RULES_H
#define TSP_LIB_SHARDING_RULES_H

#include "tsp/Sharding/ShardingRule.h"

namespace tsp {

// One registration a family of ops.
void registerElementwiseRules(mlir::DialectRegistry &registry);
void registerShapeRules(mlir::DialectRegistry &registry);
void registerReductionRules(mlir::DialectRegistry &registry);
void registerIndexingRules(mlir::DialectRegistry &registry);
void registerAttentionRules(mlir::DialectRegistry &registry);

/// A rule with a factor of kind `kind` for each dim of `value`, so far used by
/// nothing; returns the number of the first.
int addFactorPerDim(ShardingRule &rule, mlir::Value value,
                    FactorKind kind = FactorKind::Parallel);

/// Dims that are factors first, first + 1, ...
ShardingRule::ValueFactors consecutiveFactors(int first, int64_t rank);

/// A model whose op localizes by cloning.
template <typename Model, typename OpTy>
struct RuleModel : public ShardingRuleOpInterface::ExternalModel<Model, OpTy> {
};

} // namespace tsp

#endif // TSP_LIB_SHARDING_RULES_H
