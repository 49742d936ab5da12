import { type Column, type DataType, type Table, tableFromIPC } from "@uwdata/flechette";
import { converter, typeName } from "./values.js";
import type { Stats } from "./stats.js";

/** A column of a result. */
export interface Field {
  /** Unique: of two columns of one name, as a join may give, the second is `name_1`. */
  name: string;
  /** The Arrow type, such as `Int64` or `Timestamp(ms, UTC)`. */
  type: string;
  nullable: boolean;
}

/** How rows are made. */
export interface RowOptions {
  /**
   * Integers of 64 bits: `auto` makes a BigInt only where a number would lose digits, `always` and `never` make all alike. Decimals
   * are numbers where they lose nothing, else text; with `never` they are always numbers.
   */
  bigint?: "auto" | "always" | "never";
}

/** A row as a plain object. */
export type Row = Record<string, unknown>;

/** Rows that have arrived. */
export class Batch {
  readonly #parts: Uint8Array[];
  #decoded: Table | undefined;

  constructor(parts: Uint8Array[]) {
    this.#parts = parts;
  }

  #table(): Table {
    this.#decoded ??= tableFromIPC(this.#parts, { useBigInt: true, useDate: true, useDecimalInt: true, useMap: true });
    return this.#decoded;
  }

  get numRows(): number {
    return this.#table().numRows;
  }

  get fields(): Field[] {
    return this.#columns().map(({ name, type, nullable }) => ({ name, type: typeName(type), nullable }));
  }

  #columns(): { name: string; type: DataType; nullable: boolean; values: Column<unknown> }[] {
    const table = this.#table();
    const taken = new Set(table.schema.fields.map(({ name }) => name));
    const seen = new Set<string>();
    return table.schema.fields.map(({ name, type, nullable }, index) => {
      let unique = name;
      for (let n = 1; seen.has(unique) || (unique !== name && taken.has(unique)); n++) unique = `${name}_${n}`;
      seen.add(unique);
      return { name: unique, type, nullable, values: table.getChildAt(index) };
    });
  }

  /** The rows as plain objects: dates and timestamps as `Date`, bytes as `Uint8Array`, maps as `Map`. */
  rows<T = Row>({ bigint = "auto" }: RowOptions = {}): T[] {
    const rows: Row[] = Array.from({ length: this.numRows }, () => ({}));
    for (const { name, type, values } of this.#columns()) {
      const convert = converter(type, bigint);
      let at = 0;
      for (const value of values) rows[at++]![name] = value == null ? null : convert(value);
    }
    return rows as T[];
  }

  /**
   * The columns by name: a typed array where a column is of numbers without nulls, which is a view of the bytes that arrived where
   * they came in one batch; else an array of values.
   */
  columns(): Record<string, ArrayLike<unknown>> {
    const all = ({ type, values }: { type: DataType; values: Column<unknown> }): ArrayLike<unknown> => {
      const array = values.toArray();
      if (ArrayBuffer.isView(array)) return array as unknown as ArrayLike<unknown>;
      const convert = converter(type, "auto");
      return Array.from(array, (value) => (value == null ? null : convert(value)));
    };
    return Object.fromEntries(this.#columns().map((column) => [column.name, all(column)]));
  }

  /** The bytes of an Arrow IPC stream, for other libraries. */
  toArrowIPC(): Uint8Array {
    const length = this.#parts.reduce((sum, part) => sum + part.length, 0);
    const bytes = new Uint8Array(length);
    let at = 0;
    for (const part of this.#parts) {
      bytes.set(part, at);
      at += part.length;
    }
    return bytes;
  }

  [Symbol.iterator](): Iterator<Row> {
    return this.rows()[Symbol.iterator]();
  }
}

/** The rows of a query, and what they cost. */
export class Result extends Batch {
  readonly stats: Stats;

  constructor(parts: Uint8Array[], stats: Stats) {
    super(parts);
    this.stats = stats;
  }
}
