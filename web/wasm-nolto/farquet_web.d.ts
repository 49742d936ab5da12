/* tslint:disable */
/* eslint-disable */

/**
 * A session.
 */
export class Engine {
    free(): void;
    [Symbol.dispose](): void;
    /**
     * Forgets what is cached.
     */
    clearCaches(): void;
    /**
     * A session with `options`.
     */
    constructor(options: any);
    /**
     * Begins a query. What it reads is never older than this call.
     */
    query(sql: string, parameters: Array<any>, limits: any): Query;
    /**
     * Registers `name` for `locations`, a list of patterns; with a rule of freshness of its own if one is given.
     */
    register(name: string, locations: string, rule?: string | null): void;
    /**
     * Takes a snapshot.
     */
    snapshot(): Shared;
}

/**
 * A running query. Freeing it cancels the query.
 */
export class Query {
    private constructor();
    free(): void;
    [Symbol.dispose](): void;
    /**
     * Ends the query, its requests and its work.
     */
    cancel(): void;
    /**
     * The next part of an Arrow IPC stream: its schema first, then one batch after another, at last the mark of its end. Nothing
     * after that, nor after [`Query::cancel`]. One call at a time.
     */
    next(): Promise<Uint8Array | undefined>;
    /**
     * Files opened, bytes received and requests in flight.
     */
    progress(): Float64Array;
    /**
     * What the query has cost so far.
     */
    stats(): any;
}

/**
 * One state of the world for several queries.
 */
export class Shared {
    private constructor();
    free(): void;
    [Symbol.dispose](): void;
    /**
     * Begins a query on this state.
     */
    query(sql: string, parameters: Array<any>, limits: any): Query;
}

export function __wbg_reset_state(): void;

/**
 * Runs once, when the module has been instantiated.
 */
export function start(): void;

export type InitInput = RequestInfo | URL | Response | BufferSource | WebAssembly.Module;

export interface InitOutput {
    readonly memory: WebAssembly.Memory;
    readonly __wbg_engine_free: (a: number, b: number) => void;
    readonly __wbg_query_free: (a: number, b: number) => void;
    readonly __wbg_shared_free: (a: number, b: number) => void;
    readonly engine_clearCaches: (a: number) => void;
    readonly engine_new: (a: any) => [number, number, number];
    readonly engine_query: (a: number, b: number, c: number, d: any, e: any) => [number, number, number];
    readonly engine_register: (a: number, b: number, c: number, d: number, e: number, f: number, g: number) => [number, number];
    readonly engine_snapshot: (a: number) => number;
    readonly query_cancel: (a: number) => void;
    readonly query_next: (a: number) => any;
    readonly query_progress: (a: number) => [number, number];
    readonly query_stats: (a: number) => any;
    readonly shared_query: (a: number, b: number, c: number, d: any, e: any) => [number, number, number];
    readonly start: () => void;
    readonly rust_zstd_wasm_shim_calloc: (a: number, b: number) => number;
    readonly rust_zstd_wasm_shim_free: (a: number) => void;
    readonly rust_zstd_wasm_shim_malloc: (a: number) => number;
    readonly rust_zstd_wasm_shim_memcmp: (a: number, b: number, c: number) => number;
    readonly rust_zstd_wasm_shim_memcpy: (a: number, b: number, c: number) => number;
    readonly rust_zstd_wasm_shim_memmove: (a: number, b: number, c: number) => number;
    readonly rust_zstd_wasm_shim_memset: (a: number, b: number, c: number) => number;
    readonly rust_zstd_wasm_shim_qsort: (a: number, b: number, c: number, d: number) => void;
    readonly wasm_bindgen_ef0cc661934f9cf5___convert__closures_____invoke___js_sys_5eac174d6e7d68f9___Function_fn_wasm_bindgen_ef0cc661934f9cf5___JsValue_____wasm_bindgen_ef0cc661934f9cf5___sys__Undefined___js_sys_5eac174d6e7d68f9___Function_fn_wasm_bindgen_ef0cc661934f9cf5___JsValue_____wasm_bindgen_ef0cc661934f9cf5___sys__Undefined_______true_: (a: number, b: number, c: any, d: any) => void;
    readonly wasm_bindgen_ef0cc661934f9cf5___convert__closures_____invoke___wasm_bindgen_ef0cc661934f9cf5___JsValue__core_92245ec1dada4f42___result__Result_____wasm_bindgen_ef0cc661934f9cf5___JsError___true_: (a: number, b: number, c: any) => [number, number];
    readonly wasm_bindgen_ef0cc661934f9cf5___convert__closures_____invoke_______true_: (a: number, b: number) => void;
    readonly __wbindgen_malloc: (a: number, b: number) => number;
    readonly __wbindgen_realloc: (a: number, b: number, c: number, d: number) => number;
    readonly __wbindgen_free: (a: number, b: number, c: number) => void;
    readonly __externref_table_alloc: () => number;
    readonly __wbindgen_externrefs: WebAssembly.Table;
    readonly __wbindgen_exn_store: (a: number) => void;
    readonly __wbindgen_destroy_closure: (a: number, b: number) => void;
    readonly __externref_table_dealloc: (a: number) => void;
    readonly __wbindgen_start: () => void;
}

export type SyncInitInput = BufferSource | WebAssembly.Module;

/**
 * Instantiates the given `module`, which can either be bytes or
 * a precompiled `WebAssembly.Module`.
 *
 * @param {{ module: SyncInitInput }} module - Passing `SyncInitInput` directly is deprecated.
 *
 * @returns {InitOutput}
 */
export function initSync(module: { module: SyncInitInput } | SyncInitInput): InitOutput;

/**
 * If `module_or_path` is {RequestInfo} or {URL}, makes a request and
 * for everything else, calls `WebAssembly.instantiate` directly.
 *
 * @param {{ module_or_path: InitInput | Promise<InitInput> }} module_or_path - Passing `InitInput` directly is deprecated.
 *
 * @returns {Promise<InitOutput>}
 */
export default function __wbg_init (module_or_path?: { module_or_path: InitInput | Promise<InitInput> } | InitInput | Promise<InitInput>): Promise<InitOutput>;
