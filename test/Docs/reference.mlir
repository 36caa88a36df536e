// The generated pages docs/Dialects/TSP.md and docs/Passes.md fit the .td files.
// RUN: %python %tsp_source/docs/generate.py --tblgen=mlir-tblgen --mlir-include=%mlir_include --check
