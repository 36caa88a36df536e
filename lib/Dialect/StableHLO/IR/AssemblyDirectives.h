//===- AssemblyDirectives.h - custom directives of the assembly formats *- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_DIALECT_STABLEHLO_IR_ASSEMBLYDIRECTIVES_H
#define TSP_LIB_DIALECT_STABLEHLO_IR_ASSEMBLYDIRECTIVES_H

#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"

#include <array>

namespace tsp::stablehlo {

/// `T` when all types are equal, else `(A, B) -> R`; the last type is the
/// result's.
mlir::ParseResult parseSameTypeList(mlir::OpAsmParser &parser,
                                    llvm::ArrayRef<mlir::Type *> types);
void printSameTypeList(mlir::OpAsmPrinter &printer,
                       llvm::ArrayRef<mlir::Type> types);

template <typename... Types>
mlir::ParseResult parseSameTypes(mlir::OpAsmParser &parser, Types &...types) {
  std::array<mlir::Type *, sizeof...(Types)> slots = {&types...};
  return parseSameTypeList(parser, slots);
}
template <typename... Types>
void printSameTypes(mlir::OpAsmPrinter &printer, mlir::Operation *,
                    Types... types) {
  std::array<mlir::Type, sizeof...(Types)> list = {types...};
  printSameTypeList(printer, list);
}

/// `%a, %b, `: operands before an attribute.
mlir::ParseResult parseOperandsThenComma(
    mlir::OpAsmParser &parser,
    llvm::SmallVectorImpl<mlir::OpAsmParser::UnresolvedOperand> &operands);
void printOperandsThenComma(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                            mlir::OperandRange operands);

/// `P, T` of select, or `(P, T, T) -> T`.
mlir::ParseResult parseSelectTypes(mlir::OpAsmParser &parser, mlir::Type &pred,
                                   mlir::Type &onTrue, mlir::Type &onFalse,
                                   mlir::Type &result);
void printSelectTypes(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                      mlir::Type pred, mlir::Type onTrue, mlir::Type onFalse,
                      mlir::Type result);

/// The complex result of two float operands.
mlir::ParseResult parseComplexTypes(mlir::OpAsmParser &parser, mlir::Type &lhs,
                                    mlir::Type &rhs, mlir::Type &result);
void printComplexTypes(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                       mlir::Type lhs, mlir::Type rhs, mlir::Type result);

/// `A, B`: results have the types of the operands.
mlir::ParseResult parsePairwiseTypes(mlir::OpAsmParser &parser,
                                     llvm::SmallVectorImpl<mlir::Type> &operands,
                                     llvm::SmallVectorImpl<mlir::Type> &results);
void printPairwiseTypes(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                        mlir::TypeRange operands, mlir::TypeRange results);

/// `e8m7`.
mlir::ParseResult parseExponentMantissa(mlir::OpAsmParser &parser,
                                        mlir::IntegerAttr &exponent,
                                        mlir::IntegerAttr &mantissa);
void printExponentMantissa(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                           mlir::IntegerAttr exponent,
                           mlir::IntegerAttr mantissa);

/// `[start:limit, start:limit:stride]`.
mlir::ParseResult parseSliceRanges(mlir::OpAsmParser &parser,
                                   mlir::DenseI64ArrayAttr &starts,
                                   mlir::DenseI64ArrayAttr &limits,
                                   mlir::DenseI64ArrayAttr &strides);
void printSliceRanges(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                      llvm::ArrayRef<int64_t> starts,
                      llvm::ArrayRef<int64_t> limits,
                      llvm::ArrayRef<int64_t> strides);

/// `batching_dims = [0] x [0], contracting_dims = [2] x [1]`.
mlir::ParseResult parseDotDimensionNumbers(mlir::OpAsmParser &parser,
                                           DotDimensionNumbersAttr &dims);
void printDotDimensionNumbers(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                              DotDimensionNumbersAttr dims);

/// `, precision = [DEFAULT, DEFAULT]` and `, algorithm = <..>`.
mlir::ParseResult parsePrecision(mlir::OpAsmParser &parser,
                                 mlir::ArrayAttr &precision);
void printPrecision(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                    mlir::ArrayAttr precision);
mlir::ParseResult parsePrecisionAndAlgorithm(mlir::OpAsmParser &parser,
                                             mlir::ArrayAttr &precision,
                                             DotAlgorithmAttr &algorithm);
void printPrecisionAndAlgorithm(mlir::OpAsmPrinter &printer,
                                mlir::Operation *op, mlir::ArrayAttr precision,
                                DotAlgorithmAttr algorithm);

/// `@name` of a custom call.
mlir::ParseResult parseCallTarget(mlir::OpAsmParser &parser,
                                  mlir::StringAttr &name);
void printCallTarget(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                     mlir::StringAttr name);

/// `[1, 2]`.
mlir::ParseResult parseDims(mlir::AsmParser &parser,
                            llvm::SmallVectorImpl<int64_t> &dims);

} // namespace tsp::stablehlo

#endif // TSP_LIB_DIALECT_STABLEHLO_IR_ASSEMBLYDIRECTIVES_H
