import { type DataType, type Field, IntervalUnit, type MapType, TimeUnit, Type } from "@uwdata/flechette";
import type { RowOptions } from "./result.js";

type Rule = NonNullable<RowOptions["bigint"]>;
type Convert = (value: unknown) => unknown;

const same: Convert = (value) => value;

/** Makes values of a column what callers expect; never called with null. */
export function converter(type: DataType, rule: Rule): Convert {
  switch (type.typeId) {
    case Type.Int:
    case Type.Duration:
      return type.typeId === Type.Int && type.bitWidth < 64 ? same : integer(rule);
    case Type.Decimal:
      return decimal(type.scale, rule);
    case Type.List:
    case Type.LargeList:
    case Type.FixedSizeList: {
      const convert = nullable(converter(type.children[0]!.type, rule));
      return (value) => Array.from(value as Iterable<unknown>, convert);
    }
    case Type.Struct: {
      const fields = type.children.map((field) => [field.name, nullable(converter(field.type, rule))] as const);
      return (value) => {
        const from = value as Record<string, unknown>;
        return Object.fromEntries(fields.map(([name, convert]) => [name, convert(from[name])]));
      };
    }
    case Type.Map: {
      const [key, item] = entries(type).map((field) => nullable(converter(field.type, rule)));
      return (value) => new Map([...(value as Map<unknown, unknown>)].map(([k, v]) => [key!(k), item!(v)]));
    }
    case Type.Dictionary:
      return converter(type.dictionary, rule);
    default:
      return same;
  }
}

/** The fields of a map's entries: key and value. */
function entries(type: MapType): Field[] {
  const entry = type.children[0]!.type;
  return entry.typeId === Type.Struct ? entry.children : [];
}

function nullable(convert: Convert): Convert {
  return (value) => (value == null ? null : convert(value));
}

function integer(rule: Rule): Convert {
  if (rule === "always") return (value) => BigInt(value as bigint);
  if (rule === "never") return Number;
  return (value) => {
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : value;
  };
}

/** From the digits before scaling. */
function decimal(scale: number, rule: Rule): Convert {
  return (value) => {
    const digits = BigInt(value as bigint);
    const negative = digits < 0n;
    const text = (negative ? -digits : digits).toString().padStart(scale + 1, "0");
    const whole = text.slice(0, text.length - scale);
    const fraction = scale > 0 ? text.slice(-scale) : "";
    const written = `${negative ? "-" : ""}${whole}${fraction && "."}${fraction}`;
    // Fifteen digits survive as a number.
    return rule === "never" || text.replace(/^0+/, "").length <= 15 ? Number(written) : written;
  };
}

const enumName = (names: Record<string, number>, value: number) =>
  Object.keys(names).find((name) => names[name] === value) ?? String(value);

/** The name of a type, as Arrow has it. */
export function typeName(type: DataType): string {
  const short = (unit: number) => ["s", "ms", "us", "ns"][unit] ?? enumName(TimeUnit, unit);
  switch (type.typeId) {
    case Type.Int:
      return `${type.signed ? "Int" : "UInt"}${type.bitWidth}`;
    case Type.Float:
      return ["Float16", "Float32", "Float64"][type.precision] ?? "Float";
    case Type.Decimal:
      return `Decimal(${type.precision}, ${type.scale})`;
    case Type.Date:
      return "Date";
    case Type.Time:
      return `Time(${short(type.unit)})`;
    case Type.Timestamp:
      return type.timezone ? `Timestamp(${short(type.unit)}, ${type.timezone})` : `Timestamp(${short(type.unit)})`;
    case Type.Interval:
      return `Interval(${enumName(IntervalUnit, type.unit)})`;
    case Type.List:
    case Type.LargeList:
    case Type.FixedSizeList:
      return `List<${typeName(type.children[0]!.type)}>`;
    case Type.Struct:
      return `Struct<${type.children.map((field) => `${field.name}: ${typeName(field.type)}`).join(", ")}>`;
    case Type.Map: {
      const [key, value] = entries(type);
      return `Map<${typeName(key!.type)}, ${typeName(value!.type)}>`;
    }
    case Type.Dictionary:
      return typeName(type.dictionary);
    default:
      return enumName(Type, type.typeId);
  }
}
