/*===- tsp_runtime.h - the C ABI of the runtime ------------------------------===
 *
 * Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===
 *
 * The whole agreement between compiled code, embedders and the runtime:
 *   1. types                    data types, layouts, combines
 *   2. what compiled code exports   the model description and its entries
 *   3. what compiled code calls     launches, collectives, waits
 *   4. what embedders call          contexts, loading, calling, reading
 *
 * Ranks are the points of the mesh in row-major order (the last axis is the
 * fastest). Every rank runs the same code (SPMD) on its own local buffers.
 * All buffers are row-major and contiguous, aligned to 64 bytes.
 *
 *===----------------------------------------------------------------------===*/

#ifndef TSP_RUNTIME_H
#define TSP_RUNTIME_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- 1. Types ------------------------------------------------------------ */

/* One rank's context, handed to compiled code. */
typedef struct tsp_rank tsp_rank;

/* A transfer in flight; each is waited for exactly once. */
typedef int64_t tsp_event;

/* Data types. i1 is one byte (0 or 1); i4 and ui4 take one byte an element. */
typedef enum tsp_dtype {
  TSP_F64 = 0,
  TSP_F32 = 1,
  TSP_F16 = 2,
  TSP_BF16 = 3,
  TSP_F8E4M3FN = 4,
  TSP_F8E5M2 = 5,
  TSP_I1 = 6,
  TSP_I4 = 7,
  TSP_I8 = 8,
  TSP_I16 = 9,
  TSP_I32 = 10,
  TSP_I64 = 11,
  TSP_UI4 = 12,
  TSP_UI8 = 13,
  TSP_UI16 = 14,
  TSP_UI32 = 15,
  TSP_UI64 = 16
} tsp_dtype;

/* How values of the ranks are combined.
 *   SUM, MAX, MIN  elementwise. NaN wins in MAX and MIN. f16, bf16 and f8 sums
 *                  accumulate in f32 and are rounded once. i1: SUM and MAX are
 *                  "or", MIN is "and". Integers wrap.
 *   LSE            merge of normalised attention parts (o, lse):
 *                  lse = log(sum exp(lse_i)), o = sum exp(lse_i - lse) * o_i;
 *                  a part with lse = -inf counts nothing; if all are, o = 0.
 *   ARGMAX         pairs (value, index): the largest value, NaN being larger
 *                  than all; among equals the lowest index.
 * The order of combination is fixed (rank 0, 1, ..), so results are the same
 * on all ranks, and from run to run, bit for bit. */
typedef enum tsp_combine {
  TSP_SUM = 0,
  TSP_MAX = 1,
  TSP_MIN = 2,
  TSP_LSE = 3,
  TSP_ARGMAX = 4
} tsp_combine;

/* How a dim of `total` elements lies on the D ranks of an axis.
 *   CONTIGUOUS  c = ceil(total / (D * unit)) * unit; rank r owns
 *               [min(total, r*c), min(total, (r+1)*c)); local size c.
 *   ZIGZAG      2D chunks of c2 = ceil(total / (2D * unit)) * unit; rank r holds
 *               chunk r, then chunk 2D-1-r; local size 2*c2.
 * Local elements past the owned ones are padding: zero for parameters, inputs
 * and results of reduce_scatter and all_to_all, undefined elsewhere. */
typedef enum tsp_layout { TSP_CONTIGUOUS = 0, TSP_ZIGZAG = 1 } tsp_layout;

/* Memory spaces and streams. All buffers of a rank (arguments, results, arena)
 * are in one space: host memory for the host target, the rank's device for
 * cuda. Work of a stream runs in program order; transfers of stream 1 proceed
 * beside stream 0 until their wait. On the host stream 0 is the calling thread;
 * on a device calls return before the work is done, and only tsp_read waits. */
enum { TSP_SPACE_HOST = 0, TSP_SPACE_DEVICE = 1 };
enum { TSP_STREAM_COMPUTE = 0, TSP_STREAM_COMM = 1 };

/* Part [begin, end) of a kernel's grid. `args`: the inputs' pointers, then the
 * outputs'. `scratch` belongs to the calling thread, is aligned to 64 bytes and
 * has the size given to tsp_launch; its contents are undefined. */
typedef void (*tsp_kernel_fn)(void **args, int64_t begin, int64_t end,
                              void *scratch);

/* An entry of the program, run by each rank. `args` and `results` are pointers
 * to the local buffers in the order of the description; a result that is an
 * alias of an argument has that argument's pointer. `arena` has the entry's
 * arena_bytes (NULL allowed when that is 0); its contents are undefined. */
typedef void (*tsp_entry_fn)(tsp_rank *rank, void **args, void **results,
                             void *arena);

/* ---- 2. What compiled code exports --------------------------------------- */

typedef struct tsp_entry_point {
  const char *symbol; /* as in the description's `symbol` */
  tsp_entry_fn fn;
} tsp_entry_point;

/* Code for a device: a fatbin (or one cubin or PTX text, ended by a zero). */
typedef struct tsp_device_image {
  const void *data;
  int64_t bytes;
} tsp_device_image;

/* A compiled model: its description, its entries, ended by {NULL, NULL}, and the
 * code of its kernels for the device (NULL for the host target). */
typedef struct tsp_model {
  const char *json;
  const tsp_entry_point *entries;
  const tsp_device_image *device;
} tsp_model;

/* An object made by the compiler defines these symbols, the last one only for a
 * device:
 *   const char tsp_model_json[];
 *   const tsp_entry_point tsp_entry_table[];
 *   const tsp_device_image tsp_device_code;
 *
 * The description, a JSON object:
 *   version          1
 *   mesh             [{"name": "t", "size": 4}, ..], major axis first; [] is one
 *                    rank
 *   groups           optional: [["d", "t"], ..]; group g is axis number
 *                    (number of mesh axes) + g in collectives and stands for
 *                    these axes as one, the first being the major one
 *   target           "host" (default) or "cuda"
 *   device_workspace_bytes  largest workspace of the device's kernels; default 0
 *   device_constant_bytes   sum of what tsp_constant copies; default 0
 *   cpu_features     optional: what the code needs of the CPU, in the words of
 *                    /proc/cpuinfo: ["avx2", "fma", ..]
 *   compile_seconds  number, copied into the statistics
 *   strategy         text, copied into the statistics
 *   entries          a list of
 *     name           as the user calls it
 *     symbol         as in tsp_entry_table; default "tsp_entry_" + name
 *     arena_bytes    size of the arena
 *     scratch_bytes  largest scratch of the entry's kernels (one thread's)
 *     args           a list of
 *       name         may be absent; "argN" (N the position) always works
 *       kind         "parameter" | "input" | "state". Parameters and states of
 *                    one name are one buffer across the entries
 *       dtype        f64 f32 f16 bf16 f8E4M3FN f8E5M2 i1 i4 i8 i16 i32 i64 ui4
 *                    ui8 ui16 ui32 ui64
 *       shape        the global shape
 *       local_shape  the shape of each rank's buffer; optional, checked
 *       placement    one object a dim: {"axes": ["t"], "layout": "contiguous" |
 *                    "zigzag", "unit": 1}; no axes: not sharded; absent: nothing
 *                    is sharded. Several axes nest: the first splits the dim,
 *                    the next one each local part (padding included), and so on;
 *                    `layout` and `unit` may be lists, one an axis. Defaults
 *                    are "contiguous" and 1
 *       alias        optional: the number of the result that is this argument's
 *                    new value, written in place
 *     results        a list of name, dtype, shape, local_shape, placement as for
 *                    arguments; "resultN" always works
 */

/* ---- 3. What compiled code calls ----------------------------------------- */

/* Runs the whole grid [0, grid) of a kernel on the rank's threads. `name` (for
 * the trace) must stay valid. */
void tsp_launch(tsp_rank *rank, int32_t stream, const char *name,
                tsp_kernel_fn fn, int64_t grid, int64_t scratch_bytes,
                int64_t nargs, void **args);

/* Tiles of a buffer that a kernel's bulk tensor copies move, as
 * cuTensorMapEncodeTiled takes them. Reads outside of `sizes` give zeros. */
typedef struct tsp_tensor_map {
  int64_t argument;   /* whose buffer, a number in args of tsp_device_launch */
  int64_t offset;     /* bytes from the buffer's start; a multiple of 16 */
  int64_t element;    /* a CUtensorMapDataType of cuda.h */
  int64_t rank;       /* 1 to 5 dims, innermost first */
  int64_t sizes[5];   /* elements */
  int64_t strides[4]; /* bytes, of dims 1..; multiples of 16 */
  int64_t box[5];     /* elements of a tile, at most 256 each */
  int64_t swizzle;    /* bytes: 0, 32, 64 or 128 */
} tsp_tensor_map;

/* A kernel of the device image, with all that its launch needs but the pointers.
 * Must stay valid as long as the model.
 * A variant does the same for certain devices, with code and launch of its own;
 * it is launched instead when the code that the driver has loaded contains it. */
typedef struct tsp_device_kernel {
  const char *name;        /* as in the image */
  int64_t grid[3];         /* blocks in x, y, z */
  int64_t block[3];        /* threads of a block in x, y, z */
  int64_t shared_bytes;    /* dynamic shared memory of a block */
  int64_t workspace_bytes; /* device memory the kernel may scribble in */
  int64_t cluster[3];      /* blocks launched together; 0, 0, 0: no cluster */
  int64_t num_maps;
  const tsp_tensor_map *maps;
  const struct tsp_device_kernel *variant; /* which may have one too; or NULL */
} tsp_device_kernel;

/* Launches a kernel on the rank's device. `args`: device pointers, the inputs',
 * then the outputs'. Further parameters, which the runtime appends:
 *   with workspace_bytes > 0, the rank's workspace, aligned to 256 bytes, its
 *   contents undefined;
 *   for each of `maps` a CUtensorMap, by value.
 * A grid with a size of 0 is not launched. */
void tsp_device_launch(tsp_rank *rank, int32_t stream,
                       const tsp_device_kernel *kernel, int64_t nargs,
                       void **args);

/* The image also holds the kernels by which devices combine what several ranks
 * have, one for each combine, dtype and number of ranks D that the program
 * reduces across:
 *   tsp_reduce_<combine>_<dtype>_<D>(dst, src0, src1, .., int64_t count)
 *     dst[i] = combination of src0[i], src1[i], .. as tsp_combine says;
 *     combine: sum, max or min; dtype as in the description
 *   tsp_reduce_lse_<dtype>_<dtype2>_<D>(dst, dst2, src0, src1, ..,
 *                                       second src0, second src1, ..,
 *                                       int64_t rows, int64_t inner)
 *   tsp_reduce_argmax_<dtype>_<dtype2>_<D>(the same; inner is 1)
 *     as tsp_all_reduce_pair_start
 * dst may be one of the sources. They are launched with blocks of 256 threads in x and any number of
 * blocks in x, so each thread takes elements (rows) a whole grid apart. */

/* Writes `bytes` bytes of the host program to dst. host_src may be reused at
 * once; meant for scalars. */
void tsp_write(tsp_rank *rank, int32_t space, int32_t stream, void *dst,
               const void *host_src, int64_t bytes);

/* Where constant data is in a memory space. host_data belongs to the model and
 * never changes; it is copied once a rank (not at all in the host's space). */
void *tsp_constant(tsp_rank *rank, int32_t space, const void *host_data,
                   int64_t bytes);

/* Coordinate of this rank on axis number `axis` (0 = the mesh's first). */
int64_t tsp_axis_index(tsp_rank *rank, int32_t axis);

/* Copies inside a memory space; the ranges must not overlap. */
void tsp_copy(tsp_rank *rank, int32_t space, int32_t stream, void *dst,
              const void *src, int64_t bytes);

/* Copies to plain host memory and waits: for predicates and dynamic offsets. */
void tsp_read(tsp_rank *rank, int32_t space, int32_t stream, void *host_dst,
              const void *src, int64_t bytes);

/* Ends the program with an error (an assertion of the compiled code). Does not
 * return. */
void tsp_fail(tsp_rank *rank, const char *message);

/* Collectives. All ranks of the axis start the same ones in the same order, with
 * the same numbers (this is checked: a mismatch is an error that names both
 * ranks and the difference). `src` must not change and `dst` not be touched
 * between start and wait. A blocking collective is a start followed by a wait.
 * A group may have up to 256 transfers in flight.
 *
 * Buffers are strided blocks: the whole value is [outer][total][inner_bytes],
 * where the middle dim is the one the collective works on. Counted bytes
 * (statistics) are true elements only, never padding, whatever the algorithm. */

/* Gives the transfers that the rank starts from here on memory, aligned to 64
 * bytes, in which they pack what is not in one piece, until the next call of
 * this; an entry begins with none. A rank's transfers run one after the other,
 * so all may share it. It is busy until the last of them has been waited for.
 * With D ranks on the axis and `part` the bytes of a rank's local part, they need
 * at most (nothing where D is 1; an error says so where there is less):
 *   all_gather      D * part; 0 if outer is 1, the layout contiguous and
 *                   D * local = total
 *   reduce_scatter  (D + 1) * part + the bytes of src; D * part if outer is 1 and
 *                   the layout contiguous
 *   all_reduce      D times the buffer where that has at most 64 KB, else D times
 *                   a slice of ceil(rows / D) rows (elements), rounded up to 64
 *                   bytes; of pairs, the first halves are rounded up to 64 bytes
 *   all_to_all      the bytes of src and dst
 *   broadcast       the bytes of dst; 0 if outer is 1
 *   send_recv       0 */
void tsp_staging(tsp_rank *rank, void *memory, int64_t bytes);

/* src: the local part [outer][local][inner_bytes]; dst: the whole
 * [outer][total][inner_bytes] in natural order, without padding.
 * Receives total minus the own elements. */
tsp_event tsp_all_gather_start(tsp_rank *rank, int32_t space, int32_t stream,
                               int32_t axis, int32_t dtype, void *dst,
                               const void *src, int64_t outer, int64_t total,
                               int64_t inner_bytes, int32_t layout,
                               int64_t unit);

/* Each rank has a whole src [outer][total][inner_bytes]; dst is the local part
 * [outer][local][inner_bytes] of their combination (SUM, MAX or MIN), its
 * padding zero. dst must not overlap src. Receives total minus the own
 * elements. */
tsp_event tsp_reduce_scatter_start(tsp_rank *rank, int32_t space,
                                   int32_t stream, int32_t axis, int32_t dtype,
                                   int32_t combine, void *dst, const void *src,
                                   int64_t outer, int64_t total,
                                   int64_t inner_bytes, int32_t layout,
                                   int64_t unit);

/* dst[count] = combination of all ranks' src[count]; dst may be src (exactly).
 * combine: SUM, MAX or MIN. Receives floor(2 * (D-1) * bytes / D). */
tsp_event tsp_all_reduce_start(tsp_rank *rank, int32_t space, int32_t stream,
                               int32_t axis, int32_t dtype, int32_t combine,
                               void *dst, const void *src, int64_t count);

/* The same for pairs.
 * LSE: o[rows][inner] of `dtype` (f64, f32, f16 or bf16) and lse[rows] of dtype2
 *      (f32, or f64 where dtype is f64).
 * ARGMAX: value[rows] of `dtype` (inner = 1) and index[rows] of dtype2 (an
 *      integer type of 32 or 64 bits). */
tsp_event tsp_all_reduce_pair_start(tsp_rank *rank, int32_t space,
                                    int32_t stream, int32_t axis, int32_t dtype,
                                    int32_t dtype2, int32_t combine, void *dst,
                                    void *dst2, const void *src,
                                    const void *src2, int64_t rows,
                                    int64_t inner);

/* Changes the sharded dim of a value [outer][total0][mid][total1][inner_bytes].
 * split = 0: src is whole in dim 0 and local in dim 1, dst local in dim 0 and
 * whole in dim 1. split = 1: the other way round. Each dim has its own layout
 * and unit; padding in dst is zero. Receives the own part of the result minus
 * what was already here. */
tsp_event tsp_all_to_all_start(tsp_rank *rank, int32_t space, int32_t stream,
                               int32_t axis, int32_t dtype, void *dst,
                               const void *src, int64_t outer, int64_t total0,
                               int64_t mid, int64_t total1, int64_t inner_bytes,
                               int32_t split, int32_t layout0, int64_t unit0,
                               int32_t layout1, int64_t unit1);

/* Fetches elements [offset, offset + size) of a sharded dim from the ranks that
 * own them. src: the local part [outer][local][inner_bytes]; dst:
 * [outer][size][inner_bytes] on every rank. Elements outside [0, total) are
 * zero. offset may be dynamic, the same on all ranks. Receives the elements that
 * are not the rank's own. */
tsp_event tsp_broadcast_start(tsp_rank *rank, int32_t space, int32_t stream,
                              int32_t axis, int32_t dtype, void *dst,
                              const void *src, int64_t outer, int64_t total,
                              int64_t inner_bytes, int32_t layout, int64_t unit,
                              int64_t offset, int64_t size);

/* Sends src to the rank `shift` further on the axis (modulo its size; negative
 * allowed) and receives dst from the one `shift` before. Receives `bytes` (0 if
 * that rank is itself). */
tsp_event tsp_send_recv_start(tsp_rank *rank, int32_t space, int32_t stream,
                              int32_t axis, int32_t dtype, void *dst,
                              const void *src, int64_t bytes, int64_t shift);

/* The general form: rank i receives from sources[i], or zeros if that is -1. A
 * rank sends at most once. `sources` has the axis' size entries and is copied.
 * Counted as send_recv. */
tsp_event tsp_permute_start(tsp_rank *rank, int32_t space, int32_t stream,
                            int32_t axis, int32_t dtype, void *dst,
                            const void *src, int64_t bytes,
                            const int32_t *sources);

/* After it dst is complete, and both src and dst are free to use. */
void tsp_wait(tsp_rank *rank, int32_t stream, tsp_event event);

/* ---- 4. What embedders call ---------------------------------------------- */

/* Functions that return int give 0 on success; otherwise the text of the error
 * is tsp_error(context), valid until the next call on that context. A context
 * may be used from any thread, by one at a time (calls are serialised). */
typedef struct tsp_context tsp_context;

typedef struct tsp_options {
  int32_t threads;    /* threads of a rank; 0: cores / ranks, at least 1 */
  int32_t trace;      /* not 0: record a trace */
  double link_gbps;   /* simulated links: GB/s; 0: none */
  double link_us;     /* simulated links: latency of a transfer */
  double watchdog_s;  /* seconds without progress that are an error; 0: never */
  const char *devices; /* device numbers of the ranks, "0,1,2": rank r takes the
                          (r modulo their count)th; NULL: all there are */
  int32_t graphs;      /* not 0: record each entry once as a CUDA graph and run
                          that (entries without tsp_read) */
  int32_t launched;    /* not 0: this process may be one of several, as mpirun,
                          srun or torchrun say in its environment; each makes a
                          context and calls the same things in the same order */
  int32_t check;       /* not 0: a kernel, copy or transfer that uses what a
                          transfer in flight writes, or writes what one reads,
                          is an error (of kernels: arguments in its target) */
} tsp_options;

/* Defaults: all 0, watchdog_s = 60. */
void tsp_options_init(tsp_options *options);

/* The model linked into this binary (tsp_model_json, tsp_entry_table), or NULL.
 * A shared object made by the compiler exports this whole section; open it with
 * RTLD_LOCAL. */
const tsp_model *tsp_linked_model(void);

/* Makes a context and starts its ranks. model NULL: the linked one; options
 * NULL: the defaults. The model must outlive the context. Never returns NULL
 * unless memory is exhausted: on an error tsp_error() is not empty, and all
 * other calls fail with it. */
tsp_context *tsp_context_create(const tsp_model *model,
                                const tsp_options *options);
void tsp_context_destroy(tsp_context *context);

/* Text of the last error, "" if there was none. */
const char *tsp_error(tsp_context *context);

/* Adds a .safetensors, .npz or .npy file as a source of arguments (an .npy gives
 * the argument named as the file without its ending). Values are read when a
 * call needs them, each rank only its slices; the newest source wins. A file
 * may be replaced by another source of the same name: parameters and states
 * already loaded are kept until tsp_unload. */
int tsp_add_file(tsp_context *context, const char *path);

/* Sets an argument from a whole (global) array; copied to the ranks now. entry
 * NULL: the first one that has an argument of this name. Inputs belong to their
 * entry; parameters and states to all. */
int tsp_set(tsp_context *context, const char *entry, const char *name,
            int32_t dtype, int32_t rank, const int64_t *shape,
            const void *data);

/* Fills an argument with zeros (for instance an empty cache). */
int tsp_set_zero(tsp_context *context, const char *entry, const char *name);

/* Forgets the value of an argument, so that the next call reads it from the
 * sources again. name NULL: all states of the entry. */
int tsp_unload(tsp_context *context, const char *entry, const char *name);

/* Runs an entry (NULL: the first, or "main" if there is one) on all ranks. */
int tsp_call(tsp_context *context, const char *entry);

/* Reads a whole result (in all processes, if there are several), or the present value of an argument, into dst, which
 * has `bytes` bytes (checked against its size). */
int tsp_read_result(tsp_context *context, const char *entry, const char *name,
                    void *dst, int64_t bytes);
int tsp_read_arg(tsp_context *context, const char *entry, const char *name,
                 void *dst, int64_t bytes);

/* Handle of one rank's local buffer of an argument or a result, in the memory of
 * the model's target (a device pointer for cuda); NULL on error, or when the rank
 * is in another process. Valid until the context ends. */
void *tsp_local_buffer(tsp_context *context, const char *entry,
                       const char *name, int32_t rank, int64_t *bytes);

/* Writes the results of the last call of an entry: .npz, .npy (one result) or
 * .safetensors. Of several processes all have to call it; process 0 writes. */
int tsp_write_results(tsp_context *context, const char *entry,
                      const char *path);

/* Number of ranks. */
int32_t tsp_num_ranks(tsp_context *context);

/* JSON text, valid until the next call on this context:
 * the description, and the statistics:
 *   {compile_seconds, strategy, mesh, threads, process_peak_bytes,
 *    ranks: [{rank, parameter_bytes, planned_peak_bytes, peak_bytes,
 *             run_seconds: [one a call], collectives: [{collective, axis, count,
 *             bytes_received}], exposed_transfers: [{collective, begin_us, us,
 *             exposed_us, bytes}]}]}
 * Collectives are those of the last call; exposed transfers, only of a run with
 * a trace, those of all calls in whose time the rank ran no kernel for a while. peak_bytes is measured: the pages
 * touched in the rank's buffers, arena and scratch; on a device, what the rank
 * has allocated there. Of several processes all have to call it, and process 0
 * gets the ranks of all. */
const char *tsp_description(tsp_context *context);
const char *tsp_stats(tsp_context *context);

/* Writes the trace of a context that records one (Chrome trace format; a process
 * a rank, a thread a worker). */
int tsp_write_trace(tsp_context *context, const char *path);

/* The command line of an executable, for the linked model and for any. Exit
 * code: 0, 1 (error of the run) or 2 (wrong usage). */
int tsp_main(int argc, char **argv);
int tsp_main_model(const tsp_model *model, int argc, char **argv);

#ifdef __cplusplus
}
#endif

#endif /* TSP_RUNTIME_H */
